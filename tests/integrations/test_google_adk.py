"""The memory service for Google's ADK keeps and finds what the ADK's own does, and more.

The ADK is imported in functions: every process collects this file, and one runs it.
"""

# ruff: noqa: PLC0415 - as the docstring says

import asyncio
from importlib.util import find_spec

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

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


def moved(number, step, service):  # noqa: C901 - a branch for each verb
    """Return what a session service gives for a step, without what is new each time."""
    from google.adk.errors.already_exists_error import AlreadyExistsError
    from google.adk.errors.session_not_found_error import SessionNotFoundError
    from google.adk.events import Event, EventActions
    from google.adk.sessions import Session
    from google.adk.sessions.base_session_service import GetSessionConfig

    async def use():
        verb, who, value = step
        named = {"app_name": "app", "user_id": who}
        if verb == "create":
            state = {"plain": value, "user:likes": [value], "app:all": who, "temp:gone": 1}
            made = await service.create_session(**named, session_id=f" s{value}", state=state)
            return {**made.state, "id": made.id}
        if verb == "append":
            delta = {f"user:{value}": value, "app:last": who, "plain": {"n": value}, "temp:x": 1}
            session = await service.get_session(**named, session_id="s1")
            session = session or Session(id="none", **named)
            event = Event(
                id=f"e{number}",
                author="user",
                timestamp=float(value),
                actions=EventActions(state_delta=delta),
            )
            for _ in range(2):
                await service.append_event(session, event)
            return session.state, session.last_update_time, len(session.events)
        if verb == "get":
            asked = (
                {"num_recent_events": value} if value < 3 else {"after_timestamp": float(value - 3)}
            )
            for config in (None, GetSessionConfig(**asked)):
                found = await service.get_session(**named, session_id="s1 ", config=config)
            return found and (found.state, [event.id for event in found.events])
        if verb == "list":
            found = (await service.list_sessions(app_name="app", user_id=who or None)).sessions
            return sorted((each.user_id, each.id, str(sorted(each.state))) for each in found)
        if verb == "state":
            return await service.get_user_state(**named)
        return await service.delete_session(**named, session_id=f"s{value}")

    async def told():
        try:
            return await use()
        except (AlreadyExistsError, SessionNotFoundError) as error:
            return type(error)

    return told()


def session_steps():
    """Return a strategy of lists of steps of two users."""
    verbs = st.sampled_from(["create", "append", "append", "get", "list", "state", "delete"])
    return st.lists(
        st.tuples(verbs, st.sampled_from(["ana", "ben"]), st.integers(0, 5)), max_size=25
    )


@given(steps=session_steps())
@settings(max_examples=examples(8))
def test_sessions_are_what_the_service_of_the_adk_makes_them(steps):
    """After any steps: state with every prefix, events, times, what is listed and deleted."""
    from google.adk.sessions import BaseSessionService, InMemorySessionService

    async def work(memory):
        from memoranda.integrations.google_adk import MemorandaSessionService

        ours, theirs = MemorandaSessionService(memory), InMemorySessionService()
        assert isinstance(ours, BaseSessionService)
        taken = [("create", "ana", 1), *steps, ("list", "", 0), ("get", "ana", 0)]
        for number, step in enumerate(taken):
            assert await moved(number, step, ours) == await moved(number, step, theirs)

    async def use():
        async with AsyncMemory(":memory:", settings=WORDLESS) as memory:
            await work(memory)

    asyncio.run(use())


def test_a_run_goes_on_in_another_process(tmp_path):
    """With what the model was told and answered, its calls of tools and the state they set."""
    from google.adk.agents import LlmAgent
    from google.adk.models import BaseLlm, LlmResponse
    from google.adk.runners import Runner
    from google.genai.types import Blob, Content, FunctionCall, Part

    from memoranda.integrations.google_adk import MemorandaSessionService

    asked = []

    class Scripted(BaseLlm):
        async def generate_content_async(self, llm_request, **named):
            del named
            asked.append(
                [str(each.parts[0].function_response or "") for each in llm_request.contents]
            )
            call = FunctionCall(name="feed", args={"cat": "Schnurri"})
            parts = [Part(function_call=call)] if len(asked) == 1 else [Part(text="Done.")]
            yield LlmResponse(content=Content(role="model", parts=parts))

    def feed(cat: str, tool_context) -> str:
        """Feed a cat."""
        tool_context.state["user:fed"] = cat
        return f"{cat} was fed"

    async def run(text):
        async with AsyncMemory(tmp_path / "adk.db", settings=WORDLESS) as memory:
            service = MemorandaSessionService(memory)
            agent = LlmAgent(name="helper", model=Scripted(model="scripted"), tools=[feed])
            runner = Runner(
                app_name="app", agent=agent, session_service=service, auto_create_session=True
            )
            picture = Part(inline_data=Blob(data=b"\x00\xff\xfb", mime_type="image/png"))
            message = Content(role="user", parts=[Part(text=text), picture])
            async for _ in runner.run_async(user_id="ana", session_id="s", new_message=message):
                pass
            return await service.get_session(**ANA, session_id="s")

    first = asyncio.run(run("Feed Schnurri."))
    assert [event.author for event in first.events] == ["user", "helper", "helper", "helper"]
    assert first.state == {"user:fed": "Schnurri"}
    second = asyncio.run(run("Again?"))
    assert second.events[:4] == first.events
    assert first.events[0].content.parts[1].inline_data.data == b"\x00\xff\xfb"
    assert any("was fed" in text for text in asked[-1])
