"""The rows of one user in an in-memory SQLite database, which runs the statements of all stores.

What a transaction changes is recorded by SQLite's session extension and offered to whoever keeps
it, just before the transaction is committed. What others have recorded is applied in their order.
Vectors, links and the terms of texts are recorded like all rows; only the full-text index itself
is made again, from the terms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import IntEnum
from importlib.resources import files
from typing import Any
from uuid import uuid4

import apsw

from memoranda.store.chroma.journal import JournalEntry, Position
from memoranda.store.sql.database import SqlConnection
from memoranda.store.sql.dialect import backfill, tables
from memoranda.store.sql.health import meta
from memoranda.store.sql.transaction import PURGE
from memoranda.store.sqlite import MEMORY, Fts5, SqliteConnection, SqliteDatabase

# The tables of which changes are recorded: all but those of the full-text index.
RECORDED = (*tables(), "record_terms")
KEPT_TERMS = """
SELECT t.record_key, r.user_key, t.terms FROM record_terms t JOIN records r ON r.key = t.record_key
"""
# What was touched, once each: what is new stays new, whatever is done to it next.
TOUCHED = """
SELECT id, CASE WHEN max(how = 2) THEN 2 ELSE max(how) END FROM touched GROUP BY id
"""
STAMP = """
INSERT INTO meta VALUES (:name, :value)
ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE value <> excluded.value
"""
# The journal knows of each user who erased something: the mark of it is no part of the rows.
DROP_MARK = "DELETE FROM meta WHERE name = :name"
# Commits of which a replica knows the tokens: by these a process knows its own again.
TOKENS = 256


class MirrorChange(IntEnum):
    """What has to be done about a record in the collection of the memories."""

    CHANGED = 1
    NEW = 2
    REPLACED = 3  # It may be there or not, or its embedding is another.


# Records, by id, that are not in the collection as they should be; also those that are gone.
Touched = dict[str, MirrorChange]


class StoredTerms(Fts5):
    """A full-text index that is made of the terms of each record, so that they are recorded."""

    def add(self, connection: SqlConnection, rows: Iterable[tuple[int, int, str]]) -> None:
        """Keep the terms of records."""
        sql = "INSERT INTO record_terms (record_key, terms) VALUES (:key, :terms)"
        connection.run_many(sql, [{"key": key, "terms": terms} for key, _, terms in rows])

    def remove(self, connection: SqlConnection, user: int, keys: Sequence[int]) -> None:
        """Take records of a user out."""
        del user
        rows = [{"key": key} for key in keys]
        connection.run_many("DELETE FROM record_terms WHERE record_key = :key", rows)

    def clear(self, connection: SqlConnection) -> None:
        """Take all records out."""
        connection.run("DELETE FROM record_terms")


class Replica(SqliteDatabase):
    """The rows of one user.

    Attributes:
        user: whose they are.
        at: how far the journal was read.
        touched: records that are to be written to the collection of the memories.
        stamps: by which analyzer and model the rows are known to be made; for the first commit.
        keep: keeps what a transaction changed (the entry, what is different in the collection of
            the memories, whether something is gone for good), or raises: then it is rolled back.
    """

    full_text = StoredTerms()

    def __init__(self, user: str) -> None:
        """Make the tables, without rows."""
        self.user = user
        self.at = Position()
        self.touched: Touched = {}
        self.stamps: Mapping[str, str] = {}
        self.keep: Callable[[Replica, JournalEntry, Touched, bool], None] | None = None
        self._session: apsw.Session | None = None
        super().__init__(MEMORY)

    def _migrate(self) -> None:
        super()._migrate()
        with self.write() as connection:
            schema = (files("memoranda.store.chroma") / "replica.sql").read_text("utf-8")
            connection.raw.execute(schema).fetchall()

    def all(self, sql: str, **values: Any) -> list[Any]:
        """Return what a query gives."""
        with self.read() as connection:
            return connection.all(sql, values)

    def meta(self, name: str) -> str | None:
        """Return what was noted of the rows as a whole, under a name."""
        with self.read() as connection:
            return meta(connection, name)

    def knows(self, entry: JournalEntry) -> bool:
        """Return whether an entry is among the last commits."""
        return self.meta(_slot(entry.through)) == entry.token

    def whole(self) -> bytes:
        """Return all rows as one patchset."""
        with self.read() as connection:
            raw = connection.raw
            raw.execute("ATTACH ':memory:' AS blank")
            try:
                session = apsw.Session(raw, "main")
                for table in RECORDED:
                    sql = connection.value(
                        "SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = :table",
                        {"table": table},
                    )
                    raw.execute(sql.replace("CREATE TABLE ", "CREATE TABLE blank.", 1))
                    session.attach(table)
                    session.diff("blank", table)
                patch = session.patchset()
                session.close()
            finally:
                raw.execute("DETACH blank")
        return patch

    def follow(self, entries: Sequence[JournalEntry], *, mirrored: int) -> None:
        """Take in what the journal has, in order.

        Args:
            entries: what follows what was read.
            mirrored: the last commit whose records are in the collection of the memories.
        """
        self.stamps = {}  # Others may not have known of the last model.
        loads = not self.at.commit
        with self.write() as connection:
            # Where all is read, it is indexed together: a trigger for each row takes longer.
            known = [each for each in entries if loads and each.through <= mirrored]
            if known:
                connection.raw.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
                self._apply(connection, known)
                connection.raw.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 1)
                Fts5().add(connection, connection.all(KEPT_TERMS))
            for entry in entries[len(known) :]:
                self._apply(connection, [entry])
                touched = connection.all("DELETE FROM touched RETURNING id")
                if entry.through > mirrored:
                    self.touched.update((row[0], MirrorChange.REPLACED) for row in touched)
            if loads:  # Older versions may have written it.
                connection.raw.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
                for sql in backfill():
                    connection.run(sql)
                connection.raw.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 1)

    def _apply(self, connection: SqliteConnection, entries: Sequence[JournalEntry]) -> None:
        for entry in entries:
            apsw.Changeset.apply(entry.patch, connection.raw, conflict=_conflict)
            self.at = self.at._replace(commit=entry.through)

    def _begin(self, connection: SqliteConnection) -> None:
        super()._begin(connection)
        self._session = None
        if self.keep is not None:
            self._session = apsw.Session(connection.raw, "main")
            for table in RECORDED:
                self._session.attach(table)
            if not self.at.commit:
                stamp(connection, self.stamps)

    def _commit(self, connection: SqliteConnection) -> None:
        session, self._session = self._session, None
        if self.keep is not None and session is not None and not session.is_empty:
            number, token = self.at.commit + 1, uuid4().hex
            stamp(connection, {_slot(number): token})
            erases = connection.change(DROP_MARK, {"name": PURGE}) > 0
            touched = {record: MirrorChange(how) for record, how in connection.all(TOUCHED)}
            connection.run("DELETE FROM touched")
            self.keep(self, JournalEntry(number, session.patchset(), token), touched, erases)
            self.at = self.at._replace(epoch=max(self.at.epoch, 0), commit=number)
            for each, how in touched.items():
                self.touched[each] = max(how, self.touched.get(each, how))
        super()._commit(connection)


def stamp(connection: SqlConnection, stamps: Mapping[str, str]) -> None:
    """Note something of the rows as a whole."""
    connection.run_many(STAMP, [{"name": name, "value": it} for name, it in stamps.items()])


def _slot(number: int) -> str:
    return f"token {number % TOKENS}"


def _conflict(reason: int, _change: apsw.TableChange) -> int:
    """Writing what is there already changes nothing; what went with another row is gone."""
    if reason in {apsw.SQLITE_CHANGESET_CONFLICT, apsw.SQLITE_CHANGESET_DATA}:
        return apsw.SQLITE_CHANGESET_REPLACE
    return apsw.SQLITE_CHANGESET_OMIT
