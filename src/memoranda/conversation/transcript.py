"""The transcript of a conversation: its messages and receipts, in a store.

In a memory each message is also an episode that later conversations find. A conversation that
stands alone has a store of its own in the process's memory, and no episodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Self, Unpack
from weakref import finalize

from memoranda.entities import names as name_matcher
from memoranda.errors import NotFound
from memoranda.model.changes import RecordAccess, RecordChange, StoredRecord
from memoranda.model.checks import clean, content_hash, limited
from memoranda.model.models import (
    Calibration,
    ConversationInfo,
    ForgetReceipt,
    Kind,
    Message,
    Pruning,
    Scope,
    Tombstone,
    Trust,
)
from memoranda.model.ports import ConversationOptions
from memoranda.model.query import Filter, MessageRange
from memoranda.model.sessions import FUTURE
from memoranda.records.drafts import TRUST, Draft
from memoranda.records.service import RecordService
from memoranda.store.sql.store import Store, Transaction
from memoranda.store.sqlite import MEMORY, SqliteStore
from memoranda.text import recalled
from memoranda.text.terms import TermAnalyzer

ALONE = Scope("standalone")  # whose conversations are that belong to no memory


def place_of(message: Message) -> int:
    """Return the position of a message of a transcript."""
    return message.position or 0


@dataclass(eq=False)
class Transcript:
    """The messages of one conversation in a store, with its settings and receipts. Thread-safe.

    Nothing else is kept here, so several processes may hold the same conversation. Each change is
    one transaction.

    Attributes:
        store: where the conversation is.
        scope: whose it is.
        id: its name; it is there, or :meth:`open` begins it.
        records: stores an episode for each message, and tells of it; without it there are none.
        end_session: called with the scope and the name when the conversation is finished.
        dry_run: whether no receipt of a pruning is kept.
    """

    store: Store
    scope: Scope
    id: str
    records: RecordService | None = None
    end_session: Callable[[Scope, str], None] | None = None
    dry_run: bool = False

    @classmethod
    def alone(cls, id: str, at: datetime, given: ConversationOptions) -> Self:
        """Begin a conversation that belongs to no memory, and lasts as long as this object.

        Args:
            id: its name.
            at: when it begins.
            given: its settings.

        Raises:
            InvalidInput: a setting cannot be stored.
        """
        store = SqliteStore(MEMORY, analyzer=TermAnalyzer(), names=name_matcher)
        transcript = cls(store, ALONE, id)
        finalize(transcript, store.close).atexit = False
        transcript.open(given, at)
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
        checks: dict[str, Callable[[object, str], Any]]
        checks = {"system": clean, "model": clean, "context_limit": limited}
        new = {
            name: checks[name](value, name)
            for name, value in given.items()
            if name in checks and value is not None
        }
        known = self.store.conversations(self.scope, self.id).get(self.id)
        if known is not None and replace(known, **new) == known:
            return False
        with self._write() as tx:  # Another process may have begun it meanwhile.
            known = tx.conversations(self.scope, self.id).get(self.id)
            start = known or ConversationInfo(id=self.id, created_at=at)
            tx.open_conversation(replace(start, **new))
        return known is not None and new.get("model", known.model) != known.model

    def info(self) -> ConversationInfo:
        """Return the settings and state."""
        info = self.store.conversations(self.scope, self.id).get(self.id)
        if info is None:
            raise NotFound(f"conversation {self.id!r} is no longer there")
        return info

    def append(
        self, messages: Sequence[Message]
    ) -> tuple[Sequence[Message], Sequence[StoredRecord]]:
        """Add messages and their episodes at the end, all or none; return both as they stand."""
        changes, linked = self._plan(messages)
        with self._write() as tx:
            episodes = tx.carry_out(changes)
            return tx.append_messages(self.id, linked), episodes

    def _plan(
        self, messages: Sequence[Message]
    ) -> tuple[Sequence[RecordChange], Sequence[Message]]:
        """Return what stores the episodes of messages, and the messages that name them.

        A message may say which id its episode is to have, if it gets one.
        """
        if self.records is None:
            return (), messages
        now = self.records.now()
        changes: list[RecordChange] = []
        linked: list[Message] = []
        for message in messages:
            text, known = self._strip_recalled(self.records, message.content)
            if known:
                changes.append(RecordAccess(known, now))
            episode: str | None = None
            if text.strip() and message.role != "system":
                # Whoever has a name in the role of the user is a person, too.
                person = TRUST.get(message.speaker.casefold(), Trust.PERSON)
                draft = Draft(
                    content=text,
                    kind=Kind.EPISODE,
                    session=self.id,
                    role=message.speaker,
                    trust=person if message.role == "user" else None,
                    # Of a clock that was ahead: else nothing later would ever be newer.
                    event_time=now if message.timestamp > now + FUTURE else message.timestamp,
                    origin="conversation",
                )
                insert = self.records.plan(draft)
                if message.record_id is not None:
                    insert = replace(insert, record=replace(insert.record, id=message.record_id))
                episode = insert.record.id
                changes.append(insert)
            linked.append(replace(message, record_id=episode))
        return changes, linked

    def _strip_recalled(self, records: RecordService, text: str) -> tuple[str, tuple[str, ...]]:
        """Return a text without what was recalled in it, and the ids of the records of that."""
        new, fenced = recalled.apart(text)
        hashes = {content_hash(each): each for each in (*fenced, *recalled.lines(new))}
        if not hashes:
            return recalled.without_own(new), ()
        where = Filter(now=records.now(), hashes=list(hashes))
        found = self.store.records(self.scope, where)
        known = {hashes[each.content_hash]: each.id for each in found}
        new = recalled.without_own(recalled.without_lines(new, known))
        return new, tuple(each.id for each in found)

    def _write(self) -> AbstractContextManager[Transaction]:
        return self.store.write(self.scope)

    def announce(self, episodes: Sequence[StoredRecord], left: Tombstone | None = None) -> None:
        """Tell the subscribers of the memory which episodes were added, and which removed."""
        if self.records is None:
            return
        self.records.announce(episodes)
        for message in left.messages if left else ():
            if message.record_id is not None:
                receipt = ForgetReceipt(id=message.record_id, erased=False)
                self.records.events.emit("forgotten", receipt)

    def messages(self, **which: Unpack[MessageRange]) -> list[Message]:
        """Return messages in order, but those whose episodes have expired."""
        now = None if self.records is None else self.records.now()
        return self.store.messages(self.scope, self.id, now=now, **which)

    def expired_through(self) -> int:
        """Return the position of the message that expired last; -1, if none has."""
        if self.records is None:
            return -1
        return self.store.expired_through(self.scope, self.id, now=self.records.now())

    def replace(
        self,
        id: str,
        at: datetime,
        *,
        ids: Sequence[str] = (),
        newest: int = 0,
        messages: Sequence[Message] = (),
    ) -> tuple[Tombstone | None, Sequence[StoredRecord]]:
        """Remove messages with their episodes, and put others where the first of them stood.

        Args:
            id: of the tombstone.
            at: when.
            ids: the messages.
            newest: without ``ids``, so many of the newest since the last ``clear``.
            messages: what takes their place.

        Returns:
            The tombstone, where anything was removed, and the episodes of the new messages.
        """
        changes, linked = self._plan(messages)
        with self._write() as tx:
            episodes = tx.carry_out(changes)
            left = tx.replace_messages(self.id, id, at=at, ids=ids, newest=newest, messages=linked)
        return left, episodes

    def prunings(self) -> list[Pruning]:
        """Return the receipts, oldest first; none quotes what has expired."""
        found, expired = self.store.prunings(self.scope, self.id), self.expired_through()
        return [
            replace(item, cuts=tuple(c.tear() if c.first <= expired else c for c in item.cuts))
            for item in found
        ]

    def prune(self, pruning: Pruning) -> None:
        """Keep the receipt of a pruning, unless this only answers what one would do."""
        if not self.dry_run:
            with self._write() as tx:
                tx.add_pruning(self.id, pruning)

    def recount(self, tokens: Mapping[str, int]) -> None:
        """Set the token counts of messages, by their ids; a provider's own counts are forgotten."""
        with self._write() as tx:
            tx.update_conversation(self.id, calibration=Calibration())
            tx.set_token_counts(self.id, tokens)

    def update(self, **changes: Any) -> None:
        """Calibrate the conversation, or clear its view, as ``Transaction.update_conversation``."""
        with self._write() as tx:
            tx.update_conversation(self.id, **changes)

    def pin(self, messages: Iterable[str], *, pinned: bool) -> None:
        """Keep messages in every view, or stop keeping them."""
        with self._write() as tx:
            for each in messages:
                tx.pin_message(self.id, each, pinned=pinned)

    def end(self, at: datetime) -> None:
        """Mark the conversation as finished."""
        self.update(ended_at=at)
        if self.end_session is not None:
            self.end_session(self.scope, self.id)
