"""Messages for the tests of single parts: of any role, calls, their results, and whole talks."""

from datetime import UTC, datetime

from memoranda.model.models import Marker, Message, ToolCall, ToolResult

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
ROLES = {"u": "user", "a": "assistant", "s": "system", "t": "tool"}


def message(role="user", content="", *, timestamp=NOON, **fields):
    """Make a message of a role."""
    known = {"id": f"msg_{role}", "tokens": 1} | fields
    return Message(role=role, content=content, timestamp=timestamp, **known)


def call(name="read", arguments="{}", *, id="c", content=""):
    """Make an assistant's tool call."""
    return message("assistant", content, tool_calls=(ToolCall(id, name, arguments),))


def result(content="", *, id="c", is_error=False, **fields):
    """Make a tool's result."""
    return message("tool", content, tool_result=ToolResult(id, is_error), **fields)


def marker(text="... [5 messages removed] ...", **fields):
    """Make a marker of five messages, with this text."""
    place = {"first": 0, "last": 4, "messages": 5, "tokens": 50, "cost": 9}
    times = {"since": NOON, "until": NOON}
    return Marker(id="cut_0-4", why="older", text=text or "...", **place | times | fields)
