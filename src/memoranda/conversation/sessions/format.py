"""The lines of a session file: metadata first, then one line of JSON for each message.

Requirement R2 of the two-layer notes names ``_type``, ``key``, ``createdAt`` and
``lastConsolidated`` in the metadata, and ``role``, ``content``, ``timestamp`` and ``toolsUsed`` in
a message; a line with these alone is whole. Ours stand beside them, only where they say something:
``id``, ``tokens``, ``importance``, ``pinned``, ``toolCalls`` (``id``, ``name``, ``arguments``),
``toolResult`` (``callId``, ``isError``), ``images`` (``url``, ``detail``), ``task`` and
``recordId``; and ``continued`` on a line that was added together with the next one. Keys that are
unknown here are kept as they are. The place of a message is that of its line, so it is not written.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from memoranda.conversation.formats.new_message import parse_role
from memoranda.errors import InvalidInput
from memoranda.model.json_object import JsonObject, iso, json_fields, read_dataclass
from memoranda.model.models import (
    NO_ATTRIBUTES,
    Calibration,
    ConversationInfo,
    Image,
    Message,
    PrunedSpan,
    Pruning,
    ToolCall,
    ToolResult,
)
from memoranda.model.ports import MessageMeter

TYPE = "metadata"
NEUTRAL = Calibration()
BOM = b"\xef\xbb\xbf"  # Editors of Windows put it before the first line.
Json = dict[str, Any]


# Lines


def dump_line(value: Mapping[str, Any]) -> bytes:
    """Return ``value`` as one line without its end.

    Raises:
        InvalidInput: a text in it holds a lone surrogate, or it is no JSON.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        return text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        message = f"{value!r:.80} cannot be written as a line of JSON ({error})"
        raise InvalidInput(message) from error


def parse_line(line: bytes) -> Any:
    """Return the JSON object of a line.

    Raises:
        InvalidInput: it is no JSON, or no UTF-8.
    """
    try:
        return json.loads(line.removeprefix(BOM).decode(), parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"not valid JSON ({error})") from error


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON number")


def _present(value: Json) -> Json:
    return {name: item for name, item in value.items() if item is not None}


# Messages


def message_value(message: Message) -> Json:
    """Return a message as the JSON object of its line."""
    result, calls = message.tool_result, message.tool_calls
    return _present(
        {
            "role": message.role,
            "content": message.content,
            "timestamp": iso(message.timestamp),
            "id": message.id,
            "tokens": message.tokens,
            "importance": message.importance,
            "pinned": message.pinned or None,
            "toolsUsed": list(dict.fromkeys(call.name for call in calls)) or None,
            "toolCalls": [{"id": c.id, "name": c.name, "arguments": c.arguments} for c in calls]
            or None,
            "toolResult": result and {"callId": result.call_id, "isError": result.is_error},
            "images": [{"url": each.url, "detail": each.detail} for each in message.images] or None,
            "task": message.task,
            "recordId": message.record_id,
        }
    )


def parse_message_line(
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
    line = JsonObject(value)
    message = Message(
        id=line.optional_text("id") or f"msg_{position:012d}",
        role=parse_role(line.get("role")),
        content=line.text("content", blank=True),
        timestamp=line.optional_moment("timestamp") or said,
        tokens=line.whole("tokens"),
        importance=line.share("importance"),
        pinned=line.flag("pinned"),
        tool_calls=tuple(
            ToolCall(*(call.text(name, blank=True) for name in ("id", "name", "arguments")))
            for call in line.objects("toolCalls")
        ),
        tool_result=_tool_result(line.get("toolResult")),
        images=tuple(
            Image(image.text("url", blank=True), image.optional_text("detail") or "auto")
            for image in line.objects("images")
        ),
        task=line.optional_text("task"),
        position=position,
        record_id=line.optional_text("recordId"),
    )
    if meter is None or line.get("tokens") is not None:
        return message
    tokens = meter.message(message.content, message.tool_calls, message.images)
    return replace(message, tokens=tokens)


def _tool_result(value: object) -> ToolResult | None:
    if value is None:
        return None
    result = JsonObject(value)
    return ToolResult(result.text("callId", blank=True), result.flag("isError"))


# Metadata


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionMetadata:
    """The metadata in the first line. Positions count every message ever said, from 0.

    Attributes:
        id: the name of the conversation (``key``).
        created_at: when it was first opened (``createdAt``); no rewriting changes it.
        system: the system prompt.
        model: the model whose tokens count.
        context_limit: the model's context window, in tokens.
        ended_at: when it was ended.
        first: position of the first message that is still in the file (``firstPosition``).
        cleared: messages before this position are out of every view (``clearedBefore``).
        consolidated: messages before this position are in long-term memory; the file has it
            as a number of lines (``lastConsolidated``).
        calibration: what the provider's own counts taught (``tokenScale``, ``tokenOverhead``).
        prunings: the receipts of all prunings, oldest first.
        revision: grows with every change of what was there.
        edition: grows with every change of a line that was there.
        line: the line as it was read, for the keys that are unknown here.
    """

    id: str
    created_at: datetime
    system: str | None = None
    model: str | None = None
    context_limit: int | None = None
    ended_at: datetime | None = None
    first: int = 0
    cleared: int = 0
    consolidated: int = 0
    calibration: Calibration = NEUTRAL
    prunings: tuple[Pruning, ...] = ()
    revision: int = 0
    edition: int = 0
    line: Mapping[str, Any] = field(default_factory=lambda: NO_ATTRIBUTES)

    @classmethod
    def of(cls, info: ConversationInfo) -> SessionMetadata:
        """Return the metadata of a conversation without messages."""
        names = ("id", "created_at", "system", "model", "context_limit", "ended_at", "calibration")
        return cls(**{name: getattr(info, name) for name in names})

    @property
    def start(self) -> int:
        """The position of the first message in view."""
        return max(self.first, self.cleared)


def is_metadata(value: object) -> bool:
    """Whether a value is the first line of a session file."""
    return isinstance(value, Mapping) and value.get("_type") == TYPE


def metadata_value(item: SessionMetadata) -> Json:
    """Return metadata as the JSON object of the first line."""
    scale, overhead = item.calibration.scale, item.calibration.overhead
    known: Json = {
        "_type": TYPE,
        "key": item.id,
        # As it stood there, also where another program wrote it in another way.
        "createdAt": item.line.get("createdAt") or iso(item.created_at),
        "lastConsolidated": max(0, item.consolidated - item.first),
        "system": item.system,
        "model": item.model,
        "contextLimit": item.context_limit,
        "endedAt": None if item.ended_at is None else iso(item.ended_at),
        "firstPosition": item.first or None,
        "clearedBefore": item.cleared or None,
        "tokenScale": None if scale == NEUTRAL.scale else scale,
        "tokenOverhead": None if overhead == NEUTRAL.overhead else overhead,
        "prunings": [_pruning_value(pruning) for pruning in item.prunings] or None,
        "revision": item.revision or None,
        "edition": item.edition or None,
    }
    others = {name: value for name, value in item.line.items() if name not in known}
    return _present(known) | others


def parse_metadata(value: object, name: str) -> SessionMetadata:
    """Return what the first line holds.

    Args:
        value: the JSON value of the line.
        name: of the conversation, if the line does not say.

    Raises:
        InvalidInput: it is no metadata; what is wrong is named.
    """
    if not is_metadata(value):
        raise InvalidInput(
            f"expected metadata such as "
            f'{{"_type":"{TYPE}","createdAt":"2026-02-27T14:30:00.000Z"}}, found {value!r:.80}'
        )
    line = JsonObject(value)
    first = line.whole("firstPosition")
    return SessionMetadata(
        id=line.optional_text("key") or name,
        created_at=line.moment("createdAt"),
        system=line.optional_text("system"),
        model=line.optional_text("model"),
        context_limit=line.whole("contextLimit") or None,
        ended_at=line.optional_moment("endedAt"),
        first=first,
        cleared=line.whole("clearedBefore"),
        consolidated=first + line.whole("lastConsolidated"),
        calibration=Calibration(
            line.number("tokenScale", NEUTRAL.scale) or NEUTRAL.scale,
            line.whole("tokenOverhead", NEUTRAL.overhead),
        ),
        prunings=tuple(_pruning(item) for item in line.objects("prunings")),
        revision=line.whole("revision"),
        edition=line.whole("edition"),
        line=dict(value) if isinstance(value, Mapping) else NO_ATTRIBUTES,
    )


def _pruning_value(item: Pruning) -> Json:
    value = json_fields(item, ("id", "at", "trigger", "why", "strategy", "before", "after"))
    return value | {"cuts": [_cut_value(cut) for cut in item.cuts]}


def _cut_value(cut: PrunedSpan) -> Json:
    names = ("first", "last", "messages", "tokens", "since", "until", "why", "score", "summary")
    return _present(json_fields(cut, names) | {"summary": cut.summary or None})


def _pruning(item: JsonObject) -> Pruning:
    names = ("id", "trigger", "why", "strategy")
    return read_dataclass(
        Pruning, item, blank=names, cuts=tuple(_cut(cut) for cut in item.objects("cuts"))
    )


def _cut(cut: JsonObject) -> PrunedSpan:
    first, last, messages = (cut.whole(name) for name in ("first", "last", "messages"))
    if not 1 <= messages <= last - first + 1:
        raise InvalidInput(f"a cut from {first} to {last} cannot hold {messages} messages")
    return read_dataclass(
        PrunedSpan, cut, blank=("why",), first=first, last=last, messages=messages
    )
