"""Units: which messages cannot be parted, and which can be sent nowhere."""

from datetime import UTC, datetime

import pytest

from recollect.conversation.units import units
from recollect.core.models import Message, ToolCall, ToolResult

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
                tool_calls=calls,
                tool_result=ToolResult(ids) if kind == "r" and ids else None,
            )
        )
    return made


@pytest.mark.parametrize(
    ("sketch", "whole", "orphans"),
    [
        ("", [], []),
        ("u a", ["u", "a"], []),
        ("u c:x r:x a", ["u", "c:x r:x", "a"], []),
        ("c:x,y r:y r:x", ["c:x,y r:y r:x"], []),
        ("c:x,y r:x u r:y", ["u"], ["r:x", "c:x,y", "r:y"]),
        ("c:x u r:x", ["u"], ["c:x", "r:x"]),
        ("r:x u", ["u"], ["r:x"]),
        ("r u", ["u"], ["r"]),
        ("c:x r:x r:x", ["c:x r:x"], ["r:x"]),
        ("c:x r:z r:x", ["c:x r:x"], ["r:z"]),
        ("c:x,x r:x r:x", [], ["r:x", "c:x,x", "r:x"]),
        ("c:x c:y r:x r:y", ["c:y r:y"], ["c:x", "r:x"]),
        ("c:x r:x c:x r:x", ["c:x r:x", "c:x r:x"], []),
    ],
)
def test_calls_and_results_stay_together_or_stay_out(sketch, whole, orphans):
    """A call with all its results is one unit; anything less is an orphan."""
    found, left = units(transcript(sketch))
    assert [" ".join(m.content for m in unit.messages) for unit in found] == whole
    assert sorted(message.content for message in left) == sorted(orphans)


def test_a_unit_is_fixed_by_any_of_its_messages():
    """System messages are fixed; a unit of several has the tokens of all."""
    [unit] = units(transcript("c:x,y r:x r:y"))[0]
    assert (unit.tokens, unit.fixed) == (3, False)
    assert units(transcript("s"))[0][0].fixed
