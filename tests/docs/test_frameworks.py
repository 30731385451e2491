"""The adapters of docs/frameworks.md are as short as they look, and the frameworks take them.

The ADK is imported in its test: every process collects this file, and one runs it.
"""

# ruff: noqa: PLC0415 - as the docstring says

import asyncio

import httpx2
import pytest
from framework_examples import load_example
from tables import each_row

from memoranda import AsyncMemory, Settings


@pytest.fixture
def wordless():
    """Settings without an embedding model."""
    return Settings(embedding={"model": "none"}, timezone="UTC")


@pytest.fixture
def memory(wordless):
    """A memory of an application."""
    return AsyncMemory(":memory:", settings=wordless)


@each_row(
    ("heading", "most"),
    [("Google ADK: a memory service", 40), ("FastAPI: one memory for all requests", 35)],
)
def test_an_adapter_is_short(heading: str, most: int):
    """The whole of it has at most so many lines, its imports among them."""
    assert load_example(heading)[1] <= most


class TestGoogleAdk:
    """The memory service of the Agent Development Kit."""

    def test_sessions_are_found_again(self, memory):
        """By their user in their application alone, each turn once, however often added."""
        from google.adk.events import Event
        from google.adk.memory import BaseMemoryService
        from google.adk.sessions import Session
        from google.genai.types import Content, Part

        def said(author: str, text: str, id: str) -> Event:
            role = "user" if author == "user" else "model"
            return Event(id=id, author=author, content=Content(role=role, parts=[Part(text=text)]))

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


class TestFastApi:
    """The application whose requests share one memory."""

    def test_each_user_has_their_own_and_mistakes_are_the_clients(self, monkeypatch, tmp_path):
        """What is added is in the next context, and found by its user alone, until it is erased."""
        monkeypatch.chdir(tmp_path)
        app = load_example("FastAPI: one memory for all requests")[0].app

        async def ask(method: str, path: str, user: str = "ana", **query: str):
            site = httpx2.ASGITransport(app)
            async with httpx2.AsyncClient(transport=site, base_url="http://app") as client:
                answer = await client.request(method, path, params=query, headers={"user": user})
            return answer.status_code, answer.json()

        async def use():
            async with app.router.lifespan_context(app):
                assert await ask("POST", "/messages", text="My cat is called Miau.") == (
                    200, [{"role": "user", "content": "My cat is called Miau."}],
                )  # fmt: skip
                _, sent = await ask("POST", "/messages", text="What is it called?")
                assert sent[0]["content"] == "My cat is called Miau."
                assert await ask("GET", "/memories", "ben", query="cat") == (200, [])
                _, (hit, *_) = await ask("GET", "/memories", query="cat")
                assert hit["text"] == "My cat is called Miau."
                assert await ask("DELETE", f"/memories/{hit['id']}") == (200, {"erased": True})
                status, told = await ask("DELETE", f"/memories/{hit['id']}")
                assert (status, "no record" in told["detail"]) == (404, True)
                status, told = await ask("GET", "/memories", query="")
                assert (status, told["detail"]) == (422, "query is empty; give it some text")

        asyncio.run(use())
