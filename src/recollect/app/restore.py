"""Reads an export back: in batches, keeping ids, and only what is not there yet.

The file is read twice. The first time everything in it is checked, so that a broken line or an
id that is taken leaves the store as it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from recollect.app import archive
from recollect.app.archive import Said, Talk
from recollect.app.batches import BATCH, Moved, Steps
from recollect.app.formats import Item, JsonFile, located
from recollect.app.parts import Parts
from recollect.core.actions import (
    Action,
    Append,
    ClearView,
    EndConversation,
    Insert,
    OpenConversation,
)
from recollect.core.errors import InvalidInput
from recollect.core.models import ConversationInfo, Message, Record
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
        return 1 if isinstance(self.value, Record) else 1 + len(self.value.messages)


def restore(parts: Parts, scope: Scope, file: JsonFile, progress: Progress | None) -> Moved:
    """Bring the memory in ``file`` into the scope's.

    Records and conversations keep their ids, times and order; positions in a session are
    counted anew. What is there already is left as it is. A batch of records is one
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
    opened: tuple[Item, ConversationInfo] | None = None
    messages: list[Message] = []
    for item in items:
        with located(item.place):
            value = archive.parse(item.value, scope)
            if isinstance(value, Said):
                messages.append(_belonging(value, opened and opened[1]))
                continue
        if opened:
            yield _conversation(*opened, messages)
        opened, messages = None, []
        if isinstance(value, Record):
            yield Entry(item.place, value)
        else:
            opened = (item, value)
    if opened:
        yield _conversation(*opened, messages)


def _belonging(said: Said, info: ConversationInfo | None) -> Message:
    if info is None or info.id != said.conversation:
        message = f"a message must follow the line of its conversation {said.conversation!r}"
        raise InvalidInput(message)
    return said.message


def _conversation(item: Item, info: ConversationInfo, messages: list[Message]) -> Entry:
    ids = {message.id for message in messages}
    if len(ids) < len(messages):
        message = f"{item.place}: two messages of the conversation {info.id!r} have the same id"
        raise InvalidInput(message)
    if info.cleared_through is not None and info.cleared_through not in ids:
        message = (
            f"{item.place}: cleared_through={info.cleared_through!r} "
            f"is no message of the conversation {info.id!r}"
        )
        raise InvalidInput(message)
    return Entry(item.place, Talk(info, tuple(messages)))


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
    if info.ended_at is not None:
        actions.append(EndConversation(info.id, info.ended_at))
    return actions
