"""Disks and statements of SQLite that fail when told to, for every connection of this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any

import apsw

_names = count(1)


@dataclass(slots=True)
class Fault:
    """Counts what happens, and makes one of these fail, or all from there on.

    Attributes:
        at: which fails; none, if it is negative.
        lasting: whether all after it fail, too, until it is mended.
        error: what the failure looks like.
        seen: how many there were.
        failed: how many of these failed.
    """

    at: int = -1
    lasting: bool = False
    error: type[apsw.Error] = apsw.IOError
    seen: int = 0
    failed: int = 0

    def step(self) -> None:
        """Count one, and raise if it is to fail."""
        number, self.seen = self.seen, self.seen + 1
        if self.at >= 0 and (number == self.at or (self.lasting and number > self.at)):
            self.failed += 1
            raise self.error(f"made to fail at {number}")

    def mend(self) -> None:
        """Let nothing fail any more."""
        self.at = -1


class _FaultyFile(apsw.VFSFile):  # type: ignore[misc]
    """A file each of whose changes is a step."""

    def __init__(self, fault: Fault, base: str, name: Any, flags: list[int]) -> None:
        self._fault = fault
        super().__init__(base, name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802 - SQLite's name
        """Write, unless it fails."""
        self._fault.step()
        super().xWrite(data, offset)

    def xTruncate(self, size: int) -> None:  # noqa: N802 - SQLite's name
        """Cut off, unless it fails."""
        self._fault.step()
        super().xTruncate(size)

    def xSync(self, flags: int) -> None:  # noqa: N802 - SQLite's name
        """Wait for the disk, unless it fails."""
        self._fault.step()
        super().xSync(flags)


class _FaultyDisk(apsw.VFS):  # type: ignore[misc]
    """A file system on which each change of a file is a step."""

    def __init__(self, fault: Fault, name: str, base: str) -> None:
        self._fault, self._base = fault, base
        super().__init__(name, base)

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:  # noqa: N802 - SQLite's name
        """Open a file; to make another than the database may fail."""
        if flags[0] & apsw.SQLITE_OPEN_CREATE:
            self._fault.step()
        return _FaultyFile(self._fault, self._base, name, flags)

    def xDelete(self, name: str, sync: bool) -> None:  # noqa: FBT001, N802 - SQLite's name
        """Remove a file, unless it fails."""
        self._fault.step()
        super().xDelete(name, sync)


@contextmanager
def faulty_disk(fault: Fault) -> Iterator[None]:
    """Put all files that SQLite opens in the block on a disk with a fault."""
    base = apsw.vfs_details()[0]["zName"]
    name = f"faulty-{next(_names)}"
    disk = _FaultyDisk(fault, name, base)
    apsw.set_default_vfs(name)
    try:
        yield
    finally:
        apsw.set_default_vfs(base)
        disk.unregister()


@contextmanager
def faulty_statements(fault: Fault) -> Iterator[None]:
    """Make each statement a step on every connection that is opened in the block.

    A ``ROLLBACK`` is none: by SQLite's own word it cannot fail.
    """

    def trace(_cursor: object, sql: str, _values: object) -> bool:
        if not sql.startswith("ROLLBACK"):
            fault.step()
        return True

    def watch(connection: apsw.Connection) -> None:
        connection.exec_trace = trace

    hooks: list[Callable[[apsw.Connection], None]] = apsw.connection_hooks
    hooks.append(watch)
    try:
        yield
    finally:
        hooks.remove(watch)
