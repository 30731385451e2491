"""Turns what the operating system refuses in the folder of the notes into memoranda's errors."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import Timeout

from memoranda.errors import MemorandaError, StoreBusy, StoreError, StoreFull, StoreReadOnly

FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
FORBIDDEN = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})


@contextmanager
def translated(path: Path, *, writing: bool) -> Iterator[None]:
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
        return _no_folder(error, path)
    if error.errno in FORBIDDEN:
        return _forbidden(error, path, writing=writing)
    verb = "written" if writing else "read"
    return StoreError(f"{path} cannot be {verb} ({error.strerror or error}); check the path")


def _no_folder(error: OSError, path: Path) -> MemorandaError:
    for place in (path, *path.parents):
        if place.is_dir():
            break
        if place.exists() or place.is_symlink():
            return StoreError(
                f"{place} is not a folder, so no notes can be in it; "
                f"move it away, or name another folder for the notes"
            )
    return StoreError(f"{path} cannot be used ({error.strerror or error}); check the path")


def _forbidden(error: OSError, path: Path, *, writing: bool) -> MemorandaError:
    place = error.filename or path
    if writing:
        return StoreReadOnly(
            f"{path} cannot be written ({place}: {error.strerror}); nothing was changed. "
            f"Check the permissions of the file and its folder, or name another folder"
        )
    return StoreError(f"{place} cannot be read ({error.strerror}); check its permissions")
