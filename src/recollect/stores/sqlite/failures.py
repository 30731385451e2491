"""Turns SQLite's errors into recollect's, so that no driver's exception gets out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import apsw

from recollect.core import errors

ACCESS = (apsw.ReadOnlyError, apsw.PermissionsError, apsw.AuthError)


@contextmanager
def translated(path: str) -> Iterator[None]:
    """Raise a :class:`~recollect.core.errors.StoreError` in place of any of apsw."""
    try:
        yield
    except apsw.Error as error:
        raise _translate(error, path) from error


def _translate(error: apsw.Error, path: str) -> errors.StoreError:
    match error:
        case apsw.BusyError() | apsw.LockedError():
            return errors.StoreBusy(
                f"{path} stayed locked by another process beyond the timeout; "
                f"try again, or raise the setting storage.busy_timeout"
            )
        case apsw.NotADBError() | apsw.CorruptError():
            return errors.NotADatabase(
                f"{path} is not a recollect database, or it is damaged ({error}); "
                f"choose another path or restore a backup"
            )
        case apsw.FullError():
            return errors.StoreFull(
                f"no space left to write {path}; free some space, nothing stored was lost"
            )
        case apsw.CantOpenError():
            return errors.StoreReadOnly(
                f"{path} cannot be opened; check that its folder exists and may be written"
            )
        case apsw.ConnectionClosedError():
            return errors.StoreClosed(f"the memory in {path} was closed")
        case _ if isinstance(error, ACCESS):
            return errors.StoreReadOnly(
                f"{path} cannot be written; check the permissions of the file and its folder"
            )
    return errors.StoreError(f"{path}: {type(error).__name__}: {error}")
