"""The files of an SQLite database: made private, and watched while it is open.

SQLite does not notice that a file was deleted or replaced: it goes on writing into what nobody
will ever open again. So the file and its log are looked at before and after each write.
"""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from memoranda.errors import InvalidInput, StoreError, StoreReadOnly

LOG, INDEX = "-wal", "-shm"
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


def unlock_index(path: str) -> None:
    """Let the log and its index be written where the database may be.

    Who opens a database that is read-only leaves both as read-only as it was, and they stay so
    when the database may be written again.
    """
    with suppress(OSError):
        mode = stat.S_IMODE(Path(path).stat().st_mode)
        for suffix in (LOG, INDEX):
            beside = Path(path + suffix)
            with suppress(FileNotFoundError):
                if mode & ~stat.S_IMODE(beside.stat().st_mode) & stat.S_IWUSR:
                    beside.chmod(mode)


class OpenedFile:
    """Tells whether the files of a database are still those that were opened.

    Args:
        path: of the database; its log is there, as the database was read.
    """

    def __init__(self, path: str) -> None:
        """Look at the files."""
        self._path = path
        self._log = path + LOG
        self._identity = self._look()

    def _look(self) -> tuple[int, int, int] | None:
        try:
            file, log = os.stat(self._path), os.stat(self._log)  # noqa: PTH116 - half the time
        except OSError:
            return None
        return file.st_dev, file.st_ino, log.st_ino

    def require_same(self) -> None:
        """Refuse to go on where a file was deleted, moved or replaced.

        Raises:
            StoreError: it was; what is written would be lost.
        """
        if self._look() != self._identity:
            message = (
                f"{self._path} or its log (-wal) was deleted, moved or replaced while it was "
                f"open, so this is not stored; put the files back and open the memory again"
            )
            raise StoreError(message)
