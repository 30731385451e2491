"""The rows of one user in an in-memory SQLite database, which runs the statements of every file.

What a transaction changes is recorded by SQLite's session extension and offered to whoever keeps
it, just before the transaction is committed. What others have recorded is applied in their order.
Vectors, links and the terms of texts are recorded like all rows; only the full-text index itself
is made again, from the terms.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Protocol, TypeVar

import apsw

from memoranda.model.ports import Analyzer, NameMatcher
from memoranda.model.scope import Scope
from memoranda.store.chroma.journal import Entry, Position
from memoranda.store.sqlite import health
from memoranda.store.sqlite.store import SqliteStore

T = TypeVar("T")
RECORDED = (
    "meta", "users", "records", "vectors", "pending_vectors", "entities", "entity_names",
    "record_entities", "entity_name_keys", "entity_decisions", "conversations", "messages",
    "prunings", "consolidations", "recalls", "record_sources", "history", "leases", "job_runs",
    "model_usage", "notes_bases", "standing_epochs", "record_terms", "replica_state",
)  # fmt: skip
"""The tables of which changes are recorded: all but those of the full-text index."""
EXTRA = """
CREATE TABLE replica_state (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE record_terms (
    record_key  INTEGER PRIMARY KEY REFERENCES records(key) ON DELETE CASCADE,
    terms       TEXT NOT NULL
);
CREATE TRIGGER record_terms_insert AFTER INSERT ON records BEGIN
    INSERT INTO record_terms VALUES (new.key, memoranda_terms(new.content));
END;
CREATE TRIGGER record_terms_update AFTER UPDATE OF content ON records BEGIN
    UPDATE record_terms SET terms = memoranda_terms(new.content) WHERE record_key = new.key;
END;
"""
TERMS_AGAIN = """
UPDATE record_terms SET terms = memoranda_terms(
    (SELECT content FROM records WHERE key = record_key))
"""
INDEX = """
INSERT INTO records_fts (rowid, terms, scope) SELECT t.record_key, t.terms, 'u' || r.user_key
FROM record_terms t JOIN records r ON r.key = t.record_key
"""
MIRRORED = frozenset(
    {
        "content",
        "kind",
        "agent",
        "created_at",
        "valid_until",
        "closed_at",
        "superseded_by",
        "session_id",
        "indexed",
        "attributes",
    }
)
"""Columns of records that are also in the collection of the memories."""
LINKED = {"record_entities": False, "vectors": True}
"""Tables of which a row belongs to what is told of a record there; whether it is its vector."""
STAMP = """
INSERT INTO replica_state VALUES (?, ?)
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
TELL_META = """
INSERT INTO meta VALUES (?, ?)
ON CONFLICT (key) DO UPDATE SET value = excluded.value WHERE value <> excluded.value
"""


class Touch(IntEnum):
    """What has to be done about a record in the collection of the memories."""

    CHANGED = 1
    NEW = 2
    REPLACED = 3
    """It may be there or not, or its embedding is another."""


Touched = dict[str, Touch]
"""Records, by id, that are not in the collection as they should be; also those that are gone."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a transaction changed.

    Attributes:
        patch: the changes, as a patchset.
        touched: what is different in the collection of the memories.
        erases: whether records are gone for good.
    """

    patch: bytes
    touched: Touched
    erases: bool


class Keeper(Protocol):
    """Keeps what a transaction changed."""

    @property
    def wanted(self) -> Mapping[str, str]:
        """What is to be noted of the replica; a change by itself."""

    def stamps(self) -> Mapping[str, str]:
        """Return what is to be noted of the replica with any change."""

    def keep(self, recorded: Recorded) -> None:
        """Keep it, or raise: then the transaction is rolled back."""


class Rows(SqliteStore):
    """The rows of one user, and the shared statements over them."""

    def __init__(
        self,
        *,
        analyzer: Analyzer,
        names: NameMatcher,
        on_begin: Callable[[apsw.Connection], None],
        before_commit: Callable[[apsw.Connection], None],
    ) -> None:
        """Make the tables."""
        super().__init__(":memory:", analyzer=analyzer, names=names)
        with self._connections.alone() as connection:
            connection.execute(EXTRA)
        self._connections.on_begin = on_begin
        self._connections.before_commit = before_commit

    @contextmanager
    def reading(self) -> Iterator[apsw.Connection]:
        """Lend the connection for reading."""
        with self._connections.read() as connection:
            yield connection

    @contextmanager
    def reading_user(self, scope: Scope) -> Iterator[tuple[apsw.Connection, int]]:
        """Lend the connection, and the number that the user has here."""
        with self._reading(scope) as found:
            yield found

    @contextmanager
    def writing(self) -> Iterator[apsw.Connection]:
        """Lend the connection in a transaction."""
        with self._connections.write() as connection:
            yield connection

    def index_again(self) -> None:
        """Make the terms of all texts anew."""
        with self.writing() as connection:
            connection.execute(TERMS_AGAIN)
            health.index_again(connection)

    def forget_purge(self) -> None:
        """Take back the request to purge what was erased."""
        with self.writing() as connection:
            connection.execute("DELETE FROM meta WHERE key = ?", (health.PURGE,))

    def take_texts(self, texts: Mapping[str, str]) -> None:
        """Let records have other texts, by their ids."""
        with self.writing() as connection:
            connection.executemany(
                "UPDATE records SET content = ?2 WHERE id = ?1", list(texts.items())
            )

    def tell_model(self, name: str, dimensions: int) -> None:
        """Say which model the store's vectors have."""
        told = {"embedding_model": name, "embedding_dimensions": str(dimensions)}
        with self.writing() as connection:
            connection.executemany(TELL_META, list(told.items()))


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
        self.store = Rows(
            analyzer=analyzer,
            names=names,
            on_begin=self._begin,
            before_commit=self._before_commit,
        )
        with self.store.reading() as connection:
            self._columns = {
                table: {row[1]: row[0] for row in connection.execute(f"PRAGMA table_info({table})")}
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
            pages: int = connection.pragma("page_count")
            each: int = connection.pragma("page_size")
        return pages * each

    # Reading

    def all(self, sql: str, *values: Any) -> list[Any]:
        """Return what a query gives."""
        with self.store.reading() as connection:
            return connection.execute(sql, values).fetchall()

    def state(self, name: str) -> str | None:
        """Return what was noted of the replica itself, under a name."""
        found = self.all("SELECT value FROM replica_state WHERE name = ?", name)
        return found[0][0] if found else None

    def ids(self) -> list[str]:
        """Return the ids of all records, the oldest first."""
        return [row[0] for row in self.all("SELECT id FROM records ORDER BY key")]

    def whole(self) -> bytes:
        """Return all rows as one patchset."""
        with self.store.reading() as raw:
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

    def change(self, work: Callable[[Rows], T], keeper: Keeper) -> T:
        """Let ``work`` change the rows; each of its transactions is offered to ``keeper``."""
        self._keeper = keeper
        try:
            return work(self.store)
        finally:
            self._keeper, self._session = None, None

    def apply(self, entries: Sequence[Entry], *, mirrored: int) -> None:
        """Take in what the journal has, in order.

        Args:
            entries: what follows what was read.
            mirrored: the last commit whose records are in the collection of the memories.
        """
        empty = self.at.commit == 0
        with self.store.writing() as connection, _without_triggers(connection):
            terms: set[int] = set()
            for entry in entries:
                self._apply(connection, entry, terms, told=entry.through > mirrored)
                self.at = Position(self.at.epoch, entry.through)
            _index(connection, None if empty else terms)
            connection.execute(RESTORE_LAST_KEY)
            connection.execute(FIRST_KEY)

    def _apply(self, raw: apsw.Connection, entry: Entry, terms: set[int], *, told: bool) -> None:
        found = Changes(raw, self._columns)
        if told or self.at.commit:
            for change in apsw.Changeset.iter(entry.patch):
                if change.name == "record_terms":
                    terms.add(found.value(change, "record_key"))
                elif told:
                    found.add(change)
        found.name()  # Before and after, as rows go and come.
        apsw.Changeset.apply(entry.patch, raw, conflict=_conflict)
        self.touched.update(dict.fromkeys(found.touched(), Touch.REPLACED))

    def _begin(self, connection: apsw.Connection) -> None:
        self._session = None
        if self._keeper is not None:
            self._session = apsw.Session(connection, "main")
            for table in RECORDED:
                self._session.attach(table)
            self._stamp(connection, self._keeper.wanted)

    @staticmethod
    def _stamp(connection: apsw.Connection, stamps: Mapping[str, str]) -> None:
        for name, value in stamps.items():
            connection.execute(STAMP, (name, value))

    def _before_commit(self, connection: apsw.Connection) -> None:
        session, keeper = self._session, self._keeper
        if session is None or keeper is None or session.is_empty:
            return
        connection.execute(STAMP_LAST_KEY)
        self._stamp(connection, keeper.stamps())
        found = Changes(connection, self._columns)
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
        self._touched: dict[int, Touch] = {}
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
                self._touch(key, Touch.REPLACED if moved else Touch.CHANGED)
        elif change.name == "records":
            self._add_record(change, self.value(change, "key"))

    def _add_record(self, change: apsw.TableChange, key: int) -> None:
        if change.op == "UPDATE":
            new, columns = change.new or (), self._columns["records"]
            told = {name for name in MIRRORED if new[columns[name]] is not apsw.no_change}
            if told:
                self._touch(key, Touch.REPLACED if "content" in told else Touch.CHANGED)
            return
        self.erases = self.erases or change.op == "DELETE"
        name = self.value(change, "id")
        if name is not None:
            self._ids[key] = name
        self._touch(key, Touch.NEW if change.op == "INSERT" else Touch.REPLACED)

    def _touch(self, key: int, how: Touch) -> None:
        if self._touched.get(key) is not Touch.NEW:  # Whatever else is done to it.
            self._touched[key] = max(how, self._touched.get(key, how))
        if how is Touch.NEW:
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


@contextmanager
def _without_triggers(connection: apsw.Connection) -> Iterator[None]:
    """Let no trigger fire: what it did was recorded, too."""
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
    try:
        yield
    finally:
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 1)


def _index(connection: apsw.Connection, keys: Collection[int] | None) -> None:
    """Index records by their terms: all, or those with these keys."""
    if keys is None:
        connection.execute(INDEX)
    elif keys:
        chosen = (json.dumps(list(keys)),)
        among = "IN (SELECT value FROM json_each(?))"
        connection.execute(f"DELETE FROM records_fts WHERE rowid {among}", chosen)
        connection.execute(f"{INDEX} WHERE t.record_key {among}", chosen)


def _conflict(reason: int, _change: apsw.TableChange) -> int:
    """Writing what is there already changes nothing; what went with another row is gone."""
    if reason in {apsw.SQLITE_CHANGESET_CONFLICT, apsw.SQLITE_CHANGESET_DATA}:
        return apsw.SQLITE_CHANGESET_REPLACE
    return apsw.SQLITE_CHANGESET_OMIT
