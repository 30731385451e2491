"""Writes a file whole or not at all: settings, notes, conversations, exports, models.

The new file is written beside the old one and takes its place in one step; what is only added comes
with a single write at the end. So nobody ever sees half of what was written, and after a crash the
old file or the new one is there.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import get_ident

from memoranda.errors import InvalidInput

# The permissions of a new file and a new folder: they are their owner's alone.
PRIVATE, PRIVATE_FOLDER = 0o600, 0o700
# Windows would change line ends without it.
BINARY: int = getattr(os, "O_BINARY", 0)
NO_LINK: int = getattr(os, "O_NOFOLLOW", 0)
# The errors that say that there is no room, and no permission.
FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
FORBIDDEN = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_LINK | BINARY


def explain_unwritable(path: str | Path, error: Exception) -> str:
    """Return that a file cannot be written, why, and what to do, as the message of an error."""
    folder = Path(path).absolute().parent
    if isinstance(error, FileNotFoundError) and not folder.is_dir():
        remedy = f"make it with mkdir -p {folder}, or choose another"
        return f"{path!s:.200} cannot be written: there is no folder {folder}; {remedy}"
    why = getattr(error, "strerror", None) or error
    return f"{path!s:.200} cannot be written: {why}; choose another place, or free or allow it"


def make_private_folder(folder: Path) -> None:
    """Make a folder that is its owner's alone, with those above it that are missing."""
    for each in reversed((folder, *folder.parents)):
        if not each.exists():
            each.mkdir(PRIVATE_FOLDER, exist_ok=True)  # Another process may have been faster.
            sync_folder(each.parent)


def file_path(value: object) -> Path:
    """Return ``value`` as a path of which this machine can say whether there is something.

    Raises:
        InvalidInput: it is no path, or one that no file can have.
    """
    if not isinstance(value, str | Path):
        message = f"path must be a path, got {type(value).__name__}: {value!r:.80}"
        raise InvalidInput(message)
    path = Path(value)
    try:
        path.stat()  # What `exists` would keep to itself is told.
    except (FileNotFoundError, NotADirectoryError):
        return path
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        message = f"path={str(value)!r:.200} cannot be used: {why}; choose another path"
        raise InvalidInput(message) from error
    return path


def write_whole(
    path: Path,
    chunks: Iterable[bytes],
    *,
    part: Path | None = None,
    unchanged: Callable[[], bool] | None = None,
) -> bool:
    """Put a file of ``chunks`` in the place of ``path``; return whether that was done.

    It has the owner and the permissions of the old file; a new one is its owner's alone.

    Args:
        path: the file.
        chunks: what it is to hold. An error that they raise leaves the old file.
        part: what it is called until it is complete, where only one writes at a time: a crash may
            leave such a file, which is removed the next time.
        unchanged: asked once all is on the disk, whether the old file may still be replaced.

    Raises:
        OSError: it cannot be written, or the old file is protected from writing.
    """
    part = part or path.with_name(f".{path.name}.{os.getpid()}-{get_ident()}.part")
    part.unlink(missing_ok=True)
    try:
        with os.fdopen(os.open(part, NEW_FILE, PRIVATE), "wb") as file:
            if path.exists():
                _copy_owner(path, part)
            file.writelines(chunks)
            file.flush()
            os.fsync(file.fileno())
        if unchanged is not None and not unchanged():
            return False
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    return True


def _copy_owner(old: Path, new: Path) -> None:
    """Give a new file the owner and the permissions of one that may be written."""
    os.close(os.open(old, os.O_WRONLY | BINARY))
    mine, theirs = new.stat(), old.stat()
    if (mine.st_uid, mine.st_gid) != (theirs.st_uid, theirs.st_gid):
        with suppress(PermissionError):
            os.chown(new, theirs.st_uid, theirs.st_gid)
    new.chmod(stat.S_IMODE(theirs.st_mode))


@contextmanager
def open_at_end(path: Path) -> Iterator[int]:
    """Open a file to add to it, or a new one; if that fails, it becomes what it was."""
    is_new = not path.exists()
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | NO_LINK | BINARY, PRIVATE)
    try:
        size = os.lseek(descriptor, 0, os.SEEK_END)
        try:
            yield descriptor
        except BaseException:
            os.ftruncate(descriptor, size)
            if is_new and not size:
                path.unlink(missing_ok=True)
            raise
    finally:
        os.close(descriptor)


def write_at_once(descriptor: int, data: bytes) -> None:
    """Write a block in one call, or readers and other writers could find a part of it."""
    if os.write(descriptor, data) < len(data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def sync_folder(folder: Path) -> None:
    """Wait until the disk has the names in a folder."""
    if os.name == "nt":  # A folder cannot be opened there; NTFS keeps its own journal.
        return
    with suppress(PermissionError):  # It may be written, but not listed.
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
