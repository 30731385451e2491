"""memoranda's own file format: JSON Lines that hold all of a user's memory.

A header, then what persons decided on names, then a line for each record in the order they were
recorded, then how far each session was consolidated, then each conversation followed by its
messages and the receipts of its prunings. The header names the user, so the lines do not. The
order of the lines gives the positions, so sessions and receipts name episodes and messages by
their ids, and nothing is off where some were erased. Vectors, index and entity links are derived
and made anew when a file is read, and so is enrichment; the history of changes stays behind, but
for when a record was closed or retired.
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

from memoranda.model.actions import Decide
from memoranda.model.models import (
    ConversationInfo,
    Cut,
    Kind,
    Message,
    Pruning,
    Record,
)
from memoranda.model.ports import Store
from memoranda.model.scope import Scope
from memoranda.transfer.batches import pages
from memoranda.transfer.formats import MEMORANDA

VERSION = 3
ENRICHED = "enriched_at"
ENDINGS = {"closed_at": "close", "retired_at": "retire"}


@dataclass(frozen=True, slots=True)
class Talk:
    """A stored conversation with all its messages and the receipts of its prunings."""

    info: ConversationInfo
    messages: tuple[Message, ...]
    prunings: tuple[Pruning, ...] = ()


@dataclass(frozen=True, slots=True)
class Kept:
    """A record, and when an action ended it.

    Attributes:
        record: the record.
        closed_at: when it was forgotten or replaced; ``None`` if it was not.
        retired_at: when it was taken out of vectors and links.
    """

    record: Record
    closed_at: datetime | None = None
    retired_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Session:
    """How far a session was consolidated.

    Attributes:
        id: the session.
        consolidated_at: when all its episodes had been read.
        through: id of the last of its episodes that was read.
    """

    id: str
    consolidated_at: datetime | None
    through: str | None


class Said(NamedTuple):
    """A message and the conversation it belongs to."""

    conversation: str
    message: Message


class Pruned(NamedTuple):
    """The receipt of a pruning and the conversation it belongs to."""

    conversation: str
    pruning: Pruning


def header(scope: Scope, now: datetime) -> str:
    """Return the first line of a file."""
    return _line(
        {"format": MEMORANDA, "version": VERSION, "user": scope.user, "exported_at": _iso(now)}
    )


Part = Decide | Kept | Session | Talk
"""What a file is made of, each in one line, a conversation in several."""


def everything(store: Store, scope: Scope, now: datetime) -> Iterator[Part]:
    """Return what the scope sees, with a page of records or one conversation in memory."""
    for name, target in store.decisions(scope).items():
        yield Decide(name, target)
    sessions = {info.id: info for info in store.sessions(scope)}
    read: dict[str, str] = {}
    for page in pages(store, scope, now):
        for record in page:
            yield _kept(store, scope, record)
            info = sessions.get(record.session_id or "")
            if info and record.kind is Kind.EPISODE and (record.position or 0) <= info.through:
                read[info.id] = record.id
    for info in sessions.values():
        if info.consolidated_at is not None or info.id in read:
            yield Session(info.id, info.consolidated_at, read.get(info.id))
    for talk in reversed(store.conversations(scope)):
        messages = store.messages(scope, talk.id, cleared=True)
        yield Talk(talk, tuple(messages), tuple(store.prunings(scope, talk.id)))


def _kept(store: Store, scope: Scope, record: Record) -> Kept:
    if record.valid_until is None:
        return Kept(record)
    moments: dict[str, datetime] = {}
    for change in store.history(scope, record.id):
        moments.setdefault(change.action, change.at)
    return Kept(record, *(moments.get(action) for action in ENDINGS.values()))


def lines(item: Part) -> Iterator[str]:
    """Return the lines of a part."""
    match item:
        case Decide():
            yield _line({"type": "decision", "name": item.name, "target": item.target})
        case Kept():
            yield _line(_record(item))
        case Session():
            yield _line(_session(item))
        case Talk():
            yield _line(_conversation(item.info))
            for message in item.messages:
                yield _line(_message(item.info.id, message))
            for pruning in item.prunings:
                yield _line(_pruning(item, pruning))


def _session(item: Session) -> dict[str, Any]:
    return {
        "type": "session",
        "id": item.id,
        "consolidated_at": _optional_iso(item.consolidated_at),
        "through": item.through,
    }


def _record(kept: Kept) -> dict[str, Any]:
    item = kept.record
    # What enrichment added is a link, and stays behind: it is to be done again.
    attributes = {name: value for name, value in item.attributes.items() if name != ENRICHED}
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
        "closed_at": _optional_iso(kept.closed_at),
        "retired_at": _optional_iso(kept.retired_at),
        "superseded_by": item.superseded_by,
        "confidence": item.confidence,
        "access_count": item.access_count,
        "last_accessed": _optional_iso(item.last_accessed),
        "decay_rate": item.decay_rate,
        "strength": item.strength,
        "strength_at": _optional_iso(item.strength_at),
        "source_ids": item.source_ids,
        "source_role": item.source_role,
        "origin": item.origin,
        "trust": item.trust.value,
        "tags": item.tags,
        "attributes": attributes,
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
