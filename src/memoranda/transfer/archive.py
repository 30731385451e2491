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
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, NamedTuple

from memoranda.conversation.formats.new_message import parse_role
from memoranda.errors import InvalidInput
from memoranda.model.actions import Decide
from memoranda.model.checks import clean, content_hash
from memoranda.model.json_object import JsonObject, iso, json_fields, json_value, read_dataclass
from memoranda.model.models import (
    NO_ATTRIBUTES,
    Calibration,
    ConversationInfo,
    Image,
    Kind,
    Message,
    PrunedSpan,
    Pruning,
    Record,
    Scope,
    ToolCall,
    ToolResult,
    Trust,
)
from memoranda.model.ports import Store
from memoranda.records.drafts import parse_kind, parse_metadata, parse_tags
from memoranda.records.pages import record_pages
from memoranda.transfer.json_files import ARCHIVE_NAMES, MEMORANDA

VERSION = 3
# Version 1 knew no prunings, calibration, images and tasks; version 2 neither strength, endings,
# sessions nor decisions on names.
READABLE = (1, 2, VERSION)
ENRICHED = "enriched_at"
ENDINGS = {"closed_at": "close", "retired_at": "retire"}
RECORD = (
    "id", "kind", "content", "content_hash", "agent", "session_id", "position", "event_time",
    "created_at", "valid_until", "closed_at", "retired_at", "superseded_by", "confidence",
    "access_count", "last_accessed", "decay_rate", "strength", "strength_at", "source_ids",
    "source_role", "origin", "trust", "tags", "attributes",
)  # fmt: skip
SESSION = ("id", "consolidated_at", "through")
DECISION = ("name", "target")
CONVERSATION = (
    "id", "system", "model", "context_limit", "created_at", "ended_at", "cleared_through",
    "calibration",
)  # fmt: skip
MESSAGE = (
    "id", "role", "content", "timestamp", "tokens", "importance", "pinned", "tool_calls",
    "tool_result", "images", "task", "record_id",
)  # fmt: skip
PRUNING = ("id", "at", "trigger", "why", "strategy", "before", "after", "cuts")
CUT = ("first", "last", "messages", "tokens", "since", "until", "why", "score", "summary")
"""The keys of each line, in their order."""


@dataclass(frozen=True, slots=True)
class ArchivedConversation:
    """A stored conversation with all its messages and the receipts of its prunings."""

    info: ConversationInfo
    messages: tuple[Message, ...]
    prunings: tuple[Pruning, ...] = ()


@dataclass(frozen=True, slots=True)
class ArchivedRecord:
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
class ArchivedSession:
    """How far a session was consolidated.

    Attributes:
        id: the session.
        consolidated_at: when all its episodes had been read.
        through: id of the last of its episodes that was read.
    """

    id: str
    consolidated_at: datetime | None
    through: str | None


class MessageLine(NamedTuple):
    """A message and the conversation it belongs to."""

    conversation: str
    message: Message


class PruningLine(NamedTuple):
    """The receipt of a pruning and the conversation it belongs to."""

    conversation: str
    pruning: Pruning


ArchivePart = Decide | ArchivedRecord | ArchivedSession | ArchivedConversation
"""What a file is made of, each in one line, a conversation in several."""
ArchiveLine = (
    Decide | ArchivedRecord | ArchivedSession | ConversationInfo | MessageLine | PruningLine
)
"""What one line holds."""

# Out


def header(scope: Scope, now: datetime) -> str:
    """Return the first line of a file."""
    return _dump(
        {"format": MEMORANDA, "version": VERSION, "user": scope.user, "exported_at": iso(now)}
    )


def archive_parts(store: Store, scope: Scope, now: datetime) -> Iterator[ArchivePart]:
    """Return what the scope sees, with a page of records or one conversation in memory."""
    for name, target in store.decisions(scope).items():
        yield Decide(name, target)
    sessions = {info.id: info for info in store.sessions(scope)}
    read: dict[str, str] = {}
    for page in record_pages(store, scope, now):
        for record in page:
            yield _archived(store, scope, record)
            info = sessions.get(record.session_id or "")
            if info and record.kind is Kind.EPISODE and (record.position or 0) <= info.through:
                read[info.id] = record.id
    for info in sessions.values():
        if info.consolidated_at is not None or info.id in read:
            yield ArchivedSession(info.id, info.consolidated_at, read.get(info.id))
    for each in reversed(store.conversations(scope)):
        messages = store.messages(scope, each.id, cleared=True)
        prunings = store.prunings(scope, each.id)
        yield ArchivedConversation(each, tuple(messages), tuple(prunings))


def _archived(store: Store, scope: Scope, record: Record) -> ArchivedRecord:
    if record.valid_until is None:
        return ArchivedRecord(record)
    moments: dict[str, datetime] = {}
    for change in store.history(scope, record.id):
        moments.setdefault(change.action, change.at)
    return ArchivedRecord(record, *(moments.get(action) for action in ENDINGS.values()))


def dump_part(part: ArchivePart) -> Iterator[str]:
    """Yield the lines of a part."""
    match part:
        case Decide():
            yield _line("decision", json_fields(part, DECISION))
        case ArchivedRecord():
            yield _line("record", _record_value(part))
        case ArchivedSession():
            yield _line("session", json_fields(part, SESSION))
        case ArchivedConversation(info=info):
            yield _line("conversation", json_fields(info, CONVERSATION))
            for message in part.messages:
                yield _line("message", {"conversation": info.id, **json_fields(message, MESSAGE)})
            for pruning in part.prunings:
                value = json_fields(pruning, PRUNING) | {"cuts": _cut_values(part, pruning)}
                yield _line("pruning", {"conversation": info.id, **value})


def _record_value(part: ArchivedRecord) -> dict[str, Any]:
    value = {
        name: json_value(getattr(part if name in ENDINGS else part.record, name)) for name in RECORD
    }
    # What enrichment added is a link, and stays behind: it is to be done again.
    attributes = {name: item for name, item in part.record.attributes.items() if name != ENRICHED}
    return value | {"attributes": attributes}


def _cut_values(part: ArchivedConversation, pruning: Pruning) -> list[dict[str, Any]]:
    """Return the spans that were pruned, by the ids of their messages that were not erased."""
    messages = part.messages
    places = [message.position or 0 for message in messages]
    found = []
    for cut in pruning.cuts:
        left = messages[bisect_left(places, cut.first) : bisect_right(places, cut.last)]
        if left:
            ends = {"first": left[0].id, "last": left[-1].id}
            found.append(json_fields(cut, CUT) | ends)
    return found


def _line(kind: str, value: Mapping[str, Any]) -> str:
    return _dump({"type": kind, **value})


def _dump(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n"


# In


def is_header(value: object) -> bool:
    """Whether a value is the first line of a file of this format."""
    return isinstance(value, Mapping) and value.get("format") in ARCHIVE_NAMES


def check_header(value: Mapping[str, Any]) -> datetime | None:
    """Return the moment of an older file, of which :func:`mark_ended` has to guess the endings.

    Raises:
        InvalidInput: it is of a newer memoranda, or of no version.
    """
    version = value.get("version")
    if version not in READABLE:
        raise InvalidInput(
            f"version={version!r} of the format is unknown, this memoranda reads up to {VERSION}; "
            f"upgrade with pip install -U memoranda"
        )
    if version == VERSION:
        return None
    return JsonObject(value).optional_moment("exported_at") or datetime.max.replace(tzinfo=UTC)


def mark_ended(part: ArchivedRecord, exported_at: datetime) -> ArchivedRecord:
    """Return a record of an older file, which does not say what ended it.

    What had ended when the file was written counts as forgotten, so that nobody learns from it.
    """
    end = part.record.valid_until
    return part if end is None or end > exported_at else replace(part, closed_at=end)


def parse_line(value: object, scope: Scope, places: Mapping[str, int]) -> ArchiveLine:
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
    line = JsonObject(value)
    match line.text("type"):
        case "record":
            line.require_only(("type", *RECORD))
            return _read_record(line, scope)
        case "decision":
            line.require_only(("type", *DECISION))
            return read_dataclass(Decide, line)
        case "session":
            line.require_only(("type", *SESSION))
            return read_dataclass(ArchivedSession, line)
        case "conversation":
            line.require_only(("type", *CONVERSATION))
            return read_dataclass(ConversationInfo, line, calibration=_calibration(line))
        case "message":
            line.require_only(("type", "conversation", *MESSAGE))
            return MessageLine(line.text("conversation"), _read_message(line))
        case "pruning":
            line.require_only(("type", "conversation", *PRUNING))
            cuts = tuple(_read_cut(cut, places) for cut in line.objects("cuts"))
            pruning = read_dataclass(Pruning, line, id=_id(line, "prn"), cuts=cuts)
            return PruningLine(line.text("conversation"), pruning)
    raise InvalidInput(
        f"type={line.get('type')!r} is unknown; "
        f"use record, decision, session, conversation, message or pruning"
    )


def _read_record(line: JsonObject, scope: Scope) -> ArchivedRecord:
    kind = parse_kind(line.get("kind"))
    content, agent = line.text("content"), line.optional_text("agent")
    attributes = dict(parse_metadata(line.get("attributes")))
    attributes.pop(ENRICHED, None)
    record = read_dataclass(
        Record,
        line,
        id=_id(line, kind.prefix),
        kind=kind,
        content=content,
        content_hash=content_hash(content),  # A line may have been edited by hand.
        user=scope.user,
        agent=(scope.agent or agent) if agent else None,
        confidence=line.number("confidence", 1.0, most=1.0),
        strength_at=line.optional_moment("strength_at") or line.optional_moment("last_accessed"),
        source_ids=tuple(clean(source, "a source id") for source in line.list("source_ids")),
        origin=line.optional_text("origin") or f"import:{MEMORANDA}",
        trust=_trust(line.get("trust")),
        tags=parse_tags(line.list("tags")),
        attributes=attributes or NO_ATTRIBUTES,
    )
    return ArchivedRecord(
        record, line.optional_moment("closed_at"), line.optional_moment("retired_at")
    )


def _calibration(line: JsonObject) -> Calibration:
    if line.get("calibration") is None:
        return Calibration()
    return read_dataclass(Calibration, JsonObject(line.get("calibration")))


def _read_message(line: JsonObject) -> Message:
    result = line.get("tool_result")
    return read_dataclass(
        Message,
        line,
        blank=("content", "task"),
        id=_id(line, "msg"),
        role=parse_role(line.get("role")),
        tool_calls=tuple(
            read_dataclass(ToolCall, call, blank=("id", "name", "arguments"))
            for call in line.objects("tool_calls")
        ),
        tool_result=None
        if result is None
        else read_dataclass(ToolResult, JsonObject(result), blank=("call_id",)),
        images=tuple(read_dataclass(Image, image) for image in line.objects("images")),
    )


def _read_cut(line: JsonObject, places: Mapping[str, int]) -> PrunedSpan:
    line.require_only(CUT)
    first, last = (_place(line, name, places) for name in ("first", "last"))
    if first > last:
        raise InvalidInput(f"first={line.get('first')!r} comes after last={line.get('last')!r}")
    return read_dataclass(PrunedSpan, line, blank=("summary",), first=first, last=last)


def _place(line: JsonObject, name: str, places: Mapping[str, int]) -> int:
    place = places.get(line.text(name))
    if place is None:
        raise InvalidInput(
            f"{name}={line.get(name)!r:.80} is no message before it in the conversation"
        )
    return place


def _id(line: JsonObject, prefix: str) -> str:
    name = line.text("id")
    if not name.startswith(f"{prefix}_"):
        raise InvalidInput(f"id={name!r:.80} must begin with {prefix}_")
    return name


def _trust(value: object) -> Trust:
    if value is None:
        return Trust.PERSON
    if not isinstance(value, str) or value not in set(Trust):
        raise InvalidInput(f"trust={value!r:.80} is unknown; use one of {', '.join(Trust)}")
    return Trust(value)
