"""Turns SQLite's errors into memoranda's, so that no driver's exception gets out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import apsw

from memoranda import errors

MEANINGS: tuple[tuple[tuple[type[apsw.Error], ...], type[errors.StoreError], str], ...] = (
    (
        (apsw.BusyError, apsw.LockedError),
        errors.StoreBusy,
        (
            "{path} stayed locked by another process beyond the timeout; "
            "try again, or raise the setting storage.busy_timeout"
        ),
    ),
    (
        (apsw.NotADBError, apsw.CorruptError),
        errors.NotADatabase,
        (
            "{path} is not a memoranda database, or it is damaged ({error}); "
            "choose another path or restore a backup"
        ),
    ),
    (
        (apsw.FullError,),
        errors.StoreFull,
        "no space left to write {path}; free some space, nothing stored was lost",
    ),
    (
        (apsw.CantOpenError,),
        errors.StoreReadOnly,
        "{path} cannot be opened; check that its folder exists and may be written",
    ),
    (
        (apsw.ReadOnlyError, apsw.PermissionsError, apsw.AuthError),
        errors.StoreReadOnly,
        "{path} cannot be written; check the permissions of the file and its folder",
    ),
    ((apsw.ConnectionClosedError,), errors.StoreClosed, "the memory in {path} was closed"),
)


@contextmanager
def translated(path: str) -> Iterator[None]:
    """Raise a :class:`~memoranda.errors.MemorandaError` in place of any of apsw."""
    try:
        yield
    except UnicodeEncodeError as error:
        message = (
            f"{error.object!r:.80} holds a lone surrogate, which no UTF-8 file can hold; "
            f"decode the source with errors='replace'"
        )
        raise errors.InvalidInput(message) from error
    except apsw.Error as error:
        raise _translate(error, path) from error


def _translate(error: apsw.Error, path: str) -> errors.StoreError:
    for causes, meaning, message in MEANINGS:
        if isinstance(error, causes):
            return meaning(message.format(path=path, error=error))
    return errors.StoreError(f"{path}: {type(error).__name__}: {error}")
