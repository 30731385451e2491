"""The relational store on SQLite: connections, full-text index, backup and purge.

A file gets one connection that writes, behind a lock, and as many that read as there are threads
reading at once: in WAL mode neither waits for the other. A database in memory has a single
connection, and everything takes turns.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Any, ClassVar
from weakref import WeakSet

import apsw

from memoranda import errors
from memoranda.model.ports import Analyzer, NameMatcher
from memoranda.model.processes import follow_forks
from memoranda.model.query import Postings
from memoranda.store.sql import database
from memoranda.store.sql.rows import dump
from memoranda.store.sql.store import Store
from memoranda.store.sqlite_schema import QUERY_INDEX, bring_up_to_date, opens_index, read_version
from memoranda.text.files import explain_unwritable

MEMORY = ":memory:"
BUSY = (
    "free space could not be overwritten while others read the file; run "
    "memoranda doctor --purge when they are done"
)
# Seconds that a purge waits for readers.
PATIENCE = 5.0
STATEMENT_CACHE = 200
# Seconds between two looks at a lock that another process has.
ASK_EVERY = 0.001
SETUP = """
PRAGMA foreign_keys = ON;
PRAGMA secure_delete = ON;
PRAGMA temp_store = MEMORY;
PRAGMA cache_size = -8192;
PRAGMA synchronous = {};
PRAGMA wal_autocheckpoint = 2000;
PRAGMA journal_mode = WAL;
"""
SIZE = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
# As many times as the record holds the term; and in one row, which takes a third of the time.
POSTINGS = """
SELECT (SELECT @numbers(doc) FROM records_terms WHERE term = one.value) FROM (@texts(:terms)) one
"""
# How a line begins that tells of damage which no row made anew could mend.
DAMAGE = "SQLite"
INDEX = "full-text index"
DAMAGED = (
    "{path} is damaged, encrypted (storage.key), or no database of memoranda's ({error}); choose "
    "another path, restore a backup, or save what can be read: sqlite3 {path} .recover | "
    "sqlite3 saved.db, see docs/reliability.md"
)
WRONG_KEY = (
    "{path} cannot be read with this storage.key: the key is wrong, or the file is not encrypted, "
    "or damaged; see docs/reliability.md"
)
NO_ENCRYPTION = (
    "storage.key needs a build of SQLite with encryption in place of apsw: "
    "pip install --force-reinstall --no-deps apsw-sqlite3mc"
)
LOCKED = "{path} stayed locked by another process; try again, or raise storage.busy_timeout"
READ_ONLY = "{path} cannot be written; check the permissions of the file and its folder"
CANNOT_OPEN = (
    "{path} cannot be opened; check that it may be read and written, and is a file, such as "
    "agent.db, in a folder that is there"
)
CHANGED = "{path}: {error}; if another program changed its tables, restore a backup"
# What the name of a backup ends with until it is whole.
PARTIAL = ".partial"
MEANINGS: dict[type[apsw.Error] | UnionType, tuple[type[errors.StoreError], str]] = {
    apsw.BusyError | apsw.LockedError: (errors.StoreBusy, LOCKED),
    apsw.NotADBError | apsw.CorruptError: (errors.NotADatabase, DAMAGED),
    apsw.FullError: (errors.StoreFull, "no space left to write {path}; free some and try again"),
    apsw.CantOpenError: (errors.StoreReadOnly, CANNOT_OPEN),
    apsw.ReadOnlyError | apsw.PermissionsError | apsw.AuthError: (errors.StoreReadOnly, READ_ONLY),
    apsw.ConnectionClosedError: (errors.StoreClosed, "the memory in {path} was closed"),
    apsw.SQLError: (errors.StoreError, CHANGED),
    apsw.Error: (errors.StoreError, "{path}: {name}: {error}"),
}


def missing_right(path: str) -> str | None:
    """Return what this process may not do with a file, or in its folder; ``None`` if it may all."""
    file = Path(path)
    for place, right, mode in (
        (file, "read", os.R_OK),
        (file, "write", os.W_OK),
        (file.parent, "write", os.W_OK),
    ):
        if place.exists() and not os.access(place, mode):
            return f"this process may not {right} {place}; change its permissions, or use a copy"
    return None


class ErrorTranslator:
    """Raises one of our errors in place of any of apsw, so that no driver's exception gets out."""

    def __init__(self, path: str, *, has_key: bool = False) -> None:
        """Name ``path`` in the errors, and whether its file is opened with a key."""
        self._path, self._has_key = path, has_key

    def __enter__(self) -> None:
        """Begin; every statement does, so this is quicker than a generator."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Translate ``error``."""
        if isinstance(error, UnicodeEncodeError):
            message = f"{error.object!r:.80} holds a lone surrogate, which no UTF-8 can hold"
            raise errors.InvalidInput(message) from error
        if isinstance(error, UnicodeDecodeError):
            raise errors.StoreError(database.DAMAGED_ROW.format(self._path, error)) from error
        if isinstance(error, apsw.Error):
            meaning, message = next(MEANINGS[each] for each in MEANINGS if isinstance(error, each))
            name = type(error).__name__
            if meaning is errors.StoreReadOnly and (lacking := missing_right(self._path)):
                message = f"{message.partition(';')[0]}; {lacking}"
            if self._has_key and isinstance(error, apsw.NotADBError):
                message = WRONG_KEY
            raise meaning(message.format(path=self._path, error=error, name=name)) from error


DIALECT = database.Dialect(
    "sqlite.sql",
    {
        "texts": "SELECT value FROM json_each({0})",
        "ints": "SELECT value FROM json_each({0})",
        "compared": (
            # What is wanted is read once for all rows, where it is a parameter.
            "EXISTS (SELECT 1 FROM json_each(CASE WHEN json_valid({0}) THEN {0} END) a "
            "WHERE a.key = (SELECT key FROM json_each({1})) "
            "AND (a.value {2} (SELECT value FROM json_each({1})) OR a.type = 'null') "
            "AND replace(a.type, 'integer', 'real') = "
            "(SELECT replace(type, 'integer', 'real') FROM json_each({1})))"
        ),
        "numbers": "group_concat({0})",
        "listed": "json_group_array(CAST({0} AS TEXT)) FILTER (WHERE {0} IS NOT NULL)",
        "joined": "CAST(group_concat({0}, '') AS BLOB)",
        "skip_locked": "",  # Writers take turns.
        "least": "min(",
        "greatest": "max(",
    },
    {r"\bSERIAL PRIMARY KEY\b": "INTEGER PRIMARY KEY"},
)


@cache
def in_sqlite(sql: str) -> str:
    """Return a shared statement in SQLite's dialect."""
    return DIALECT.render(sql)


class SqliteConnection(database.SqlConnection):
    """Runs the shared statements on a connection of apsw's.

    While another process has a lock, it asks for that all the time: SQLite's own waiting sleeps
    longer the longer it waits, up to a tenth of a second, so that who waited longest gets it last,
    and seconds go by where several write without a pause.

    Attributes:
        patience: seconds that it waits for a lock of others.
    """

    raw: apsw.Connection

    def __init__(self, raw: apsw.Connection, location: str, patience: float) -> None:
        """Wrap ``raw``."""
        super().__init__(raw, location)
        self.patience, self._since = patience, 0.0
        raw.set_busy_handler(self._ask_again)

    def _ask_again(self, asked: int) -> bool:
        """Return whether to ask for a lock again, which was asked for so often."""
        self._since = self._since if asked else time.monotonic()
        if time.monotonic() - self._since >= self.patience:
            return False
        time.sleep(ASK_EVERY)
        return True

    def all(self, sql: str, values: database.Values = database.NONE) -> list[database.Row]:
        """Return every row."""
        return self.raw.execute(in_sqlite(sql), values).fetchall()

    def change(self, sql: str, values: database.Values = database.NONE) -> int:
        """Carry out a statement and return how many rows it changed."""
        self.raw.execute(in_sqlite(sql), values)
        return self.raw.changes()

    def run_many(self, sql: str, rows: Iterable[database.Values | database.Row]) -> None:
        """Carry out a statement for each of ``rows``."""
        self.raw.executemany(in_sqlite(sql), rows)


class Fts5:
    """Finds records by their terms, in an FTS5 index without texts.

    Each term stands there with the key of its user before it, so a query never walks through
    what others have, and FTS5 counts it for one user: its own ``bm25()`` would weigh a term by
    how rare it is among all users' records, which tells one user about another.
    """

    waits: ClassVar[bool] = True

    def add(self, connection: database.SqlConnection, rows: Iterable[tuple[int, int, str]]) -> None:
        """Index records: (key, key of the user, terms with a space between them)."""
        indexed = [
            (key, _token(user, terms.replace(" ", f" {user}q"))) for key, user, terms in rows
        ]
        connection.run_many("INSERT INTO records_fts (rowid, terms) VALUES (:key, :terms)", indexed)

    def remove(self, connection: database.SqlConnection, user: int, keys: Sequence[int]) -> None:
        """Take records of a user out."""
        del user
        connection.run_many("DELETE FROM records_fts WHERE rowid = :key", [(key,) for key in keys])

    def clear(self, connection: database.SqlConnection) -> None:
        """Take all records out."""
        connection.run("INSERT INTO records_fts (records_fts) VALUES ('delete-all')")

    def postings(
        self, connection: database.SqlConnection, user: int, terms: Sequence[str]
    ) -> list[Postings]:
        """Return for each term which of the user's records hold it, in order, and how often."""
        import numpy as np  # noqa: PLC0415 - it takes long to load

        asked = dump([_token(user, term) for term in terms])
        found = (row[0] or "" for row in connection.all(POSTINGS, {"terms": asked}))
        keys = (np.fromstring(each, np.int64, sep=",") for each in found)
        return [
            Postings(each, np.ones_like(each))
            if (each[1:] > each[:-1]).all()
            else Postings(*np.unique(each, return_counts=True))
            for each in keys
        ]

    def keys(self, connection: database.SqlConnection) -> set[int]:
        """Return the keys of all records that are indexed."""
        return {*connection.column("SELECT rowid FROM records_fts")}


def _token(user: int, term: str) -> str:
    return f"{user}q{term}" if term else ""


_creating = threading.Lock()


def create_private(path: str) -> None:
    """Make a file that nobody else can read, where there is none.

    Only a file that is not there is opened here: closing any handle of a file frees every lock
    that this process holds on the file, also those of another SQLite connection.

    Raises:
        StoreReadOnly: the file cannot be made, or what has its name is a folder or a device.
    """
    try:
        with _creating:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        if not Path(path).is_file():
            raise errors.StoreReadOnly(CANNOT_OPEN.format(path=path)) from None
    except (OSError, ValueError) as error:
        raise errors.StoreReadOnly(explain_unwritable(path.removesuffix(PARTIAL), error)) from error


@cache
def _empty() -> apsw.Connection:
    """Return a database without rows, to be copied: that takes less time than its statements."""
    empty = apsw.Connection(MEMORY)
    bring_up_to_date(empty, DIALECT.schema(), MEMORY)
    return empty


def file_address(path: str) -> str:
    """Return by which name SQLite opens a file, also one in a folder that cannot be written.

    There it can make no index of the log beside the file, and nobody changes the file meanwhile.

    Raises:
        StoreReadOnly: a log is there, which can only be read where its index can be made.
    """
    if path == MEMORY or os.access(path, os.W_OK) or os.access(Path(path).parent, os.W_OK):
        return path
    log = Path(f"{path}-wal")
    if log.exists() and log.stat().st_size:
        message = f"{path} cannot be read without writing, as a killed process left {log.name}"
        raise errors.StoreReadOnly(f"{message}; copy both to another folder, and open the copy")
    return f"{Path(path).as_uri()}?immutable=1"


def read_foreign(path: Path, sql: str) -> list[tuple[Any, ...]]:
    """Return the rows that a statement gives on a database of another program, which is only read.

    Raises:
        StoreError: it cannot be read, or has no such tables.
    """
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    try:
        with closing(apsw.Connection(f"{path.absolute().as_uri()}?mode=ro", flags)) as database:
            return list(database.execute(sql))
    except apsw.Error as error:
        raise errors.StoreError(str(error)) from error


class SqliteStore(Store):
    """A whole memory in one SQLite database.

    Args:
        path: the file, created with its schema if it is not there; ``:memory:`` for none.
        analyzer: makes the terms of the full-text index.
        names: decides which names are one entity.
        busy_timeout: seconds to wait while another process writes.
        power_safe: wait at each commit until the disk has it, so that it also survives a
            power cut; without, it survives a killed process.
        key: passphrase that encrypts the file.

    Raises:
        ConfigError: there is a key, and the installed SQLite cannot encrypt.
        StoreError: the file cannot be used; it is left as it was.
    """

    BEGIN_SNAPSHOT = "BEGIN"
    full_text: database.FullText = Fts5()
    damage = apsw.CorruptError, UnicodeDecodeError
    _file: tuple[int, ...] = ()

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        analyzer: Analyzer,
        names: NameMatcher,
        busy_timeout: float = database.BUSY_TIMEOUT,
        power_safe: bool = False,
        key: str | None = None,
    ) -> None:
        """Open the writing connection, creating the file (mode 0600) if need be."""
        self.busy_timeout, self.power_safe = busy_timeout, power_safe
        self.in_memory = path == MEMORY
        self._key = None if self.in_memory else key
        if self._key and not hasattr(apsw, "mc_version"):  # Without it, the key would be ignored.
            raise errors.ConfigError(NO_ENCRYPTION)
        self.reads_at_once = not self.in_memory
        # Connections are opened later, too, when the working folder may be another one.
        super().__init__(MEMORY if self.in_memory else str(Path(path).absolute()))
        self._make_locks()
        self._errors = ErrorTranslator(self.location, has_key=self._key is not None)
        if not self.in_memory:
            create_private(self.location)
        self._writer = self._open()
        self._begin_with(analyzer, names)
        follow_forks(self, hold=True)

    def _make_locks(self) -> None:
        self._every: WeakSet[SqliteConnection] = WeakSet()
        self._idle: list[SqliteConnection] = []
        self._write_lock, self._lending = threading.RLock(), threading.Lock()
        self._is_still = False

    def acquire(self, timeout: float) -> bool:
        """Keep all threads out of the database while the process forks; return whether they are.

        What one of them does in SQLite, a child could neither end nor close.
        """
        until = time.monotonic() + timeout
        if not self._write_lock.acquire(timeout=timeout):
            return False
        self._lending.acquire()
        while not self._is_still and time.monotonic() < until:
            lent = len(self._every) - len(self._idle) - 1  # The writer is not lent.
            self._is_still = lent <= 0 or self._closed
            time.sleep(0 if self._is_still else ASK_EVERY)
        return True

    def release(self) -> None:
        """Let them go on."""
        self._is_still = False
        self._lending.release()
        self._write_lock.release()

    def after_fork(self) -> None:
        """Close the connections of the process that this one was forked from, and open others.

        A database in memory is this process's own copy, and goes on.
        """
        super().after_fork()
        former, was_still = [*self._every, self._writer], self._is_still
        self._make_locks()
        if self.in_memory or self._closed:
            return
        for each in former if was_still else ():
            with suppress(apsw.Error):
                each.raw.close()
        with suppress(errors.StoreError):  # Whoever uses it is told, then.
            self._writer = self._open()

    # Connections

    def _translated(self) -> AbstractContextManager[None]:
        return self._errors

    @contextmanager
    def _lend_writer(
        self, patience: float | None = None, *, begins: bool = False
    ) -> Iterator[SqliteConnection]:
        """Lend the writing connection once no other thread of this process has it.

        Args:
            patience: seconds to wait for other writers, at most.
            begins: whether all that is done with it is one transaction: committed, or undone.
        """
        try:
            if not self._write_lock.acquire(timeout=-1 if patience is None else patience):
                why = f"{self.location}: another thread of this process writes to it; try again"
                raise errors.StoreBusy(why)
            connection = self._writer
            with self._errors:
                self._require_open()
                connection.patience = self.busy_timeout if patience is None else patience
                try:
                    if begins:
                        self._begin(connection)
                    yield connection
                    if begins:
                        self._commit(connection)
                except BaseException:
                    if begins and connection.raw.in_transaction:
                        connection.raw.execute("ROLLBACK")
                    raise
        finally:
            # An interrupt (Ctrl+C) may come after any call, also as soon as the lock is taken. So
            # here it is asked whether this thread has it, by a call that leaves none before it.
            try:  # noqa: SIM105
                self._write_lock.release()
            except RuntimeError:
                pass

    def _lend(self) -> AbstractContextManager[SqliteConnection]:
        return self._lend_writer() if self.in_memory else self._lend_reader()

    @contextmanager
    def _lend_reader(self) -> Iterator[SqliteConnection]:
        self._require_open()
        with self._errors:
            with self._lending:
                try:
                    connection = self._idle.pop()
                except IndexError:
                    connection = self._open()
            try:
                yield connection
            finally:
                # Of a snapshot; SQLite itself gives up one in which a page cannot be read. A commit
                # could fail, and leave the next reader in an old moment.
                if connection.raw.in_transaction:
                    connection.raw.execute("ROLLBACK")
                self._idle.append(connection)
                if self._closed:
                    self._close_idle()

    def _close_idle(self) -> None:
        with suppress(IndexError):
            while True:
                self._idle.pop().raw.close()

    def _open(self) -> SqliteConnection:
        with self._errors:
            # Without SQLITE_OPEN_CREATE: a file that was moved away is not silently made anew.
            name = file_address(self.location)
            flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_URI
            raw = apsw.Connection(name, flags=flags, statementcachesize=STATEMENT_CACHE)
            try:
                if self._key:
                    raw.pragma("key", self._key)
                # Else SQLite plans anew for every other value of a range or a limit.
                raw.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
                opened = SqliteConnection(raw, self.location, self.busy_timeout)
                self._set_up(raw)
                if not self.in_memory:
                    self._require_same_file()
            except BaseException:
                raw.close()
                raise
            self._every.add(opened)
            return opened

    def _set_up(self, raw: apsw.Connection) -> None:
        """Prepare a connection to a database of ours.

        SQLite calls no busy handler while a file changes to WAL or is recovered: processes that
        open it together must try again.
        """
        pragmas = SETUP.format("FULL" if self.power_safe else "NORMAL")
        deadline, mode = time.monotonic() + self.busy_timeout, None
        while mode is None:
            try:
                read_version(raw, self.location)
                mode = raw.execute(pragmas).fetchall()[-1][0]
            except apsw.BusyError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.005)
        if mode not in {"wal", "memory"} and not raw.readonly("main"):
            message = f"{self.location} cannot be shared (journal mode {mode}); use a local disk"
            raise errors.StoreError(message)

    def _require_same_file(self) -> None:
        """Refuse to go on with a file that was deleted, moved or replaced: nobody would find it."""
        try:
            # Its number and its disk.
            found: tuple[int, ...] = os.stat(self.location)[1:3]  # noqa: PTH116 - half the time
        except OSError:
            found = ()
        self._file = self._file or found
        if not found or found != self._file:
            what = f"{self.location} was deleted, moved or replaced while open; this is not stored"
            raise errors.StoreError(f"{what}: put the file back and open the memory again")

    def close(self) -> None:
        """Close every connection; a reader that is still out is closed when it comes back."""
        # The writer last, as it moves the log into the file.
        with self._write_lock, self._errors, closing(self._writer.raw):
            self._closed = True
            self._close_idle()

    # Transactions

    def snapshot(self) -> AbstractContextManager[Any]:
        """Let the reads of this thread inside the block see one moment of the database."""
        # In memory nobody else reads or writes meanwhile.
        return self._lend() if self.in_memory else super().snapshot()

    def transact(self, patience: float | None = None) -> AbstractContextManager[SqliteConnection]:
        """Lend the writing connection inside one transaction: committed, or undone."""
        return self._lend_writer(patience, begins=True)

    def _begin(self, connection: SqliteConnection) -> None:
        connection.raw.execute("BEGIN IMMEDIATE")

    def _commit(self, connection: SqliteConnection) -> None:
        connection.raw.execute("COMMIT")
        if not self.in_memory:
            self._require_same_file()

    # Schema and upkeep

    def _migrate(self) -> None:
        """Bring the database to the newest schema; several processes may do so at once."""
        if self.in_memory:
            with _creating, self._writer.raw.backup("main", _empty(), "main") as copy:
                copy.step()
            return
        with self.read() as connection:
            raw, newest = connection.raw, len(database.schema_steps())
            if read_version(raw, self.location) == newest and opens_index(raw):
                return
        with self.transact() as connection:
            bring_up_to_date(connection.raw, DIALECT.schema(), self.location)

    def size(self) -> int:
        """Return the bytes of the database, without its write-ahead log."""
        with self.read() as connection:
            return int(connection.value(SIZE))

    def problems(self, connection: database.SqlConnection) -> list[str]:
        """Return what is wrong with the file and its indexes."""
        found: list[str] = []
        # FTS5 checks itself against the structure it last read; a query makes it read again.
        for name, sql in ((INDEX, QUERY_INDEX), (DAMAGE, "PRAGMA integrity_check")):
            try:
                lines = [line for line in connection.column(sql) if line not in {"ok", 1}]
            except apsw.CorruptError as error:
                lines = [f"cannot be checked ({error})"]
            found += [f"{INDEX if 'fts' in line.lower() else name}: {line}" for line in lines]
        broken = connection.column('SELECT "table" FROM pragma_foreign_key_check')
        if broken:
            found.append(f"broken foreign keys: {len(broken)} ({broken[0]})")
        return found

    def rebuild(self) -> list[str]:
        """Make the derived rows of a sound file anew; return what was different.

        Raises:
            NotADatabase: SQLite finds the file damaged, which no row made anew could mend.
        """
        damage = [line for line in self.verify() if line.startswith(DAMAGE)]
        if damage:
            raise errors.NotADatabase(DAMAGED.format(path=self.location, error=damage[0]))
        return super().rebuild()

    def _purge(self) -> str | None:
        """Rewrite the index and the file without what was erased, unless others read it."""
        with self._lend_writer() as connection:
            connection.run("INSERT INTO records_fts (records_fts) VALUES ('optimize')")
            connection.raw.execute("VACUUM")
            if self.in_memory:
                return None
            # Whoever writes waits meanwhile, so this waits for readers only for a moment.
            connection.patience = min(PATIENCE, self.busy_timeout)
            return BUSY if connection.value("PRAGMA wal_checkpoint (TRUNCATE)") else None

    def backup(self, path: str) -> None:
        """Write a copy of one moment to ``path``, which appears there whole or not at all.

        Raises:
            InvalidInput: there is a file already.
            StoreReadOnly: the copy cannot be written.
        """
        partial = Path(f"{path}{PARTIAL}")
        if Path(path).exists():
            raise errors.InvalidInput(f"{path} exists already; choose a new name for the backup")
        try:
            partial.unlink(missing_ok=True)
            create_private(str(partial))
            with self._lend() as source, ErrorTranslator(path):
                source.run("VACUUM INTO :path", {"path": str(partial)})
            partial.rename(path)
        finally:
            partial.unlink(missing_ok=True)
