"""Reads an export back: in batches, keeping ids, and only what is not there yet.

The file is read twice. The first time everything in it is checked, so that a broken line or an
id that is taken leaves the store as it was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from memoranda.errors import InvalidInput
from memoranda.model.actions import (
    Action,
    Append,
    Calibrate,
    ClearView,
    Close,
    Consolidated,
    Decide,
    EndConversation,
    OpenConversation,
    Prune,
    Retire,
)
from memoranda.model.checks import located
from memoranda.model.models import (
    Calibration,
    ConversationInfo,
    Kind,
    Message,
    Pruning,
    Record,
    Scope,
)
from memoranda.model.ports import Progress, Store
from memoranda.model.query import Filter
from memoranda.transfer.archive import (
    ArchivedConversation,
    ArchivedRecord,
    ArchivedSession,
    ArchivePart,
    MessageLine,
    PruningLine,
    check_header,
    mark_ended,
    parse_line,
)
from memoranda.transfer.batches import BATCH, ImportTarget, Moved, Steps
from memoranda.transfer.json_files import JsonFile

IMPORTED = "imported"


@dataclass(frozen=True, slots=True)
class ArchiveEntry:
    """A part of a file, and the place where it begins."""

    place: str
    value: ArchivePart

    @property
    def lines(self) -> int:
        """How many lines it takes."""
        if not isinstance(self.value, ArchivedConversation):
            return 1
        return 1 + len(self.value.messages) + len(self.value.prunings)


@dataclass(frozen=True, slots=True)
class OpenConversationEntry:
    """A conversation of a file while its lines are read."""

    place: str
    info: ConversationInfo
    messages: dict[str, Message] = field(default_factory=dict)
    prunings: dict[str, Pruning] = field(default_factory=dict)
    positions: dict[str, int] = field(default_factory=dict)

    def add(self, part: MessageLine | PruningLine) -> None:
        """Take a message, or the receipt of a pruning.

        Raises:
            InvalidInput: there is one with its id already.
        """
        match part:
            case MessageLine(message=message):
                _refuse_second(self.messages, message.id, "messages", self.info)
                self.positions[message.id] = len(self.messages)
                self.messages[message.id] = message
            case PruningLine(pruning=pruning):
                _refuse_second(self.prunings, pruning.id, "prunings", self.info)
                self.prunings[pruning.id] = pruning

    def entry(self) -> ArchiveEntry:
        """Return the whole conversation.

        Raises:
            InvalidInput: it is cleared through a message that it has not.
        """
        cleared = self.info.cleared_through
        if cleared is not None and cleared not in self.messages:
            message = (
                f"{self.place}: cleared_through={cleared!r} "
                f"is no message of the conversation {self.info.id!r}"
            )
            raise InvalidInput(message)
        parts = tuple(self.messages.values()), tuple(self.prunings.values())
        return ArchiveEntry(self.place, ArchivedConversation(self.info, *parts))


def _refuse_second(known: Mapping[str, object], id: str, what: str, info: ConversationInfo) -> None:
    if id in known:
        message = f"two {what} of the conversation {info.id!r} have the same id {id!r}"
        raise InvalidInput(message)


def restore(target: ImportTarget, file: JsonFile, progress: Progress | None) -> Moved:
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
    total = 0
    others = [Scope(user) for user in target.store.users() if user != target.scope.user]
    for batch in _batches(file, target.scope):
        total += sum(entry.lines for entry in batch)
        _refuse_taken(target.store, others, batch)
    steps, moved = Steps(total, progress), Moved()
    read: Counter[str] = Counter()
    for batch in _batches(file, target.scope):
        moved = moved.plus(_write(target, batch, read))
        steps.advance(sum(entry.lines for entry in batch))
    return moved


def _batches(file: JsonFile, scope: Scope) -> Iterator[list[ArchiveEntry]]:
    batch: list[ArchiveEntry] = []
    size = 0
    for entry in _entries(file, scope):
        batch.append(entry)
        size += entry.lines
        if size >= BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _entries(file: JsonFile, scope: Scope) -> Iterator[ArchiveEntry]:
    items = file.items()
    header = next(items)
    with located(header.place):
        exported_at = check_header(header.value)
    opened: OpenConversationEntry | None = None
    for item in items:
        with located(item.place):
            value = parse_line(item.value, scope, opened.positions if opened else {})
            if isinstance(value, MessageLine | PruningLine):
                _owner(value, opened).add(value)
                continue
        if opened:
            yield opened.entry()
        opened = None
        if isinstance(value, ConversationInfo):
            opened = OpenConversationEntry(item.place, value)
        elif isinstance(value, ArchivedRecord) and exported_at:
            yield ArchiveEntry(item.place, mark_ended(value, exported_at))
        else:
            yield ArchiveEntry(item.place, value)
    if opened:
        yield opened.entry()


def _owner(
    part: MessageLine | PruningLine, opened: OpenConversationEntry | None
) -> OpenConversationEntry:
    if opened is None or opened.info.id != part.conversation:
        what = "message" if isinstance(part, MessageLine) else "pruning"
        message = f"a {what} must follow the line of its conversation {part.conversation!r}"
        raise InvalidInput(message)
    return opened


def _refuse_taken(store: Store, others: Sequence[Scope], batch: Sequence[ArchiveEntry]) -> None:
    """Refuse ids of other users: the same record cannot be in one store for two."""
    places = {record.id: place for place, record in _records(batch)}
    for other in others:
        taken = {record.id: places[record.id] for record in store.get_many(other, list(places))}
        for entry in batch:
            if isinstance(entry.value, ArchivedConversation):
                held = store.messages(other, entry.value.info.id, cleared=True)
                known = {item.id for item in held}
                taken |= {item.id: entry.place for item in entry.value.messages if item.id in known}
        for name, place in taken.items():
            message = (
                f"{place}: {name} belongs to another user of this store; import the file "
                f"as the user who exported it, or into another store"
            )
            raise InvalidInput(message)


def _records(batch: Sequence[ArchiveEntry]) -> list[tuple[str, Record]]:
    """Return the records of a batch, each with its place."""
    return [
        (each.place, each.value.record) for each in batch if isinstance(each.value, ArchivedRecord)
    ]


def _write(target: ImportTarget, batch: Sequence[ArchiveEntry], read: Counter[str]) -> Moved:
    store, scope = target.store, target.scope
    records = [record for _, record in _records(batch)]
    known = {each.id for each in store.get_many(target.everyone, [each.id for each in records])}
    read.update(
        each.session_id for each in records if each.kind is Kind.EPISODE and each.session_id
    )
    actions: list[Action] = []
    moved = Moved()
    for entry in batch:
        match entry.value:
            case Decide():
                actions.append(entry.value)
            case ArchivedConversation():
                found, count = _conversation_actions(store, target.everyone, entry.value)
                actions.extend(found)
                moved = moved.plus(count)
            case ArchivedRecord(record=record) if record.id in known:
                moved = moved.plus(Moved(skipped=1))
            case ArchivedRecord(record=record):
                known.add(record.id)
                actions.append(target.records.planner.insert(record, IMPORTED))
                actions += _endings(entry.value)
                moved = moved.plus(Moved(records=1))
    store.apply(scope, actions)
    sessions = [entry.value for entry in batch if isinstance(entry.value, ArchivedSession)]
    plan = _session_actions(store, scope, sessions, read, target.records.now())
    store.apply(scope, list(plan))
    return moved


def _endings(part: ArchivedRecord) -> Iterator[Action]:
    record = part.record
    if part.closed_at is not None:
        yield Close(record.id, part.closed_at, IMPORTED, superseded_by=record.superseded_by)
    if part.retired_at is not None:
        yield Retire(record.id, part.retired_at, IMPORTED)


def _session_actions(
    store: Store,
    scope: Scope,
    sessions: Sequence[ArchivedSession],
    read: Counter[str],
    now: datetime,
) -> Iterator[Action]:
    """Say how far sessions were consolidated of which the store has what the file has, no more.

    Of any other, the store has episodes that were never read.
    """
    pending = {info.id for info in store.sessions(scope, pending=True)} if sessions else set()
    for session in sessions:
        where = Filter(now=now, retired=True, session=session.id, kinds=(Kind.EPISODE,))
        held = store.count(Scope(scope.user), where).get(Kind.EPISODE, 0)
        if session.id not in pending or held != read[session.id]:
            continue
        last = store.get(scope, session.through) if session.through else None
        yield Consolidated(
            session.id,
            through=-1 if last is None or last.position is None else last.position,
            at=session.consolidated_at or now,
            finished=session.consolidated_at is not None,
        )


def _conversation_actions(
    store: Store, everyone: Scope, part: ArchivedConversation
) -> tuple[list[Action], Moved]:
    info = part.info
    if store.conversation(everyone, info.id) is None:
        return _whole(part), Moved(messages=len(part.messages))
    known = {message.id for message in store.messages(everyone, info.id, cleared=True)}
    new = [Append(info.id, message) for message in part.messages if message.id not in known]
    return list(new), Moved(messages=len(new), skipped=len(part.messages) - len(new))


def _whole(part: ArchivedConversation) -> list[Action]:
    info = part.info
    actions: list[Action] = [OpenConversation(info)]
    for message in part.messages:
        actions.append(Append(info.id, message))
        if message.id == info.cleared_through:
            actions.append(ClearView(info.id))
    actions += [Prune(info.id, pruning) for pruning in part.prunings]
    if info.calibration != Calibration():
        actions.append(Calibrate(info.id, info.calibration))
    if info.ended_at is not None:
        actions.append(EndConversation(info.id, info.ended_at))
    return actions
