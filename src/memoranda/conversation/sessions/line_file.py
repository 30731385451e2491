"""A file of lines that survives crashes and several writers: bytes only, no meaning.

Every writer holds the lock of ``NAME.lock`` beside the file. Lines are added with a single write
at the end; any other change is a new file that takes the place of the old one in one step. So a
reader needs no lock. Of what a crash can leave at the end, a line without an end, or the first
lines of several that belong together, readers see nothing, and the next writer moves it to
``NAME.torn``.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import RLock
from typing import BinaryIO

from filelock import FileLock, Timeout

from memoranda.errors import (
    InvalidInput,
    MemorandaError,
    NotFound,
    StoreBusy,
    StoreError,
    StoreFull,
    StoreReadOnly,
)

PRIVATE = 0o600
POLL = 0.002  # seconds between two looks at a lock that another process holds
CONTINUED = b',"continued":true}'
"""How a line ends that is not whole without the next one: a last key that no text can imitate."""
TAIL = 64
FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
FORBIDDEN = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
BINARY: int = getattr(os, "O_BINARY", 0)  # Windows would change line ends without it.


@dataclass(frozen=True, slots=True)
class ReadPosition:
    """How far a file was read, with a check that finds this place again.

    Attributes:
        stamp: number, size and time of change of the file.
        head: its first line.
        end: how many bytes after the first line were read.
        tail: the last of these.
    """

    stamp: tuple[int, int, int]
    head: bytes
    end: int
    tail: bytes


@dataclass(frozen=True, slots=True)
class LineChunk:
    """Lines that were read, without their ends.

    Attributes:
        head: the first line of the file.
        lines: the lines after it that are new; all of them, if ``whole``.
        whole: whether the lines known before are void.
        torn: whether an unfinished line follows.
        mark: where reading goes on.
    """

    head: bytes
    lines: list[bytes]
    whole: bool
    torn: bool
    mark: ReadPosition


class LineFile:
    """Reads and writes one file of lines. Thread-safe, and safe between processes.

    Args:
        path: the file.
        power_safe: whether a line that was added waits until the disk has it. A new file
            that takes the place of the old one always does.
        busy_timeout: seconds to wait while another process writes.

    Raises:
        InvalidInput: no file can have this path.
    """

    def __init__(self, path: Path, *, power_safe: bool, busy_timeout: float) -> None:
        """Touch nothing yet."""
        try:
            self.path = path.resolve()  # A link stays one, wherever the process goes later.
        except (OSError, ValueError, RuntimeError) as error:
            message = f"{str(path)!r:.200} is no path of a file ({error}); choose another"
            raise InvalidInput(message) from error
        self._power_safe = power_safe
        self._busy_timeout = busy_timeout
        self._threads = RLock()
        self._processes = FileLock(self.beside("lock"), mode=PRIVATE)

    def beside(self, name: str) -> Path:
        """Return the path of a file that goes with this one."""
        return self.path.with_name(f"{self.path.name}.{name}")

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep all other writers out. May be nested.

        Raises:
            StoreBusy: another one did not let go in time.
            StoreReadOnly: the folder cannot be written.
        """
        with os_errors(self.path):
            self.path.parent.stat()  # Or the lock would make the folder.
            if not self._threads.acquire(timeout=self._busy_timeout):
                raise Timeout(str(self.beside("lock")))
            try:
                with self._processes.acquire(timeout=self._busy_timeout, poll_interval=POLL):
                    yield
            finally:
                self._threads.release()

    def is_empty(self) -> bool:
        """Whether there is no file, or nothing in it."""
        with os_errors(self.path):
            try:
                with self.path.open("rb") as file:
                    return not file.read(1)
            except FileNotFoundError:
                return True

    # Reading

    def changed(self, known: ReadPosition) -> bool:
        """Whether anything was written since ``known``.

        Raises:
            NotFound: there is no such file.
        """
        with os_errors(self.path):
            return _stamp(self.path.stat()) != known.stamp

    def read(self, known: ReadPosition | None = None) -> LineChunk:
        """Return what came after ``known``, or all there is.

        Raises:
            NotFound: there is no such file.
        """
        before, tail, goes_on = 0, b"", False
        with os_errors(self.path), self.path.open("rb") as file:
            stamp = _stamp(os.fstat(file.fileno()))
            head = file.readline()
            if known is not None and _still_holds(file, len(head), known):
                before, tail, goes_on = known.end, known.tail, True
            file.seek(len(head) + before)
            data = file.read()
        lines, used = _complete_lines(data)
        tail = (tail + data[max(0, used - TAIL) : used])[-TAIL:]
        return LineChunk(
            head=head,
            lines=lines,
            whole=not goes_on,
            torn=used < len(data) or not head.endswith(b"\n"),
            mark=ReadPosition(stamp, head, before + used, tail),
        )

    def is_torn(self) -> bool:
        """Whether something unfinished is at the end."""
        with os_errors(self.path), self.path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - len(CONTINUED) - 1))
            end = file.read()
        return not end.endswith(b"\n") or end == CONTINUED + b"\n"

    def last_line(self) -> bytes:
        """Return what follows the last line end: nothing, in a file that is whole."""
        with os_errors(self.path), self.path.open("rb") as file:
            return file.read().rpartition(b"\n")[2]

    # Writing, with the lock held

    def append(self, lines: Sequence[bytes]) -> None:
        """Add lines at the end: all of them, or none.

        Raises:
            StoreFull: there is no room; nothing was added.
        """
        data = b"".join(line + b"\n" for line in lines)
        with os_errors(self.path):
            descriptor = os.open(self.path, os.O_RDWR | os.O_APPEND | BINARY)
            try:
                size = os.lseek(descriptor, 0, os.SEEK_END)
                self._add(descriptor, data, size)
            finally:
                os.close(descriptor)

    def _add(self, descriptor: int, data: bytes, size: int) -> None:
        try:
            written = os.write(descriptor, data)  # In one call, or it could be torn by others.
            _refuse_short(written, len(data))
            if self._power_safe:
                os.fsync(descriptor)
        except BaseException:
            os.ftruncate(descriptor, size)
            raise

    def replace(self, lines: Sequence[bytes]) -> None:
        """Put a file of these lines in the place of the old one, in one step.

        It has the permissions of the old one; a new one is its owner's alone.
        """
        part = self.beside("part")
        with os_errors(self.path):
            part.unlink(missing_ok=True)  # A crash may have left it.
            try:
                _write_new(part, lines)
                if self.path.exists():
                    shutil.copymode(self.path, part)
                part.replace(self.path)
            finally:
                part.unlink(missing_ok=True)
            if self._power_safe:
                _sync_folder(self.path.parent)

    def repair(self, *, finish: bool) -> int:
        """Move what is unfinished at the end to ``NAME.torn``; return how many bytes.

        Args:
            finish: whether the last line only lacks its end, and gets it.
        """
        with os_errors(self.path), self.path.open("r+b") as file:
            if finish:
                file.seek(0, os.SEEK_END)
                file.write(b"\n")
                file.seek(0)
            head = file.readline()
            data = file.read()
            _, used = _complete_lines(data)
            torn = data[used:]
            if torn:
                end = b"" if torn.endswith(b"\n") else b"\n"
                add_private(self.beside("torn"), torn + end)
                file.truncate(len(head) + used)
            file.flush()
            os.fsync(file.fileno())
        return len(torn)


def add_private(path: Path, data: bytes, *, at: int | None = None) -> None:
    """Write ``data`` at the end of a file of our own, or at a place, cutting off what follows.

    A new file is its owner's alone.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | BINARY, PRIVATE)
    with os.fdopen(descriptor, "r+b") as file:
        if at is not None:
            file.truncate(at)
        file.seek(0, os.SEEK_END)
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _refuse_short(written: int, wanted: int) -> None:
    if written < wanted:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _still_holds(file: BinaryIO, start: int, known: ReadPosition) -> bool:
    """Whether a file still has what was read of it last, with ``start`` bytes before it."""
    file.seek(start + known.end - len(known.tail))
    return file.read(len(known.tail)) == known.tail


def _complete_lines(data: bytes) -> tuple[list[bytes], int]:
    """Return the whole lines at the start of ``data``, and how many bytes they take."""
    *lines, _ = data.split(b"\n")
    while lines and lines[-1].endswith(CONTINUED):
        lines.pop()
    return lines, sum(len(line) + 1 for line in lines)


def _write_new(path: Path, lines: Sequence[bytes]) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | BINARY, PRIVATE)
    with os.fdopen(descriptor, "wb") as file:
        file.writelines(line + b"\n" for line in lines)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":  # A folder cannot be opened there; NTFS keeps its own journal.
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _stamp(found: os.stat_result) -> tuple[int, int, int]:
    return found.st_ino, found.st_size, found.st_mtime_ns


def set_aside(path: Path, lines: Sequence[bytes], first: int) -> None:
    """Add lines to the file of what was trimmed, before they leave their own.

    The line with the number N there, from 0, is the message at position N.

    What is there beyond that position is of a trimming that a crash cut short: those lines
    never left their file, and make place for these.
    """
    with os_errors(path):
        known = _whole_lines(path)[:first]
        at = sum(len(line) + 1 for line in known)
        add_private(path, b"".join(line + b"\n" for line in lines), at=at)


def trimmed_lines(path: Path, first: int) -> list[bytes]:
    """Return the lines before position ``first``, as far as they are there."""
    with os_errors(path):
        return _whole_lines(path)[:first]


def _whole_lines(path: Path) -> list[bytes]:
    return path.read_bytes().split(b"\n")[:-1] if path.exists() else []


@contextmanager
def os_errors(path: Path) -> Iterator[None]:
    """Raise a :class:`~memoranda.errors.MemorandaError` in place of an ``OSError``."""
    try:
        yield
    except MemorandaError:
        raise
    except OSError as error:
        raise _translate(error, path) from error


def _translate(error: OSError, path: Path) -> MemorandaError:
    if isinstance(error, Timeout):
        return StoreBusy(
            f"{path} stayed locked by another process beyond the timeout; "
            f"try again, or raise the setting storage.busy_timeout"
        )
    if path.is_dir():
        return InvalidInput(f"{path} is a folder; name a file in it")
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return _no_such_file(path)
    return _not_usable(error, path)


def _no_such_file(path: Path) -> MemorandaError:
    if path.parent.is_dir():
        return NotFound(f"there is no session file {path}; check the path")
    return InvalidInput(f"there is no folder {path.parent} for {path.name}; create it first")


def _not_usable(error: OSError, path: Path) -> MemorandaError:
    if error.errno in FORBIDDEN:
        return StoreReadOnly(
            f"{path} cannot be read or written ({error.strerror}); "
            f"check the permissions of the file and its folder"
        )
    if error.errno in FULL:
        return StoreFull(f"no space left to write {path}; free some, nothing stored was lost")
    return StoreError(f"{path} cannot be read or written ({error}); check the disk")
