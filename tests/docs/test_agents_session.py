"""The session of docs/frameworks.md for the OpenAI Agents SDK, held to what the SDK's own keeps.

The SDK is imported in functions: every process collects this file, and one runs it.
"""

# ruff: noqa: PLC0415 - as the docstring says

import asyncio

from effort import examples
from framework_examples import load_example
from hypothesis import given, settings
from hypothesis import strategies as st

from memoranda import AsyncMemory, Settings

HEADING = "OpenAI Agents SDK: a session"
PLAIN = Settings(embedding={"model": "none"}, timezone="UTC")
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
            session = load_example(HEADING)[0].MemorandaSession(await memory.conversation("c"))
            return await work(session, memory)

    return asyncio.run(use())


def test_it_is_a_session():
    """By its class, by the protocol, and under the id of the conversation."""
    from agents.memory.session import Session, SessionABC

    assert issubclass(load_example(HEADING)[0].MemorandaSession, SessionABC)

    async def work(session, _):
        return isinstance(session, Session), session.session_id

    assert used(work) == (True, "c")


@given(steps=st.lists(STEP, max_size=12))
@settings(max_examples=examples(8))
def test_it_does_what_the_sessions_of_the_sdk_do(steps):
    """After any steps, items of any type come back equal, in order, and as many as were asked."""
    from agents import SQLiteSession

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
        theirs.close()

    used(work)


def test_a_runner_goes_on_with_it():
    """A second run is sent what the first one left, as with the SDK's own session."""
    from agents import Agent, Model, ModelResponse, Runner, SQLiteSession, Usage, tracing
    from openai.types.responses import ResponseOutputMessage, ResponseOutputText

    tracing.set_tracing_disabled(disabled=True)

    class Scripted(Model):
        """Answers with how many items it was sent."""

        async def get_response(self, *, input, **more):
            """Answer what stands last."""
            del more
            text = ResponseOutputText(
                text=f"{len(input)} items", type="output_text", annotations=[]
            )
            answer = ResponseOutputMessage(
                id="msg_1", content=[text], role="assistant", status="completed", type="message"
            )
            return ModelResponse(output=[answer], usage=Usage(), response_id=None)

        def stream_response(self, *arguments, **named):
            """Nothing is streamed here."""
            raise NotImplementedError

    async def work(session, memory):
        theirs = SQLiteSession("c")
        agent = Agent(name="helper", model=Scripted())
        runs = [
            await Runner.run(agent, prompt, session=each)
            for each in (session, theirs)
            for prompt in ("Where is my cat?", "And now?")
        ]
        assert [run.final_output for run in runs] == ["1 items", "3 items"] * 2
        assert await session.get_items() == await theirs.get_items()
        theirs.close()
        return [hit.record.content for hit in await memory.search("my cat")]

    assert "Where is my cat?" in used(work)
