"""The session for the OpenAI Agents SDK keeps what the SDK's own does; memory stands beside it."""

import asyncio

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from memoranda import AsyncMemory, Settings

pytest.importorskip("agents", reason="not installed: pip install 'memoranda[openai-agents]'")

from agents import Agent, RunConfig, Runner, RunState, SQLiteSession, function_tool, tracing
from agents.memory.session import Session
from agents.testing import ScriptedModel, assistant_message, function_call

from memoranda.integrations.openai_agents import MemorandaSession, recall_beside

PLAIN = Settings(embedding={"model": "none"}, timezone="UTC")
tracing.set_tracing_disabled(disabled=True)
OF_EVERY_TYPE = [
    {"role": "user", "content": "Grüße 👋 日本語 \u2028"},
    {"role": "user", "content": [{"type": "input_text", "text": "What is on it?"}]},
    {
        "id": "rs_1",
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": "hm"}],
        "encrypted_content": "AAAA",
    },
    {"type": "function_call", "call_id": "c1", "name": "look", "arguments": '{"q": 1}', "id": "f"},
    {"type": "function_call_output", "call_id": "c1", "output": "42"},
    {"type": "web_search_call", "id": "ws_1", "status": "completed"},
    {"type": "item_reference", "id": "msg_1"},
    {"type": "compaction", "id": "cmp_1", "encrypted_content": "BBBB"},
    {"type": "something_new", "value": [1, None, {"a": 0.5}]},
    {
        "id": "msg_2",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": "", "annotations": []}],
    },
    {"role": "assistant", "content": ""},
]
ITEMS = st.sampled_from(OF_EVERY_TYPE) | st.builds(
    lambda role, text: {"role": role, "content": text},
    st.sampled_from(["user", "assistant", "system", "developer"]),
    st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=20),
)
STEP = st.one_of(
    st.tuples(st.just("add"), st.lists(ITEMS, max_size=4)),
    st.tuples(st.just("add"), st.lists(ITEMS, max_size=4)),
    st.tuples(st.just("pop"), st.none()),
    st.tuples(st.just("clear"), st.none()),
    st.tuples(st.just("get"), st.none() | st.integers(0, 6)),
)


def used(work):
    """Run ``work`` with a new session of a memory, and return what it returns."""

    async def use():
        async with AsyncMemory(":memory:", settings=PLAIN) as memory:
            session = MemorandaSession(await memory.conversation("c"))
            return await work(session, memory)

    return asyncio.run(use())


@given(steps=st.lists(STEP, max_size=12))
@settings(max_examples=examples(8))
def test_it_does_what_the_sessions_of_the_sdk_do(steps):
    """After any steps, items of any type come back equal, in order, and as many as were asked."""

    async def work(session, _):
        theirs = SQLiteSession("c")
        for verb, value in steps:
            for_both = {
                "add": lambda each, value=value: each.add_items(value),
                "pop": lambda each: each.pop_item(),
                "clear": lambda each: each.clear_session(),
                "get": lambda each, value=value: each.get_items(value),
            }[verb]
            assert await for_both(session) == await for_both(theirs)
        assert await session.get_items() == await theirs.get_items()
        assert isinstance(session, Session)
        theirs.close()

    used(work)


def test_a_run_waits_for_approval_and_is_resumed():
    """From a state that was stored, with the session opened anew, as the SDK's own goes on."""
    called = []

    @function_tool(needs_approval=True)
    def look_up(place: str) -> str:
        """Return the weather."""
        called.append(place)
        return f"sun over {place}"

    async def converse(session, reopen):
        script = [
            [function_call("look_up", {"place": "Faro"}, call_id="c1")],
            [assistant_message("It is sunny.")],
            [assistant_message("So it will be.")],
        ]
        agent = Agent(name="helper", model=ScriptedModel(script), tools=[look_up])
        first = await Runner.run(agent, "Is it sunny in Faro?", session=session)
        state = await RunState.from_json(agent, first.to_state().to_json())
        state.approve(state.get_interruptions()[0])
        session = await reopen()
        resumed = await Runner.run(agent, state, session=session)
        last = await Runner.run(agent, "And tomorrow?", session=session)
        return resumed.final_output, last.to_input_list(), await session.get_items()

    async def work(session, memory):
        async def reopen():
            return MemorandaSession(await memory.conversation("c"))

        async def keep():
            return theirs

        theirs = SQLiteSession("c")
        told = [await converse(session, reopen), await converse(theirs, keep)]
        theirs.close()
        assert told[0] == told[1]
        assert [item.get("type", "message") for item in told[0][2]] == [
            "message",
            "function_call",
            "function_call_output",
            "message",
            "message",
            "message",
        ]
        assert called == ["Faro"] * 2

    used(work)


def test_recalled_memory_is_in_the_request_alone():
    """Before what the user said last, from other sessions, and never kept in this one."""

    async def work(session, memory):
        earlier = MemorandaSession(await memory.conversation("earlier"))
        await earlier.add_items([{"role": "user", "content": "My cat is called Schnurri."}])
        model = ScriptedModel([[assistant_message("Schnurri.")], [assistant_message("Yes.")]])
        config = RunConfig(call_model_input_filter=recall_beside(memory, session))
        for prompt in ("What is my cat called?", "Is that a fine name for a cat?"):
            await Runner.run(
                Agent(name="helper", model=model), prompt, session=session, run_config=config
            )
        first, second = (call.input for call in model.calls)
        assert [item["role"] for item in first] == ["system", "user"]
        assert "Schnurri" in first[0]["content"]
        assert [item["role"] for item in second] == ["user", "assistant", "system", "user"]
        assert second[2]["content"].count("What is my cat called?") == 0
        assert [item["role"] for item in await session.get_items()] == ["user", "assistant"] * 2
        records = [record.content for record in await memory.records(kind="episode")]
        assert sum("Schnurri" in text for text in records) == 2
        assert not any("memory" in text for text in records)

    used(work)


def test_where_nothing_is_known_the_request_is_as_it_was():
    """Also one without a text of a user, and one whose text is empty."""

    async def work(_, memory):
        model = ScriptedModel([[assistant_message("Hello.")]] * 2)
        config = RunConfig(call_model_input_filter=recall_beside(memory))
        for items in ([{"role": "user", "content": ""}], [{"role": "assistant", "content": "Hi"}]):
            await Runner.run(Agent(name="helper", model=model), items, run_config=config)
            assert model.calls[-1].input == items

    used(work)
