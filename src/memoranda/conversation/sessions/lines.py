"""One line of a session file: a message in JSON, with the keys of seed 002 and ours.

Of the seed are ``role``, ``content``, ``timestamp`` and ``toolsUsed``; a line with these alone
is a whole message. Ours stand beside them, only where they say something: ``id``, ``tokens``,
``importance``, ``pinned``, ``toolCalls`` (``id``, ``name``, ``arguments``), ``toolResult``
(``callId``, ``isError``), ``images`` (``url``, ``detail``), ``task`` and ``recordId``; and
``continued`` on a line that was added together with the next one. The place of a message is that
of its line, so it is not written.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

from memoranda.conversation.formats.turns import parse_role
from memoranda.conversation.sessions.values import Keys, iso
from memoranda.model.models import Image, Message, ToolCall, ToolResult
from memoranda.model.ports import MessageMeter


def message_value(message: Message) -> dict[str, Any]:
    """Return a message as the JSON object of its line."""
    value: dict[str, Any] = {
        "role": message.role,
        "content": message.content,
        "timestamp": iso(message.timestamp),
        "id": message.id,
        "tokens": message.tokens,
    }
    result, calls = message.tool_result, message.tool_calls
    optional: dict[str, Any] = {
        "importance": message.importance,
        "pinned": message.pinned or None,
        "toolsUsed": list(dict.fromkeys(call.name for call in calls)) or None,
        "toolCalls": [
            {"id": call.id, "name": call.name, "arguments": call.arguments} for call in calls
        ]
        or None,
        "toolResult": result and {"callId": result.call_id, "isError": result.is_error},
        "images": [{"url": image.url, "detail": image.detail} for image in message.images] or None,
        "task": message.task,
        "recordId": message.record_id,
    }
    return value | {name: item for name, item in optional.items() if item is not None}


def parse_message(
    value: object, position: int, said: datetime, meter: MessageMeter | None = None
) -> Message:
    """Return the message that a line holds.

    Args:
        value: the JSON value of the line.
        position: its place in the transcript; where the line gives no ``id``, it makes one.
        said: when it was said, if the line gives no time.
        meter: counts its tokens, if the line does not say how many they are; 0 without one.

    Raises:
        InvalidInput: it is no message; what is wrong is named.
    """
    line = Keys(value)
    message = Message(
        id=line.optional_text("id") or f"msg_{position:012d}",
        role=parse_role(line.get("role")),
        content=line.text("content"),
        timestamp=line.optional_moment("timestamp") or said,
        tokens=line.whole("tokens"),
        importance=line.share("importance"),
        pinned=line.flag("pinned"),
        tool_calls=tuple(_call(call) for call in line.objects("toolCalls")),
        tool_result=_result(line.get("toolResult")),
        images=tuple(_image(image) for image in line.objects("images")),
        task=line.optional_text("task"),
        position=position,
        record_id=line.optional_text("recordId"),
    )
    if meter is None or line.get("tokens") is not None:
        return message
    tokens = meter.message(message.content, message.tool_calls, message.images)
    return replace(message, tokens=tokens)


def _call(call: Keys) -> ToolCall:
    return ToolCall(call.text("id"), call.text("name"), call.text("arguments"))


def _result(value: object) -> ToolResult | None:
    if value is None:
        return None
    result = Keys(value)
    return ToolResult(result.text("callId"), result.flag("isError"))


def _image(image: Keys) -> Image:
    return Image(image.text("url"), image.optional_text("detail") or "auto")
