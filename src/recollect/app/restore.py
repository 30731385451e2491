"""Reads an export back: in batches, keeping ids, and only what is not there yet.

The file is read twice. The first time everything in it is checked, so that a broken line or an
id that is taken leaves the store as it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from recollect.app import archive
from recollect.app.archive import Pruned, Said, Talk
from recollect.app.batches import BATCH, Moved, Steps
from recollect.app.formats import JsonFile, located
from recollect.app.parts import Parts
from recollect.core.actions import (
    Action,
    Append,
    Calibrate,
    ClearView,
    EndConversation,
    Insert,
    OpenConversation,
    Prune,
)
from recollect.core.errors import InvalidInput
from recollect.core.models import Calibration, ConversationInfo, Message, Pruning, Record
from recollect.core.ports import Progress, Store
from recollect.core.scope import Scope


@dataclass(frozen=True, slots=True)
class Entry:
    """A record or a conversation of a file, and the place where it begins."""

    place: str
    value: Record | Talk

    @property
    def lines(self) -> int:
        """How many lines it takes."""
        if isinstance(self.value, Record):
            return 1
        return 1 + len(self.value.messages) + len(self.value.prunings)


@dataclass(frozen=True, slots=True)
class Opened:
    """A conversation of a file while its lines are read."""

    place: str
    info: ConversationInfo
    messages: dict[str, Message] = field(default_factory=dict)
    prunings: dict[str, Pruning] = field(default_factory=dict)
    positions: dict[str, int] = field(default_factory=dict)

    def add(self, part: Said | Pruned) -> None:
        """Take a message, or the receipt of a pruning.

        Raises:
            InvalidInput: there is one with its id already.
        """
        match part:
            case Said(message=message):
                _refuse_second(self.messages, message.id, "messages", self.info)
                self.positions[message.id] = len(self.messages)
                self.messages[message.id] = message
            case Pruned(pruning=pruning):
                _refuse_second(self.prunings, pruning.id, "prunings", self.info)
                self.prunings[pruning.id] = pruning

    def entry(self) -> Entry:
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
        return Entry(self.place, Talk(self.info, *parts))


def _refuse_second(known: Mapping[str, object], id: str, what: str, info: ConversationInfo) -> None:
    if id in known:
        message = f"two {what} of the conversation {info.id!r} have the same id {id!r}"
        raise InvalidInput(message)


def restore(parts: Parts, scope: Scope, file: JsonFile, progress: Progress | None) -> Moved:
    """Bring the memory in ``file`` into the scope's.

    Records and conversations keep their ids, times and order; positions in a session are
    counted anew. What is there already is left as it is: a conversation gets the messages
    it lacks, and keeps its own settings, view and prunings. A batch of records is one
    transaction, a conversation is never parted, so that an import that was cut short goes
    on where it stopped.

    Raises:
        InvalidInput: a line is broken, or an id belongs to another user of the store;
            nothing was written.
    """
    total = 0
    others = [Scope(user) for user in parts.store.users() if user != scope.user]
    for batch in _batches(file, scope):
        total += sum(entry.lines for entry in batch)
        _refuse_taken(parts.store, others, batch)
    steps, moved = Steps(total, progress), Moved()
    for batch in _batches(file, scope):
        moved = moved.plus(_write(parts, scope, batch))
        steps.advance(sum(entry.lines for entry in batch))
    return moved


def _batches(file: JsonFile, scope: Scope) -> Iterator[list[Entry]]:
    batch: list[Entry] = []
    size = 0
    for entry in _entries(file, scope):
        batch.append(entry)
        size += entry.lines
        if size >= BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _entries(file: JsonFile, scope: Scope) -> Iterator[Entry]:
    items = file.items()
    header = next(items)
    with located(header.place):
        archive.check_version(header.value)
    opened: Opened | None = None
    for item in items:
        with located(item.place):
            value = archive.parse(item.value, scope, opened.positions if opened else {})
            if isinstance(value, Said | Pruned):
                _owner(value, opened).add(value)
                continue
        if opened:
            yield opened.entry()
        opened = None
        if isinstance(value, Record):
            yield Entry(item.place, value)
        else:
            opened = Opened(item.place, value)
    if opened:
        yield opened.entry()


def _owner(part: Said | Pruned, opened: Opened | None) -> Opened:
    if opened is None or opened.info.id != part.conversation:
        what = "message" if isinstance(part, Said) else "pruning"
        message = f"a {what} must follow the line of its conversation {part.conversation!r}"
        raise InvalidInput(message)
    return opened


def _refuse_taken(store: Store, others: Sequence[Scope], batch: Sequence[Entry]) -> None:
    """Refuse ids of other users: the same record cannot be in one store for two."""
    places = {entry.value.id: entry.place for entry in batch if isinstance(entry.value, Record)}
    talks = [entry for entry in batch if isinstance(entry.value, Talk)]
    for other in others:
        taken = {record.id: places[record.id] for record in store.get_many(other, list(places))}
        for entry in talks:
            if isinstance(entry.value, Talk):
                known = {
                    item.id for item in store.messages(other, entry.value.info.id, cleared=True)
                }
                taken |= {item.id: entry.place for item in entry.value.messages if item.id in known}
        for name, place in taken.items():
            message = (
                f"{place}: {name} belongs to another user of this store; import the file "
                f"as the user who exported it, or into another store"
            )
            raise InvalidInput(message)


def _write(parts: Parts, scope: Scope, batch: Sequence[Entry]) -> Moved:
    everyone = Scope(scope.user)  # What another agent of the user has is there already, too.
    ids = [entry.value.id for entry in batch if isinstance(entry.value, Record)]
    known = {record.id for record in parts.store.get_many(everyone, ids)}
    actions: list[Action] = []
    moved = Moved()
    for entry in batch:
        if isinstance(entry.value, Talk):
            found, count = _talk_actions(parts.store, everyone, entry.value)
            actions.extend(found)
            moved = moved.plus(count)
        elif entry.value.id in known:
            moved = moved.plus(Moved(skipped=1))
        else:
            known.add(entry.value.id)
            mentions = tuple(parts.extractor.extract(entry.value.content))
            actions.append(Insert(entry.value, mentions, "imported"))
            moved = moved.plus(Moved(records=1))
    parts.store.apply(scope, actions)
    return moved


def _talk_actions(store: Store, everyone: Scope, talk: Talk) -> tuple[list[Action], Moved]:
    info = talk.info
    if store.conversation(everyone, info.id) is None:
        return _whole(talk), Moved(messages=len(talk.messages))
    known = {message.id for message in store.messages(everyone, info.id, cleared=True)}
    new = [Append(info.id, message) for message in talk.messages if message.id not in known]
    return list(new), Moved(messages=len(new), skipped=len(talk.messages) - len(new))


def _whole(talk: Talk) -> list[Action]:
    info = talk.info
    actions: list[Action] = [OpenConversation(info)]
    for message in talk.messages:
        actions.append(Append(info.id, message))
        if message.id == info.cleared_through:
            actions.append(ClearView(info.id))
    actions += [Prune(info.id, pruning) for pruning in talk.prunings]
    if info.calibration != Calibration():
        actions.append(Calibrate(info.id, info.calibration))
    if info.ended_at is not None:
        actions.append(EndConversation(info.id, info.ended_at))
    return actions
