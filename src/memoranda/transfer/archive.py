"""memoranda's own file format: all that a user has, as lines of JSON.

First a header, which names the user; then what persons decided on names, the records in the order
they were recorded with what was done to them, how far sessions were read, what language models
took, what was erased, each conversation followed by its messages, receipts of prunings and
tombstones, and the notes. The order of the lines gives the positions, so receipts name messages by
their ids. What is derived is made anew where a file is read: vectors, index, entities, enrichment.
A conversation that was deleted stays behind; its episodes, which have ended, do not.
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from fnmatch import fnmatchcase
from itertools import groupby
from typing import Any, TypeAlias, cast

from memoranda.errors import InvalidInput
from memoranda.model.changes import Insert
from memoranda.model.checks import content_hash, iso, located, storable
from memoranda.model.models import (
    ConversationInfo,
    Kind,
    Message,
    Pruning,
    Record,
    Scope,
    Tombstone,
)
from memoranda.model.notes import NOTES_FILES, NotesContent
from memoranda.model.query import Filter, Subset
from memoranda.model.traces import AgentSession, AgentUsage, AuditTrail, ErasedRecord, UserMetadata
from memoranda.records.pages import record_pages
from memoranda.store.sql.store import Store, Transaction
from memoranda.text.json_values import list_of, object_of, parse_as, to_object
from memoranda.transfer.batches import BATCH, ImportCounts, ImportTarget, batched
from memoranda.transfer.json_files import ARCHIVE_NAMES, FileFormat, JsonItem


@dataclass(frozen=True, slots=True)
class NameDecision:
    """A name that a person gave to the entity that another names, or to itself: it stands alone."""

    name: str
    target: str


VERSION = 4
# The dataclass of which each line of these types is.
LINES: Mapping[str, type] = {
    "decision": NameDecision,
    "session": AgentSession,
    "usage": AgentUsage,
    "erased": ErasedRecord,
    "notes": NotesContent,
}
TRANSCRIPT = ("message", "pruning", "tombstone")
# What of them no line has: whose it is, what is derived, and what the order of the lines says.
LEFT_OUT: Mapping[type, Any] = {
    Record: {"user", "enriched_at"},
    AuditTrail: {"changes": {"__all__": {"record"}}},
    ConversationInfo: {"messages", "start", "revision"},
    Message: {"position"},
    Tombstone: {"messages": {"__all__": {"position"}}},
}
NO_FOLDER = "this memory has no folder for them; set notes.folder, and do it again"


@dataclass(frozen=True, slots=True)
class ArchivedRecord:
    """A record with what was done to it."""

    record: Record
    trail: AuditTrail


@dataclass(frozen=True, slots=True)
class ArchivedConversation:
    """A conversation with its whole transcript; cuts name messages by their places in it."""

    info: ConversationInfo
    agent: str | None
    messages: dict[str, Message] = field(default_factory=dict)
    prunings: list[Pruning] = field(default_factory=list)
    tombstones: list[Tombstone] = field(default_factory=list)


ArchivedPart: TypeAlias = (
    NameDecision
    | ArchivedRecord
    | AgentSession
    | AgentUsage
    | ErasedRecord
    | ArchivedConversation
    | NotesContent
)


# Out of a store


def archive_lines(
    store: Store, scope: Scope, now: datetime, notes: Iterable[NotesContent]
) -> Iterator[tuple[str, bytes]]:
    """Yield type and text of each line of a file with all that the scope sees.

    A page of records or one conversation is in memory.
    """
    head = {"format": FileFormat.MEMORANDA, "version": VERSION, "user": scope.user}
    yield "header", _dump(head | {"exported_at": iso(now)})
    for name, target in store.decisions(scope).items():
        yield _line("decision", NameDecision(name, target))
    for page in record_pages(store, scope, now, tuple(Kind)):
        trails = store.trails(scope, [record.id for record in page])
        for record in page:
            yield _line("record", record, trails[record.id])
    kept = store.user_metadata(scope)
    for kind, values in (
        ("session", kept.sessions),
        ("usage", kept.usage),
        ("erased", kept.erased),
    ):
        yield from (_line(kind, each) for each in values)
    for info in reversed(list(store.conversations(scope).values())):
        yield _line("conversation", info, agent=kept.owners.get(info.id))
        yield from _transcript_lines(store, scope, info.id)
    for content in notes:
        yield _line("notes", content)


def _transcript_lines(store: Store, scope: Scope, id: str) -> Iterator[tuple[str, bytes]]:
    messages = store.messages(scope, id, cleared=True)
    places = [message.position or 0 for message in messages]
    for message in messages:
        yield _line("message", message, conversation=id)
    for pruning in store.prunings(scope, id):
        cuts = []
        for cut in pruning.cuts:  # Of messages that were all erased, nothing is told.
            first, end = bisect_left(places, cut.first), bisect_right(places, cut.last)
            if first < end:
                ends = {"first": messages[first].id, "last": messages[end - 1].id}
                cuts.append(to_object(cut) | ends)
        yield _line("pruning", pruning, conversation=id, cuts=cuts)
    for tombstone in store.tombstones(scope, id):
        yield _line("tombstone", tombstone, conversation=id)


def _line(kind: str, *parts: object, **more: Any) -> tuple[str, bytes]:
    value: dict[str, Any] = {"type": kind}
    for part in parts:
        value |= to_object(part, leave_out=LEFT_OUT.get(type(part)))
    return kind, _dump(value | more)


def _dump(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


# Out of a file


def is_header(value: object) -> bool:
    """Return whether a value is the first line of a file of this format."""
    return isinstance(value, Mapping) and value.get("format") in ARCHIVE_NAMES


def read_archive(lines: Iterable[JsonItem], scope: Scope) -> Iterator[ArchivedPart]:
    """Yield what the lines of a file say, as the scope's own.

    Its records belong to the scope's user, and where the scope names an agent, those of any agent
    to that one.

    Raises:
        InvalidInput: a line is not as an export writes it; the message names place and key.
    """
    items = iter(lines)
    header = next(items)
    with located(header.place):
        _require_readable(header.value)
    opened: ArchivedConversation | None = None
    for place, line in items:
        with located(place):
            kind = object_of(line).get("type")
            if kind in TRANSCRIPT:
                _add(opened, kind, line)
                continue
            part = _read_part(kind, line, scope)
        if opened:
            yield opened
        opened = part if isinstance(part, ArchivedConversation) else None
        if not opened:
            yield part
    if opened:
        yield opened


def _require_readable(header: Mapping[str, Any]) -> None:
    if (header.get("format"), header.get("version")) != (FileFormat.MEMORANDA, VERSION):
        raise InvalidInput(
            f"this is an export of version {header.get('version')!r} of the format "
            f"{header.get('format')!r}, and only version {VERSION} of memoranda is read: of an "
            f"older one, import it with memoranda 0.2 and export it again; of a newer one, "
            f"upgrade with pip install -U memoranda"
        )


def _read_part(kind: object, line: Mapping[str, Any], scope: Scope) -> ArchivedPart:
    agent = line.get("agent") and (scope.agent or line["agent"])
    if kind == "conversation":
        return ArchivedConversation(parse_as(ConversationInfo, line), agent)
    if kind == "record":
        return _read_record({**line, "agent": agent, "user": scope.user})
    if not isinstance(kind, str) or kind not in LINES:
        known = ", ".join(("record", "conversation", *TRANSCRIPT, *LINES))
        raise InvalidInput(f"type={kind!r:.80} is unknown; use one of {known}")
    part: Any = parse_as(LINES[kind], {**line, "agent": agent})
    for name in part.files if kind == "notes" else ():
        if not any(fnmatchcase(name, pattern) for pattern in NOTES_FILES):
            known = ", ".join(NOTES_FILES)
            raise InvalidInput(f"{name!r:.80} is no file of the notes; these are {known}")
    return cast("ArchivedPart", part)


def _read_record(line: Mapping[str, Any]) -> ArchivedRecord:
    # A line may have been edited by hand.
    digest = content_hash(storable(line.get("content"), "content"))
    record = parse_as(Record, {**line, "content_hash": digest})
    if not record.id.startswith(f"{record.kind.prefix}_"):
        raise InvalidInput(f"id={record.id!r:.80} must begin with {record.kind.prefix}_")
    changes = [{**object_of(each), "record": record.id} for each in list_of(line, "changes")]
    return ArchivedRecord(record, parse_as(AuditTrail, {**line, "changes": changes}))


def _add(opened: ArchivedConversation | None, kind: str, line: Mapping[str, Any]) -> None:
    """Add a message, a receipt or a tombstone to the conversation that was opened last."""
    name = line.get("conversation")
    if opened is None or opened.info.id != name:
        raise InvalidInput(f"a {kind} must follow the line of its conversation {name!r}")
    if kind == "message":
        message = parse_as(Message, line)
        if opened.messages.setdefault(message.id, message) is not message:
            raise InvalidInput(f"two messages of {name!r} have the same id {message.id!r}")
    elif kind == "tombstone":
        opened.tombstones.append(parse_as(Tombstone, line))
    else:
        places = {key: place for place, key in enumerate(opened.messages)}
        cuts = [
            {**cut, **{end: places.get(str(cut.get(end)), -1) for end in ("first", "last")}}
            for cut in map(object_of, list_of(line, "cuts"))
        ]
        if not all(0 <= cut["first"] <= cut["last"] for cut in cuts):
            raise InvalidInput("first and last of a cut must name messages before it, in order")
        opened.prunings.append(parse_as(Pruning, {**line, "cuts": cuts}))


# Into a store


def check_archive(
    target: ImportTarget, parts: Iterable[ArchivedPart], counts: ImportCounts
) -> None:
    """Refuse a file with a broken line, or with records of another user of the store.

    Raises:
        InvalidInput: there is one; nothing was written.
    """
    others = [Scope(user) for user in target.store.users() if user != target.scope.user]
    for batch in batched(parts, BATCH):
        counts.total += len(batch)
        for taken in (taken for other in others for taken in _taken(target.store, other, batch)):
            raise InvalidInput(
                f"{taken} belongs to another user of this store; import the file as the user who "
                f"exported it, or into another store"
            )


def _taken(store: Store, other: Scope, batch: Sequence[ArchivedPart]) -> Iterator[str]:
    """Yield the ids of records and messages that another user has."""
    records = [each.record for each in batch if isinstance(each, ArchivedRecord)]
    yield from store.get(other, [record.id for record in records])
    for part in (each for each in batch if isinstance(each, ArchivedConversation)):
        held = store.messages(other, part.info.id, cleared=True)
        yield from (message.id for message in held if message.id in part.messages)


def restore(target: ImportTarget, parts: Iterable[ArchivedPart], counts: ImportCounts) -> None:
    """Store what is not there yet, keeping ids, times and order; what is there stays as it is.

    A conversation that is there gets the messages it lacks. What was erased does not come back,
    nor does a conversation that was deleted.
    A batch of records is one transaction, and so is a conversation: what was cut short goes on.
    """
    episodes: Counter[str] = Counter()
    for kind, group in groupby(parts, type):
        for batch in batched(group, 1 if kind is ArchivedConversation else BATCH):
            if kind is NotesContent:
                _keep_notes(target, batch, counts)
            else:
                with target.store.write(target.scope) as tx:
                    _keep(target, tx, batch, counts, episodes)
            counts.advance(len(batch))


def _keep(
    target: ImportTarget,
    tx: Transaction,
    batch: Sequence[Any],
    counts: ImportCounts,
    episodes: Counter[str],
) -> None:
    """Store parts of one type; count the episodes of each session among them."""
    match batch[0]:
        case ArchivedRecord():
            new = _new_records(target, batch)
            tx.carry_out(new)
            counts.records += len(new)
            counts.skipped += len(batch) - len(new)
            told = (part.record for part in batch)
            episodes.update(each.session_id for each in told if each.kind is Kind.EPISODE)
        case ArchivedConversation():
            _keep_conversation(target, tx, batch[0], counts)
        case NameDecision():
            for each in batch:
                tx.keep_name_decision(each.name, each.target)
        case AgentSession():
            tx.keep_user_metadata(UserMetadata(sessions=_read_sessions(target, batch, episodes)))
        case AgentUsage():
            tx.keep_user_metadata(UserMetadata(usage=tuple(batch)))
        case ErasedRecord():
            tx.keep_user_metadata(UserMetadata(erased=tuple(batch)))


def _new_records(target: ImportTarget, batch: Sequence[ArchivedRecord]) -> list[Insert]:
    """Return what stores the records that are not there, and rest on nothing that was erased."""
    known = target.known(each.record.id for each in batch)
    return [
        Insert(each.record, None, each.trail.reason, trail=each.trail)
        for each in batch
        if each.record.id not in known
        and not target.erased.intersection(each.record.source_ids)
        and not _has_item(target, each)
    ]


def _has_item(target: ImportTarget, part: ArchivedRecord) -> bool:
    """Return whether there is an item under the key of this one."""
    item = part.record
    if item.key is None or part.trail.closed_at is not None:
        return False
    where = Filter.at_any_time(namespace=item.namespace, key=item.key, subset=Subset.STANDING)
    return any(each.agent == item.agent for each in target.store.records(target.scope, where))


def _keep_conversation(
    target: ImportTarget, tx: Transaction, part: ArchivedConversation, counts: ImportCounts
) -> None:
    name, new = part.info.id, 0
    episodes = {each.record_id or "" for each in part.messages.values()}
    if target.store.conversations(target.everyone, name):
        new = _append_missing(target, tx, part)
    elif name not in target.deleted and not target.erased.intersection(episodes):
        new = len(part.messages)
        _create_conversation(tx, part)
    counts.messages += new
    counts.skipped += len(part.messages) - new


def _append_missing(target: ImportTarget, tx: Transaction, part: ArchivedConversation) -> int:
    """Add the messages that a conversation lacks; return how many."""
    name = part.info.id
    removed = target.store.tombstones(target.everyone, name)
    known = {message.id for tombstone in removed for message in tombstone.messages}
    known |= {each.id for each in target.store.messages(target.everyone, name, cleared=True)}
    missing = [
        message
        for message in part.messages.values()
        if message.id not in known and message.record_id not in target.erased
    ]
    tx.append_messages(name, missing)
    return len(missing)


def _create_conversation(tx: Transaction, part: ArchivedConversation) -> None:
    """Store a conversation of which nothing is there."""
    info, messages = part.info, list(part.messages.values())
    ids = [message.id for message in messages]
    cleared = ids.index(info.cleared_through) + 1 if info.cleared_through in ids else 0
    tx.open_conversation(info, agent=part.agent)
    if cleared:
        tx.append_messages(info.id, messages[:cleared])
        tx.update_conversation(info.id, clear=True)
    tx.append_messages(info.id, messages[cleared:])
    for pruning in part.prunings:
        tx.add_pruning(info.id, pruning)
    for tombstone in part.tombstones:
        tx.keep_tombstone(info.id, tombstone)
    tx.update_conversation(info.id, calibration=info.calibration, ended_at=info.ended_at)


def _read_sessions(
    target: ImportTarget, batch: Sequence[AgentSession], episodes: Counter[str]
) -> tuple[AgentSession, ...]:
    """Return how far sessions were read of which the store has what was read here, no more.

    Of any other, the store has episodes that were never read.
    """

    def held(session: str) -> int:
        where = Filter.at_any_time(session=session, kinds=(Kind.EPISODE,))
        return target.store.count(target.everyone, where).get(Kind.EPISODE, 0)

    pending = target.store.sessions(target.scope, pending=True)
    return tuple(
        each for each in batch if each.id in pending and held(each.id) == episodes[each.id]
    )


def _keep_notes(target: ImportTarget, batch: Sequence[Any], counts: ImportCounts) -> None:
    for content in batch:
        owner = replace(target.scope, agent=content.agent)
        notes = target.notes.find(owner)
        if notes is None:
            counts.left_out.tell(f"notes of {owner.user}: {NO_FOLDER}")
            continue
        for path in notes.keep(content):
            counts.left_out.tell(f"{path}: it is there already, and says something else")
