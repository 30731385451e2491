"""memoranda's own file format: JSON Lines that hold all of a user's memory.

A header, then what persons decided on names, then a line for each record in the order they were
recorded, then how far each session was consolidated, then each conversation followed by its
messages, the receipts of its prunings and the tombstones of removed messages. The header names the
user, so the lines do not. The order of the lines gives the positions, so sessions and receipts name
episodes and messages by their ids, and nothing is off where some were erased. Vectors, index and
entity links are derived and made anew when a file is read, and so is enrichment; the history of
changes stays behind, but for when a record was closed or retired.

A file is read back in batches, keeping ids, and only what is not there yet. It is read twice: the
first time everything in it is checked, so that a broken line or an id that is taken leaves the
store as it was.
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain
from typing import Any

from memoranda.conversation.formats.parse import parse_role
from memoranda.errors import InvalidInput
from memoranda.model.actions import (
    Action,
    AdvanceSession,
    Append,
    Close,
    Insert,
    KeepNameDecision,
    KeepTombstone,
    OpenConversation,
    Prune,
    PutItem,
    Retire,
    UpdateConversation,
)
from memoranda.model.checks import clean, content_hash, located, parse_metadata, storable
from memoranda.model.json_object import JsonObject, iso, json_fields, json_value, read_dataclass
from memoranda.model.models import (
    ConversationInfo,
    Kind,
    Message,
    PrunedSpan,
    Pruning,
    Record,
    Scope,
    Tombstone,
)
from memoranda.model.ports import Store
from memoranda.model.query import Filter, Subset
from memoranda.records.drafts import parse_kind, parse_tags, parse_trust
from memoranda.records.items import parse_address
from memoranda.records.pages import record_pages
from memoranda.transfer.batches import BATCH, ImportCounts, ImportTarget
from memoranda.transfer.json_files import ARCHIVE_NAMES, NAMES, FileFormat, JsonFile

VERSION = 3
# Version 1 knew no prunings, calibration, images and tasks; version 2 neither strength, endings,
# sessions nor decisions on names.
READABLE = (1, 2, VERSION)
ENDINGS = {"closed_at": "close", "retired_at": "retire"}
# The keys of each line, and of each span in a pruning, in their order.
KEYS: Mapping[str, list[str]] = NAMES["archive"]
CUT = (
    "first",
    "last",
    "messages",
    "tokens",
    "since",
    "until",
    "why",
    "score",
    "summary",
    "torn",
    "named",
)
# What may be blank in a message, its calls and its result.
BLANK = ("content", "task", "id", "name", "arguments", "call_id")
IMPORTED = "imported"


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


@dataclass(frozen=True, slots=True)
class ArchiveEntry:
    """A part of a file: a record, a decision, a session or a conversation.

    Attributes:
        place: where it begins.
        actions: what stores it where nothing of it is there.
        session: the session, whose actions depend on what the store has.
        lines: how many lines it takes.
    """

    place: str
    actions: Sequence[Action] = ()
    session: ArchivedSession | None = None
    lines: int = 1


# Out


def archive_lines(store: Store, scope: Scope, now: datetime) -> Iterator[tuple[str, str]]:
    """Yield type and text of each line of what the scope sees.

    A page of records or one conversation is in memory.
    """
    head = {"format": FileFormat.MEMORANDA, "version": VERSION}
    yield "header", _dump(head | {"user": scope.user, "exported_at": iso(now)})
    for name, target in store.decisions(scope).items():
        yield _line("decision", {"name": name, "target": target})
    sessions = store.sessions(scope)
    read: dict[str, str] = {}
    for record, value in _record_values(store, scope, now):
        yield _line("record", value)
        info = sessions.get(record.session_id or "")
        if info and record.kind is Kind.EPISODE and (record.position or 0) <= info.through:
            read[info.id] = record.id
    for info in sessions.values():
        if info.consolidated_at is not None or info.id in read:
            session = ArchivedSession(info.id, info.consolidated_at, read.get(info.id))
            yield _line("session", json_fields(session, KEYS["session"]))
    for each in reversed(list(store.conversations(scope).values())):
        yield _line("conversation", json_fields(each, KEYS["conversation"]))
        yield from _transcript_lines(store, scope, each.id)


def _transcript_lines(store: Store, scope: Scope, id: str) -> Iterator[tuple[str, str]]:
    messages = store.messages(scope, id, cleared=True)
    for message in messages:
        yield _line("message", json_fields(message, KEYS["message"][1:]), id)
    for pruning in store.prunings(scope, id):
        value = json_fields(pruning, KEYS["pruning"][1:])
        yield _line("pruning", value | {"cuts": _cut_values(messages, pruning)}, id)
    for tombstone in store.tombstones(scope, id):
        removed = [json_fields(item, KEYS["message"][1:]) for item in tombstone.messages]
        value = json_fields(tombstone, KEYS["tombstone"][1:-1])
        yield _line("tombstone", value | {"messages": removed}, id)


def _record_values(
    store: Store, scope: Scope, now: datetime
) -> Iterator[tuple[Record, dict[str, Any]]]:
    for record in chain.from_iterable(record_pages(store, scope, now, tuple(Kind))):
        value = _record_value(store, scope, record)
        # An item that was forgotten may have left its key to another.
        if record.kind is not Kind.ITEM or value["closed_at"] is None:
            yield record, value


def _record_value(store: Store, scope: Scope, record: Record) -> dict[str, Any]:
    value = json_fields(record, [name for name in KEYS["record"] if name not in ENDINGS])
    ended: dict[str, datetime] = {}
    for change in store.history(scope, record.id) if record.valid_until is not None else ():
        if change.record == record.id:
            ended.setdefault(change.action, change.at)
    value |= {name: json_value(ended.get(action)) for name, action in ENDINGS.items()}
    return {name: value[name] for name in KEYS["record"]}


def _cut_values(messages: Sequence[Message], pruning: Pruning) -> list[dict[str, Any]]:
    """Return the spans that were pruned, by the ids of their messages that were not erased."""
    places = [message.position or 0 for message in messages]
    found = []
    for cut in pruning.cuts:
        left = messages[bisect_left(places, cut.first) : bisect_right(places, cut.last)]
        if left:
            ends = {"first": left[0].id, "last": left[-1].id}
            found.append(json_fields(cut, CUT) | ends)
    return found


def _line(kind: str, value: Mapping[str, Any], conversation: str | None = None) -> tuple[str, str]:
    whose = {} if conversation is None else {"conversation": conversation}
    return kind, _dump({"type": kind, **whose, **value})


def _dump(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n"


# In


def is_header(value: object) -> bool:
    """Whether a value is the first line of a file of this format."""
    return isinstance(value, Mapping) and value.get("format") in ARCHIVE_NAMES


def archive_entries(file: JsonFile, scope: Scope) -> Iterator[ArchiveEntry]:
    """Yield what a file holds, as the scope's own.

    Its records belong to the scope's user, and where the scope names an agent, those of
    any agent to that one.

    Raises:
        InvalidInput: a line is not as an export writes it; the message names place and key.
    """
    items = iter(file.items())
    header = next(items)
    with located(header.place):
        exported_at = _exported_at(header.value)
    opened: _OpenConversation | None = None
    for place, value in items:
        with located(place):
            line = JsonObject(value)
            kind = line.text("type")
            if kind not in KEYS:
                raise InvalidInput(
                    f"type={kind!r} is unknown; "
                    f"use record, decision, session, conversation, message, pruning or tombstone"
                )
            line.require_only(("type", *KEYS[kind]))
            if kind in {"message", "pruning", "tombstone"}:
                _add(opened, kind, line)
                continue
        if opened:
            yield opened.entry()
        opened = None
        with located(place):
            if kind == "record":
                yield ArchiveEntry(place, _record_actions(line, scope, exported_at))
            elif kind == "decision":
                yield ArchiveEntry(place, [read_dataclass(KeepNameDecision, line)])
            elif kind == "session":
                yield ArchiveEntry(place, session=read_dataclass(ArchivedSession, line))
            else:
                opened = _OpenConversation(place, read_dataclass(ConversationInfo, line))
    if opened:
        yield opened.entry()


def _exported_at(header: Mapping[str, Any]) -> datetime | None:
    """Return the moment of an older file, whose records do not say what ended them.

    Raises:
        InvalidInput: it is of a newer memoranda, or of no version.
    """
    version = header.get("version")
    if version not in READABLE:
        raise InvalidInput(
            f"version={version!r} of the format is unknown, this memoranda reads up to {VERSION}; "
            f"upgrade with pip install -U memoranda"
        )
    if version == VERSION:
        return None
    return JsonObject(header).optional_moment("exported_at") or datetime.max.replace(tzinfo=UTC)


def _record_actions(line: JsonObject, scope: Scope, exported_at: datetime | None) -> list[Action]:
    kind = parse_kind(line.get("kind"))
    agent = line.optional_text("agent")
    trust = parse_trust(line.get("trust"), line.optional_text("source_role"))
    namespace: tuple[str, ...] = ()
    key = None
    if kind is Kind.ITEM:
        namespace, key = parse_address(line.list("namespace"), line.get("key"))
        content = storable(line.get("content"), "content")
    else:
        content = line.text("content")
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
        origin=line.optional_text("origin") or f"import:{FileFormat.MEMORANDA}",
        trust=trust,
        tags=parse_tags(line.list("tags")),
        metadata=parse_metadata(line.get("metadata")),
        namespace=namespace,
        key=key,
        enriched_at=None,  # It comes without the links that enrichment made.
    )
    closed, retired = (line.optional_moment(name) for name in ENDINGS)
    # What had ended when an older file was written counts as forgotten, so that nobody learns
    # from it.
    if exported_at and record.valid_until and record.valid_until <= exported_at:
        closed = record.valid_until
    if kind is Kind.ITEM:
        return [PutItem(record, reason=IMPORTED)]
    actions: list[Action] = [Insert(record, mentions=None, reason=IMPORTED)]
    if closed is not None:
        actions.append(Close(record.id, closed, IMPORTED, superseded_by=record.superseded_by))
    if retired is not None:
        actions.append(Retire(record.id, retired, IMPORTED))
    return actions


@dataclass(frozen=True, slots=True)
class _OpenConversation:
    """A conversation of a file while its lines are read."""

    place: str
    info: ConversationInfo
    messages: dict[str, Message] = field(default_factory=dict)
    prunings: dict[str, Pruning] = field(default_factory=dict)
    tombstones: dict[str, Tombstone] = field(default_factory=dict)

    def entry(self) -> ArchiveEntry:
        """Return the whole conversation; refuse one cleared through a message that it has not."""
        info = self.info
        if info.cleared_through is not None and info.cleared_through not in self.messages:
            raise InvalidInput(
                f"{self.place}: cleared_through={info.cleared_through!r} "
                f"is no message of the conversation {info.id!r}"
            )
        actions: list[Action] = [OpenConversation(info)]
        for message in self.messages.values():
            actions.append(Append(info.id, message))
            if message.id == info.cleared_through:
                actions.append(UpdateConversation(info.id, clear=True))
        actions += [Prune(info.id, pruning) for pruning in self.prunings.values()]
        actions += [KeepTombstone(info.id, each) for each in self.tombstones.values()]
        actions.append(
            UpdateConversation(info.id, calibration=info.calibration, ended_at=info.ended_at)
        )
        lines = 1 + len(self.messages) + len(self.prunings) + len(self.tombstones)
        return ArchiveEntry(self.place, actions, lines=lines)


def _add(opened: _OpenConversation | None, kind: str, line: JsonObject) -> None:
    """Add a message, a receipt or a tombstone to the conversation that was opened last."""
    name = line.text("conversation")
    if opened is None or opened.info.id != name:
        raise InvalidInput(f"a {kind} must follow the line of its conversation {name!r}")
    known: dict[str, Any] = opened.messages
    found: Message | Pruning | Tombstone
    if kind == "message":
        found = _read_message(line)
    elif kind == "tombstone":
        removed = tuple(map(_read_message, line.objects("messages")))
        found = read_dataclass(Tombstone, line, id=_id(line, "tmb"), messages=removed)
        known = opened.tombstones
    else:
        places = {key: place for place, key in enumerate(known)}
        cuts = tuple(_read_cut(cut, places) for cut in line.objects("cuts"))
        found = read_dataclass(Pruning, line, id=_id(line, "prn"), cuts=cuts)
        known = opened.prunings
    if found.id in known:
        message = f"two {kind}s of the conversation {name!r} have the same id {found.id!r}"
        raise InvalidInput(message)
    known[found.id] = found


def _read_message(line: JsonObject) -> Message:
    line.require_only(("type", *KEYS["message"]))
    role = parse_role(line.get("role"))
    return read_dataclass(Message, line, blank=BLANK, id=_id(line, "msg"), role=role)


def _read_cut(line: JsonObject, places: Mapping[str, int]) -> PrunedSpan:
    line.require_only(CUT)
    ends = {}
    for name in ("first", "last"):
        key = line.text(name)
        if key not in places:
            raise InvalidInput(f"{name}={key!r:.80} is no message before it in the conversation")
        ends[name] = places[key]
    if ends["first"] > ends["last"]:
        raise InvalidInput(f"first={line.get('first')!r} comes after last={line.get('last')!r}")
    return read_dataclass(PrunedSpan, line, blank=("summary",), **ends)


def _id(line: JsonObject, prefix: str) -> str:
    name = line.text("id")
    if not name.startswith(f"{prefix}_"):
        raise InvalidInput(f"id={name!r:.80} must begin with {prefix}_")
    return name


# Into a store


def restore(target: ImportTarget, file: JsonFile, counts: ImportCounts) -> None:
    """Bring the memory in ``file`` into the scope's.

    Records and conversations keep their ids, times and order; positions in a session are
    counted anew. What is there already is left as it is: a conversation gets the messages
    it lacks, and keeps its own settings, view and prunings. A batch of records is one
    transaction, a conversation is never parted, so that an import that was cut short goes
    on where it stopped. Decisions on names that were made here stay.

    Raises:
        InvalidInput: a line is broken, or an id belongs to another user of the store;
            nothing was written.
    """
    others = [Scope(user) for user in target.store.users() if user != target.scope.user]
    for batch in _batches(file, target.scope):
        counts.total += sum(entry.lines for entry in batch)
        _refuse_taken(target.store, others, batch)
    read: Counter[str] = Counter()
    for batch in _batches(file, target.scope):
        _write(target, batch, read, counts)
        counts.advance(sum(entry.lines for entry in batch))


def _batches(file: JsonFile, scope: Scope) -> Iterator[list[ArchiveEntry]]:
    batch: list[ArchiveEntry] = []
    size = 0
    for entry in archive_entries(file, scope):
        batch.append(entry)
        size += entry.lines
        if size >= BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _refuse_taken(store: Store, others: Sequence[Scope], batch: Sequence[ArchiveEntry]) -> None:
    """Refuse ids of other users: the same record cannot be in one store for two."""
    records: dict[str, str] = {}
    messages: dict[str, dict[str, str]] = {}
    for entry in batch:
        for action in entry.actions:
            if isinstance(action, Insert):
                records[action.record.id] = entry.place
            elif isinstance(action, Append):
                messages.setdefault(action.conversation, {})[action.message.id] = entry.place
    for other in others:
        taken = {name: records[name] for name in store.get(other, list(records))}
        for name, places in messages.items():
            held = store.messages(other, name, cleared=True)
            taken |= {item.id: places[item.id] for item in held if item.id in places}
        for name, place in taken.items():
            raise InvalidInput(
                f"{place}: {name} belongs to another user of this store; import the file "
                f"as the user who exported it, or into another store"
            )


def _write(
    target: ImportTarget, batch: Sequence[ArchiveEntry], read: Counter[str], counts: ImportCounts
) -> None:
    store, scope, everyone = target.store, target.scope, target.everyone
    inserts = [a for entry in batch for a in entry.actions if isinstance(a, Insert)]
    records = [insert.record.id for insert in inserts]
    known = set(store.get(everyone, records))
    actions: list[Action] = []
    for entry in batch:
        match entry.actions:
            case [Insert(record=record), *_]:
                read[record.session_id or ""] += record.kind is Kind.EPISODE
                if record.id in known or _has_item(store, scope, record):
                    counts.skipped += 1
                    continue
                known.add(record.id)
                actions += entry.actions
                counts.records += 1
            case [OpenConversation(info=info), *_]:
                given = [action for action in entry.actions if isinstance(action, Append)]
                new = given
                if not store.conversations(everyone, info.id):
                    actions += entry.actions
                else:
                    held = store.messages(everyone, info.id, cleared=True)
                    there = {item.id for item in held}
                    for tombstone in store.tombstones(everyone, info.id):
                        there |= {item.id for item in tombstone.messages}
                    new = [action for action in given if action.message.id not in there]
                    actions += new
                counts.messages += len(new)
                counts.skipped += len(given) - len(new)
            case decisions:
                actions += decisions
    store.apply(scope, actions)
    sessions = [entry.session for entry in batch if entry.session]
    store.apply(scope, list(_session_actions(target, sessions, read)))


def _has_item(store: Store, scope: Scope, record: Record) -> bool:
    """Return whether there is an item under the key of this one."""
    where = Filter.at_any_time(namespace=record.namespace, key=record.key, subset=Subset.STANDING)
    return record.key is not None and any(
        each.agent == record.agent for each in store.records(scope, where)
    )


def _session_actions(
    target: ImportTarget, sessions: Sequence[ArchivedSession], read: Counter[str]
) -> Iterator[Action]:
    """Say how far sessions were consolidated of which the store has what the file has, no more.

    Of any other, the store has episodes that were never read.
    """
    store, scope, now = target.store, target.scope, target.records.now()
    pending = store.sessions(scope, pending=True) if sessions else {}
    for session in sessions:
        where = Filter(now=now, retired=True, session=session.id, kinds=(Kind.EPISODE,))
        held = store.count(target.everyone, where).get(Kind.EPISODE, 0)
        if session.id not in pending or held != read[session.id]:
            continue
        through = session.through or ""
        last = store.get(scope, [through]).get(through)
        yield AdvanceSession(
            session.id,
            through=-1 if last is None or last.position is None else last.position,
            at=session.consolidated_at or now,
            finished=session.consolidated_at is not None,
        )
