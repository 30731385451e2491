"""The transcript: append-only, thread-safe, in the forms of the providers, bad input refused."""

import gc
import warnings
from datetime import UTC, datetime

import apsw
import pytest
from tables import each_row

from memoranda import Conversation, errors
from memoranda.model.models import ToolCall, ToolResult

NAIVE = datetime(2024, 1, 1)  # noqa: DTZ001 - the fault that is tested


@pytest.fixture(params=["alone", "stored"])
def chat(request, memory):
    """A conversation in memory alone, and one in a store: both keep the same laws."""
    if request.param == "alone":
        return Conversation(system="You plan trips.")
    return memory.conversation("trip", system="You plan trips.")


def test_what_was_added_is_there_in_order(chat):
    """Messages come back as they were added, counted and timed."""
    moment = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    first = chat.add("user", "hello", timestamp=moment)
    second = chat.add("assistant", "hi, where to?")
    assert [(m.id, m.role, m.content) for m in chat.messages] == [
        (first.id, "user", "hello"),
        (second.id, "assistant", "hi, where to?"),
    ]
    assert chat.messages[0].timestamp == moment
    assert all(message.tokens > 4 for message in chat.messages)
    assert len(chat) == 2
    assert chat
    assert chat.system == "You plan trips."


def test_recent_by_role_and_window(chat):
    """The last n, those of a role, and the last turns (seed 001)."""
    for n in range(4):
        chat.add("user", f"question {n}")
        chat.add("assistant", f"answer {n}")
        chat.add("assistant", f"more {n}")
    assert [m.content for m in chat.recent(2)] == ["answer 3", "more 3"]
    assert len(chat.recent(100)) == 12
    assert [m.content for m in chat.by_role("user")] == [f"question {n}" for n in range(4)]
    assert chat.by_role("developer") == ()
    assert [m.content for m in chat.window(1)] == ["question 3", "answer 3", "more 3"]
    assert len(chat.window(2)) == 6
    assert len(chat.window()) == 12


def test_clear_starts_afresh_and_loses_nothing(chat):
    """What was said before is in no later view, marker or figure; the system prompt stays."""
    old = [chat.add("user", f"old talk {number}") for number in range(20)]
    chat.prune(100)
    chat.pin(old[-1].id)
    chat.clear()
    assert len(chat) == 0
    assert chat.view().entries == ()
    stats = chat.stats()
    assert (stats.pruned_messages, stats.oldest_message) == (0, None)
    new = chat.add("user", "new talk")
    assert chat.view().messages == (new,)
    contents = [message["content"] for message in chat.context("so?").messages]
    assert "old talk" not in "".join(contents[1:])
    assert contents[0].startswith("You plan trips.")
    assert chat.stats().total_messages == 21
    assert chat.stats().messages_in_context == 1


CALLS = [
    {"id": "c1", "type": "function", "function": {"name": "w", "arguments": '{"a": 1}'}},
    {"id": "c2", "type": "function", "function": {"name": "w", "arguments": {"a": "ü"}}},
]
OPENAI = [
    {"role": "developer", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": text} for text in ("weather", "?")]},
    {"role": "assistant", "content": None, "tool_calls": CALLS},
    {"role": "tool", "tool_call_id": "c1", "content": "sun"},
    {"role": "tool", "tool_call_id": "c2", "content": ""},
    {"role": "assistant", "content": "Sun."},
]


def test_openai_messages_come_in_as_they_are(chat):
    """Roles, blocks, several calls and their results of the OpenAI chat form are understood."""
    messages = chat.extend(OPENAI)
    roles = ["system", "user", "assistant", "tool", "tool", "assistant"]
    assert [message.role for message in messages] == roles
    assert messages[1].content == "weather\n?"
    calls = ToolCall("c1", "w", '{"a": 1}'), ToolCall("c2", "w", '{"a": "ü"}')
    assert messages[2].tool_calls == calls
    assert [m.tool_result for m in messages[3:5]] == [ToolResult("c1"), ToolResult("c2")]
    assert len(chat.view().messages) == 6


CALL, TORN = ToolCall("c", "look_up"), ToolCall("c", "x", "\ud800")


@each_row(
    ("role", "arguments", "message"),
    [
        ("robot", {}, "role='robot' is unknown; use one of system, developer, user"),
        (["user"], {}, "is unknown; use one of"),
        ("user", {"content": ""}, "content is empty; give the message some text or a tool call"),
        ("user", {"content": None}, "content=None cannot be used: Input should be a valid string"),
        ("user", {"content": "a\x00b"}, "content holds a NUL character at position 1"),
        ("user", {"content": "\udfff"}, "content holds a lone surrogate"),
        ("user", {"timestamp": NAIVE}, "timestamp=2024-01-01T00:00:00 has no time zone"),
        ("user", {"timestamp": "now"}, "timestamp='now' cannot be used"),
        ("user", {"tool_calls": [CALL]}, "cannot have tool_calls; use role='assistant'"),
        ("user", {"tool_result": "c"}, "role='user' cannot have tool_result; use role='tool'"),
        ("assistant", {"tool_calls": "c"}, "tool_calls must be a list, got 'c'"),
        ("assistant", {"tool_calls": ["c"]}, r"a tool call needs function.name, got 'c'"),
        ("assistant", {"tool_calls": [ToolCall(5, "x")]}, "tool_calls.0.id=5 cannot be used"),
        ("assistant", {"tool_calls": [TORN]}, "arguments holds a lone surrogate"),
        ("tool", {"tool_result": 5}, "tool_result=5 cannot be used"),
        ("tool", {"tool_result": "\x00"}, "call_id holds a NUL"),
    ],
)
def test_a_message_that_cannot_be_is_refused(chat, role, arguments, message):
    """Each fault of a message is named, and nothing is added."""
    with pytest.raises(errors.InvalidInput, match=message):
        chat.add(**{"role": role, "content": "hello"} | arguments)
    assert len(chat) == 0
    assert len(chat.context("hello").messages) == 2


@each_row(
    ("messages", "message"),
    [
        ("hello", "messages must be a list, got 'hello'"),
        ({"role": "user", "content": "x"}, "messages must be a list"),
        (None, "messages must be a list, got None"),
        ([5], "expected an object with keys, found 5"),
        ([{"content": "x"}], "role=None is unknown"),
        ([{"role": "assistant", "content": "x", "tool_calls": 5}], "tool_calls must be a list"),
        ([{"type": "x", "at": object()}], "a message is not JSON"),
        ([{"type": "x", "n": float("nan")}], "a message must be plain JSON"),
        ([{"type": "x", "t": "\ud800"}], "surrogates not allowed"),
    ],
)
def test_messages_of_no_known_form_are_refused(chat, messages, message):
    """Law 5: one wrong message, and none of the list is added."""
    fine = {"role": "user", "content": "fine"}
    with pytest.raises(errors.InvalidInput, match=message):
        chat.extend([fine, *messages] if isinstance(messages, list) else messages)
    assert len(chat) == 0


@each_row(
    ("verb", "error", "message"),
    [
        (lambda c: c.pin("msg_unknown"), errors.NotFound, "there is no message 'msg_unknown'"),
        (lambda c: c.recent(0), errors.InvalidInput, "n=0 must be"),
        (lambda c: c.window(0), errors.InvalidInput, "turns=0 must be"),
        (lambda c: c.by_role("robot"), errors.InvalidInput, "role='robot' is unknown"),
        (lambda c: c.context(""), errors.InvalidInput, "prompt is empty"),
        (lambda c: c.context("x", budget=0), errors.InvalidInput, "budget=0 must be"),
        (lambda c: c.context("x", budget="big"), errors.InvalidInput, "budget='big' must be"),
        (lambda c: c.view(-1), errors.InvalidInput, "budget=-1 must be"),
    ],
)
def test_arguments_of_a_conversation_are_checked(chat, verb, error, message):
    """Every verb names what it cannot use."""
    with pytest.raises(error, match=message):
        verb(chat)


def test_two_conversations_without_a_memory_are_apart_and_end_with_their_holder():
    """Each has a store of its own, which is closed when nobody holds the conversation."""
    one, two = Conversation(), Conversation()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        gc.collect()
        before = apsw.memory_used()
        one.extend([{"role": "user", "content": "x" * 100_000} for _ in range(50)])
        two.add("user", "Only here.")
        assert (len(one), len(two)) == (50, 1)
        assert apsw.memory_used() > before + 5_000_000
        del one
        assert apsw.memory_used() < before + 1_000_000
    assert told == []
    assert two.messages[0].content == "Only here."
