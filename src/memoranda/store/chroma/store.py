"""The Chroma store: an SQLite database in memory, whose commits are kept in a folder of Chroma."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from copy import copy
from importlib.resources import files
from pathlib import Path
from threading import RLock

import apsw

from memoranda import errors
from memoranda.model.ports import Analyzer, NameMatcher
from memoranda.store.chroma.folder import MEMORIES, ChromaFolder, Journal
from memoranda.store.chroma.memories import ACTIVE, Memories, is_foreign
from memoranda.store.sql.database import schema_steps
from memoranda.store.sql.health import reindex
from memoranda.store.sql.store import ForeignMemory
from memoranda.store.sqlite import DIALECT, MEMORY, ErrorTranslator, SqliteConnection, SqliteStore
from memoranda.store.sqlite_schema import bring_up_to_date, read_version

log = logging.getLogger("memoranda.store.chroma")

# The journal of memoranda before 0.2 was complete.
OLD_JOURNAL = "journal"
# Tables of which changes are recorded: not those of the full-text index.
RECORDED = """
SELECT t.name, s.sql FROM pragma_table_list t JOIN sqlite_schema s ON s.name = t.name
WHERE t.schema = 'main' AND t.type = 'table' AND t.name NOT LIKE 'sqlite%'
"""
CHANGED = "SELECT DISTINCT id FROM changed_records"
FORGET_CHANGED = "DELETE FROM changed_records"


# The open handles of each folder, and what is held while these change.
handles: dict[Path, list[ChromaStore]] = {}
sharing = RLock()


class ChromaStore(SqliteStore):
    """A whole memory in a folder of Chroma.

    What a transaction changes is recorded by SQLite's session extension, and is added to the
    journal just before the transaction is committed in memory.

    Args:
        path: the folder, made if it is not there.
        analyzer: makes the terms of the full-text index.
        names: decides which names are one entity.

    Raises:
        StoreBusy: another process has the folder.
        StoreError: the folder cannot be used; it is left as it was.
    """

    def __init__(self, path: Path, *, analyzer: Analyzer, names: NameMatcher) -> None:
        """Open the folder and make the database from its journal."""
        self._session: apsw.Session | None = None
        self.folder = ChromaFolder(path)
        self._journal = Journal(self.folder)
        self._memories = Memories(self.folder)
        try:
            super().__init__(MEMORY, analyzer=analyzer, names=names)
            self.queue_newest()
            with self._lend_writer() as connection, connection.raw:
                reindex(connection, self)  # Of this index, nothing is in the journal.
        except BaseException:
            self.folder.close()
            raise
        handles[path.resolve()] = [self]

    @classmethod
    def share(cls, path: Path, *, analyzer: Analyzer, names: NameMatcher) -> ChromaStore:
        """Return a handle of the store in a folder, which all handles of this process share."""
        with sharing:
            others = handles.get(path.resolve())
            if not others:
                return cls(path, analyzer=analyzer, names=names)
            others.append(copy(others[0]))
            return others[-1]

    def close(self) -> None:
        """Close this handle, and the folder with the last one. Closing twice is harmless."""
        with sharing:
            others = handles.get(self.folder.path.resolve(), [])
            self._closed = True
            others[:] = [each for each in others if each is not self]
            if not others:
                super().close()
                self.folder.close()

    # Opening

    def _migrate(self) -> None:
        """Make the database from the journal, and bring it to the newest schema."""
        self.location = str(self.folder)
        self._errors = ErrorTranslator(self.location)
        if OLD_JOURNAL in self.folder.names():
            why = f"{self.location} is of an earlier memoranda; export each user with that version"
            raise errors.NotADatabase(f"{why} (memoranda export), and import into a new folder")
        with self._lend_writer() as connection:
            raw, newest = connection.raw, len(schema_steps())
            raw.execute("BEGIN; PRAGMA defer_foreign_keys = ON").fetchall()
            for schema, patch, is_snapshot in self._journal.read():
                self._upgrade(raw, schema)
                apsw.Changeset.apply(patch, raw, conflict=_resolve)
                if is_snapshot:  # The memories were written before it.
                    raw.execute(FORGET_CHANGED)
            read = read_version(raw, self.location)
            self._upgrade(raw, newest)
            raw.execute("COMMIT")
            changed = connection.column(CHANGED)
            raw.execute(FORGET_CHANGED)
            self._mirror(connection, self._memories.compare(connection, changed))
            if read not in {0, newest}:
                self._journal.append(*self._everything(connection))

    def _upgrade(self, raw: apsw.Connection, schema: int) -> None:
        """Bring the tables to a schema, as the journal goes on in it."""
        done = read_version(raw, self.location)
        if done < schema:
            bring_up_to_date(raw, DIALECT.schema()[:schema], self.location)
        if done < min(schema, 1):
            raw.execute((files(__package__) / "changes.sql").read_text("utf-8")).fetchall()

    # Memories of other programs

    def foreign_memories(self) -> list[ForeignMemory]:
        """Return id, text and metadata of what another program has in the folder's memories."""
        return [(key, *row) for key, row in self._memories.foreign.items()]

    def remove_foreign(self, ids: Sequence[str]) -> None:
        """Remove memories of another program, which are records now."""
        with self._lend_writer():
            self._memories.remove(ids)

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
            self._journal.append(read_version(connection.raw, self.location), session.patchset())
        super()._commit(connection)
        if changed:
            try:
                self._mirror(connection)
                if self._journal.outgrown:
                    self._journal.append(*self._everything(connection))
            except errors.StoreError as error:
                # It is in the journal, and so it is stored; the memories follow with the next.
                log.warning("%s: memories are written later (%s)", self.location, error)

    def _mirror(self, connection: SqliteConnection, also: Collection[str] = ()) -> None:
        """Write to the memories what was committed and is not there yet, and these records."""
        self._memories.write(connection, {*connection.column(CHANGED), *also})
        connection.run(FORGET_CHANGED)

    def _everything(self, connection: SqliteConnection) -> tuple[int, bytes, bool]:
        """Return a snapshot for the journal: all rows as one patchset."""
        raw = connection.raw
        raw.execute("ATTACH ':memory:' AS blank")
        try:
            session = apsw.Session(raw, "main")
            for table, sql in connection.all(RECORDED):
                raw.execute(sql.replace("CREATE TABLE ", "CREATE TABLE blank.", 1))
                session.attach(table)
                session.diff("blank", table)
            return read_version(raw, self.location), session.patchset(), True
        finally:
            session.close()
            raw.execute("DETACH blank")

    # Upkeep

    def rebuild(self) -> list[str]:
        """Rebuild as every store does, and write the memories as they should be."""
        with self._lend_writer() as connection:
            every = connection.column(ACTIVE)
            self._mirror(connection, self._memories.compare(connection, every))
            return super().rebuild()

    def _purge(self) -> None:
        """Write the journal and Chroma's database anew, without what was erased."""
        with self._lend_writer() as connection:
            self._mirror(connection)
            self._journal.append(*self._everything(connection))
            self.folder.clean()

    def backup(self, path: str) -> None:
        """Refuse: a copy of the closed folder is a backup."""
        command = f"cp -r {self.folder.path} {path}"
        message = f"{self.location} is not copied by memoranda; close it and run: {command}"
        raise errors.InvalidInput(message)

    def size(self) -> int:
        """Return the bytes of the folder."""
        with self._lend_writer():
            found = (path.stat() for path in self.folder.path.rglob("*") if path.is_file())
            return sum(file.st_size for file in found)


def read_foreign(path: Path) -> list[ForeignMemory]:
    """Return id, text and metadata of what another program has in ``memories`` of a folder.

    Raises:
        InvalidInput: there is no such collection.
        StoreError: the folder cannot be used, or another process has it.
    """
    place = path.expanduser().absolute()
    with sharing:
        if opened := handles.get(place.resolve()):
            return opened[0].foreign_memories()
    folder = ChromaFolder(place)
    try:
        if MEMORIES not in folder.names():
            message = f"{path} has no collection {MEMORIES!r}; there is nothing to import"
            raise errors.InvalidInput(message)
        rows = folder.rows(MEMORIES)
        return [(key, text or "", held or {}) for key, text, held in rows if is_foreign(held)]
    finally:
        folder.close()


def _resolve(reason: int, _change: apsw.TableChange) -> int:
    """Writing what is there already changes nothing; what went with another row is gone."""
    if reason in {apsw.SQLITE_CHANGESET_CONFLICT, apsw.SQLITE_CHANGESET_DATA}:
        return apsw.SQLITE_CHANGESET_REPLACE
    return apsw.SQLITE_CHANGESET_OMIT
