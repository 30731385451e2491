"""What of a user moves from one store to another, and memoranda's own file format for it.

A file of JSON Lines: a header, then what persons decided on names, then a line for each record in
the order they were recorded with what was done to it, then how far each session was read, what
language models took and what was erased, then each conversation followed by its messages, the
receipts of its prunings and the tombstones of removed messages, and at last the notes. The header
names the user, so the lines do not. The order of the lines gives the positions, so receipts name
messages by their ids, and nothing is off where some were erased. Vectors, index and entity links
are derived and made anew where a file is read, and so is enrichment. A conversation that was
deleted stays behind; its episodes, which have ended, do not.

A file is read back in batches, keeping ids, and only what is not there yet. It is read twice: the
first time everything in it is checked, so that a broken line or an id that is taken leaves the
store as it was.
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import Any, TypeAlias

from memoranda.conversation.formats.parse import parse_role
from memoranda.errors import InvalidInput
from memoranda.model.actions import (
    Action,
    AdvanceSession,
    Append,
    ClearTranscript,
    Insert,
    KeepNameDecision,
    KeepTombstone,
    KeepUserMetadata,
    OpenConversation,
    Prune,
    ReplaceRecord,
    UpdateConversation,
)
from memoranda.model.checks import (
    clean,
    content_hash,
    located,
    parse_metadata,
    refuse_unknown,
    storable,
)
from memoranda.model.json_object import JsonObject, iso, json_fields, read_dataclass
from memoranda.model.models import (
    Change,
    ChangeAction,
    ConversationInfo,
    Kind,
    Message,
    PrunedSpan,
    Pruning,
    Record,
    Scope,
    Tombstone,
)
from memoranda.model.notes import NOTES_FILES, NotedLine, NotesContent
from memoranda.model.ports import Store
from memoranda.model.query import Filter, Subset
from memoranda.model.traces import (
    AgentSession,
    AgentUsage,
    AuditTrail,
    ErasedRecord,
    SessionRecall,
    UserMetadata,
)
from memoranda.model.usage import Usage
from memoranda.records.drafts import parse_kind, parse_tags, parse_trust
from memoranda.records.items import parse_address
from memoranda.records.pages import record_pages
from memoranda.transfer.batches import BATCH, ImportCounts, ImportTarget
from memoranda.transfer.json_files import ARCHIVE_NAMES, NAMES, FileFormat, JsonFile

VERSION = 4
# Version 1 knew no prunings, calibration, images and tasks; version 2 neither strength, endings,
# sessions nor decisions on names; version 3 of a record only how it ended, and of a session only
# how far it was read.
FORMER = 3
READABLE = (1, 2, FORMER, VERSION)
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
CHANGE = ("at", "action", "reason", "detail")
# What may be blank in a message, its calls and its result.
BLANK = ("content", "task", "id", "name", "arguments", "call_id")
IMPORTED = "imported"


@dataclass(frozen=True, slots=True)
class ArchivedRecord:
    """A record with what was done to it."""

    record: Record
    trail: AuditTrail


@dataclass(frozen=True, slots=True)
class ArchivedSession:
    """How far a session was consolidated, as files of version 3 say it.

    Attributes:
        id: the session.
        consolidated_at: when all its episodes had been read.
        through: id of the last of its episodes that was read.
    """

    id: str
    consolidated_at: datetime | None
    through: str | None


@dataclass(frozen=True, slots=True)
class ArchivedConversation:
    """A conversation with its whole transcript.

    Attributes:
        info: its settings.
        agent: whose it is, if it is an agent's.
        messages: all of it, also what was cleared.
        prunings: the receipts; their cuts name messages by their places among ``messages``.
        tombstones: what is left of messages that were removed.
    """

    info: ConversationInfo
    agent: str | None
    messages: Sequence[Message]
    prunings: Sequence[Pruning]
    tombstones: Sequence[Tombstone]


ArchivedPart: TypeAlias = (
    KeepNameDecision
    | ArchivedRecord
    | ArchivedSession
    | AgentSession
    | AgentUsage
    | ErasedRecord
    | ArchivedConversation
    | NotesContent
)


@dataclass(frozen=True, slots=True)
class ArchiveEntry:
    """A part of a user's memory, and where it is told.

    Attributes:
        place: where it begins.
        part: what it is.
    """

    place: str
    part: ArchivedPart

    @property
    def lines(self) -> int:
        """How many lines it takes."""
        if not isinstance(self.part, ArchivedConversation):
            return 1
        part = self.part
        return 1 + len(part.messages) + len(part.prunings) + len(part.tombstones)


# Out of a store


def stored_parts(
    store: Store, scope: Scope, now: datetime, notes: Iterable[NotesContent] = ()
) -> Iterator[ArchivedPart]:
    """Yield all that the scope sees, and what its notes say.

    A page of records or one conversation is in memory.
    """
    for name, target in store.decisions(scope).items():
        yield KeepNameDecision(name, target)
    for page in record_pages(store, scope, now, tuple(Kind)):
        yield from archived_records(store, scope, page)
    kept = store.user_metadata(scope)
    yield from kept.sessions
    yield from kept.usage
    yield from kept.erased
    for info in reversed(list(store.conversations(scope).values())):
        yield _archived_conversation(store, scope, info, kept.owners.get(info.id))
    yield from notes


def archived_records(
    store: Store, scope: Scope, records: Sequence[Record]
) -> Iterator[ArchivedRecord]:
    """Yield records with what was done to them."""
    trails = store.trails(scope, [record.id for record in records])
    for record in records:
        # Enrichment is made anew, as the links are that it made.
        bare = record if record.enriched_at is None else replace(record, enriched_at=None)
        yield ArchivedRecord(bare, trails[record.id])


def _archived_conversation(
    store: Store, scope: Scope, info: ConversationInfo, agent: str | None
) -> ArchivedConversation:
    messages = store.messages(scope, info.id, cleared=True)
    places = [message.position or 0 for message in messages]
    prunings = [
        replace(pruning, cuts=tuple(_placed_cuts(pruning, places)))
        for pruning in store.prunings(scope, info.id)
    ]
    tombstones = store.tombstones(scope, info.id)
    return ArchivedConversation(info, agent, messages, prunings, tombstones)


def _placed_cuts(pruning: Pruning, places: Sequence[int]) -> Iterator[PrunedSpan]:
    """Yield the spans that were pruned, by the places of their messages that were not erased."""
    for cut in pruning.cuts:
        first, end = bisect_left(places, cut.first), bisect_right(places, cut.last)
        if first < end:
            yield replace(cut, first=first, last=end - 1)


# Into a file


def archive_lines(
    scope: Scope, now: datetime, parts: Iterable[ArchivedPart]
) -> Iterator[tuple[str, str]]:
    """Yield type and text of each line of a file with these parts."""
    head = {"format": FileFormat.MEMORANDA, "version": VERSION}
    yield "header", _dump(head | {"user": scope.user, "exported_at": iso(now)})
    for part in parts:
        yield from part_lines(part)


def part_lines(part: ArchivedPart) -> Iterator[tuple[str, str]]:
    """Yield type and text of each line that a part takes."""
    match part:
        case ArchivedRecord(record, trail):
            value = json_fields(record, KEYS["record"]) | json_fields(trail, KEYS["trail"])
            value["changes"] = [json_fields(change, CHANGE) for change in trail.changes]
            yield _line("record", value)
        case ArchivedConversation(info, agent):
            value = json_fields(info, KEYS["conversation"])
            yield _line("conversation", value | {"agent": agent})
            yield from _transcript_lines(part)
        case _:
            kind = TYPES[type(part)]
            yield _line(kind, json_fields(part, KEYS[kind]))


TYPES: Mapping[type, str] = {
    KeepNameDecision: "decision",
    AgentSession: "session",
    AgentUsage: "usage",
    ErasedRecord: "erased",
    NotesContent: "notes",
}


def _transcript_lines(part: ArchivedConversation) -> Iterator[tuple[str, str]]:
    whose, names = part.info.id, KEYS["message"][1:]
    for message in part.messages:
        yield _line("message", json_fields(message, names), whose)
    for pruning in part.prunings:
        value = json_fields(pruning, KEYS["pruning"][1:])
        value["cuts"] = [
            json_fields(cut, CUT)
            | {"first": part.messages[cut.first].id, "last": part.messages[cut.last].id}
            for cut in pruning.cuts
        ]
        yield _line("pruning", value, whose)
    for tombstone in part.tombstones:
        removed = [json_fields(item, names) for item in tombstone.messages]
        value = json_fields(tombstone, KEYS["tombstone"][1:-1])
        yield _line("tombstone", value | {"messages": removed}, whose)


def _line(kind: str, value: Mapping[str, Any], conversation: str | None = None) -> tuple[str, str]:
    whose = {} if conversation is None else {"conversation": conversation}
    return kind, _dump({"type": kind, **whose, **value})


def _dump(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n"


# Out of a file


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
        version, exported_at = _version(header.value)
    opened: _OpenConversation | None = None
    for place, value in items:
        with located(place):
            line = JsonObject(value)
            kind = line.text("type")
            if kind not in KEYS or kind == "trail":
                raise InvalidInput(
                    f"type={kind!r} is unknown; use record, decision, session, usage, erased, "
                    f"conversation, message, pruning, tombstone or notes"
                )
            line.require_only(("type", *KEYS[kind], *MORE.get(kind, ())))
            if kind in {"message", "pruning", "tombstone"}:
                _add(opened, kind, line)
                continue
        if opened:
            yield opened.entry()
        opened = None
        with located(place):
            if kind == "conversation":
                info = read_dataclass(ConversationInfo, line)
                opened = _OpenConversation(place, info, _agent(line, scope))
            elif kind == "record":
                yield ArchiveEntry(place, _read_record(line, scope, exported_at))
            elif kind == "session" and version == FORMER:
                yield ArchiveEntry(place, read_dataclass(ArchivedSession, line))
            else:
                yield ArchiveEntry(place, _read_part(kind, line, scope))
    if opened:
        yield opened.entry()


# Keys of a line that are of another list, or that only former versions had.
MORE = {"record": (*KEYS["trail"], "retired_at"), "conversation": ("agent",)}


def _version(header: Mapping[str, Any]) -> tuple[int, datetime | None]:
    """Return the version, and the moment of an old file, whose records do not say what ended them.

    Raises:
        InvalidInput: it is of a newer memoranda, or of no version.
    """
    version = header.get("version")
    if version not in READABLE:
        raise InvalidInput(
            f"version={version!r} of the format is unknown, this memoranda reads up to {VERSION}; "
            f"upgrade with pip install -U memoranda"
        )
    if version >= FORMER:
        return version, None
    told = JsonObject(header).optional_moment("exported_at")
    return version, told or datetime.max.replace(tzinfo=UTC)


def _agent(line: JsonObject, scope: Scope) -> str | None:
    """Return whose a line is: where the scope names an agent, that one's instead of another's."""
    agent = line.optional_text("agent")
    return (scope.agent or agent) if agent else None


def _read_part(kind: str, line: JsonObject, scope: Scope) -> ArchivedPart:
    agent = _agent(line, scope)
    match kind:
        case "decision":
            return read_dataclass(KeepNameDecision, line)
        case "session":
            through, noted = (
                -1 if line.get(each) in NONE_YET else line.whole(each) for each in ENDS
            )
            return read_dataclass(AgentSession, line, agent=agent, through=through, noted=noted)
        case "usage":
            used = JsonObject(line.get("usage"))
            cost = None if used.get("cost") is None else used.number("cost", 0.0)
            return read_dataclass(
                AgentUsage, line, agent=agent, usage=read_dataclass(Usage, used, cost=cost)
            )
        case "erased":
            return read_dataclass(ErasedRecord, line, agent=agent)
    lines = tuple(read_dataclass(NotedLine, each) for each in line.objects("lines"))
    files = {
        _file_name(name): storable(text, name)
        for name, text in (line.optional_object("files") or {}).items()
    }
    return NotesContent(agent, lines, files)


# How far a session was read and told: -1 before any.
ENDS, NONE_YET = ("through", "noted"), (None, -1)


def _file_name(name: str) -> str:
    if not any(fnmatchcase(name, pattern) for pattern in NOTES_FILES):
        message = f"{name!r:.80} is no file of the notes; these are {', '.join(NOTES_FILES)}"
        raise InvalidInput(message)
    return name


def _read_record(line: JsonObject, scope: Scope, exported_at: datetime | None) -> ArchivedRecord:
    kind = parse_kind(line.get("kind"))
    trust = parse_trust(line.get("trust"), line.optional_text("source_role"))
    namespace: tuple[str, ...] = ()
    key = None
    if kind is Kind.ITEM:
        namespace, key = parse_address(line.list("namespace"), line.get("key"))
        content = storable(line.get("content"), "content")
    else:
        content = line.text("content")
    name, ends = _id(line, kind.prefix), line.optional_moment("valid_until")
    trail = _read_trail(line, name)
    # What had ended when an old file was written counts as forgotten, so that nobody learns from
    # it.
    if exported_at and ends and ends <= exported_at:
        trail = _ended(trail, ChangeAction.CLOSE, ends, name)
    retired_at = line.optional_moment("retired_at")
    if retired_at is not None:
        trail = _ended(trail, ChangeAction.RETIRE, retired_at, name)
    known_ends = [each for each in (ends, trail.closed_at, retired_at) if each is not None]
    record = read_dataclass(
        Record,
        line,
        id=name,
        kind=kind,
        content=content,
        content_hash=content_hash(content),  # A line may have been edited by hand.
        user=scope.user,
        agent=_agent(line, scope),
        valid_until=min(known_ends, default=None),
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
    return ArchivedRecord(record, trail)


def _read_trail(line: JsonObject, id: str) -> AuditTrail:
    """Return what was done to a record; of version 3 that is when it was closed."""
    trail = AuditTrail(
        reason=line.optional_text("reason", blank=True) or IMPORTED,
        retired=line.flag("retired"),
        changes=tuple(_read_change(change, id) for change in line.objects("changes")),
        recalls=tuple(read_dataclass(SessionRecall, each) for each in line.objects("recalls")),
    )
    closed_at = line.optional_moment("closed_at")
    if closed_at is None:
        return trail
    if line.get("changes") is None:
        return _ended(trail, ChangeAction.CLOSE, closed_at, id)
    return replace(trail, closed_at=closed_at)


def _ended(trail: AuditTrail, action: ChangeAction, at: datetime, id: str) -> AuditTrail:
    """Return the trail of a record that ended so."""
    changes = (*trail.changes, Change(at, action, IMPORTED, id))
    if action is ChangeAction.RETIRE:
        return replace(trail, retired=True, changes=changes)
    return replace(trail, closed_at=at, changes=changes)


def _read_change(line: JsonObject, id: str) -> Change:
    line.require_only(CHANGE)
    action = line.text("action")
    refuse_unknown([action], ChangeAction, "action")
    detail = line.optional_object("detail") or {}
    return read_dataclass(
        Change, line, blank=("reason",), record=id, action=ChangeAction(action), detail=detail
    )


@dataclass(frozen=True, slots=True)
class _OpenConversation:
    """A conversation of a file while its lines are read."""

    place: str
    info: ConversationInfo
    agent: str | None
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
        messages, prunings = list(self.messages.values()), list(self.prunings.values())
        tombstones = list(self.tombstones.values())
        part = ArchivedConversation(info, self.agent, messages, prunings, tombstones)
        return ArchiveEntry(self.place, part)


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

    Records and conversations keep their ids, times and order. What is there already is left as
    it is: a conversation gets the messages it lacks, and keeps its own settings, view and
    prunings; so do files of the notes. A batch of records is one transaction, a conversation is
    never parted, so that an import that was cut short goes on where it stopped. Decisions on
    names that were made here stay.

    Raises:
        InvalidInput: a line is broken, or an id belongs to another user of the store;
            nothing was written.
    """
    others = [Scope(user) for user in target.store.users() if user != target.scope.user]
    for batch in _batches(archive_entries(file, target.scope)):
        counts.total += sum(entry.lines for entry in batch)
        _refuse_taken(target.store, others, batch)
    write_entries(target, archive_entries(file, target.scope), counts)


def write_entries(
    target: ImportTarget,
    entries: Iterable[ArchiveEntry],
    counts: ImportCounts,
    *,
    update: bool = False,
) -> None:
    """Store what is not there yet, in batches.

    Args:
        target: the memory.
        entries: what is to be stored.
        counts: what was done.
        update: bring up to date what is there, too.

    Raises:
        InvalidInput: a conversation that is there went on otherwise.
    """
    read: Counter[str] = Counter()
    for batch in _batches(entries):
        _ArchiveWriter(target, counts, read, update=update).write(batch)
        counts.advance(sum(entry.lines for entry in batch))


def _batches(entries: Iterable[ArchiveEntry]) -> Iterator[list[ArchiveEntry]]:
    batch: list[ArchiveEntry] = []
    size = 0
    for entry in entries:
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
        if isinstance(entry.part, ArchivedRecord):
            records[entry.part.record.id] = entry.place
        elif isinstance(entry.part, ArchivedConversation):
            said = entry.part.messages
            messages[entry.part.info.id] = dict.fromkeys((each.id for each in said), entry.place)
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


class _ArchiveWriter:
    """Stores a batch.

    Args:
        target: the memory.
        counts: what was done.
        read: how many episodes each session has among all that was read.
        update: whether what is there is brought up to date.
    """

    def __init__(
        self, target: ImportTarget, counts: ImportCounts, read: Counter[str], *, update: bool
    ) -> None:
        self.target, self.counts, self.read, self.update = target, counts, read, update
        self.store, self.scope, self.everyone = target.store, target.scope, target.everyone

    def write(self, batch: Sequence[ArchiveEntry]) -> None:
        """Store it in one transaction; then what says how far sessions are, and the notes."""
        parts = [entry.part for entry in batch]
        records = [part for part in parts if isinstance(part, ArchivedRecord)]
        known = self._known([part.record.id for part in records])
        actions: list[Action] = []
        for entry in batch:
            match entry.part:
                case ArchivedRecord():
                    actions += self._record_actions(entry.part, known)
                case ArchivedConversation():
                    actions += self._conversation_actions(entry.part, entry.place)
                case KeepNameDecision():
                    actions.append(entry.part)
        usage = tuple(part for part in parts if isinstance(part, AgentUsage))
        erased = tuple(part for part in parts if isinstance(part, ErasedRecord))
        if usage or erased:
            actions.append(KeepUserMetadata(UserMetadata(usage=usage, erased=erased)))
        self.store.apply(self.scope, actions)
        self.store.apply(self.scope, list(self._session_actions(parts)))
        for part in parts:
            if isinstance(part, NotesContent):
                self._keep_notes(part)

    def _known(self, ids: Sequence[str]) -> dict[str, ArchivedRecord | None]:
        held = self.store.get(self.everyone, ids)
        if not self.update:
            return dict.fromkeys(held)
        found = archived_records(self.store, self.everyone, list(held.values()))
        return {part.record.id: part for part in found}

    def _record_actions(
        self, part: ArchivedRecord, known: dict[str, ArchivedRecord | None]
    ) -> Iterator[Action]:
        record = part.record
        self.read[record.session_id or ""] += record.kind is Kind.EPISODE
        if record.id in known:
            if self.update and known[record.id] != part:
                self.counts.updated += 1
                yield ReplaceRecord(record, part.trail)
            else:
                self.counts.skipped += 1
        elif not self.update and _has_item(self.store, self.scope, part):
            self.counts.skipped += 1
        else:
            known[record.id] = part
            self.counts.records += 1
            yield Insert(record, None, part.trail.reason, trail=part.trail)

    def _conversation_actions(self, part: ArchivedConversation, place: str) -> list[Action]:
        name, given = part.info.id, part.messages
        info = self.store.conversations(self.everyone, name).get(name)
        opening, *others = _creation(part)
        # One that was deleted, and is opened again, may have messages.
        anew = [opening, *([ClearTranscript(name)] if self.update else []), *others]
        if info is None:
            self.counts.messages += len(given)
            return anew
        held = _archived_conversation(self.store, self.everyone, info, part.agent)
        there = {message.id for message in held.messages}
        removed = {message.id for each in held.tombstones for message in each.messages}
        new = [message for message in given if message.id not in there | removed]
        self.counts.messages += len(new)
        self.counts.skipped += len(given) - len(new)
        if not self.update:
            return [Append(name, message) for message in new]
        if list(part_lines(held)) == list(part_lines(part)):
            return []
        told = {message.id for each in part.tombstones for message in each.messages}
        told.update(message.id for message in given)
        if more := min(there - told, default=None):
            message = (
                f"{place}: the conversation {name!r} has {more} in {self.store.location} alone"
            )
            raise InvalidInput(f"{message}; {OTHERWISE}")
        self.counts.updated += 1
        return anew

    def _session_actions(self, parts: Sequence[ArchivedPart]) -> Iterator[Action]:
        """Say how far sessions were read of which the store has what was read here, no more.

        Of any other, the store has episodes that were never read.
        """
        sessions = [part for part in parts if isinstance(part, AgentSession | ArchivedSession)]
        asked = bool(sessions) and not self.update
        pending = self.store.sessions(self.scope, pending=True) if asked else {}
        now = self.target.records.now()
        for session in sessions:
            if asked and (session.id not in pending or not self._has_only_read(session.id)):
                continue
            if isinstance(session, AgentSession):
                yield KeepUserMetadata(UserMetadata(sessions=(session,)))
                continue
            through = session.through or ""
            last = self.store.get(self.scope, [through]).get(through)
            yield AdvanceSession(
                session.id,
                through=-1 if last is None or last.position is None else last.position,
                at=session.consolidated_at or now,
                finished=session.consolidated_at is not None,
            )

    def _has_only_read(self, session: str) -> bool:
        where = Filter.at_any_time(session=session, kinds=(Kind.EPISODE,))
        held = self.store.count(self.everyone, where).get(Kind.EPISODE, 0)
        return held == self.read[session]

    def _keep_notes(self, content: NotesContent) -> None:
        owner = replace(self.scope, agent=content.agent)
        notes = self.target.notes.find(owner)
        if notes is None:
            self.counts.left_out.tell(f"notes of {owner.user}: {NO_FOLDER}")
            return
        for path in notes.keep(content, update=self.update):
            self.counts.left_out.tell(f"{path}: it is there already, and says something else")


OTHERWISE = "delete that user there, or copy to another place"
NO_FOLDER = "this memory has no folder for them; set notes.folder, and do it again"


def _creation(part: ArchivedConversation) -> list[Action]:
    """Return what stores a conversation of which nothing is there."""
    info = part.info
    actions: list[Action] = [OpenConversation(info, part.agent)]
    for message in part.messages:
        actions.append(Append(info.id, message))
        if message.id == info.cleared_through:
            actions.append(UpdateConversation(info.id, clear=True))
    actions += [Prune(info.id, pruning) for pruning in part.prunings]
    actions += [KeepTombstone(info.id, each) for each in part.tombstones]
    ends = UpdateConversation(info.id, calibration=info.calibration, ended_at=info.ended_at)
    return [*actions, ends]


def _has_item(store: Store, scope: Scope, part: ArchivedRecord) -> bool:
    """Return whether there is an item under the key of this one."""
    item = part.record
    if item.key is None or part.trail.closed_at is not None:
        return False
    where = Filter.at_any_time(namespace=item.namespace, key=item.key, subset=Subset.STANDING)
    return any(each.agent == item.agent for each in store.records(scope, where))
