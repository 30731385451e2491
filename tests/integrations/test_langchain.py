"""The middleware for LangChain recalls in the request alone, and keeps each message once."""

import asyncio

import pytest

from memoranda import Memory, Settings, errors

pytest.importorskip("langchain.agents", reason="not installed: pip install 'memoranda[langchain]'")

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

from memoranda.integrations.langchain import MemorandaMiddleware, trim_history

WORDLESS = Settings(embedding={"model": "none"}, timezone="UTC")
CAT = "My cat is called Schnurri."


def weather(place: str) -> str:
    """Return the weather."""
    return f"sun over {place}"


class Recorder(GenericFakeChatModel):
    """A model that answers from a list, and records what it was sent."""

    sent: list = []  # noqa: RUF012 - a field of pydantic

    def _generate(self, messages, *arguments, **named):
        self.sent.append([(each.type, each.text) for each in messages])
        return super()._generate(messages, *arguments, **named)

    def bind_tools(self, tools, **named):
        """Take tools, and call them as the list says."""
        del tools, named
        return self


def converse(memory, run):
    """Hold two threads with an agent; return what the model was sent."""
    call = {"name": "weather", "args": {"place": "Faro"}, "id": "c1"}
    answers = [
        AIMessage("Noted."),
        AIMessage("", tool_calls=[call]),
        AIMessage("Sunny."),
        AIMessage("Yes."),
    ]
    model = Recorder(messages=iter(answers), sent=[])
    middleware = [MemorandaMiddleware(memory)]
    saver = InMemorySaver()
    agent = create_agent(model, [weather], middleware=middleware, checkpointer=saver)
    for thread, prompt in (
        ("monday", CAT),
        ("friday", "Is it sunny in Faro for my cat?"),
        ("friday", "Is Schnurri the name of my cat?"),
    ):
        asked = {"messages": [{"role": "user", "content": prompt}]}
        run(agent, asked, {"configurable": {"thread_id": thread}})
    return model.sent


@pytest.mark.parametrize(
    "run",
    [
        lambda agent, *asked: agent.invoke(*asked),
        lambda agent, *asked: asyncio.run(agent.ainvoke(*asked)),
    ],
)
def test_an_agent_is_told_what_other_threads_said(run):
    """Before the user's last message; the thread keeps what was said, tools too, and no recall."""
    with Memory(":memory:", settings=WORDLESS) as memory:
        first, second, third, last = converse(memory, run)
        assert first == [("human", CAT)]
        assert [kind for kind, _ in second] == ["human", "human"]
        assert CAT in second[0][1]
        assert third[:2] == second
        assert [kind for kind, _ in last] == ["human", "ai", "tool", "ai", "human", "human"]
        assert CAT in last[4][1]
        kept = memory.conversation("friday").messages
        assert [each.role for each in kept] == [
            "user",
            "assistant",
            "tool",
            "assistant",
            "user",
            "assistant",
        ]
        assert kept[1].tool_calls[0].name == "weather"
        assert not any("Schnurri." in each.content for each in kept)
        assert len(memory.conversation("monday")) == 2


@pytest.mark.parametrize("budget", [120, 200, 400, 1_000, 100_000])
def test_a_history_is_trimmed_to_whole_exchanges(budget):
    """The same messages, in order, with the newest; each call with its result, and the system's."""
    history = [SystemMessage("Be brief.")]
    for day in range(30):
        call = {"name": "weather", "args": {"place": "Faro"}, "id": f"c{day}"}
        history += [
            HumanMessage(f"Is it sunny in Faro on day {day}? " * 3),
            AIMessage("", tool_calls=[call]),
            ToolMessage("sun over Faro " * 5, tool_call_id=f"c{day}"),
            AIMessage(f"On day {day}, yes."),
        ]
    kept = trim_history(history, budget)
    assert [each for each in history if any(each is other for other in kept)] == kept
    assert (kept[0], kept[-1]) == (history[0], history[-1])
    called = [call["id"] for each in kept for call in getattr(each, "tool_calls", ())]
    assert called == [each.tool_call_id for each in kept if each.type == "tool"]
    assert (len(kept) == len(history)) == (budget == 100_000)
    with pytest.raises(errors.BudgetTooSmall):
        trim_history(history, 1)


def test_the_newest_are_shortened_or_refused():
    """A long result of a tool is shortened; what cannot be is never left out in silence."""
    calls = [{"name": "weather", "args": {}, "id": name} for name in ("c1", "c2")]
    results = [ToolMessage("sun " * 5_000, tool_call_id="c1"), ToolMessage("", tool_call_id="c2")]
    history = [HumanMessage("Is it sunny?"), AIMessage("", tool_calls=calls), *results]
    *same, short, last = trim_history(history, 500)
    assert [*same, last] == [*history[:2], history[-1]]
    assert short.tool_call_id == "c1"
    assert "characters removed" in short.content
    long = [HumanMessage("What is 2+2?"), AIMessage("4"), HumanMessage("sun " * 5_000)]
    for refused, budget in ((history, 60), (long, 500)):
        with pytest.raises(errors.BudgetTooSmall, match=f"the budget of {budget}"):
            trim_history(refused, budget)
