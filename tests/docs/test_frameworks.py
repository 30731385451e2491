"""The adapters of docs/frameworks.md are as short as they look, and the frameworks take them."""

import asyncio
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from google.adk.events import Event
from google.adk.memory import BaseMemoryService
from google.adk.sessions import Session
from google.genai.types import Content, Part

from memoranda import AsyncMemory, Settings

PAGE = Path(__file__).parents[2] / "docs" / "frameworks.md"


def load_example(heading: str) -> tuple[SimpleNamespace, int]:
    """Return what the first code block under a heading defines, and how many lines it has."""
    section = PAGE.read_text("utf-8").partition(f"## {heading}\n")[2]
    code = re.findall(r"```python\n(.*?)```", section, re.DOTALL)[0]
    names: dict[str, object] = {}
    exec(compile(code, str(PAGE), "exec"), names)  # noqa: S102 - it is our own page
    return SimpleNamespace(**names), sum(bool(line.strip()) for line in code.splitlines())


@pytest.fixture
def memory():
    """A memory without vectors, for an application."""
    return AsyncMemory(":memory:", settings=Settings(embedding={"model": "none"}, timezone="UTC"))


def said(author: str, text: str, id: str) -> Event:
    """Return an event of a session in which somebody says a text."""
    role = "user" if author == "user" else "model"
    return Event(id=id, author=author, content=Content(role=role, parts=[Part(text=text)]))


class TestGoogleAdk:
    """The memory service of the Agent Development Kit."""

    def test_it_is_short(self):
        """The whole adapter has at most 40 lines, its imports among them."""
        assert load_example("Google ADK: a memory service")[1] <= 40

    def test_sessions_are_found_again(self, memory):
        """By their user in their application alone, each turn once, however often added."""
        example, _ = load_example("Google ADK: a memory service")
        service = example.MemorandaMemoryService(memory)
        assert isinstance(service, BaseMemoryService)
        first = said("user", "My cat is called Schnurri.", "1")
        session = Session(id="s", app_name="app", user_id="ana", events=[first])
        empty = Event(id="2", author="helper")

        async def search(query: str, **who: str) -> list[str]:
            asked = {"app_name": "app", "user_id": "ana"} | who
            found = await service.search_memory(query=query, **asked)
            return [(one.author, one.content.parts[0].text) for one in found.memories]

        async def use() -> None:
            await service.add_session_to_memory(session)
            session.events += [empty, said("helper", "Schnurri is a fine name for a cat.", "3")]
            await service.add_session_to_memory(session)
            assert await search("Schnurri the cat") == [
                ("user", "My cat is called Schnurri."),
                ("helper", "Schnurri is a fine name for a cat."),
            ]
            assert await search("Schnurri", user_id="ben") == []
            assert await search("Schnurri", app_name="other") == []
            found = await service.search_memory(app_name="app", user_id="ana", query="called")
            await service.delete_memory(
                app_name="app", user_id="ana", memory_id=found.memories[0].id
            )
            assert [author for author, _ in await search("Schnurri the cat")] == ["helper"]
            await memory.close()

        asyncio.run(use())
