"""Connections to one database: many readers, one writer, no 'database is locked'.

A file gets one connection that writes, behind a lock, and as many that read as
there are threads reading at once: in WAL mode neither waits for the other. A
database in memory has a single connection, and everything takes turns.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import apsw

from memoranda.errors import StoreClosed, StoreError, StoreReadOnly
from memoranda.store.sqlite.failures import translated

MEMORY = ":memory:"
SETUP = (
    "PRAGMA foreign_keys = ON",
    "PRAGMA secure_delete = ON",
    "PRAGMA trusted_schema = ON",  # the triggers call memoranda_terms()
    "PRAGMA temp_store = MEMORY",
    "PRAGMA cache_size = -32768",
    "PRAGMA mmap_size = 268435456",
)
STATEMENT_CACHE = 200
CHECKPOINT_PAGES = 2_000
_creating = threading.Lock()


class Connections:
    """Lends connections of one database to threads.

    Args:
        path: a file, or ``:memory:``.
        prepare: called once with each new connection, to register functions.
        accept: called with the first connection before anything is written; raises where the
            file must be left as it is.
        busy_timeout: seconds to wait for another process's transaction.
        power_safe: whether a commit waits until the disk has it.
        vfs: name of a registered SQLite VFS, for encryption or tests of failure.

    Attributes:
        on_begin, before_commit: called in each transaction that writes, first and last.
    """

    def __init__(
        self,
        path: str,
        *,
        prepare: Callable[[apsw.Connection], None],
        accept: Callable[[apsw.Connection], object],
        busy_timeout: float,
        power_safe: bool,
        vfs: str | None = None,
    ) -> None:
        """Open the writing connection, creating the file (mode 0600) if need be."""
        self.in_memory = path == MEMORY
        # Connections are opened later, too, when the working folder may be another one.
        self.path = path if self.in_memory else str(Path(path).absolute())
        self.busy_timeout = busy_timeout
        self._prepare = prepare
        self._power_safe = power_safe
        self._vfs = vfs
        self._idle: list[apsw.Connection] = []
        self._pool_lock = threading.Lock()
        self._write_lock = threading.RLock()
        self._local = threading.local()
        self._closed = False
        self.on_begin: Callable[[apsw.Connection], None] | None = None
        self.before_commit: Callable[[apsw.Connection], None] | None = None
        if not self.in_memory:
            _create_private(self.path)
        self._writer = self._open(accept)

    @contextmanager
    def read(self) -> Iterator[apsw.Connection]:
        """Lend a connection for reading; inside a snapshot, always the same one."""
        pinned = getattr(self._local, "pinned", None)
        if pinned is not None:
            with translated(self.path):
                yield pinned
        elif self.in_memory:
            with self._write_lock, translated(self.path):
                self._require_open()
                yield self._writer
        else:
            connection = self._borrow()
            try:
                with translated(self.path):
                    yield connection
            finally:
                self._give_back(connection)

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Let the reads of this thread inside the block see one moment of the database."""
        if self.in_memory:
            with self._write_lock:
                self._require_open()
                yield
        elif getattr(self._local, "pinned", None) is not None:
            yield
        else:
            with self.read() as connection:
                connection.execute("BEGIN")
                self._local.pinned = connection
                try:
                    yield
                finally:
                    self._local.pinned = None
                    connection.execute("COMMIT")

    @contextmanager
    def moment(self) -> Iterator[apsw.Connection]:
        """Lend a connection whose statements all see one moment of the database."""
        with self.snapshot(), self.read() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[apsw.Connection]:
        """Lend the writing connection inside one transaction: committed, or never begun."""
        with self._write_lock, translated(self.path):
            self._require_open()
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                if self.on_begin is not None:
                    self.on_begin(self._writer)
                yield self._writer
                if self.before_commit is not None:
                    self.before_commit(self._writer)
                self._writer.execute("COMMIT")
            except BaseException:
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
                raise

    @contextmanager
    def alone(self) -> Iterator[apsw.Connection]:
        """Lend the writing connection outside a transaction, for VACUUM and checkpoints."""
        with self._write_lock, translated(self.path):
            self._require_open()
            try:
                yield self._writer
            finally:
                self._writer.set_busy_timeout(round(self.busy_timeout * 1000))

    def close(self) -> None:
        """Close every connection; a reader that is still out is closed when it comes back."""
        with self._write_lock, self._pool_lock, translated(self.path), ExitStack() as closing:
            if self._closed:
                return
            self._closed = True
            # The last one moves the log into the file; if that fails, the others are closed too.
            for connection in (self._writer, *self._idle):
                closing.callback(connection.close)
            self._idle.clear()

    def _borrow(self) -> apsw.Connection:
        with self._pool_lock:
            self._require_open()
            if self._idle:
                return self._idle.pop()
        return self._open()

    def _give_back(self, connection: apsw.Connection) -> None:
        with self._pool_lock:
            if not self._closed:
                self._idle.append(connection)
                return
        connection.close()

    def _require_open(self) -> None:
        if self._closed:
            message = f"the memory in {self.path} was closed; open it again with Memory(…)"
            raise StoreClosed(message)

    def _open(self, accept: Callable[[apsw.Connection], object] | None = None) -> apsw.Connection:
        with translated(self.path):
            # Without SQLITE_OPEN_CREATE: a file that was moved away is not silently made anew.
            connection = apsw.Connection(
                self.path,
                flags=apsw.SQLITE_OPEN_READWRITE,
                vfs=self._vfs,
                statementcachesize=STATEMENT_CACHE,
            )
            try:
                connection.set_busy_timeout(round(self.busy_timeout * 1000))
                for pragma in SETUP:
                    self._patiently(connection, pragma)
                if accept is not None:
                    accept(connection)
                if not self.in_memory:
                    self._enter_wal(connection)
                self._prepare(connection)
            except BaseException:
                connection.close()
                raise
            return connection

    def _patiently(self, connection: apsw.Connection, pragma: str) -> object:
        # SQLite calls no busy handler while a file changes to WAL or is recovered: processes
        # that open it together must try again.
        deadline = time.monotonic() + self.busy_timeout
        while True:
            try:
                return connection.execute(pragma).get
            except apsw.BusyError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.005)

    def _enter_wal(self, connection: apsw.Connection) -> None:
        mode = self._patiently(connection, "PRAGMA journal_mode = WAL")
        if mode != "wal":
            message = (
                f"{self.path} cannot be shared by several readers and a writer (journal mode "
                f"{mode}); put it on a local disk"
            )
            raise StoreError(message)
        level = "FULL" if self._power_safe else "NORMAL"
        connection.execute(f"PRAGMA synchronous = {level}")
        connection.wal_autocheckpoint(CHECKPOINT_PAGES)


def _create_private(path: str) -> None:
    # Only a file that is not there is opened here. Closing any handle of a file frees every
    # lock this process holds on it, also those of another SQLite connection.
    if Path(path).is_dir():
        message = f"{path} is a folder; name a file in it, such as {Path(path) / 'agent.db'}"
        raise StoreReadOnly(message)
    try:
        with _creating:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        return
    except OSError as error:
        message = f"{path} cannot be created or written: {error.strerror}; choose another place"
        raise StoreReadOnly(message) from error
