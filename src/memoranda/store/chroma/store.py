"""The Chroma store: an SQLite database in memory, whose commits are kept in a folder of Chroma."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from contextlib import suppress
from copy import copy
from importlib.resources import files
from pathlib import Path
from threading import RLock
from typing import Any, ClassVar

import apsw

from memoranda import errors
from memoranda.model import capabilities
from memoranda.model.capabilities import NAMES, Capability
from memoranda.model.ports import Analyzer, EntityExtractor, NameMatcher
from memoranda.store.chroma.folder import ChromaFolder
from memoranda.store.chroma.journal import JOURNAL, Journal, JournalEntry
from memoranda.store.chroma.memories import MEMORIES, Memories, is_foreign
from memoranda.store.chroma.old_journal import OLD_JOURNAL, SCHEMA, read_old_journal
from memoranda.store.sql.database import SqlConnection
from memoranda.store.sql.dialect import schema_steps
from memoranda.store.sql.health import meta, report
from memoranda.store.sql.store import Store
from memoranda.store.sql.transaction import PURGE
from memoranda.store.sqlite import (
    DIALECT,
    MEMORY,
    ErrorTranslator,
    Fts5,
    SqliteConnection,
    SqliteDatabase,
)
from memoranda.store.sqlite_schema import APPLICATION_ID

log = logging.getLogger("memoranda.store.chroma")

DETAILS = {
    capabilities.TRANSACTIONS: "in memory; a journal of commits makes each all or nothing",
    capabilities.FULL_TEXT: "Chroma ranks no words: FTS5 in memory does",
    capabilities.NEAREST: "exact, over vectors in memory; Chroma's own index is kept, too",
    capabilities.SNAPSHOTS: "readers wait for writers",
    capabilities.PROCESSES: "one at a time",
    capabilities.PURGE: "the journal and Chroma's database are written anew",
}
TERMS = """
CREATE TABLE record_terms (
    record_key INTEGER PRIMARY KEY, user_key INTEGER NOT NULL, terms TEXT NOT NULL
)
"""
KEPT_TERMS = "SELECT record_key, user_key, terms FROM record_terms"
# Tables of which changes are recorded: not those of the full-text index.
RECORDED = """
SELECT t.name, s.sql FROM pragma_table_list t JOIN sqlite_schema s ON s.name = t.name
WHERE t.schema = 'main' AND t.type = 'table' AND t.name NOT LIKE 'sqlite%'
"""
CHANGED = "SELECT id, min(is_new) FROM changed_records GROUP BY id"
ACTIVE = """
SELECT count(*) FROM records
WHERE closed_at IS NULL AND superseded_by IS NULL AND indexed = 1
"""
OTHERWISE = "records that are otherwise in the collection of the memories"


class StoredTerms(Fts5):
    """A full-text index that keeps the terms of each record, so that they are recorded."""

    def add(self, connection: SqlConnection, rows: Iterable[tuple[int, int, str]]) -> None:
        """Index records: (key, key of the user, terms with a space between them)."""
        kept = list(rows)
        connection.run_many("INSERT INTO record_terms VALUES (:key, :user, :terms)", kept)
        super().add(connection, kept)

    def remove(self, connection: SqlConnection, user: int, keys: Sequence[int]) -> None:
        """Take records of a user out."""
        super().remove(connection, user, keys)
        rows = [{"key": key} for key in keys]
        connection.run_many("DELETE FROM record_terms WHERE record_key = :key", rows)

    def clear(self, connection: SqlConnection) -> None:
        """Take all records out."""
        super().clear(connection)
        connection.run("DELETE FROM record_terms")


class ChromaStore(SqliteDatabase, Store):
    """Implements :class:`memoranda.store.sql.store.Store` in a folder of Chroma.

    What a transaction changes is recorded by SQLite's session extension, and is added to the
    journal just before the transaction is committed in memory.

    Args:
        path: the folder, made if it is not there.
        analyzer: makes the terms of the full-text index.
        names: decides which names are one entity.

    Attributes:
        adoptable: the folder, where another program has memories in it that are none here yet.

    Raises:
        StoreBusy: another process has the folder.
        StoreError: the folder cannot be used; it is left as it was.
    """

    full_text = StoredTerms()
    _shared: ClassVar[dict[Path, list[ChromaStore]]] = {}
    _sharing: ClassVar[RLock] = RLock()

    def __init__(self, path: Path, *, analyzer: Analyzer, names: NameMatcher) -> None:
        """Open the folder and make the database from its journal."""
        self._session: apsw.Session | None = None
        self.folder = ChromaFolder(path)
        self._journal = Journal(self.folder)
        self._memories = Memories(self.folder)
        try:
            super().__init__(MEMORY)
            self._begin_with(analyzer, names)
        except BaseException:
            self.folder.close()
            raise

    @classmethod
    def share(cls, path: Path, *, analyzer: Analyzer, names: NameMatcher) -> ChromaStore:
        """Return a handle of the store in ``path``, which all handles of this process share."""
        with cls._sharing:
            key = path.resolve()
            handles = cls._shared.get(key, [])
            opened = copy(handles[0]) if handles else cls(path, analyzer=analyzer, names=names)
            cls._shared[key] = [*handles, opened]
            return opened

    def close(self) -> None:
        """Close this handle, and the folder with its last one. Closing twice is harmless."""
        with self._sharing:
            key = self.folder.path.resolve()
            others = [each for each in self._shared.pop(key, []) if each is not self]
            if others:
                self._shared[key], self._closed = others, True
                return
            with suppress(errors.StoreError):  # Else the memories are compared when it is opened.
                self._note_mirrored()
            super().close()
            self.folder.close()

    # Opening

    def _migrate(self) -> None:
        """Make the database from the journal, and bring it to the newest schema."""
        self.location = str(self.folder)
        self._errors = ErrorTranslator(self.location)
        with self._lend_writer() as connection:
            raw = connection.raw
            raw.execute("BEGIN; PRAGMA defer_foreign_keys = ON").fetchall()
            for entry in self._journal.read(len(schema_steps())):
                self._upgrade(raw, entry.schema)
                apsw.Changeset.apply(entry.patch, raw, conflict=_resolve)
            read = self._version(raw)
            is_old = OLD_JOURNAL in self.folder.names()
            if is_old and not read:
                self._upgrade(raw, SCHEMA)
                read_old_journal(self.folder, raw, "".join(DIALECT.schema()[:SCHEMA]))
            self._upgrade(raw, len(schema_steps()))
            Fts5().add(connection, connection.all(KEPT_TERMS))
            raw.execute("COMMIT")
            sql = (files("memoranda.store.chroma") / "changes.sql").read_text("utf-8")
            raw.execute(sql).fetchall()
            if read not in {0, self._version(raw)} or (is_old and not read):
                self._journal.begin_anew(self._everything(connection))
            if is_old:
                for name in self.folder.names():
                    if name == OLD_JOURNAL or name.startswith(f"{MEMORIES}-"):
                        self.folder.drop(name)
            self._reconcile(connection)

    def _upgrade(self, raw: apsw.Connection, schema: int) -> None:
        """Bring the tables to a schema, as the journal goes on in it."""
        steps = DIALECT.schema()
        for number in range(self._version(raw), schema):
            raw.execute(steps[number]).fetchall()
            raw.execute(f"PRAGMA user_version = {number + 1}")
            if not number:
                raw.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                raw.execute(TERMS)

    def _reconcile(self, connection: SqliteConnection) -> None:
        """Write to the memories what they lack, unless they are known to be as they should."""
        active = connection.value(ACTIVE)
        if self._journal.mirrored == self._journal.number and self._memories.count() == active:
            self._memories.are_written = True
            return
        found = self._memories.compare(connection)
        self._memories.write(connection, found.changed)
        self._memories.drop_adopted(connection, found.foreign)
        self._memories.are_written = True

    def _note_mirrored(self) -> None:
        """Note that the memories need not be compared at the next opening, if they need not."""
        with self._lend_writer():
            if self._memories.are_written:
                self._journal.note_mirrored()

    # Memories of other programs

    @property
    def adoptable(self) -> Path | None:
        """The folder, where another program has memories in it that are none here yet."""
        return self.folder.path if self._memories.foreign else None

    def finish_adoption(self) -> int:
        """Remove the rows of another program that are records now; return how many they were."""
        with self._lend_writer() as connection:
            return self._memories.drop_adopted(connection, self._memories.foreign)

    # Writing

    def _begin(self, connection: SqliteConnection) -> None:
        super()._begin(connection)
        self._session = apsw.Session(connection.raw, "main")
        for table, _ in connection.all(RECORDED):
            self._session.attach(table)

    def _commit(self, connection: SqliteConnection) -> None:
        session, self._session = self._session, None
        changed = session is not None and not session.is_empty
        if session is not None and changed:
            self._journal.append(JournalEntry(self._version(connection.raw), session.patchset()))
        super()._commit(connection)
        if changed:
            self._follow_up(connection)

    def _follow_up(self, connection: SqliteConnection) -> None:
        """Write to the memories what was committed, and keep the journal short."""
        try:
            changed = {row[0]: bool(row[1]) for row in connection.all(CHANGED)}
            # Should it be broken off: by then they may be there.
            connection.run("UPDATE changed_records SET is_new = 0")
            self._memories.are_written = False
            self._memories.write(connection, changed)
            self._memories.are_written = True
            connection.run("DELETE FROM changed_records")
            if self._journal.outgrown:
                self._journal.begin_anew(self._everything(connection))
        except errors.StoreError as error:
            # It is in the journal, and so it is stored; the memories follow before the next.
            log.warning("%s: memories are written later (%s)", self.location, error)

    def _everything(self, connection: SqliteConnection) -> JournalEntry:
        """Return all rows as one patchset."""
        raw = connection.raw
        raw.execute("ATTACH ':memory:' AS blank")
        try:
            session = apsw.Session(raw, "main")
            for table, sql in connection.all(RECORDED):
                raw.execute(sql.replace("CREATE TABLE ", "CREATE TABLE blank.", 1))
                session.attach(table)
                session.diff("blank", table)
            return JournalEntry(self._version(raw), session.patchset())
        finally:
            session.close()
            raw.execute("DETACH blank")

    # Upkeep

    def capabilities(self) -> tuple[Capability, ...]:
        """Return what Chroma does by itself, and what stands in for what it does not."""
        return tuple(Capability(name, name == capabilities.PURGE, DETAILS[name]) for name in NAMES)

    def verify(self) -> list[str]:
        """Return a line for each kind of difference found, with examples."""
        found = super().verify()
        with self._lend_writer() as connection:
            different = self._memories.compare(connection).changed
        return found + report(OTHERWISE, sorted(different))

    def rebuild(self, extractor: EntityExtractor) -> list[str]:
        """Derive index, links and queues anew, and write the memories as they should be."""
        with self._lend_writer() as connection:
            different = self._memories.compare(connection).changed
            self._memories.write(connection, different)
            return [*super().rebuild(extractor), *report(OTHERWISE, sorted(different))]

    def purge(self, *, large: bool = False) -> str | None:
        """Write the journal and Chroma's database anew, without what was erased."""
        del large
        with self._lend_writer() as connection:
            asked = meta(connection, PURGE)
            self._journal.begin_anew(self._everything(connection))
            self.folder.clean((JOURNAL, MEMORIES))
            with self.transact() as writing:
                values = {"name": PURGE, "asked": asked}
                writing.run("DELETE FROM meta WHERE name = :name AND value = :asked", values)
        return None

    def backup(self, path: str) -> None:
        """Write a copy of the folder to ``path``, which appears there whole or not at all."""
        with self._lend_writer():
            self._note_mirrored()
            self.folder.copy(Path(path))

    def size(self) -> int:
        """Return the bytes of the folder."""
        with self._lend_writer():
            return self.folder.size()


def read_foreign(path: Path) -> list[tuple[str, str, dict[str, Any]]]:
    """Return id, text and metadata of what another program has in ``memories`` of a folder.

    Raises:
        InvalidInput: there is no such collection.
        StoreError: the folder cannot be used, or another process has it.
    """
    path = path.expanduser().absolute()
    with ChromaStore._sharing:  # noqa: SLF001 - its own module
        handles = ChromaStore._shared.get(path.resolve())  # noqa: SLF001
        folder = handles[0].folder if handles else ChromaFolder(path)
        try:
            if MEMORIES not in folder.names():
                message = f"{path} has no collection {MEMORIES!r}; there is nothing to import"
                raise errors.InvalidInput(message)
            found: list[tuple[str, str, dict[str, Any]]] = []
            for page in folder.pages(MEMORIES, ["documents", "metadatas"]):
                rows = zip(page["ids"], page["documents"], page["metadatas"], strict=True)
                found += [(row[0], row[1] or "", row[2] or {}) for row in rows]
            return [row for row in found if is_foreign(row[2])]
        finally:
            if not handles:
                folder.close()


def _resolve(reason: int, _change: apsw.TableChange) -> int:
    """Writing what is there already changes nothing; what went with another row is gone."""
    if reason in {apsw.SQLITE_CHANGESET_CONFLICT, apsw.SQLITE_CHANGESET_DATA}:
        return apsw.SQLITE_CHANGESET_REPLACE
    return apsw.SQLITE_CHANGESET_OMIT
