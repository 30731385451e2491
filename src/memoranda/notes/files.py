"""A folder of text files that survives crashes, full disks, several writers and editors.

Every writer holds the lock of ``.memoranda.lock``. A file that is written is a new file that takes
the place of the old one in one step; what is added comes with a single write at the end. So nobody
ever sees half of a text that was written, and after a crash the old text or the new one is there.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from fnmatch import fnmatchcase
from pathlib import Path

from filelock import BaseFileLock, FileLock, Timeout

from memoranda.errors import (
    InvalidInput,
    MemorandaError,
    StoreBusy,
    StoreError,
    StoreFull,
    StoreReadOnly,
)
from memoranda.model.checks import storable
from memoranda.text.files import (
    FORBIDDEN,
    FULL,
    PRIVATE,
    open_at_end,
    sync_folder,
    write_at_once,
    write_whole,
)

PRIVATE_FOLDER = 0o700
LOCK = ".memoranda.lock"
PART = ".memoranda.part"
POLL = 0.0005  # seconds between two looks at a lock that another writer holds
BUSY_TIMEOUT = 60.0

# Number, size in bytes and time of change (ns) of a file: another one after every change.
Stamp = tuple[int, int, int]


class NotesFolder:
    """Reads and writes text files in one folder. Thread-safe, and safe between processes.

    The folder is made, for its owner alone, when something is written first. A link in it to
    another file in it is followed, and stays; one that leads out of it is refused.

    Args:
        folder: an absolute path, links followed.
        busy_timeout: seconds to wait while another one writes.

    Every method but ``names`` raises:
        InvalidInput: a name is no plain name of a file, or a text cannot be stored.
        StoreError: what has the name is a folder, a link out of the folder or nowhere, or
            otherwise no file that can be used; the message names it and the remedy.
        StoreBusy: another one did not let go of the lock in time.
        StoreFull: there is no room; nothing was changed.
        StoreReadOnly: the file or its folder cannot be written.
    """

    def __init__(self, folder: Path, *, busy_timeout: float = BUSY_TIMEOUT) -> None:
        """Touch nothing yet."""
        self.folder = folder
        self._busy_timeout = busy_timeout
        self._lock, self._process = self._new_lock(), os.getpid()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep all other writers out. May be nested in one thread; makes the folder."""
        with _translated(self.folder, writing=True):
            _make_folder(self.folder)
            if self._process != os.getpid():  # A lock does not go with a process that was forked.
                self._lock, self._process = self._new_lock(), os.getpid()
            lock = self._lock
            if (self.folder / LOCK).is_dir():
                raise StoreError(
                    f"{self.folder / LOCK} is a folder where the lock of the notes must be a file; "
                    f"move it away"
                )
            lock.acquire(timeout=self._busy_timeout, poll_interval=POLL)
        try:
            with _translated(self.folder, writing=True):
                (self.folder / PART).unlink(missing_ok=True)  # A crash may have left it.
            yield
        finally:
            lock.release()

    @contextmanager
    def quiet(self) -> Iterator[bool]:
        """Keep writers out while several files are read, where there have been any; leave no trace.

        Yields whether nobody could write meanwhile: if not, a first writer may have come.
        """
        with ExitStack() as held:
            with _translated(self.folder, writing=False):
                shared = (self.folder / LOCK).exists()
            if shared:
                with suppress(StoreReadOnly):  # Who may only read does so without the lock.
                    held.enter_context(self.locked())
            yield shared

    def _new_lock(self) -> BaseFileLock:
        # One a folder in this process: who holds it can go on through another NotesFolder.
        return FileLock(self.folder / LOCK, mode=PRIVATE, is_singleton=True)

    # Reading

    def read(self, name: str) -> str:
        """Return the text of a file, with its line ends as they are; empty, if there is none."""
        path = self._path(name, writing=False)
        data = _read(path)
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            utf16 = data.startswith((b"\xff\xfe", b"\xfe\xff"))
            raise StoreError(
                f"{path} is not UTF-8: byte 0x{data[error.start]:02x} at position {error.start}, "
                f"line {line}; {'it looks like UTF-16; ' if utf16 else ''}"
                f"open it in an editor and save it as UTF-8. It was left as it is"
            ) from error

    def stamp(self, name: str) -> Stamp | None:
        """Return what is another one after every change of a file; ``None``, if there is none."""
        path = self._path(name, writing=False)
        with _translated(path, writing=False), suppress(FileNotFoundError):
            found = path.stat()
            return found.st_ino, found.st_size, found.st_mtime_ns
        return None

    def names(self, pattern: str) -> list[str]:
        """Return the names of what is in the folder and matches a pattern, in order.

        Args:
            pattern: as of a shell, such as ``HISTORY-*.md``; case matters.
        """
        found: list[str] = []
        with _translated(self.folder, writing=False), suppress(FileNotFoundError):
            found = [entry.name for entry in self.folder.iterdir()]
        return sorted(name for name in found if fnmatchcase(name, pattern))

    def _path(self, name: str, *, writing: bool = True) -> Path:
        with _translated(self.folder / name, writing=writing):
            return _locate(self.folder, name)

    # Writing

    def write(self, name: str, text: str) -> bool:
        """Put ``text`` in the place of a file; return whether that changed anything.

        Where there is no file, empty text makes none.
        It has the permissions and the owner of the old file; a new one is its owner's alone.
        """
        data = _encoded(text, name)
        while (before := _read(self._path(name, writing=False))) != data:
            if self._replace(name, before, data):
                return True
        return False

    def swap(self, name: str, old: str, new: str) -> bool:
        """Put ``new`` in the place of a file that says ``old``, as ``write`` does.

        Returns:
            Whether it said ``old`` to the last moment. If not, somebody changed it: then nothing
            is written.
        """
        return self._replace(name, _encoded(old, name), _encoded(new, name))

    def remove(self, names: Sequence[str]) -> int:
        """Remove files, and the folder where nothing else is in it; return how many there were."""
        if not self.folder.is_dir():
            return 0
        with self.locked():
            found = [path for path in map(self._path, names) if path.is_file()]
            for path in found:
                with _translated(path, writing=True):
                    path.unlink(missing_ok=True)
                    (self.folder / path.name).unlink(missing_ok=True)
        with suppress(OSError):
            (self.folder / LOCK).unlink()
            self.folder.rmdir()
        return len(found)

    def append(self, names: Sequence[str], text: str) -> None:
        """Add ``text`` at the end of several files, on a new line: to all of them, or to none."""
        data = _encoded(text, "text")
        with self.locked(), ExitStack() as opened:
            paths = dict.fromkeys(map(self._path, names))  # A link may make two names one file.
            ends: dict[Path, int] = {}
            for path in paths:
                with _translated(path, writing=True):
                    ends[path] = opened.enter_context(open_at_end(path))
            for path, descriptor in ends.items():
                with _translated(path, writing=True):
                    _add(descriptor, data)

    def _replace(self, name: str, before: bytes, data: bytes) -> bool:
        """Put a file of ``data`` in the place of one, if that still has the bytes ``before``."""
        with self.locked():
            path = self._path(name)
            if _read(path) != before:
                return False
            if before == data:
                return True
            with _translated(path, writing=True):
                part = path.with_name(PART)
                if not write_whole(
                    path, [data], part=part, unchanged=lambda: _read(path) == before
                ):
                    return False
                sync_folder(path.parent)
        return True


@contextmanager
def _translated(path: Path, *, writing: bool) -> Iterator[None]:
    """Raise a :class:`~memoranda.errors.StoreError` in place of an ``OSError``.

    Args:
        path: the file or folder that is worked on, for the message.
        writing: whether it is to be changed.
    """
    try:
        yield
    except OSError as error:
        raise _meaning(error, path, writing=writing) from error


def _meaning(error: OSError, path: Path, *, writing: bool) -> MemorandaError:
    if isinstance(error, Timeout):
        return StoreBusy(
            f"the notes in {path} stayed locked by another writer beyond the timeout; "
            f"try again when it is done"
        )
    if error.errno in FULL:
        return StoreFull(f"no space left to write {path}; free some, nothing written was lost")
    if isinstance(error, FileExistsError | NotADirectoryError):
        there = next(each for each in (path, *path.parents) if os.path.lexists(each))
        if not there.is_dir():
            return StoreError(
                f"{there} is not a folder, so no notes can be in it; "
                f"move it away, or name another folder for the notes"
            )
    if error.errno in FORBIDDEN:
        place = error.filename or path
        if writing:
            return StoreReadOnly(
                f"{path} cannot be written ({place}: {error.strerror}); nothing was changed. "
                f"Check the permissions of the file and its folder, or name another folder"
            )
        return StoreError(f"{place} cannot be read ({error.strerror}); check its permissions")
    verb = "written" if writing else "read"
    return StoreError(f"{path} cannot be {verb} ({error.strerror or error}); check the path")


def _locate(folder: Path, name: str) -> Path:
    """Return the path of the regular file that ``name`` stands for, or would stand for."""
    if name in {"", ".", ".."} or {"/", "\\", "\x00", os.sep} & set(name):
        message = f"{name!r:.200} is no name of a file in the folder of the notes; leave out paths"
        raise InvalidInput(message)
    path = folder / name
    try:
        if path.is_symlink():
            path = _followed(folder, path)
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return path
    if stat.S_ISDIR(mode):
        raise StoreError(f"{path} is a folder, but must be a file; move it away or rename it")
    if not stat.S_ISREG(mode):
        raise StoreError(f"{path} is not a regular file; move it away or rename it")
    return path


def _followed(folder: Path, link: Path) -> Path:
    """Return where a link leads, if that is a file in the folder."""
    target = Path(os.path.realpath(link))
    if not target.is_relative_to(os.path.realpath(folder)):
        raise StoreError(
            f"{link} is a link that leads out of its folder, to {target}, and is neither read nor "
            f"written; put a copy of that file in its place, or use {target.parent} for the notes"
        )
    if target.is_symlink() or not target.exists():
        raise StoreError(
            f"{link} is a link that leads nowhere, to {target}; "
            f"remove the link, or create the file that it names"
        )
    return target


def _make_folder(folder: Path) -> None:
    """Make a folder that is its owner's alone, with those above it that are missing."""
    if folder.is_dir():
        return
    if not folder.parent.exists():
        _make_folder(folder.parent)
    try:
        folder.mkdir(PRIVATE_FOLDER)
    except FileExistsError:
        if not folder.is_dir():  # Another process may have been faster.
            raise
    else:
        sync_folder(folder.parent)


def _read(path: Path) -> bytes:
    """Return what is in a file; nothing, if there is none."""
    with _translated(path, writing=False), suppress(FileNotFoundError):
        return path.read_bytes()
    return b""


def _add(descriptor: int, data: bytes) -> None:
    """Add a block on a new line."""
    if os.lseek(descriptor, 0, os.SEEK_END):
        os.lseek(descriptor, -1, os.SEEK_END)
        if os.read(descriptor, 1) != b"\n":  # A crash or an editor left the last line open.
            data = b"\n" + data
    write_at_once(descriptor, data)


def _encoded(text: str, name: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        return storable(text, name).encode()  # It says what is wrong.
