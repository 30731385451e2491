"""A folder of text files that survives crashes, full disks, several writers and editors.

Every writer holds the lock of ``.memoranda.lock``. A file that is written is a new file that takes
the place of the old one in one step; what is added comes with a single write at the end. So nobody
ever sees half of a text that was written, and after a crash the old text or the new one is there.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from fnmatch import fnmatchcase
from pathlib import Path

from filelock import FileLock, Timeout

from memoranda import errors
from memoranda.text import files

# Bytes of a file: more than a person has written, and than decades of sessions leave.
LARGEST = 100_000_000
LOCK = ".memoranda.lock"
PART = ".memoranda.part"
POLL = 0.0005  # seconds between two looks at a lock that another writer holds
BUSY_TIMEOUT = 60.0

# Number, size in bytes and time of change (ns) of a file: another one after every change.
Stamp = tuple[int, int, int]


class NotesFolder:
    """Reads and writes text files in one folder. Thread-safe, and safe between processes.

    The folder is made, for its owner alone, when something is written first. A link in it is
    neither read nor written.

    Args:
        folder: an absolute path, links followed.
        busy_timeout: seconds to wait while another one writes.

    Every method but ``names`` raises:
        InvalidInput: a name is no plain name of a file.
        StoreError: what has the name is a folder, a link, or otherwise no file that can be used;
            the message names it and the remedy.
        StoreBusy: another one did not let go of the lock in time.
        StoreFull: there is no room; nothing was changed.
        StoreReadOnly: the file or its folder cannot be written.
    """

    def __init__(self, folder: Path, *, busy_timeout: float = BUSY_TIMEOUT) -> None:
        """Touch nothing yet."""
        self.folder = folder
        self._busy_timeout = busy_timeout

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep all other writers out. May be nested in one thread; makes the folder."""
        with _translated(self.folder, writing=True):
            if not self.folder.is_dir():
                files.make_private_folder(self.folder)
            # One a folder while it is held: who holds it can go on through another NotesFolder.
            lock = FileLock(self.folder / LOCK, mode=files.PRIVATE, is_singleton=True)
            lock.acquire(timeout=self._busy_timeout, poll_interval=POLL)
        try:
            with _translated(self.folder, writing=True):
                (self.folder / PART).unlink(missing_ok=True)  # A crash may have left it.
            yield
        finally:
            lock.release()

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """Keep writers out while several files are read, where there have been any."""
        with ExitStack() as held:
            if self.stamp(LOCK):
                with suppress(errors.StoreReadOnly):  # Who may only read does so without the lock.
                    held.enter_context(self.locked())
            yield

    # Reading

    def read(self, name: str) -> str:
        """Return the text of a file, with its line ends as they are; empty, if there is none."""
        path = self._path(name)
        try:
            return _read(path).decode()
        except UnicodeDecodeError as error:
            message = f"{path} is not UTF-8 ({error}); open it in an editor and save it as UTF-8"
            raise errors.StoreError(f"{message}. It was left as it is") from error

    def stamp(self, name: str) -> Stamp | None:
        """Return what is another one after every change of a file; ``None``, if there is none."""
        path = self._path(name)
        with _translated(path, writing=False), suppress(FileNotFoundError):
            found = path.stat()
            return found.st_ino, found.st_size, found.st_mtime_ns
        return None

    def names(self, *patterns: str) -> list[str]:
        """Return the names of what is in the folder and matches a pattern, in order.

        Args:
            patterns: as of a shell, such as ``HISTORY-*.md``; case matters.
        """
        found: list[str] = []
        with _translated(self.folder, writing=False), suppress(FileNotFoundError):
            found = sorted(entry.name for entry in self.folder.iterdir())
        return [name for each in patterns for name in found if fnmatchcase(name, each)]

    def _path(self, name: str) -> Path:
        """Return the path of the regular file that ``name`` is, or would be."""
        if name in {"", ".", ".."} or set("/\\\0") & set(name):
            message = f"{name!r:.200} is not a name of a file in the folder of the notes"
            raise errors.InvalidInput(f"{message}; leave out paths")
        path = self.folder / name
        with _translated(path, writing=False):
            if path.is_symlink() or (path.exists() and not path.is_file()):
                message = f"{path} is a link, or not a regular file; put a file in its place"
                raise errors.StoreError(message)
        return path

    # Writing

    def write(self, name: str, text: str) -> bool:
        """Put ``text`` in the place of a file; return whether that changed anything.

        Where there is no file, empty text makes none.
        It has the permissions and the owner of the old file; a new one is its owner's alone.
        """
        while (old := self.read(name)) != text:
            if self.swap(name, old, text):
                return True
        return False

    def swap(self, name: str, old: str, new: str) -> bool:
        """Put ``new`` in the place of a file that says ``old``, as ``write`` does.

        Returns:
            Whether it said ``old`` to the last moment. If not, somebody changed it: then nothing
            is written.
        """
        with self.locked():
            path, before = self._path(name), old.encode()
            if _read(path) != before or old == new:
                return _read(path) == before
            with _translated(path, writing=True):
                done = files.write_whole(
                    path,
                    [new.encode()],
                    part=path.with_name(PART),
                    unchanged=lambda: _read(path) == before,
                )
                files.sync_folder(path.parent)
        return done

    def remove(self, names: Sequence[str]) -> int:
        """Remove files, and the folder where nothing else is in it; return how many there were.

        What is a folder stays, and so does what a link names.
        """
        if not self.folder.is_dir():
            return 0
        with self.locked(), _translated(self.folder, writing=True):
            for path in (self.folder / name for name in names):
                if path.is_symlink() or not path.is_dir():
                    path.unlink(missing_ok=True)
        with suppress(OSError):
            (self.folder / LOCK).unlink()
            self.folder.rmdir()
        return len(names)

    def append(self, names: Sequence[str], text: str) -> None:
        """Add ``text`` at the end of several files, on a new line: to all of them, or to none."""
        with self.locked(), ExitStack() as opened:
            ends: dict[Path, int] = {}
            for path in map(self._path, names):
                with _translated(path, writing=True):
                    ends[path] = opened.enter_context(files.open_at_end(path))
            for path, descriptor in ends.items():
                with _translated(path, writing=True):
                    _add(descriptor, text.encode())


@contextmanager
def _translated(path: Path, *, writing: bool) -> Iterator[None]:
    """Raise a :class:`~memoranda.errors.StoreError` in place of an ``OSError``.

    Args:
        path: the file or folder that is worked on, for the message.
        writing: whether it is to be changed.
    """
    try:
        yield
    except Timeout as error:
        message = f"the notes in {path} stayed locked by another writer beyond the timeout"
        raise errors.StoreBusy(f"{message}; try again when it is done") from error
    except OSError as error:
        if error.errno in files.FULL:
            message = f"no space left to write {path}; free some, nothing written was lost"
            raise errors.StoreFull(message) from error
        kind = errors.StoreError
        if writing and error.errno in files.FORBIDDEN:
            kind = errors.StoreReadOnly
        problem = f"{error.filename or path}: {error.strerror or error}"
        raise kind(
            f"{path} cannot be {'written' if writing else 'read'} ({problem}); nothing was "
            f"changed. Check the permissions and what is there, or name another folder"
        ) from error


def _read(path: Path) -> bytes:
    """Return what is in a file; nothing, if there is none."""
    with _translated(path, writing=False), suppress(FileNotFoundError):
        if path.stat().st_size > LARGEST:
            message = f"{path} has more than {LARGEST:,} bytes, and is not read; move it away"
            raise errors.StoreError(message)
        return path.read_bytes()
    return b""


def _add(descriptor: int, data: bytes) -> None:
    """Add a block on a new line."""
    if os.lseek(descriptor, 0, os.SEEK_END):
        os.lseek(descriptor, -1, os.SEEK_END)
        if os.read(descriptor, 1) != b"\n":  # A crash or an editor left the last line open.
            data = b"\n" + data
    files.write_at_once(descriptor, data)
