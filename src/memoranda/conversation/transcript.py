"""Where the messages of a conversation are kept: in memory or in a store here, in a file elsewhere.

In a store each message is also an episode that later conversations find.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from datetime import datetime
from threading import Lock
from typing import Protocol, TypedDict, Unpack

from memoranda.errors import InvalidInput, NotFound
from memoranda.model.changes import RecordAccess, RecordChange, StoredRecord
from memoranda.model.checks import content_hash, limited, named
from memoranda.model.models import (
    Calibration,
    ConversationInfo,
    ForgetReceipt,
    Kind,
    Message,
    Pruning,
    Scope,
    Tombstone,
)
from memoranda.model.query import Filter, MessageRange
from memoranda.model.replacements import Replacement, add_summaries, refuse_cleared
from memoranda.records.drafts import Draft
from memoranda.records.service import RecordService
from memoranda.store.sql.store import Store, Transaction
from memoranda.text import recalled


class RemovalOptions(TypedDict, total=False):
    """Which messages are removed, and what takes their place.

    Attributes:
        ids: the messages of these ids.
        newest: or so many of the newest since the last ``clear``.
        messages: what stands from then on where the first of them stood.
    """

    ids: Sequence[str]
    newest: int
    messages: Sequence[Message]


class Transcript(Protocol):
    """A list of messages of messages with the settings of its conversation. Thread-safe."""

    def snapshot(self) -> AbstractContextManager[object]:
        """Let all reads of this thread inside the block see one moment."""

    def info(self) -> ConversationInfo:
        """Return the conversation's settings and state."""

    def append(self, messages: Sequence[Message]) -> None:
        """Add messages at the end, all of them or none; their positions are given here."""

    def announce(self) -> None:
        """Notify subscribers outside this conversation of added messages; they may call back."""

    def messages(self, **which: Unpack[MessageRange]) -> list[Message]:
        """Return messages in order."""

    def expired_through(self) -> int:
        """Return the position of the message that expired last; -1, if none has."""

    def replace(self, id: str, at: datetime, **what: Unpack[RemovalOptions]) -> Tombstone | None:
        """Remove messages and put others in their place, in one step.

        Returns:
            The tombstone, whose name is ``id``; ``None`` where nothing was there to be removed.

        Raises:
            NotFound: a message is not there; nothing was changed.
        """

    def tombstones(self) -> list[Tombstone]:
        """Return the tombstones of removed messages, oldest first."""

    def prunings(self) -> list[Pruning]:
        """Return the receipts of all prunings, oldest first."""

    def prune(self, pruning: Pruning) -> None:
        """Keep the receipt of a pruning."""

    def summarize(self, pruning: str, summaries: Mapping[int, str]) -> None:
        """Give cuts of a pruning, by their first positions, their summaries."""

    def pin(self, message: str, *, pinned: bool) -> None:
        """Keep a message in every view, or stop keeping it; ``NotFound`` if it is not there."""

    def recount(self, tokens: Mapping[str, int]) -> None:
        """Set the token counts of messages, by their ids."""

    def calibrate(self, calibration: Calibration) -> None:
        """Store the calibration learned from the provider's token counts."""

    def clear(self) -> None:
        """Leave all messages so far out of every later view."""

    def end(self, at: datetime) -> None:
        """Mark the conversation as finished."""


def place_of(message: Message) -> int:
    """Return the position of a message of a transcript."""
    return message.position or 0


class TranscriptSettings(TypedDict, total=False):
    """What whoever opens a conversation may say of it; what is not given is as it was."""

    system: str | None
    model: str | None
    context_limit: int | None


def with_settings(info: ConversationInfo, given: TranscriptSettings) -> ConversationInfo:
    """Return a conversation with the settings that are given in place of its own.

    Raises:
        InvalidInput: one cannot be stored.
    """
    limit = given.get("context_limit")
    return replace(
        info,
        system=named(given.get("system"), "system") or info.system,
        model=named(given.get("model"), "model") or info.model,
        context_limit=info.context_limit if limit is None else limited(limit, "context_limit"),
    )


def prunings_since(prunings: Iterable[Pruning], start: int) -> list[Pruning]:
    """Return the prunings that took out messages from position ``start`` on, with these cuts."""
    kept = (
        replace(item, cuts=tuple(cut for cut in item.cuts if cut.first >= start))
        for item in prunings
    )
    return [item for item in kept if item.cuts]


def hide_expired(prunings: Sequence[Pruning], through: int) -> list[Pruning]:
    """Return the receipts without what quotes the expired messages, up to position ``through``."""
    return [
        replace(item, cuts=tuple(cut.tear() if cut.first <= through else cut for cut in item.cuts))
        for item in prunings
    ]


class MemoryTranscript:
    """A transcript that lives as long as its process."""

    def __init__(self, info: ConversationInfo) -> None:
        """Start empty, with these settings."""
        self._info = info
        self._messages: list[Message] = []
        self._prunings: list[Pruning] = []
        self._tombstones: list[Tombstone] = []
        self._next = 0  # the position of the next message
        self._lock = Lock()

    @contextmanager
    def _reading(self) -> Iterator[None]:
        with self._lock:
            yield

    @contextmanager
    def _changing(self, *, seen: bool = True) -> Iterator[None]:
        """Hold the lock for a change; ``seen`` is whether readers must look at messages again."""
        with self._lock:
            yield
            self._info = replace(self._info, revision=self._info.revision + seen)

    def open(self, given: TranscriptSettings) -> bool:
        """Open the conversation; what is given replaces what is there.

        Returns:
            Whether its messages were counted for another model.
        """
        before = self.info()
        after = with_settings(before, given)
        if after != before:
            with self._changing():
                self._info = with_settings(self._info, given)
        return after.model != before.model

    def snapshot(self) -> AbstractContextManager[object]:
        """Do nothing: each read takes a moment of its own, and nobody else writes meanwhile."""
        return nullcontext()

    def info(self) -> ConversationInfo:
        """Return the settings and state."""
        with self._reading():
            return replace(self._info, messages=len(self._messages))

    def append(self, messages: Sequence[Message]) -> None:
        """Add messages at the end."""
        with self._lock:
            self._messages += [
                replace(message, position=place)
                for place, message in enumerate(messages, self._next)
            ]
            self._next += len(messages)

    def announce(self) -> None:
        """Nobody listens beyond the conversation."""

    def messages(self, **which: Unpack[MessageRange]) -> list[Message]:
        """Return messages in order."""
        pinned, last = which.get("pinned", False), which.get("last")
        with self._reading():
            start = 0 if which.get("cleared") else self._info.start
            start = max(start, which.get("after", -1) + 1)
            first = bisect_left(self._messages, start, key=place_of)
            if last is not None and not pinned:
                first = max(first, len(self._messages) - last)
            found = [item for item in self._messages[first:] if item.pinned or not pinned]
        return found if last is None else found[-last:]

    def expired_through(self) -> int:
        """Return that none has expired: here messages are kept for ever."""
        return -1

    def replace(self, id: str, at: datetime, **what: Unpack[RemovalOptions]) -> Tombstone | None:
        """Remove messages and put others in their place."""
        with self._changing():
            gone = self._chosen(**what)
            if not gone:
                return None
            self._place([place_of(message) for message in gone], what.get("messages", ()))
            left = Tombstone(id=id, at=at, count=len(gone), messages=tuple(gone))
            self._tombstones = [*self._tombstones, left]
            return left

    def _chosen(self, **what: Unpack[RemovalOptions]) -> list[Message]:
        ids, start = set(what.get("ids", ())), self._info.start
        found = [message for message in self._messages if message.id in ids]
        if len(found) < len(ids):
            missing = min(ids.difference(message.id for message in found))
            raise NotFound(f"there is no message {missing!r} in this conversation")
        if found and what.get("messages") and place_of(found[0]) < start:
            raise InvalidInput(refuse_cleared(found[0].id))
        if not ids:
            live = self._messages[bisect_left(self._messages, start, key=place_of) :]
            found = live[max(0, len(live) - what.get("newest", 0)) :]
        return found

    def _place(self, gone: Sequence[int], new: Sequence[Message]) -> None:
        removed = set(gone)
        stay = [item for item in self._messages if place_of(item) not in removed]
        at = bisect_left(stay, gone[0], key=place_of)
        following = place_of(stay[at]) if at < len(stay) else None
        done = Replacement.plan(gone, len(new), following=following, end=self._next)
        placed = [replace(item, position=to) for item, to in zip(new, done.places, strict=True)]
        behind = [replace(item, position=place_of(item) + done.shift) for item in stay[at:]]
        self._messages = [*stay[:at], *placed, *behind]
        if self._messages:
            self._next = max(self._next, place_of(self._messages[-1]) + 1)
        self._prunings = [
            replace(item, cuts=done.change(item.cuts, self._held)) for item in self._prunings
        ]

    def _held(self, first: int, last: int) -> list[Message]:
        start = bisect_left(self._messages, first, key=place_of)
        return self._messages[start : bisect_right(self._messages, last, key=place_of)]

    def tombstones(self) -> list[Tombstone]:
        """Return the tombstones of removed messages, oldest first."""
        with self._reading():
            return list(self._tombstones)

    def prunings(self) -> list[Pruning]:
        """Return the receipts of all prunings, oldest first."""
        with self._reading():
            return list(self._prunings)

    def prune(self, pruning: Pruning) -> None:
        """Keep the receipt of a pruning."""
        with self._changing():
            self._prunings = [*self._prunings, pruning]

    def summarize(self, pruning: str, summaries: Mapping[int, str]) -> None:
        """Give cuts of a pruning their summaries."""
        with self._changing():
            self._prunings = [
                replace(known, cuts=add_summaries(known.cuts, summaries))
                if known.id == pruning
                else known
                for known in self._prunings
            ]

    def pin(self, message: str, *, pinned: bool) -> None:
        """Keep a message in every view, or stop keeping it."""
        with self._changing():
            for index, known in enumerate(self._messages):
                if known.id == message:
                    self._messages[index] = replace(known, pinned=pinned)
                    return
            raise NotFound(f"there is no message {message!r} in this conversation")

    def recount(self, tokens: Mapping[str, int]) -> None:
        """Set the token counts of messages, by their ids."""
        with self._changing():
            self._messages = [
                replace(known, tokens=tokens.get(known.id, known.tokens))
                for known in self._messages
            ]

    def calibrate(self, calibration: Calibration) -> None:
        """Store the calibration learned from the provider's token counts."""
        with self._changing(seen=False):
            self._info = replace(self._info, calibration=calibration)

    def clear(self) -> None:
        """Leave all messages so far out of every later view."""
        with self._changing():
            if self._messages:
                last = self._messages[-1]
                self._info = replace(self._info, cleared_through=last.id, start=place_of(last) + 1)

    def end(self, at: datetime) -> None:
        """Mark the conversation as finished."""
        with self._changing(seen=False):
            self._info = replace(self._info, ended_at=at)


class ReadOnlyTranscript:
    """A transcript to look at and to try things on, over another one.

    Reading it reads the other. Writing to it does nothing, so that a conversation over it
    answers what a change would do, and cannot do it.
    """

    def __init__(self, transcript: Transcript) -> None:
        """Read from ``transcript``."""
        self.snapshot = transcript.snapshot
        self.info = transcript.info
        self.messages = transcript.messages
        self.expired_through = transcript.expired_through
        self.prunings = transcript.prunings
        self.tombstones = transcript.tombstones

    def _ignore(self, *arguments: object, **named: object) -> None:
        """Change nothing, and tell nobody."""

    append = announce = replace = prune = summarize = pin = _ignore
    recount = calibrate = clear = end = _ignore


def strip_recalled(
    store: Store, scope: Scope, text: str, now: datetime
) -> tuple[str, tuple[RecordChange, ...]]:
    """Return the new part of a text, and actions that record the access to the recalled part.

    What is left has no block of recall, and none of its lines.
    """
    new, fenced = recalled.apart(text)
    contents = [*fenced, *recalled.lines(new)]
    if not contents:
        return recalled.without_own(new), ()
    hashes = {content_hash(content): content for content in contents}
    known: dict[str, list[str]] = {}
    for record in store.records(scope, Filter(now=now, hashes=list(hashes))):
        known.setdefault(hashes[record.content_hash], []).append(record.id)
    ids = dict.fromkeys(record for content in contents for record in known.get(content, ()))
    new = recalled.without_own(recalled.without_lines(new, known))
    return new, (RecordAccess(tuple(ids), now),) if ids else ()


class StoredTranscript:
    """Implements :class:`memoranda.conversation.transcript.Transcript` on a store.

    Nothing is kept in memory, so several processes may hold the same conversation.

    Args:
        records: stores the episodes, and tells of them.
        id: its name.
        end_session: called with its scope and its name when it is finished.
    """

    def __init__(
        self, records: RecordService, id: str, *, end_session: Callable[[Scope, str], None]
    ) -> None:
        """Work on the conversation ``id``, which is there or will be."""
        self._records = records
        self._store, self._scope, self._id = records.store, records.scope, id
        self._end_session = end_session
        self._unannounced: list[tuple[str, object]] = []
        self._begun = False
        self._lock = Lock()

    def open(self, given: TranscriptSettings) -> bool:
        """Open or start the conversation; what is given replaces what is stored.

        Returns:
            Whether its messages were counted for another model.

        Raises:
            InvalidInput: an argument cannot be stored, or another agent has that conversation.
        """
        known = self._stored(self._scope)
        if known is None and self._stored(self._scope.whole_user) is not None:
            known = self._stored(self._scope)  # It may have been started between the two reads.
            if known is None:
                raise InvalidInput(
                    f"conversation {self._id!r} is another agent's; choose another id"
                )
        start = known or ConversationInfo(id=self._id, created_at=self._records.now())
        info = with_settings(start, given)
        if info != known:
            with self._write() as tx:
                tx.open_conversation(info)
        return known is not None and info.model != start.model

    def info(self) -> ConversationInfo:
        """Return the settings and state."""
        info = self._stored(self._scope)
        if info is None:
            raise NotFound(f"conversation {self._id!r} is no longer there")
        return info

    def _stored(self, scope: Scope) -> ConversationInfo | None:
        """Return the stored settings and state, where a scope holds the conversation."""
        return self._store.conversations(scope, self._id).get(self._id)

    def append(self, messages: Sequence[Message]) -> None:
        """Add messages and their episodes, in one transaction."""
        changes, stored = self._plan(messages)
        with self._write() as tx:
            episodes = tx.carry_out(changes)
            tx.append_messages(self._id, stored)
        self._note_episodes(episodes)

    def _plan(self, messages: Sequence[Message]) -> tuple[list[RecordChange], list[Message]]:
        """Return what stores the episodes of messages, and the messages that name them.

        A message may say which id its episode is to have, if it gets one.
        """
        changes: list[RecordChange] = []
        linked: list[Message] = []
        for message in messages:
            now = self._records.now()
            text, accesses = strip_recalled(self._store, self._scope, message.content, now)
            changes += accesses
            stored = message
            if text.strip() and message.role != "system":
                draft = Draft(
                    content=text,
                    kind=Kind.EPISODE,
                    session=self._id,
                    role=message.role,
                    event_time=message.timestamp,
                    origin="conversation",
                )
                insert = self._records.plan(draft)
                if message.record_id is not None:
                    record = replace(insert.record, id=message.record_id)
                    insert = replace(insert, record=record)
                changes.append(insert)
                stored = replace(message, record_id=insert.record.id)
            elif message.record_id is not None:
                stored = replace(message, record_id=None)
            linked.append(stored)
        return changes, linked

    def _write(self) -> AbstractContextManager[Transaction]:
        return self._store.write(self._scope)

    def _note_episodes(self, stored: Sequence[StoredRecord]) -> None:
        """Have the episodes of new messages announced, and derived from."""
        if not stored:
            return
        self._records.notify_derivations()
        with self._lock:
            self._unannounced += [("remembered", each.record) for each in stored]
            begins, self._begun = not self._begun, True
        if begins:
            self._records.start_session(self._scope, self._id)

    def announce(self) -> None:
        """Tell the subscribers of the memory which episodes were added, and which removed."""
        with self._lock:
            events, self._unannounced = self._unannounced, []
        for name, subject in events:
            if self._records.events[name]:
                self._records.events.emit(name, subject)

    def messages(self, **which: Unpack[MessageRange]) -> list[Message]:
        """Return messages in order; those whose episodes have expired only if asked for."""
        now = None if which.get("expired") else self._records.now()
        return self._store.messages(self._scope, self._id, now=now, **which)

    def snapshot(self) -> AbstractContextManager[object]:
        """Let all reads of this thread inside the block see one moment."""
        return self._store.snapshot()

    def expired_through(self) -> int:
        """Return the position of the message that expired last; -1, if none has."""
        return self._store.expired_through(self._scope, self._id, now=self._records.now())

    def replace(self, id: str, at: datetime, **what: Unpack[RemovalOptions]) -> Tombstone | None:
        """Remove messages and their episodes, and put others in their place; one transaction."""
        changes, stored = self._plan(what.get("messages", ()))
        with self._write() as tx:
            added = tx.carry_out(changes)
            left = tx.replace_messages(
                self._id,
                id,
                at=at,
                ids=tuple(what.get("ids", ())),
                newest=what.get("newest", 0),
                messages=stored,
            )
        self._note_episodes(added)
        episodes = [each.record_id for each in left.messages if each.record_id] if left else []
        with self._lock:
            self._unannounced += [
                ("forgotten", ForgetReceipt(id=episode, erased=False)) for episode in episodes
            ]
        return left

    def tombstones(self) -> list[Tombstone]:
        """Return the tombstones of removed messages, oldest first."""
        return self._store.tombstones(self._scope, self._id)

    def prunings(self) -> list[Pruning]:
        """Return the receipts of all prunings, oldest first; nothing quotes what has expired."""
        found = self._store.prunings(self._scope, self._id)
        return hide_expired(found, self.expired_through()) if found else found

    def prune(self, pruning: Pruning) -> None:
        """Keep the receipt of a pruning."""
        with self._write() as tx:
            tx.add_pruning(self._id, pruning)

    def summarize(self, pruning: str, summaries: Mapping[int, str]) -> None:
        """Give spans of a pruning their summaries."""
        with self._write() as tx:
            tx.add_summaries(self._id, pruning, summaries)

    def recount(self, tokens: Mapping[str, int]) -> None:
        """Set the token counts of messages, by their ids."""
        with self._write() as tx:
            tx.set_token_counts(self._id, tokens)

    def calibrate(self, calibration: Calibration) -> None:
        """Store the calibration learned from the provider's token counts."""
        with self._write() as tx:
            tx.update_conversation(self._id, calibration=calibration)

    def pin(self, message: str, *, pinned: bool) -> None:
        """Keep a message in every view, or stop keeping it."""
        with self._write() as tx:
            tx.pin_message(self._id, message, pinned=pinned)

    def clear(self) -> None:
        """Leave all messages so far out of every later view."""
        with self._write() as tx:
            tx.update_conversation(self._id, clear=True)

    def end(self, at: datetime) -> None:
        """Mark the conversation as finished."""
        with self._write() as tx:
            tx.update_conversation(self._id, ended_at=at)
        self._end_session(self._scope, self._id)
