"""Turns what the operating system refuses into memoranda's errors."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import Timeout

from memoranda.errors import (
    InvalidInput,
    MemorandaError,
    NotFound,
    StoreBusy,
    StoreError,
    StoreFull,
    StoreReadOnly,
)

FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
FORBIDDEN = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Raise a :class:`~memoranda.errors.MemorandaError` in place of an ``OSError``."""
    try:
        yield
    except MemorandaError:
        raise
    except OSError as error:
        raise _meaning(error, path) from error


def _meaning(error: OSError, path: Path) -> MemorandaError:
    if isinstance(error, Timeout):
        return StoreBusy(
            f"{path} stayed locked by another process beyond the timeout; "
            f"try again, or raise the setting storage.busy_timeout"
        )
    if path.is_dir():
        return InvalidInput(f"{path} is a folder; name a file in it")
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return _missing(path)
    return _refused(error, path)


def _missing(path: Path) -> MemorandaError:
    if path.parent.is_dir():
        return NotFound(f"there is no session file {path}; check the path")
    return InvalidInput(f"there is no folder {path.parent} for {path.name}; create it first")


def _refused(error: OSError, path: Path) -> MemorandaError:
    if error.errno in FORBIDDEN:
        return StoreReadOnly(
            f"{path} cannot be read or written ({error.strerror}); "
            f"check the permissions of the file and its folder"
        )
    if error.errno in FULL:
        return StoreFull(f"no space left to write {path}; free some, nothing stored was lost")
    return StoreError(f"{path} cannot be read or written ({error}); check the disk")
