"""Records: read page by page, stored, corrected, confirmed, forgotten and erased."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from memoranda.errors import Conflict, InvalidInput, NotFound
from memoranda.model.changes import Close, Insert, RecordChange, Reweigh, StoredRecord
from memoranda.model.checks import EPOCH, clean
from memoranda.model.clock import Clock
from memoranda.model.events import Events
from memoranda.model.models import ForgetReceipt, Kind, Record, Scope, Trust, ended, is_active
from memoranda.model.query import Filter, Order, Subset
from memoranda.records.drafts import Draft, RecordPlanner, parse_address, require_one
from memoranda.records.erasing import Eraser
from memoranda.store.sql.reads import SqlReads
from memoranda.store.sql.store import Store

# The metadata field under which a context record keeps its key.
CONTEXT_KEY = "context_key"
# Instructions of an attribute that a context may tell.
MOST_INSTRUCTIONS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordService:
    """Changes the records of one scope.

    Attributes:
        scope: whose records.
        store: where they are.
        planner: makes records of drafts.
        clock: where the time comes from.
        events: who is told of ``remembered``, ``corrected`` and ``forgotten``.
        notify_derivations: called when records wait for what is derived from them.
        start_session: called with a scope and the session whose first episode was stored.
        eraser_of: makes what erases the records of a scope with all their copies.
    """

    scope: Scope
    store: Store
    planner: RecordPlanner
    clock: Clock
    events: Events
    notify_derivations: Callable[[], None]
    start_session: Callable[[Scope, str | None], None]
    eraser_of: Callable[[Scope], Eraser]

    def of(self, scope: Scope) -> RecordService:
        """Return the same service for another scope."""
        return replace(self, scope=scope)

    def now(self) -> datetime:
        """Return the present moment, to the millisecond."""
        return self.clock.now()

    def plan(self, draft: Draft, **how: Any) -> Insert:
        """Return the action that stores ``draft``, planned as :meth:`RecordPlanner.plan` does."""
        return self.planner.plan(self.scope, draft, **how)

    def add(self, draft: Draft, **how: Any) -> Record:
        """Store ``draft``, planned as :meth:`plan` does, and return its record."""
        return self.apply([self.plan(draft, **how)])[0]

    def apply(self, changes: Sequence[RecordChange]) -> list[Record]:
        """Carry out ``changes`` and announce the records that they store.

        Returns these, and in the place of each that was known already the one that is known.
        """
        return self.announce(self.store.apply(self.scope, changes))

    def announce(self, stored: Iterable[StoredRecord]) -> list[Record]:
        """Tell the subscribers of records that are new; return all that were stored."""
        self.notify_derivations()
        records = []
        for record, is_new in stored:
            records.append(record)
            if is_new and record.valid_until != EPOCH:
                self.events.emit("remembered", record)
            if is_new and record.kind is Kind.EPISODE and record.position == 0:
                self.start_session(self.scope, record.session_id)
        return records

    def find(
        self, id: str | None = None, *, namespace: Iterable[str] = (), key: str | None = None
    ) -> Record | None:
        """Return the record ``id``, active or not, or the item of exactly this namespace and key.

        Of an item that an agent keeps for itself and one of nobody, the agent has its own.
        """
        require_one(id, namespace, key)
        if id is not None:
            return self.store.get(self.scope, [clean(id, "id")]).get(id)
        return self.store.item(self.scope, *parse_address(namespace, key), now=self.now())

    def correct(self, old: Record, draft: Draft, version: str | None = None) -> Record:
        """Store ``draft`` in the place of ``old``, of this version; return the new record."""
        _refuse_item(old)
        new = self.plan(draft, reason=f"corrects {old.id}")
        closing = Close(
            old.id, self.now(), "corrected", superseded_by=new.record.id, only_open=True
        )
        record = self.change(old.id, version, [new, closing])[0]
        self.events.emit("corrected", record)
        return record

    def change(self, id: str, version: str | None, changes: Sequence[RecordChange]) -> list[Record]:
        """Carry out changes, as :meth:`apply`, if a record is still of a version that is given."""
        with self.store.write(self.scope) as tx:
            self._require_version(tx, id, version)
            stored = tx.carry_out(changes)
        return self.announce(stored)

    def is_proposal(self, record: Record) -> bool:
        """Return whether a record is a fact that waits for a person's approval."""
        if record.valid_until != EPOCH:  # Only what was not believed at any moment may wait.
            return False
        trail = self.store.trails(self.scope, [record.id]).get(record.id)
        return trail is not None and trail.is_proposal

    def proposals(self, limit: int | None = None) -> list[Record]:
        """Return the facts that wait for a person's approval, the latest first."""
        where = Filter.at_any_time(kinds=(Kind.FACT,), subset=Subset.PROPOSED)
        return self.store.records(self.scope, where, order=Order.LATEST, limit=limit)

    def _require_version(self, reads: SqlReads, id: str, version: str | None) -> None:
        """Refuse to go on where a record is no longer of a version, if one is given.

        Raises:
            Conflict: it was changed meanwhile.
        """
        found = None if version is None else reads.get(self.scope, [id]).get(id)
        if found is not None and found.version != version:
            message = f"{id} was changed: it is no longer of version {version!r:.80}; read it again"
            raise Conflict(message)

    def update(self, id: str, *, version: str | None = None, **changes: Any) -> Record:
        """Change what is attached to a record, in place, as far as it is given; return it.

        Raises:
            NotFound: there is no such record.
            InvalidInput: it is no longer believed.
        """
        self.require_active(self.existing(id))
        with self.store.write(self.scope) as tx:
            self._require_version(tx, id, version)
            tx.update_record(id, at=self.now(), **changes)
        return self.existing(id)

    def confirm(self, id: str, version: str | None = None) -> Record:
        """Believe a record fully and for ever; return it.

        Raises:
            NotFound: there is no such record.
            InvalidInput: it was superseded or forgotten.
        """
        record = self.require_active(self.existing(id))
        _refuse_item(record)
        if record.superseded_by is not None:
            message = f"{id} is superseded: {record.superseded_by} took its place; forget that one"
            raise InvalidInput(message)
        # Full confidence, and it never fades (requirement S4.64).
        full = Reweigh(id, self.now(), confidence=1.0, decay_rate=0.0, reason="confirmed")
        self.change(id, version, [full])
        return self.existing(id)

    def forget(
        self,
        ids: Sequence[str] | None,
        *,
        where: Filter | None = None,
        erase: bool = False,
        version: str | None = None,
    ) -> ForgetReceipt:
        """Stop believing records in all their versions, or remove every trace of them.

        What is forgotten meets the filter in the transaction that does it; what is erased, before.

        Args:
            ids: the records; ``None`` is all that meet ``where``.
            where: only those that meet it.
            erase: whether to remove every trace.
            version: of the only record of ``ids``, which is to be of it still.

        Raises:
            NotFound: one of ``ids`` is not there, and there is no filter.
            Conflict: the record is of another version.
        """
        named = None if ids is None else tuple(clean(each, "id") for each in ids)
        if erase:
            found = self._meeting(self.store, named, where, version)
            return self.erase(found) if found else ForgetReceipt(id="", erased=True)
        with self.store.write(self.scope) as tx:
            found = self._meeting(tx, named, where, version)
            done = tx.forget(found, at=self.now(), reason="forgotten")
        if found:
            self.events.emit("forgotten", done)
        return done

    def erase(self, named: Sequence[str], **how: Any) -> ForgetReceipt:
        """Erase as :meth:`Eraser.erase`, and tell the subscribers; return the receipt."""
        receipt = self.eraser_of(self.scope).erase(named, **how)
        self.events.emit("forgotten", receipt)
        return receipt

    def _meeting(
        self,
        reads: SqlReads,
        ids: Sequence[str] | None,
        where: Filter | None,
        version: str | None = None,
    ) -> list[str]:
        """Return the ids of the records that are named, or of those that meet a filter."""
        self._require_version(reads, ids[0] if ids else "", version)
        if where is None:
            found = list(dict.fromkeys(ids or ()))
            missing = set(found).difference(reads.get(self.scope, found))
            if missing:
                raise self._missing(f"record {min(missing)!r}")
            return found
        matching = [each.id for each in reads.records(self.scope, where)]
        return [each for each in matching if ids is None or each in ids]

    def set_context(self, key: str, value: str) -> Record:
        """Keep ``value`` under ``key`` until its retention ends; return the record."""
        clean(key, "key")
        draft = Draft(content=clean(value, "value"), kind=Kind.CONTEXT, metadata={CONTEXT_KEY: key})
        new = self.plan(draft)
        with self.store.write(self.scope) as tx:
            former = self._meeting(tx, None, self._context(key))
            tx.forget(former, at=self.now(), reason="replaced", superseded_by=new.record.id)
            stored = tx.carry_out([new])
        return self.announce(stored)[0]

    def get_context(self, key: str) -> str | None:
        """Return the newest value of ``key``; ``None`` if there is none that is active."""
        where = self._context(clean(key, "key"))
        found = self.store.records(self.scope, where, order=Order.LATEST, limit=1)
        return found[0].content if found else None

    def _context(self, key: str) -> Filter:
        """Return the filter of the active values of ``key``."""
        return Filter(now=self.now(), kinds=(Kind.CONTEXT,), metadata={CONTEXT_KEY: key})

    def instructions(self) -> str:
        """Return the lasting instructions that the user gave, a line each, the newest first."""
        from memoranda.facts.requests import INSTRUCTIONS  # noqa: PLC0415 - it takes long to load

        where = Filter(now=self.now(), kinds=(Kind.FACT,))
        found = [
            record
            for name in INSTRUCTIONS
            for record in self.store.records(
                self.scope,
                replace(where, attribute=name),
                order=Order.LATEST,
                limit=MOST_INSTRUCTIONS,
            )
            # Nobody else's word becomes an instruction.
            if record.trust is Trust.PERSON and record.superseded_by is None and record.value
        ]
        found.sort(key=lambda each: each.event_time, reverse=True)
        return "\n".join(f"- {' '.join(record.content.split())}" for record in found)

    def existing(
        self, id: str | None = None, *, namespace: Iterable[str] = (), key: str | None = None
    ) -> Record:
        """Return the record ``id``, active or not, or the item of this namespace and key.

        Raises:
            NotFound: there is no such record.
        """
        record = self.find(id, namespace=namespace, key=key)
        if record is None:
            what = f"record {id!r}" if key is None else f"item {key!r} in {tuple(namespace)!r}"
            raise self._missing(what)
        return record

    def _missing(self, what: str) -> NotFound:
        near = "memoranda list shows those there are; another --user or --db may have it"
        return NotFound(f"there is no {what} for user {self.scope.user!r}; {near}")

    def require_active(self, record: Record) -> Record:
        """Return ``record`` if its validity has not ended.

        Raises:
            InvalidInput: it has; the message names what took its place.
        """
        if is_active(record, self.now()):
            return record
        raise InvalidInput(ended(record))


def _refuse_item(record: Record) -> None:
    if record.kind is Kind.ITEM:
        raise InvalidInput(
            f"{record.id} is an item, not a belief; write it anew with remember(…, kind='item', "
            f"namespace={record.namespace!r}, key={record.key!r})"
        )


def session_episodes(
    store: Store, scope: Scope, session: str, *, after: int, limit: int | None = None
) -> list[Record]:
    """Return the first episodes of a session beyond position ``after``, in order.

    Also those that have expired; not those that were forgotten or corrected.
    """
    where = Filter.at_any_time(
        kinds=(Kind.EPISODE,), session=session, beyond=after, subset=Subset.STANDING
    )
    return store.records(scope, where, order=Order.POSITION, limit=limit)
