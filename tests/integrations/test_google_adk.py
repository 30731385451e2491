"""The memory service for Google's ADK keeps and finds what the ADK's own does, and more.

The ADK is imported in functions: every process collects this file, and one runs it.
"""

# ruff: noqa: PLC0415 - as the docstring says

import asyncio
from importlib.util import find_spec

import pytest

from memoranda import AsyncMemory, Settings

if find_spec("google.adk") is None:
    pytest.skip("not installed: pip install 'memoranda[google-adk]'", allow_module_level=True)

WORDLESS = Settings(embedding={"model": "none"}, timezone="UTC")
ANA = {"app_name": "app", "user_id": "ana"}
CAT, FINE = "My cat is called Schnurri.", "Schnurri is a fine name for a cat."


def said(author: str, text: str, id: str):
    """Return an event in which a text was said."""
    from google.adk.events import Event
    from google.genai.types import Content, Part

    role = "user" if author == "user" else "model"
    thought = [Part(text="Let me think.", thought=True)] if role == "model" else []
    parts = [*thought, Part(text=text)]
    return Event(id=id, author=author, content=Content(role=role, parts=parts))


def used(work):
    """Run ``work`` with services of one memory and of the ADK; return what it returns."""
    from google.adk.memory import BaseMemoryService, InMemoryMemoryService

    from memoranda.integrations.google_adk import MemorandaMemoryService

    async def use():
        async with AsyncMemory(":memory:", settings=WORDLESS) as memory:
            service = MemorandaMemoryService(memory)
            assert isinstance(service, BaseMemoryService)
            return await work(service, InMemoryMemoryService())

    return asyncio.run(use())


async def found(service, query: str, **who: str):
    """Return who said what of all that a search finds."""
    answer = await service.search_memory(query=query, **ANA | who)
    return [
        (entry.author, entry.content.role, entry.content.parts[-1].text)
        for entry in answer.memories
    ]


def test_what_sessions_said_is_found_as_in_the_service_of_the_adk():
    """By its user in its application alone, each event once, however often it is added."""
    from google.adk.events import Event
    from google.adk.sessions import Session

    async def work(*services):
        for service in services:
            session = Session(id="s", **ANA, events=[said("user", CAT, "1")])
            await service.add_session_to_memory(session)
            session.events += [Event(id="2", author="helper"), said("helper", FINE, "3")]
            await service.add_session_to_memory(session)
            await service.add_events_to_memory(
                **ANA,
                events=[said("user", CAT, "1"), said("user", "Oslo it is.", "4")],
                session_id="s",
            )
            both = [("user", "user", CAT), ("helper", "model", FINE)]
            assert sorted((await found(service, "Schnurri"))[:2]) == sorted(both)
            assert (await found(service, "Oslo"))[:1] == [("user", "user", "Oslo it is.")]
            for query, who in (
                ("Schnurri", {"user_id": "ben"}),
                ("Schnurri", {"app_name": "other"}),
                ("", {}),
            ):
                assert await found(service, query, **who) == []

    used(work)


def test_what_is_deleted_does_not_come_back_with_its_session():
    """Nor does another event go with it; an id that is not there changes nothing."""
    from google.adk.sessions import Session

    async def work(service, _):
        session = Session(id="s", **ANA, events=[said("user", CAT, "1"), said("helper", FINE, "2")])
        await service.add_session_to_memory(session)
        answer = await service.search_memory(query="What is my cat called?", **ANA)
        first = next(each for each in answer.memories if each.author == "user")
        for name in (first.id, first.id, "ep_none"):
            await service.delete_memory(**ANA, memory_id=name)
        await service.add_session_to_memory(session)
        assert await found(service, "Schnurri the cat") == [("helper", "model", FINE)]
        assert len(await service.memory.as_user("ana", agent="app").records(kind="episode")) == 1

    used(work)


def test_memories_are_added_as_they_are():
    """With their author, time and metadata, beside what sessions said."""
    from google.adk.memory.memory_entry import MemoryEntry
    from google.genai.types import Content, Part

    async def work(service, _):
        entry = MemoryEntry(
            content=Content(parts=[Part(text="Ana is vegetarian.")]),
            author="crm",
            timestamp="2026-05-01T10:00:00+00:00",
            custom_metadata={"source": "form"},
        )
        await service.add_memory(**ANA, memories=[entry], custom_metadata={"batch": 7})
        (kept,) = (await service.search_memory(query="vegetarian", **ANA)).memories
        assert (kept.author, kept.timestamp) == ("crm", entry.timestamp)
        assert kept.custom_metadata == {"source": "form", "batch": 7}

    used(work)
