"""All rows of one user, held in memory: what a reader reads and a transaction changes.

A transaction is all or nothing: :meth:`State.begin`, changes by :meth:`State.put` and
:meth:`State.drop`, then :meth:`State.changes` to be stored, and :meth:`State.keep` or
:meth:`State.undo`. Only whoever holds the lock of the store may look at a state, so nobody sees
one that is half changed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from memoranda.model.models import Record, Trust
from memoranda.model.ports import NameMatcher
from memoranda.store.chroma.indexes import Indexes
from memoranda.store.chroma.rows import (
    KINDS,
    Base,
    Counters,
    Decided,
    Facts,
    Lease,
    Log,
    Progress,
    Receipt,
    Row,
    Run,
    Said,
    Spent,
    Stored,
    Talk,
    Thing,
)

Address = tuple[str, str]
"""Table and key of a row."""
Changes = Mapping[Address, Row | None]
"""What stands at an address from now on; nothing, where a row was dropped."""


class State:
    """The rows of one user, by table and key, each table in the order in which they came.

    Attributes:
        user: whose rows they are; ``NOBODY`` for those of the store.
        records, messages, talks, receipts, things, decisions, sessions, logs, usage, notes,
            leases, runs: the tables, for reading only.
        indexes: the other ways to find rows.
        version: grows with every change of a record, so that what was made of records can be kept.
        made: what readers made of the rows, by a name; it goes when the state is let go of.
    """

    def __init__(self, user: str, names: NameMatcher, rows: Iterable[Row] = ()) -> None:
        """Hold ``rows``, each table in its own order."""
        self.user = user
        self._names = names
        self._tables: dict[str, dict[str, Any]] = {kind.table: {} for kind in KINDS}
        tables = self._tables
        self.records: Mapping[str, Stored] = tables["records"]
        self.messages: Mapping[str, Said] = tables["messages"]
        self.talks: Mapping[str, Talk] = tables["conversations"]
        self.receipts: Mapping[str, Receipt] = tables["prunings"]
        self.things: Mapping[str, Thing] = tables["entities"]
        self.decisions: Mapping[str, Decided] = tables["decisions"]
        self.sessions: Mapping[str, Progress] = tables["sessions"]
        self.logs: Mapping[str, Log] = tables["history"]
        self.usage: Mapping[str, Spent] = tables["usage"]
        self.notes: Mapping[str, Base] = tables["notes"]
        self.leases: Mapping[str, Lease] = tables["leases"]
        self.runs: Mapping[str, Run] = tables["runs"]
        self.indexes = Indexes(names)
        self.version = 0
        self.made: dict[str, Any] = {}
        self._before: dict[Address, Row | None] = {}
        self._dropped: set[str] = set()
        for row in sorted(rows, key=_place):
            self._set((row.table, row.key), row)

    @property
    def counters(self) -> Counters:
        """What is counted."""
        found: Counters | None = self._tables["counters"].get("")
        return found or Counters()

    @property
    def facts(self) -> Facts:
        """What is known of the store: in the state of ``NOBODY`` alone."""
        found: Facts | None = self._tables["facts"].get("")
        return found or Facts()

    @property
    def size(self) -> int:
        """How many rows there are."""
        return sum(map(len, self._tables.values()))

    def get(self, address: Address) -> Row | None:
        """Return the row at an address, or ``None``."""
        table, key = address
        found: Row | None = self._tables[table].get(key)
        return found

    def rows(self) -> Iterable[Row]:
        """Return every row."""
        return [row for table in self._tables.values() for row in table.values()]

    def number(self) -> int:
        """Return a number that nothing of the user had before."""
        self.put(replace(self.counters, number=self.counters.number + 1))
        return self.counters.number

    # Changes

    def begin(self) -> None:
        """Begin a transaction."""
        self._before, self._dropped = {}, set()

    def put(self, row: Row) -> None:
        """Let ``row`` stand at its address."""
        self._change((row.table, row.key), row)

    def drop(self, row: Row) -> None:
        """Remove a row."""
        self._change((row.table, row.key), None)

    def changes(self) -> Changes:
        """Return what this transaction changed, without what is again as it was."""
        found = {address: self.get(address) for address in self._before}
        return {at: row for at, row in found.items() if row is not self._before[at]}

    def is_new(self, row: Row) -> bool:
        """Return whether this transaction put a row where none stood."""
        return self._before.get((row.table, row.key), row) is None

    def keep(self) -> None:
        """End the transaction."""
        self._before, self._dropped = {}, set()

    def undo(self) -> None:
        """End the transaction as if it had never been."""
        before, self._before = self._before, {}
        dropped, self._dropped = self._dropped, set()
        for address, row in before.items():
            self._set(address, row)
        self._sort(dropped)  # What was dropped came back at the end.

    def follow(self, changes: Changes) -> None:
        """Take in what another transaction changed and stored."""
        last = next(reversed(self._tables[Stored.table].values()), None)
        late = {
            row.table
            for (_, key), row in changes.items()
            if isinstance(row, Stored) and key not in self.records and last is not None
            if row.ordinal < last.ordinal
        }
        for address, row in changes.items():
            self._set(address, row)
        self._sort(late)  # These were being written anew when all was read.

    def _change(self, address: Address, row: Row | None) -> None:
        self._before.setdefault(address, self.get(address))
        if row is None:
            self._dropped.add(address[0])
        self._set(address, row)

    def _set(self, address: Address, row: Row | None) -> None:
        table, key = address
        rows = self._tables[table]
        old: Row | None = rows.get(key)
        if old is row:
            return
        if row is None:
            del rows[key]
        else:
            rows[key] = row
        self.indexes.replace(old, row)
        if table == Stored.table:
            self.version += 1

    def _sort(self, tables: Collection[str]) -> None:
        """Bring tables into their order again, and so the indexes."""
        for table in tables:
            rows = self._tables[table]
            ordered = sorted(rows.values(), key=_place)
            rows.clear()
            rows.update((row.key, row) for row in ordered)
        if tables:
            self.indexes = Indexes(self._names)
            for row in self.rows():
                self.indexes.replace(None, row)


def _place(row: Row) -> tuple[int, str]:
    """Return where a row stands in its table."""
    match row:
        case Stored():
            return row.ordinal, ""
        case Said():
            return row.message.position or 0, row.conversation
        case Talk() | Receipt() | Thing():
            return row.number, ""
        case _:
            return 0, row.key


def standing(row: Stored | None) -> tuple[object, ...] | None:
    """Return what a change of which changes the lines of MEMORY.md; ``None`` for no such fact."""
    if row is None or not _is_fact(row.record):
        return None
    return row.record.valid_until, row.record.superseded_by


def _is_fact(item: Record) -> bool:
    return item.kind == "fact" and item.trust is not Trust.EXTERNAL
