"""The file of an SQLite database: made private, and known again while it is open.

SQLite does not notice that a file was deleted or replaced: it goes on writing into what nobody
will ever open again. So the file is looked at before a write is acknowledged.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memoranda.errors import InvalidInput, StoreReadOnly

_creating = threading.Lock()


def create_private(path: str) -> None:
    """Make a file that nobody else can read, where there is none.

    Only a file that is not there is opened here. Closing any handle of a file frees every lock
    this process holds on it, also those of another SQLite connection.

    Raises:
        StoreReadOnly: it cannot be made.
    """
    try:
        if Path(path).is_dir():
            message = f"{path} is a folder; name a file in it, such as {Path(path) / 'agent.db'}"
            raise StoreReadOnly(message)
        with _creating:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        return
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        message = f"{path:.200} cannot be created or written: {why}; choose another place"
        raise StoreReadOnly(message) from error


@contextmanager
def new_file(path: str) -> Iterator[str]:
    """Let a file be written that nobody else can read, and that is there whole or not at all.

    Yields:
        the path under which it is written.

    Raises:
        InvalidInput: there is a file already.
        StoreReadOnly: it cannot be written.
    """
    partial = Path(f"{path}.partial")
    if Path(path).exists():
        message = f"{path} exists already; choose a new name for the backup"
        raise InvalidInput(message)
    try:
        partial.unlink(missing_ok=True)
        create_private(str(partial))
        yield str(partial)
        partial.rename(path)
    except OSError as error:
        message = f"{path} cannot be written: {error.strerror}; choose another place"
        raise StoreReadOnly(message) from error
    finally:
        partial.unlink(missing_ok=True)


def file_address(path: str) -> str:
    """Return by which name SQLite opens a file, also one in a folder that cannot be written.

    There it can make no index of the log beside the file, and nobody changes the file meanwhile.

    Raises:
        StoreReadOnly: a log is there, which can only be read where its index can be made.
    """
    if os.access(path, os.W_OK) or os.access(Path(path).parent, os.W_OK):
        return path
    log = Path(f"{path}-wal")
    if log.exists() and log.stat().st_size:
        message = (
            f"{path} cannot be read in a folder that cannot be written, as a killed process left "
            f"its log ({log.name}); copy both to one that can, and open the copy"
        )
        raise StoreReadOnly(message)
    return f"{Path(path).as_uri()}?immutable=1"


def file_identity(path: str) -> tuple[int, int] | None:
    """Return what a file keeps while it is open, and another in its place has not."""
    try:
        found = os.stat(path)  # noqa: PTH116 - half the time
    except OSError:
        return None
    return found.st_dev, found.st_ino
