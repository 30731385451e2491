"""The transcript of a conversation: its messages and receipts, in a store.

In a memory each message is also an episode that later conversations find. A conversation that
stands alone has a store of its own in the process's memory, and no episodes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime
from threading import Lock
from typing import Self, TypedDict, Unpack
from weakref import finalize

from memoranda.entities.names import RuleNameMatcher
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
from memoranda.model.ports import ConversationOptions
from memoranda.model.query import Filter, MessageRange
from memoranda.records.drafts import Draft
from memoranda.records.service import RecordService
from memoranda.store.sql.store import Store, Transaction
from memoranda.store.sqlite import MEMORY, SqliteStore
from memoranda.text import recalled
from memoranda.text.terms import TermAnalyzer

ALONE = Scope("standalone")  # whose conversations are that belong to no memory


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


def place_of(message: Message) -> int:
    """Return the position of a message of a transcript."""
    return message.position or 0


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


class Transcript:
    """The messages of one conversation in a store, with its settings and receipts. Thread-safe.

    Nothing else is kept here, so several processes may hold the same conversation. Each change is
    one transaction.

    Args:
        store: where the conversation is.
        scope: whose it is.
        id: its name; it is there, or :meth:`open` begins it.
        records: stores an episode for each message, and tells of it; without it there are none.
        end_session: called with the scope and the name when the conversation is finished.
    """

    def __init__(
        self,
        store: Store,
        scope: Scope,
        id: str,
        *,
        records: RecordService | None = None,
        end_session: Callable[[Scope, str], None] | None = None,
    ) -> None:
        """Read nothing yet."""
        self._store, self._scope, self._id = store, scope, id
        self._records = records
        self._end_session = end_session
        self._unannounced: list[tuple[str, object]] = []
        self._begun = False
        self._lock = Lock()

    @classmethod
    def alone(cls, id: str, at: datetime, given: ConversationOptions | None = None) -> Self:
        """Begin a conversation that belongs to no memory, and lasts as long as this object.

        Args:
            id: its name.
            at: when it begins.
            given: its settings.

        Raises:
            InvalidInput: a setting cannot be stored.
        """
        store = SqliteStore(MEMORY, analyzer=TermAnalyzer(), names=RuleNameMatcher())
        transcript = cls(store, ALONE, id)
        finalize(transcript, store.close).atexit = False
        transcript.open(given or {}, at)
        return transcript

    def open(self, given: ConversationOptions, at: datetime) -> bool:
        """Open the conversation, or begin it; what is given replaces what is stored.

        Args:
            given: system prompt, model and context limit.
            at: when it begins, if it is not there.

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
        start = known or ConversationInfo(id=self._id, created_at=at)
        limit = given.get("context_limit")
        info = replace(
            start,
            system=named(given.get("system"), "system") or start.system,
            model=named(given.get("model"), "model") or start.model,
            context_limit=start.context_limit if limit is None else limited(limit, "context_limit"),
        )
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
        """Add messages and their episodes at the end: all of them, or none."""
        changes, stored = self._plan(messages)
        with self._write() as tx:
            episodes = tx.carry_out(changes)
            tx.append_messages(self._id, stored)
        self._note_episodes(episodes)

    def _plan(
        self, messages: Sequence[Message]
    ) -> tuple[Sequence[RecordChange], Sequence[Message]]:
        """Return what stores the episodes of messages, and the messages that name them.

        A message may say which id its episode is to have, if it gets one.
        """
        records = self._records
        if records is None:
            return (), messages
        changes: list[RecordChange] = []
        linked: list[Message] = []
        for message in messages:
            text, accesses = strip_recalled(
                self._store, self._scope, message.content, records.now()
            )
            changes += accesses
            episode: str | None = None
            if text.strip() and message.role != "system":
                insert = records.plan(
                    Draft(
                        content=text,
                        kind=Kind.EPISODE,
                        session=self._id,
                        role=message.role,
                        event_time=message.timestamp,
                        origin="conversation",
                    )
                )
                episode = message.record_id or insert.record.id
                changes.append(replace(insert, record=replace(insert.record, id=episode)))
            linked.append(replace(message, record_id=episode))
        return changes, linked

    def _write(self) -> AbstractContextManager[Transaction]:
        return self._store.write(self._scope)

    def _note_episodes(self, stored: Sequence[StoredRecord]) -> None:
        """Have the episodes of new messages announced, and derived from."""
        if not stored or self._records is None:
            return
        self._records.notify_derivations()
        with self._lock:
            self._unannounced += [("remembered", each.record) for each in stored]
            begins, self._begun = not self._begun, True
        if begins:
            self._records.start_session(self._scope, self._id)

    def announce(self) -> None:
        """Tell the subscribers of the memory which episodes were added, and which removed."""
        if self._records is None:
            return
        with self._lock:
            events, self._unannounced = self._unannounced, []
        for name, subject in events:
            if self._records.events[name]:
                self._records.events.emit(name, subject)

    def messages(self, **which: Unpack[MessageRange]) -> list[Message]:
        """Return messages in order; those whose episodes have expired only if asked for."""
        expires = self._records if not which.get("expired") else None
        now = None if expires is None else expires.now()
        return self._store.messages(self._scope, self._id, now=now, **which)

    def snapshot(self) -> AbstractContextManager[object]:
        """Let all reads of this thread inside the block see one moment."""
        return self._store.snapshot()

    def expired_through(self) -> int:
        """Return the position of the message that expired last; -1, if none has."""
        if self._records is None:
            return -1
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
        """Return the receipts, oldest first; none quotes what has expired."""
        found, expired = self._store.prunings(self._scope, self._id), self.expired_through()
        return [
            replace(item, cuts=tuple(c.tear() if c.first <= expired else c for c in item.cuts))
            for item in found
        ]

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
        if self._end_session is not None:
            self._end_session(self._scope, self._id)


class ReadOnlyTranscript(Transcript):
    """A transcript on which no change is stored, to look at a conversation and to try things on.

    So a conversation over it answers what a change would do, and cannot do it.
    """

    def _ignore(self, *arguments: object, **named: object) -> None:
        """Change nothing, and tell nobody."""

    append = announce = replace = prune = summarize = pin = _ignore
    recount = calibrate = clear = end = _ignore
