"""Units: which messages cannot be parted, and which can be sent nowhere."""

from datetime import UTC, datetime

from tables import each_row

from memoranda.conversation.ledger import Ledger
from memoranda.model.models import Message, ToolCall, ToolResult

MOMENT = datetime(2026, 1, 1, tzinfo=UTC)


def transcript(text):
    """Make messages from a sketch: ``u a s`` plain, ``c:x,y`` calls, ``r:x`` a result."""
    made = []
    for number, word in enumerate(text.split()):
        kind, _, ids = word.partition(":")
        role = {"u": "user", "a": "assistant", "s": "system", "c": "assistant", "r": "tool"}[kind]
        calls = tuple(ToolCall(name, "f") for name in ids.split(",")) if kind == "c" else ()
        made.append(
            Message(
                id=f"{number}",
                role=role,
                content=word,
                timestamp=MOMENT,
                tokens=1,
                position=number,
                tool_calls=calls,
                tool_result=ToolResult(ids) if kind == "r" and ids else None,
            )
        )
    return made


@each_row(
    ("sketch", "whole", "orphans"),
    [
        ("", [], []),
        ("u a", ["u", "a"], []),
        ("u c:x r:x a", ["u", "c:x r:x", "a"], []),
        ("c:x,y r:y r:x", ["c:x,y r:y r:x"], []),
        ("c:x,y r:x u r:y", ["c:x,y r:x r:y", "u"], []),
        ("c:x u r:x", ["c:x r:x", "u"], []),
        ("c:x u a u", ["u", "a", "u"], ["c:x"]),
        ("c:x,y r:x u", ["u"], ["c:x,y", "r:x"]),
        ("r:x u", ["u"], ["r:x"]),
        ("r u", ["u"], ["r"]),
        ("c:x r:x r:x", ["c:x r:x"], ["r:x"]),
        ("c:x r:z r:x", ["c:x r:x"], ["r:z"]),
        ("c:x,x r:x r:x", [], ["r:x", "c:x,x", "r:x"]),
        ("c:x c:y r:x r:y", ["c:x r:x", "c:y r:y"], []),
        ("c:x c:y r:y r:x", ["c:x r:x", "c:y r:y"], []),
        ("c:x c:x r:x r:x", ["c:x r:x"], ["c:x", "r:x"]),
        ("c:x r:x c:x r:x", ["c:x r:x", "c:x r:x"], []),
    ],
)
def test_calls_and_results_stay_together_or_stay_out(sketch, whole, orphans):
    """A call with all its results is one unit where the call is; anything less is an orphan."""
    ledger = Ledger((), transcript(sketch))
    found = [" ".join(m.content for m in unit.messages) for unit in ledger.units]
    assert found == whole
    left = [*ledger.orphans(), *ledger.waiting()]
    assert sorted(message.content for message in left) == sorted(orphans)


def test_a_unit_is_fixed_by_any_of_its_messages():
    """System messages are fixed; a unit of several has the tokens of all."""
    [unit] = Ledger((), transcript("c:x,y r:x r:y")).units
    assert (unit.tokens, unit.fixed) == (3, False)
    assert Ledger((), transcript("s")).units[0].fixed


@each_row(
    ("sketch", "waiting", "orphans"),
    [
        ("u c:x", ["c:x"], []),
        ("u c:x,y r:y", ["c:x,y", "r:y"], []),
        ("u c:x u", [], ["c:x"]),
        ("u c:x r:z", ["c:x"], ["r:z"]),
        ("u c:x c:y r:y", [], ["c:x"]),
        ("u c:x r:x", [], []),
    ],
)
def test_the_newest_call_waits_and_older_ones_do_not(sketch, waiting, orphans):
    """Only a call after which nothing was said waits for its results."""
    ledger = Ledger((), transcript(sketch))
    assert [message.content for message in ledger.waiting()] == waiting
    assert [message.content for message in ledger.orphans()] == orphans


def test_a_late_result_mends_what_was_torn():
    """An orphan is no orphan any more once its counterpart came, however late."""
    messages = transcript("u c:x u a u r:x")
    ledger = Ledger((), messages[:-1])
    assert [message.content for message in ledger.orphans()] == ["c:x"]
    ledger.extend(messages[-1:])
    assert ledger.orphans() == []
    assert [unit.head.content for unit in ledger.units] == ["u", "c:x", "u", "a", "u"]
    assert ledger.tokens == ledger.count == 6
