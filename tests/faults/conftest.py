"""Processes and file systems that fail on purpose."""

import apsw
import pytest
from forks import Child
from memory_fixtures import no_settings_of_this_machine
from sqlite_fixtures import open_store, path

__all__ = ["no_settings_of_this_machine", "open_store", "path"]


@pytest.fixture
def start():
    """Fork processes that are killed when the test ends: ``start(work)``, as of a ``Child``."""
    running = []

    def fork(work):
        running.append(Child(work))
        return running[-1]

    yield fork
    for child in running:
        child.process.kill()
        child.process.join()


class FailingFile(apsw.VFSFile):
    """A file whose writes are counted against the space that is left."""

    def __init__(self, disk, name, flags):
        """Open ``name`` on ``disk``."""
        self._disk = disk
        super().__init__(disk.base, name, flags)

    def xWrite(self, data, offset):  # noqa: N802 - SQLite's name
        """Write, as long as there is space."""
        if self._disk.space is not None:
            self._disk.space -= len(data)
            if self._disk.space < 0:
                message = "no space left"
                raise apsw.FullError(message)
        super().xWrite(data, offset)


class Disk(apsw.VFS):
    """A file system with little space (``space``), or one that cannot be written."""

    def __init__(self, name):
        """Let SQLite use this file system, registered under ``name``, until it is unregistered."""
        self.base = apsw.vfs_names()[0]
        self.space = None
        self.read_only = False
        super().__init__(name, self.base, makedefault=True)

    def xOpen(self, name, flags):  # noqa: N802 - SQLite's name
        """Open a file; as a read-only file system does, if it is one."""
        if self.read_only:
            if not flags[0] & apsw.SQLITE_OPEN_MAIN_DB:
                message = "read-only file system"
                raise apsw.CantOpenError(message)
            flags[0] &= ~(apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
            flags[0] |= apsw.SQLITE_OPEN_READONLY
            file = FailingFile(self, name, flags)
            flags[1] = flags[0]
            return file
        return FailingFile(self, name, flags)


@pytest.fixture
def disk():
    """A file system for one test."""
    made = Disk("faulty")
    yield made
    made.unregister()
