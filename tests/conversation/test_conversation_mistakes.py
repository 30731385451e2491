"""R5.3: an error and its correction stay in view however old, within their share of the budget."""

from contextlib import closing

from noting import MINUTE, agent_of, chosen, clock_of, noting, talking
from talks import alone, chatter

from memoranda.conversation.selection import KEPT_WHEN_OLD
from memoranda.model.models import ToolCall

WRONG = "Error: undefined symbol foo in main.c, exit code 1."
RIGHT = "No, I meant the release build."
SMALL = {"agent": {"memory_window": 20}, "conversation": {"keep_recent": 6}}


def go_wrong(chat):
    """Have a mistake and its correction said."""
    chat.add("user", "Compile it.")
    chat.add("assistant", WRONG)
    chat.add("user", RIGHT)
    chat.add("assistant", "Sorry, I used the wrong target; now it builds.")


def in_view(chat):
    """Return what the model reads, as one text."""
    return "\n".join(str(message["content"]) for message in chat.context().messages)


def test_a_pair_outlives_any_number_of_prunings():
    """The default strategy takes out hundreds of messages, many times, and never these."""
    chat = alone(max_tokens=700, max_messages=50)
    go_wrong(chat)
    for _ in range(40):
        chatter(chat, 10)
        seen = in_view(chat)
        assert WRONG in seen
        assert RIGHT in seen
    assert len(chat.prunings) > 10
    told = chat.explain(budget=500).lines
    assert "an old mistake" in next(line.why for line in told if line.message.content == WRONG)


def test_a_failed_call_stays_with_the_call_that_mended_it():
    """The exchange that failed and the next of its tool, so that it is not made again."""
    chat = alone(max_tokens=900, max_messages=50)
    chat.add("user", "Show me the log.")
    for number, (path, said) in enumerate([("/log", "Error: no such file"), ("/var/log", "ok")]):
        call = ToolCall(f"c{number}", "read", f'{{"path": "{path}"}}')
        chat.add("assistant", "", tool_calls=[call])
        chat.add("tool", said, tool_result=f"c{number}")
    chatter(chat, 200)
    shown = chat.view().messages
    assert len(chat.prunings) > 3
    assert [item.content for item in shown if item.role == "tool"] == ["Error: no such file", "ok"]


def test_pairs_take_no_more_than_their_share():
    """Of many mistakes the newest stay; the talk of now has the rest of the room."""
    chat = alone(max_tokens=900, max_messages=60)
    for number in range(40):
        chat.add("user", f"Compile module {number}.")
        chat.add("assistant", f"Error: module {number} has an undefined symbol, exit code 1.")
        chat.add("user", f"No, I meant the other module {number}.")
        chat.add("assistant", f"Sorry, now {number} builds.")
    chatter(chat, 60)
    old = [item for item in chat.view().messages if "module" in item.content]
    assert any("module 39 has" in item.content for item in old)
    assert not any("module 0 has" in item.content for item in old)
    assert sum(item.tokens for item in old) <= 900 * KEPT_WHEN_OLD


def test_a_recap_does_not_take_their_place():
    """Where a session goes on with a recap, what it does not tell keeps its mistakes, once."""
    chat = alone(max_tokens=2_000)
    go_wrong(chat)
    chatter(chat, 30)
    for _ in range(3):
        chat.start_session(recap=4)
        seen = in_view(chat)
        assert (seen.count(WRONG), seen.count(RIGHT)) == (1, 1)
        assert "Number 0 about" not in seen
        chatter(chat, 12)
    assert chat.prunings[-1].trigger == "overflow"


def test_a_recap_tells_a_new_mistake_once():
    """One that is among the newest is told in the recap, and not shown beside it."""
    chat = alone(max_tokens=2_000)
    chatter(chat, 30)
    go_wrong(chat)
    chat.start_session(recap=6)
    assert in_view(chat).count(WRONG) == 1
    assert chat.view().messages == ()


def test_the_agent_keeps_them_after_its_consolidation(tmp_path):
    """Consolidations later its model still reads what went wrong, and what was meant."""
    with closing(noting(tmp_path / "a.db", settings=chosen(**SMALL))) as memory:
        agent = agent_of(memory, talking(always="I see."))
        agent.process("Compile it. It says: error, undefined symbol foo in main.c, exit code 1.")
        agent.process("No, I meant the release build.")
        for number in range(40):
            agent.process(f"Number {number} is about the sea.")
            clock_of(memory).advance(MINUTE)
        seen = "\n".join(str(message["content"]) for message in agent.context().messages)
        chat = agent.chat
        assert sum(item.trigger == "overflow" for item in chat.prunings) > 2
        assert "undefined symbol foo" in seen
        assert "I meant the release build" in seen
