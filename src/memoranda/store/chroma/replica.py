"""The rows of one user in an in-memory SQLite database, which runs the statements of all stores.

What a transaction changes is recorded by SQLite's session extension and offered to whoever keeps
it, just before the transaction is committed. What others have recorded is applied in their order.
Vectors, links and the terms of texts are recorded like all rows; only the full-text index itself
is made again, from the terms.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Protocol, TypeVar

import apsw

from memoranda.model.models import Scope
from memoranda.model.ports import Analyzer, NameMatcher
from memoranda.store.chroma.journal import JournalEntry, Position
from memoranda.store.sql import health, reads
from memoranda.store.sql.dialect import TABLES, SqlConnection
from memoranda.store.sql.store import SET_META, SqlStore
from memoranda.store.sql.transaction import PURGE
from memoranda.store.sqlite import Fts5, Hook, SqliteConnection, SqliteDatabase

T = TypeVar("T")
EXTRA = """
CREATE TABLE replica_state (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE record_terms (
    record_key  INTEGER PRIMARY KEY REFERENCES records(key) ON DELETE CASCADE,
    terms       TEXT NOT NULL
)
"""
# The tables of which changes are recorded: all but those of the full-text index.
RECORDED = (*TABLES, "replica_state", "record_terms")
KEEP_TERMS = """
INSERT INTO record_terms (record_key, terms) VALUES (:key, :terms)
ON CONFLICT (record_key) DO UPDATE SET terms = excluded.terms
"""
KEPT_TERMS = """
SELECT t.record_key, r.user_key, t.terms FROM record_terms t JOIN records r ON r.key = t.record_key
"""
# Columns of records that are also in the collection of the memories.
MIRRORED = (
    "content", "kind", "agent", "created_at", "valid_until", "closed_at", "superseded_by",
    "session_id", "indexed", "attributes",
)  # fmt: skip
# Tables of which a row belongs to what is told of a record there; whether it is its vector.
LINKED = {"record_entities": False, "derivations": False, "vectors": True}
STAMP = """
INSERT INTO replica_state VALUES (:name, :value)
ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE value <> excluded.value
"""
# AUTOINCREMENT counts in a table that a session does not record.
STAMP_LAST_KEY = """
INSERT INTO replica_state SELECT 'last_key', seq FROM sqlite_sequence WHERE name = 'records'
    AND seq > coalesce((SELECT max(key) FROM records), 0)
ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE value <> excluded.value
"""
RESTORE_LAST_KEY = """
WITH last AS (SELECT CAST(value AS INTEGER) AS seq FROM replica_state WHERE name = 'last_key')
UPDATE sqlite_sequence SET seq = (SELECT seq FROM last)
WHERE name = 'records' AND seq < (SELECT seq FROM last)
"""
FIRST_KEY = """
INSERT INTO sqlite_sequence SELECT 'records', CAST(value AS INTEGER) FROM replica_state
WHERE name = 'last_key' AND NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'records')
"""


class MirrorChange(IntEnum):
    """What has to be done about a record in the collection of the memories."""

    CHANGED = 1
    NEW = 2
    REPLACED = 3  # It may be there or not, or its embedding is another.


# Records, by id, that are not in the collection as they should be; also those that are gone.
Touched = dict[str, MirrorChange]


@dataclass(frozen=True, slots=True)
class Recorded:
    """The changes of one transaction, as a patchset.

    Attributes:
        patch: the changes, as a patchset.
        touched: what is different in the collection of the memories.
        erases: whether records are gone for good.
    """

    patch: bytes
    touched: Touched
    erases: bool


class Keeper(Protocol):
    """The port by which a replica commits a transaction to the journal."""

    @property
    def wanted(self) -> Mapping[str, str]:
        """What is to be noted of the replica; a change by itself."""

    def stamps(self) -> Mapping[str, str]:
        """Return what is to be noted of the replica with any change."""

    def keep(self, recorded: Recorded) -> None:
        """Keep it, or raise: then the transaction is rolled back."""


class StoredTerms(Fts5):
    """A full-text index that also keeps the terms of each record, so that they are recorded."""

    def create(self, connection: SqlConnection) -> None:
        """Make the index, and the tables that only a replica has."""
        super().create(connection)
        for statement in EXTRA.split(";"):
            connection.run(statement)

    def add(self, connection: SqlConnection, rows: Sequence[tuple[int, int, str]]) -> None:
        """Index records, and keep their terms."""
        connection.run_many(KEEP_TERMS, [{"key": key, "terms": terms} for key, _, terms in rows])
        super().add(connection, rows)

    def fill(self, connection: SqlConnection, keys: Collection[int] | None) -> None:
        """Index records by the terms that are kept: all, or those with these keys."""
        if keys is None:
            super().add(connection, connection.all(KEPT_TERMS))
        elif keys:
            self.remove(connection, list(keys))
            among = f"{KEPT_TERMS} WHERE t.record_key IN (@ints(:keys))"
            rows = connection.all(among, {"keys": json.dumps(list(keys))})
            super().add(connection, rows)


class ReplicaStore(SqlStore):
    """The rows of one user, and the shared statements over them."""

    def __init__(
        self, *, analyzer: Analyzer, names: NameMatcher, on_begin: Hook, before_commit: Hook
    ) -> None:
        """Make the tables."""
        self._rows = SqliteDatabase(
            ":memory:",
            on_begin=on_begin,
            before_commit=before_commit,
            wrap_full_text=lambda _: StoredTerms(),
        )
        self.reading, self.writing = self._rows.read, self._rows.write
        super().__init__(self._rows, analyzer=analyzer, names=names)

    def reading_user(self, scope: Scope) -> AbstractContextManager[tuple[SqlConnection, int]]:
        """Lend the connection, and the number that the user has here."""
        return self._reading(scope)

    def index_again(self) -> None:
        """Make the terms of all texts anew."""
        with self.writing() as connection:
            health.reindex(connection, self._rows, self._analyzer)

    def forget_purge(self) -> None:
        """Take back the request to purge what was erased."""
        with self.writing() as connection:
            connection.run("DELETE FROM meta WHERE name = :name", {"name": PURGE})

    def take_texts(self, texts: Mapping[str, str]) -> None:
        """Let records have other texts, by their ids."""
        rows = [{"id": record, "text": text} for record, text in texts.items()]
        with self.writing() as connection:
            connection.run_many("UPDATE records SET content = :text WHERE id = :id", rows)

    def tell_model(self, name: str, dimensions: int) -> None:
        """Say which model the store's vectors have."""
        told = {reads.MODEL: name, reads.DIMENSIONS: str(dimensions)}
        with self.writing() as connection:
            rows = [{"name": key, "value": value} for key, value in told.items()]
            connection.run_many(SET_META, rows)


class Replica:
    """The rows of one user.

    Attributes:
        user: whose they are.
        at: how far the journal was read.
        touched: records that are to be written to the collection of the memories.
        generation: of the vectors' model for which the rows are known to be right.
        stamps: by what the rows were made, noted with each change.
        store: the shared statements over these rows.
    """

    def __init__(self, user: str, *, analyzer: Analyzer, names: NameMatcher) -> None:
        """Hold no rows."""
        self.user = user
        self.at = Position()
        self.touched: Touched = {}
        self.generation = -1
        self.stamps: Mapping[str, str] = {}
        self._keeper: Keeper | None = None
        self._session: apsw.Session | None = None
        self.store = ReplicaStore(
            analyzer=analyzer,
            names=names,
            on_begin=self._begin,
            before_commit=self._before_commit,
        )
        with self.store.reading() as connection:
            self._columns = {
                table: {row[1]: row[0] for row in connection.all(f"PRAGMA table_info({table})")}
                for table in RECORDED
            }

    def close(self) -> None:
        """Let go of the rows."""
        self._session = None
        self.store.close()

    @property
    def size(self) -> int:
        """How many bytes the rows take."""
        with self.store.reading() as connection:
            pages, each = connection.raw.pragma("page_count"), connection.raw.pragma("page_size")
        return int(pages) * int(each)

    # Reading

    def all(self, sql: str, **values: Any) -> list[Any]:
        """Return what a query gives."""
        with self.store.reading() as connection:
            return connection.all(sql, values)

    def state(self, name: str) -> str | None:
        """Return what was noted of the replica itself, under a name."""
        found = self.all("SELECT value FROM replica_state WHERE name = :name", name=name)
        return found[0][0] if found else None

    def ids(self) -> list[str]:
        """Return the ids of all records, the oldest first."""
        return [row[0] for row in self.all("SELECT id FROM records ORDER BY key")]

    def whole(self) -> bytes:
        """Return all rows as one patchset."""
        with self.store.reading() as connection:
            raw = connection.raw
            raw.execute("ATTACH ':memory:' AS blank")
            try:
                session = apsw.Session(raw, "main")
                for table in RECORDED:
                    sql = raw.execute(
                        "SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?", (table,)
                    ).get
                    raw.execute(sql.replace("CREATE TABLE ", "CREATE TABLE blank.", 1))
                    session.attach(table)
                    session.diff("blank", table)
                patch = session.patchset()
                session.close()
            finally:
                raw.execute("DETACH blank")
        return patch

    # Changing

    def change(self, work: Callable[[ReplicaStore], T], keeper: Keeper) -> T:
        """Let ``work`` change the rows; each of its transactions is offered to ``keeper``."""
        self._keeper = keeper
        try:
            return work(self.store)
        finally:
            self._keeper, self._session = None, None

    def apply(self, entries: Sequence[JournalEntry], *, mirrored: int) -> None:
        """Take in what the journal has, in order.

        Args:
            entries: what follows what was read.
            mirrored: the last commit whose records are in the collection of the memories.
        """
        empty = self.at.commit == 0
        self.generation = -1  # Others may not have known of the last model.
        with self.store.writing() as connection:
            terms: set[int] = set()
            for entry in entries:
                self._apply(connection.raw, entry, terms, told=entry.through > mirrored)
                self.at = Position(self.at.epoch, entry.through)
            StoredTerms().fill(connection, None if empty else terms)
            connection.run(RESTORE_LAST_KEY)
            connection.run(FIRST_KEY)

    def _apply(
        self, raw: apsw.Connection, entry: JournalEntry, terms: set[int], *, told: bool
    ) -> None:
        found = Changes(raw, self._columns)
        if told or self.at.commit:
            for change in apsw.Changeset.iter(entry.patch):
                if change.name == "record_terms":
                    terms.add(found.value(change, "record_key"))
                elif told:
                    found.add(change)
        found.name()  # Before and after, as rows go and come.
        apsw.Changeset.apply(entry.patch, raw, conflict=_conflict)
        self.touched.update(dict.fromkeys(found.touched(), MirrorChange.REPLACED))

    def _begin(self, connection: SqliteConnection) -> None:
        self._session = None
        if self._keeper is not None:
            self._session = apsw.Session(connection.raw, "main")
            for table in RECORDED:
                self._session.attach(table)
            self._stamp(connection, self._keeper.wanted)

    @staticmethod
    def _stamp(connection: SqliteConnection, stamps: Mapping[str, str]) -> None:
        for name, value in stamps.items():
            connection.run(STAMP, {"name": name, "value": value})

    def _before_commit(self, connection: SqliteConnection) -> None:
        session, keeper = self._session, self._keeper
        if session is None or keeper is None or session.is_empty:
            return
        connection.run(STAMP_LAST_KEY)
        self._stamp(connection, keeper.stamps())
        found = Changes(connection.raw, self._columns)
        for change in apsw.Changeset.iter(session.changeset()):
            found.add(change)
        keeper.keep(Recorded(session.patchset(), found.touched(), erases=found.erases))


class Changes:
    """Which records the changes of a patch are about.

    Attributes:
        erases: whether records are gone for good.
    """

    def __init__(self, raw: apsw.Connection, columns: Mapping[str, Mapping[str, int]]) -> None:
        """Know of none."""
        self._raw = raw
        self._columns = columns
        self._touched: dict[int, MirrorChange] = {}
        self._ids: dict[int, str] = {}
        self.erases = False

    def value(self, change: apsw.TableChange, column: str) -> Any:
        """Return the value of a column after a change, or before; ``None`` if it is not told."""
        at = self._columns[change.name][column]
        for values in (change.new, change.old):
            if values is not None and values[at] is not apsw.no_change:
                return values[at]
        return None

    def add(self, change: apsw.TableChange) -> None:
        """Take in a change."""
        if change.name in LINKED:
            key = self.value(change, "record_key")
            moved = LINKED[change.name] and change.op == "INSERT"
            if key is not None:
                self._touch(key, MirrorChange.REPLACED if moved else MirrorChange.CHANGED)
        elif change.name == "records":
            self._add_record(change, self.value(change, "key"))

    def _add_record(self, change: apsw.TableChange, key: int) -> None:
        if change.op == "UPDATE":
            new, columns = change.new or (), self._columns["records"]
            told = {name for name in MIRRORED if new[columns[name]] is not apsw.no_change}
            if told:
                self._touch(
                    key, MirrorChange.REPLACED if "content" in told else MirrorChange.CHANGED
                )
            return
        self.erases = self.erases or change.op == "DELETE"
        name = self.value(change, "id")
        if name is not None:
            self._ids[key] = name
        self._touch(key, MirrorChange.NEW if change.op == "INSERT" else MirrorChange.REPLACED)

    def _touch(self, key: int, how: MirrorChange) -> None:
        if self._touched.get(key) is not MirrorChange.NEW:  # Whatever else is done to it.
            self._touched[key] = max(how, self._touched.get(key, how))
        if how is MirrorChange.NEW:
            self._touched[key] = how

    def name(self) -> None:
        """Look up the ids of records that are known by their keys."""
        for key in self._touched.keys() - self._ids.keys():
            name = self._raw.execute("SELECT id FROM records WHERE key = ?", (key,)).get
            if name is not None:
                self._ids[key] = name

    def touched(self) -> Touched:
        """Return what is to be done about these records."""
        self.name()
        return {self._ids[key]: how for key, how in self._touched.items() if key in self._ids}


def _conflict(reason: int, _change: apsw.TableChange) -> int:
    """Writing what is there already changes nothing; what went with another row is gone."""
    if reason in {apsw.SQLITE_CHANGESET_CONFLICT, apsw.SQLITE_CHANGESET_DATA}:
        return apsw.SQLITE_CHANGESET_REPLACE
    return apsw.SQLITE_CHANGESET_OMIT
