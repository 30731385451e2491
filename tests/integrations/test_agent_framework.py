"""Microsoft's Agent Framework recalls from memory, and keeps its history there."""

import asyncio

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from memoranda import AsyncMemory, Settings

pytest.importorskip(
    "agent_framework", reason="not installed: pip install 'memoranda[agent-framework]'"
)

from agent_framework import (
    Agent,
    BaseChatClient,
    ChatResponse,
    Content,
    FunctionInvocationLayer,
    InMemoryHistoryProvider,
    Message,
)

from memoranda.integrations.agent_framework import (
    MemorandaContextProvider,
    MemorandaHistoryProvider,
)

PLAIN = Settings(embedding={"model": "none"}, timezone="UTC")
CAT = "My cat is called Schnurri."
OF_EVERY_KIND = [
    Message("user", ["Grüße 👋 日本語"], author_name="Ana"),
    Message("assistant", [Content.from_text_reasoning(text="hm"), "Let me look."]),
    Message("assistant", [Content.from_function_call("c1", "look", arguments='{"q": 1}')]),
    Message("tool", [Content.from_function_result("c1", result="42")], message_id="m"),
    Message("tool", [Content.from_function_result(f"c{n}", result=[n]) for n in (2, 3)]),
    Message("user", [Content.from_uri("https://a.example/b.png", media_type="image/png")]),
    Message("system", [""], additional_properties={"n": [1, None]}),
]


class Scripted(FunctionInvocationLayer, BaseChatClient):
    """A client that answers from a list, and records what it was sent."""

    def __init__(self, answers):
        """Have these answers."""
        super().__init__()
        self.answers, self.sent = list(answers), []

    def _inner_get_response(self, *, messages, **named):
        del named

        async def answer():
            self.sent.append([(each.role, each.text) for each in messages])
            return ChatResponse(messages=[self.answers.pop(0)])

        return answer()


def used(work):
    """Run ``work`` with a memory, and return what it returns."""

    async def use():
        async with AsyncMemory(":memory:", settings=PLAIN) as memory:
            return await work(memory)

    return asyncio.run(use())


@given(batches=st.lists(st.lists(st.sampled_from(OF_EVERY_KIND), max_size=4), max_size=4))
@settings(max_examples=examples(8))
def test_a_history_comes_back_as_it_was(batches):
    """Messages of any kind, in order, equal to what was given; another session has none of them."""

    async def work(memory):
        history = MemorandaHistoryProvider(memory)
        for batch in batches:
            await history.save_messages("monday", batch)
        given = [each.to_dict() for batch in batches for each in batch]
        kept = await history.get_messages("monday")
        assert [each.to_dict() for each in kept] == given
        assert await history.get_messages("friday") == await history.get_messages(None) == []

    used(work)


def test_an_agent_is_told_what_other_sessions_said():
    """Before the user's message, in the request alone; calls and results are kept with the rest."""
    called = []

    def weather(place: str) -> str:
        """Return the weather."""
        called.append(place)
        return f"sun over {place}"

    async def converse(*providers):
        call = Content.from_function_call("c1", "weather", arguments={"place": "Faro"})
        client = Scripted(
            Message("assistant", [each]) for each in ("Noted.", call, "Sunny.", "Yes.")
        )
        agent = Agent(client, tools=[weather], context_providers=providers)
        for name, prompts in (
            ("monday", [CAT]),
            ("friday", ["Is it sunny in Faro for my cat?", "Is Schnurri the name of my cat?"]),
        ):
            session = agent.create_session(session_id=name)
            for prompt in prompts:
                await agent.run(prompt, session=session)
        return client.sent

    async def work(memory):
        history = MemorandaHistoryProvider(memory)
        first, second, _, last = await converse(history, MemorandaContextProvider(memory))
        plain = await converse(InMemoryHistoryProvider())
        assert called == ["Faro"] * 2
        assert first == plain[0]
        assert [role for role, _ in second] == ["user", "user"]
        assert CAT in second[0][1]
        told = [each for each in last if CAT in each[1]]
        assert [each for each in last if each not in told] == plain[3]
        assert len(told) == 1
        assert "sunny" not in told[0][1]
        assert last.index(told[0]) == len(last) - 2
        kept = await (await memory.conversation("friday")).messages()
        roles = ["user", "assistant", "tool", "assistant", "user", "assistant"]
        assert [each.role for each in kept] == roles
        assert kept[1].tool_calls[0].name == "weather"

    used(work)
