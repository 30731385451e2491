"""The lines of a session file: metadata first, then one line of JSON for each message.

Requirement R2 of the two-layer notes names ``_type``, ``key``, ``createdAt`` and
``lastConsolidated`` in the metadata, and ``role``, ``content``, ``timestamp`` and ``toolsUsed`` in
a message; a line with these alone is whole. Ours stand beside them, only where they say something:
``id``, ``tokens``, ``importance``, ``pinned``, ``toolCalls`` (``id``, ``name``, ``arguments``),
``toolResult`` (``callId``, ``isError``), ``images`` (``url``, ``detail``), ``task`` and
``recordId``, ``raw`` and ``part``; ``continued`` on a line that was added together with the next
one; and in the metadata ``rewrites``, how often the file was written anew. Keys that are unknown
here are kept as they are. The place of a message is that of its line, so it is not written.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any

from memoranda.conversation.formats.parse import count_message, parse_role
from memoranda.errors import InvalidInput
from memoranda.model.checks import MOST, clean, iso, parse_moment
from memoranda.model.models import (
    NO_METADATA,
    Calibration,
    ConversationInfo,
    Message,
    PrunedSpan,
    Pruning,
    Tombstone,
)
from memoranda.text.json_values import list_of, object_of, parse_as, refuse_constant, to_object
from memoranda.tokens.catalog import ChatMeter

METADATA = "metadata"
FIRST_LINE = 2  # of the messages: the metadata are line 1
# How a line ends that is not whole without the next one: a last key that no text can imitate.
CONTINUED = b',"continued":true}'
UNCALIBRATED = Calibration()
# The fields of a message by the keys that its line has for them.
FIELDS = {
    "content": "content",
    "tokens": "tokens",
    "importance": "importance",
    "pinned": "pinned",
    "toolCalls": "tool_calls",
    "images": "images",
    "task": "task",
    "recordId": "record_id",
    "raw": "raw",
    "part": "part",
}
BOM = b"\xef\xbb\xbf"  # Editors of Windows put it before the first line.
Json = dict[str, Any]


def dump_line(value: Mapping[str, Any]) -> bytes:
    """Return ``value``, but for keys without a value, as one line without its end.

    Raises:
        InvalidInput: a text in it holds a lone surrogate, or it is no JSON.
    """
    try:
        text = json.dumps(
            _present(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False
        )
        return text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        message = f"{value!r:.80} cannot be written as a line of JSON ({error})"
        raise InvalidInput(message) from error


def parse_line(line: bytes) -> Any:
    """Return the JSON value of a line.

    Raises:
        InvalidInput: it is no JSON, or no UTF-8.
    """
    try:
        return json.loads(line.removeprefix(BOM).decode(), parse_constant=refuse_constant)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"not valid JSON ({error})") from error


def _present(value: Mapping[str, Any]) -> Json:
    return {name: item for name, item in value.items() if item is not None}


def complete_lines(data: bytes) -> tuple[list[bytes], int]:
    """Return the whole lines at the start of ``data``, and how many bytes they take."""
    *lines, _ = data.split(b"\n")
    while lines and lines[-1].endswith(CONTINUED):
        lines.pop()
    return lines, sum(len(line) + 1 for line in lines)


# Messages


def message_value(message: Message) -> Json:
    """Return a message as the JSON object of its line."""
    result, calls = message.tool_result, message.tool_calls
    return {
        "role": message.role,
        "content": message.content,
        "timestamp": iso(message.timestamp),
        "id": message.id,
        "tokens": message.tokens,
        "importance": message.importance,
        "pinned": message.pinned or None,
        "toolsUsed": list(dict.fromkeys(call.name for call in calls)) or None,
        "toolCalls": [asdict(call) for call in calls] or None,
        "toolResult": result and {"callId": result.call_id, "isError": result.is_error},
        "images": [asdict(image) for image in message.images] or None,
        "task": message.task,
        "recordId": message.record_id,
        "raw": message.raw,
        "part": message.part or None,
    }


def message_lines(messages: Sequence[Message]) -> list[bytes]:
    """Return lines that belong together: the file has all of them or none.

    Raises:
        InvalidInput: a message could not be read back.
    """
    lines = []
    for number, message in enumerate(messages, 1):
        value = message_value(message)
        parse_message(value, 0, message.timestamp)
        # The key must be the last one: see CONTINUED.
        lines.append(dump_line(value | {"continued": number < len(messages) or None}))
    return lines


def update_line(line: bytes, before: Message, after: Message) -> bytes:
    """Return the line of a message that changed; keys that did not change stay as they are."""
    old, new = message_value(before), message_value(after)
    changed = {name: item for name, item in new.items() if item != old[name]}
    return dump_line(parse_line(line) | changed | {"continued": None})


def parse_message(
    value: object, position: int, said: datetime, meter: ChatMeter | None = None
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
    line = _present(object_of(value))
    given = {name: line[key] for key, name in FIELDS.items() if key in line}
    if "toolResult" in line:
        result = object_of(line["toolResult"])
        given["tool_result"] = {
            "call_id": result.get("callId"),
            "is_error": result.get("isError", False),
        }
    at = parse_moment(line["timestamp"], "timestamp") if "timestamp" in line else said
    name = clean(line.get("id", f"msg_{position:012d}"), "id")
    own = {"id": name, "role": parse_role(line.get("role")), "timestamp": at, "position": position}
    message = parse_as(Message, {"tokens": 0} | given | own)
    _require_range("tokens", message.tokens)
    _require_range("part", message.part)
    _require_range("importance", message.importance or 0, most=1)
    if meter is None or "tokens" in line:
        return message
    return replace(message, tokens=count_message(meter, message))


def _require_range(name: str, value: float, most: float = MOST) -> None:
    if not 0 <= value <= most:
        raise InvalidInput(f"{name}={value!r} must be a number between 0 and {most:,}")


# Metadata


def is_metadata(value: object) -> bool:
    """Whether a value is the first line of a session file."""
    return isinstance(value, Mapping) and value.get("_type") == METADATA


def metadata_value(
    info: ConversationInfo,
    prunings: Sequence[Pruning],
    line: Mapping[str, Any] = NO_METADATA,
    tombstones: Sequence[Tombstone] = (),
) -> Json:
    """Return settings and receipts as the JSON object of the first line.

    Args:
        info: the settings of the conversation, and how far it is cleared.
        prunings: the receipts of all prunings, oldest first.
        line: what stood there before: its ``createdAt`` and keys that are unknown here stay.
        tombstones: what is left of removed messages, oldest first.
    """
    scale, overhead = info.calibration.scale, info.calibration.overhead
    known: Json = {
        "_type": METADATA,
        "key": info.id,
        # As it stood there, also where another program wrote it in another way.
        "createdAt": line.get("createdAt") or iso(info.created_at),
        "lastConsolidated": line.get("lastConsolidated", 0),
        "system": info.system,
        "model": info.model,
        "contextLimit": info.context_limit,
        "endedAt": None if info.ended_at is None else iso(info.ended_at),
        "clearedBefore": info.start or None,
        "tokenScale": None if scale == UNCALIBRATED.scale else scale,
        "tokenOverhead": None if overhead == UNCALIBRATED.overhead else overhead,
        "prunings": [
            to_object(item) | {"cuts": [_cut_value(cut) for cut in item.cuts]} for item in prunings
        ]
        or None,
        "tombstones": [_tombstone_value(item) for item in tombstones] or None,
    }
    return known | {name: value for name, value in line.items() if name not in known}


def _cut_value(cut: PrunedSpan) -> Json:
    return _present(to_object(cut) | {"torn": cut.torn or None, "named": list(cut.named) or None})


def _tombstone_value(item: Tombstone) -> Json:
    messages = [
        _present(message_value(each)) | {"position": each.position} for each in item.messages
    ]
    return {"id": item.id, "at": iso(item.at), "count": item.count, "messages": messages}


def _parse_tombstone(value: object) -> Tombstone:
    item = object_of(value)
    at = parse_moment(item.get("at"), "at")
    messages = tuple(
        parse_message(each, position if isinstance(position, int) else 0, at)
        for each in list_of(item, "messages")
        for position in [object_of(each).get("position")]
    )
    return replace(parse_as(Tombstone, {**item, "messages": ()}), messages=messages)


def parse_metadata(
    value: object, name: str
) -> tuple[ConversationInfo, list[Pruning], list[Tombstone]]:
    """Return the settings, the receipts and the tombstones that the first line holds.

    Args:
        value: the JSON value of the line.
        name: of the conversation, if the line does not say.

    Raises:
        InvalidInput: it is no metadata; what is wrong is named.
    """
    if not is_metadata(value):
        raise InvalidInput(
            f"expected metadata such as "
            f'{{"_type":"{METADATA}","createdAt":"2026-02-27T14:30:00.000Z"}}, found {value!r:.80}'
        )
    line = _present(object_of(value))
    info = parse_as(
        ConversationInfo,
        {
            "id": line.get("key") or name,
            "created_at": parse_moment(line.get("createdAt"), "createdAt"),
            "system": line.get("system"),
            "model": line.get("model"),
            "context_limit": line.get("contextLimit") or None,
            "ended_at": parse_moment(line["endedAt"], "endedAt") if "endedAt" in line else None,
            "start": line.get("clearedBefore", 0),
            "calibration": {
                "scale": line.get("tokenScale") or UNCALIBRATED.scale,
                "overhead": line.get("tokenOverhead", UNCALIBRATED.overhead),
            },
        },
    )
    _require_range("contextLimit", info.context_limit or 0)
    _require_range("clearedBefore", info.start)
    _require_range("tokenScale", info.calibration.scale)
    _require_range("tokenOverhead", abs(info.calibration.overhead))
    return (
        info,
        [_parse_pruning(item) for item in list_of(line, "prunings")],
        [_parse_tombstone(item) for item in list_of(line, "tombstones")],
    )


def _parse_pruning(value: object) -> Pruning:
    pruning = parse_as(Pruning, value)
    for cut in pruning.cuts:
        if not cut.first >= 0 or not 1 <= cut.messages <= cut.last - cut.first + 1:
            message = f"a cut from {cut.first} to {cut.last} cannot hold {cut.messages} messages"
            raise InvalidInput(message)
    return pruning
