"""Connections that threads borrow, alike for all databases."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from memoranda.errors import StoreClosed


class RawConnection(Protocol):
    """A connection, with the driver's own."""

    @property
    def raw(self) -> Any:
        """The driver's connection."""


C = TypeVar("C", bound=RawConnection)


class ConnectionPool(ABC, Generic[C]):
    """Lends connections to threads: inside a snapshot of a thread, always the same one."""

    BEGIN_SNAPSHOT: ClassVar[str]

    def __init__(self) -> None:
        """Hold no connection yet."""
        self._idle: list[C] = []
        self._pool_lock = threading.Lock()
        self._local = threading.local()
        self._closed = False

    @property
    @abstractmethod
    def location(self) -> str:
        """Where the database is, without secrets."""

    @abstractmethod
    def _open(self) -> C:
        """Open another connection."""

    @abstractmethod
    def _translated(self) -> AbstractContextManager[None]:
        """Raise one of our errors in place of any of the driver's."""

    def _is_open(self, connection: C) -> bool:
        del connection
        return True

    def _require_open(self) -> None:
        if self._closed:
            message = f"the memory in {self.location} was closed; open it again with Memory(…)"
            raise StoreClosed(message)

    @contextmanager
    def _lend(self) -> Iterator[C]:
        with self._pool_lock:
            self._require_open()
            connection = self._idle.pop() if self._idle else None
        with self._translated():
            if connection is None:
                connection = self._open()
            try:
                yield connection
            finally:
                with self._pool_lock:
                    if self._closed or not self._is_open(connection):
                        connection.raw.close()
                    else:
                        self._idle.append(connection)

    @contextmanager
    def read(self) -> Iterator[C]:
        """Lend a connection for reading; inside a snapshot, always the same one."""
        pinned = getattr(self._local, "pinned", None)
        if pinned is None:
            with self._lend() as connection:
                yield connection
        else:
            with self._translated():
                yield pinned

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Let the reads of this thread inside the block see one moment of the database."""
        if getattr(self._local, "pinned", None) is not None:
            yield
            return
        with self._lend() as connection:
            connection.raw.execute(self.BEGIN_SNAPSHOT)
            self._local.pinned = connection
            try:
                yield
            finally:
                self._local.pinned = None
                connection.raw.execute("COMMIT")
