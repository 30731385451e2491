"""recollect's own file format: JSON Lines that hold all of a user's memory.

A header, then a line for each record in the order they were recorded, then each conversation
followed by its messages and the receipts of its prunings. The header names the user, so the lines
do not. The order of the messages gives their positions, so receipts name them by their ids, and
nothing is off where some were erased. Vectors, index and entity links are derived and made anew
when a file is read; the history of changes stays behind.
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Any, NamedTuple

from recollect.app.batches import pages
from recollect.app.fields import Fields
from recollect.app.formats import RECOLLECT
from recollect.conversation.shapes import parse_role
from recollect.core.errors import InvalidInput
from recollect.core.models import (
    Calibration,
    ConversationInfo,
    Cut,
    Image,
    Message,
    Pruning,
    Record,
    ToolCall,
    ToolResult,
    Trust,
)
from recollect.core.ports import Store
from recollect.core.scope import Scope
from recollect.core.text import clean, content_hash, storable
from recollect.lifecycle.ingest import parse_kind, parse_metadata, parse_tags

VERSION = 2
READABLE = (1, VERSION)  # Version 1 knew no prunings, calibration, images and tasks.
RECORD_KEYS = frozenset({item.name for item in fields(Record)} - {"user"} | {"type"})
CONVERSATION_KEYS = frozenset(
    {item.name for item in fields(ConversationInfo)} - {"messages", "start", "revision"} | {"type"}
)
PART = frozenset({"type", "conversation"})
MESSAGE_KEYS = frozenset({item.name for item in fields(Message)} - {"position"} | PART)
PRUNING_KEYS = frozenset({item.name for item in fields(Pruning)} | PART)
CUT_KEYS = frozenset(item.name for item in fields(Cut))


@dataclass(frozen=True, slots=True)
class Talk:
    """A stored conversation with all its messages and the receipts of its prunings."""

    info: ConversationInfo
    messages: tuple[Message, ...]
    prunings: tuple[Pruning, ...] = ()


class Said(NamedTuple):
    """A message and the conversation it belongs to."""

    conversation: str
    message: Message


class Pruned(NamedTuple):
    """The receipt of a pruning and the conversation it belongs to."""

    conversation: str
    pruning: Pruning


# Writing


def header(scope: Scope, now: datetime) -> str:
    """Return the first line of a file."""
    return _line(
        {"format": RECOLLECT, "version": VERSION, "user": scope.user, "exported_at": _iso(now)}
    )


def everything(store: Store, scope: Scope, now: datetime) -> Iterator[Record | Talk]:
    """Return what the scope sees, with a page of records or one conversation in memory."""
    for page in pages(store, scope, now):
        yield from page
    for info in reversed(store.conversations(scope)):
        messages = store.messages(scope, info.id, cleared=True)
        yield Talk(info, tuple(messages), tuple(store.prunings(scope, info.id)))


def lines(item: Record | Talk) -> Iterator[str]:
    """Return the lines of a record, or of a conversation with its messages and receipts."""
    if isinstance(item, Record):
        yield _line(_record(item))
        return
    yield _line(_conversation(item.info))
    for message in item.messages:
        yield _line(_message(item.info.id, message))
    for pruning in item.prunings:
        yield _line(_pruning(item, pruning))


def _record(item: Record) -> dict[str, Any]:
    return {
        "type": "record",
        "id": item.id,
        "kind": item.kind.value,
        "content": item.content,
        "content_hash": item.content_hash,
        "agent": item.agent,
        "session_id": item.session_id,
        "position": item.position,
        "event_time": _iso(item.event_time),
        "created_at": _iso(item.created_at),
        "valid_until": _optional_iso(item.valid_until),
        "superseded_by": item.superseded_by,
        "confidence": item.confidence,
        "access_count": item.access_count,
        "last_accessed": _optional_iso(item.last_accessed),
        "decay_rate": item.decay_rate,
        "source_ids": item.source_ids,
        "source_role": item.source_role,
        "origin": item.origin,
        "trust": item.trust.value,
        "tags": item.tags,
        "attributes": dict(item.attributes),
    }


def _conversation(info: ConversationInfo) -> dict[str, Any]:
    return {
        "type": "conversation",
        "id": info.id,
        "system": info.system,
        "model": info.model,
        "context_limit": info.context_limit,
        "created_at": _iso(info.created_at),
        "ended_at": _optional_iso(info.ended_at),
        "cleared_through": info.cleared_through,
        "calibration": {"scale": info.calibration.scale, "overhead": info.calibration.overhead},
    }


def _message(conversation: str, item: Message) -> dict[str, Any]:
    calls = [
        {"id": call.id, "name": call.name, "arguments": call.arguments} for call in item.tool_calls
    ]
    result = item.tool_result
    return {
        "type": "message",
        "conversation": conversation,
        "id": item.id,
        "role": item.role,
        "content": item.content,
        "timestamp": _iso(item.timestamp),
        "tokens": item.tokens,
        "importance": item.importance,
        "pinned": item.pinned,
        "tool_calls": calls,
        "tool_result": result and {"call_id": result.call_id, "is_error": result.is_error},
        "images": [{"url": image.url, "detail": image.detail} for image in item.images],
        "task": item.task,
        "record_id": item.record_id,
    }


def _pruning(talk: Talk, item: Pruning) -> dict[str, Any]:
    places = [message.position or 0 for message in talk.messages]
    return {
        "type": "pruning",
        "conversation": talk.info.id,
        "id": item.id,
        "at": _iso(item.at),
        "trigger": item.trigger,
        "why": item.why,
        "strategy": item.strategy,
        "before": item.before,
        "after": item.after,
        "cuts": [line for cut in item.cuts for line in _cut(talk.messages, places, cut)],
    }


def _cut(messages: Sequence[Message], places: Sequence[int], cut: Cut) -> Iterator[dict[str, Any]]:
    left = messages[bisect_left(places, cut.first) : bisect_right(places, cut.last)]
    if not left:
        return  # All of them were erased since.
    yield {
        "first": left[0].id,
        "last": left[-1].id,
        "messages": cut.messages,
        "tokens": cut.tokens,
        "since": _iso(cut.since),
        "until": _iso(cut.until),
        "why": cut.why,
        "score": cut.score,
        "summary": cut.summary,
    }


def _line(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n"


def _iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _optional_iso(moment: datetime | None) -> str | None:
    return None if moment is None else _iso(moment)


# Reading


def is_header(value: object) -> bool:
    """Whether a value is the first line of a file of this format."""
    return isinstance(value, Mapping) and value.get("format") == RECOLLECT


def check_version(value: Mapping[str, Any]) -> None:
    """Refuse a header whose file this version cannot read.

    Raises:
        InvalidInput: it is of a newer recollect, or of no version.
    """
    version = value.get("version")
    if version not in READABLE:
        message = (
            f"version={version!r} of the format is unknown, this recollect reads up to {VERSION}; "
            f"upgrade with pip install -U recollect"
        )
        raise InvalidInput(message)


def parse(
    value: object, scope: Scope, places: Mapping[str, int]
) -> Record | ConversationInfo | Said | Pruned:
    """Return what a line holds, as the scope's own.

    Its records belong to the scope's user, and where the scope names an agent, those of
    any agent to that one.

    Args:
        value: the line.
        scope: whose it will be.
        places: positions by id of the messages that came before in its conversation.

    Raises:
        InvalidInput: it is not as an export writes it; the message names the key.
    """
    line = Fields(value)
    match line.text("type"):
        case "record":
            return _read_record(line, scope)
        case "conversation":
            return _read_conversation(line)
        case "message":
            return _read_message(line)
        case "pruning":
            return _read_pruning(line, places)
    message = f"type={line.get('type')!r} is unknown; use record, conversation, message or pruning"
    raise InvalidInput(message)


def _read_record(line: Fields, scope: Scope) -> Record:
    line.require_only(RECORD_KEYS)
    kind = parse_kind(line.get("kind"))
    content, agent = line.text("content"), line.optional_text("agent")
    return Record(
        id=_id(line, kind.prefix),
        kind=kind,
        content=content,
        content_hash=content_hash(content),  # A line may have been edited by hand.
        user=scope.user,
        agent=(scope.agent or agent) if agent else None,
        session_id=line.optional_text("session_id"),
        event_time=line.moment("event_time"),
        created_at=line.moment("created_at"),
        valid_until=line.optional_moment("valid_until"),
        superseded_by=line.optional_text("superseded_by"),
        confidence=line.number("confidence", 1.0, most=1.0),
        access_count=line.whole("access_count"),
        last_accessed=line.optional_moment("last_accessed"),
        decay_rate=line.number("decay_rate", 0.0),
        source_ids=tuple(clean(source, "a source id") for source in line.list("source_ids")),
        source_role=line.optional_text("source_role"),
        origin=line.optional_text("origin") or f"import:{RECOLLECT}",
        trust=_trust(line),
        tags=parse_tags(line.list("tags")),
        attributes=parse_metadata(line.get("attributes")),
    )


def _read_conversation(line: Fields) -> ConversationInfo:
    line.require_only(CONVERSATION_KEYS)
    limit = None if line.get("context_limit") is None else line.whole("context_limit")
    return ConversationInfo(
        id=line.text("id"),
        system=line.optional_text("system"),
        model=line.optional_text("model"),
        context_limit=limit,
        created_at=line.moment("created_at"),
        ended_at=line.optional_moment("ended_at"),
        cleared_through=line.optional_text("cleared_through"),
        calibration=_calibration(line),
    )


def _calibration(line: Fields) -> Calibration:
    if line.get("calibration") is None:
        return Calibration()
    inner = Fields(line.get("calibration"))
    return Calibration(inner.number("scale", 1.0), inner.whole("overhead"))


def _read_message(line: Fields) -> Said:
    line.require_only(MESSAGE_KEYS)
    message = Message(
        id=_id(line, "msg"),
        role=parse_role(line.get("role")),
        content=_blank_allowed(line, "content"),
        timestamp=line.moment("timestamp"),
        tokens=line.whole("tokens"),
        importance=line.optional_number("importance", most=1.0),
        pinned=line.flag("pinned"),
        tool_calls=tuple(_call(Fields(call)) for call in line.list("tool_calls")),
        tool_result=_result(line),
        images=tuple(_image(Fields(image)) for image in line.list("images")),
        task=_optional_blank(line, "task"),
        record_id=line.optional_text("record_id"),
    )
    return Said(line.text("conversation"), message)


def _call(line: Fields) -> ToolCall:
    return ToolCall(*(_blank_allowed(line, name) for name in ("id", "name", "arguments")))


def _result(line: Fields) -> ToolResult | None:
    if line.get("tool_result") is None:
        return None
    inner = Fields(line.get("tool_result"))
    return ToolResult(_blank_allowed(inner, "call_id"), inner.flag("is_error"))


def _image(line: Fields) -> Image:
    return Image(line.text("url"), line.optional_text("detail") or "auto")


def _read_pruning(line: Fields, places: Mapping[str, int]) -> Pruned:
    line.require_only(PRUNING_KEYS)
    pruning = Pruning(
        id=_id(line, "prn"),
        at=line.moment("at"),
        trigger=line.text("trigger"),
        why=line.text("why"),
        strategy=line.text("strategy"),
        before=line.whole("before"),
        after=line.whole("after"),
        cuts=tuple(_read_cut(Fields(cut), places) for cut in line.list("cuts")),
    )
    return Pruned(line.text("conversation"), pruning)


def _read_cut(line: Fields, places: Mapping[str, int]) -> Cut:
    line.require_only(CUT_KEYS)
    first, last = (_place(line, name, places) for name in ("first", "last"))
    if first > last:
        message = f"first={line.get('first')!r} comes after last={line.get('last')!r}"
        raise InvalidInput(message)
    return Cut(
        first=first,
        last=last,
        messages=line.whole("messages"),
        tokens=line.whole("tokens"),
        since=line.moment("since"),
        until=line.moment("until"),
        why=line.text("why"),
        score=line.optional_number("score", most=1.0),
        summary=_optional_blank(line, "summary"),
    )


def _place(line: Fields, name: str, places: Mapping[str, int]) -> int:
    place = places.get(line.text(name))
    if place is None:
        message = f"{name}={line.get(name)!r:.80} is no message before it in the conversation"
        raise InvalidInput(message)
    return place


def _blank_allowed(line: Fields, name: str) -> str:
    value = line.get(name)
    return (
        storable(value, name) if isinstance(value, str) and not value.strip() else line.text(name)
    )


def _optional_blank(line: Fields, name: str) -> str | None:
    return None if line.get(name) is None else _blank_allowed(line, name)


def _id(line: Fields, prefix: str) -> str:
    name = line.text("id")
    if not name.startswith(f"{prefix}_"):
        message = f"id={name!r:.80} must begin with {prefix}_"
        raise InvalidInput(message)
    return name


def _trust(line: Fields) -> Trust:
    value = line.get("trust")
    if value is None:
        return Trust.PERSON
    if not isinstance(value, str) or value not in set(Trust):
        message = f"trust={value!r:.80} is unknown; use one of {', '.join(Trust)}"
        raise InvalidInput(message)
    return Trust(value)
