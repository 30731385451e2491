"""The connection to Chroma: one client of a place, and its failures as errors of ours."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import chromadb
import httpx
from chromadb import AdminClient
from chromadb.api import ClientAPI
from chromadb.config import Settings
from chromadb.errors import (
    AuthorizationError,
    ChromaAuthError,
    ChromaError,
    NotFoundError,
    UniqueConstraintError,
)
from filelock import FileLock, Timeout

from recollect.core.errors import (
    InvalidInput,
    NotADatabase,
    StoreBusy,
    StoreClosed,
    StoreError,
    StoreFull,
    StoreReadOnly,
)
from recollect.stores.chroma.place import DATABASE, TENANT, Folder, Place, Server

LOCK = "recollect.lock"
DATABASE_FILE = "chroma.sqlite3"
PATIENCE = 5.0
"""Seconds to wait for another process that has the folder."""
FOLDER_MODE = 0o700


class Connection:
    """A client of one place. A folder is held for this process alone until it is closed.

    Raises:
        StoreBusy: another process has the folder.
        StoreError: the place cannot be reached or used.
    """

    def __init__(self, place: Place, *, patience: float = PATIENCE) -> None:
        """Connect to ``place``, making the folder or the database if it is not there."""
        self.place = place
        self._lock: FileLock | None = None
        with translated(place):
            self.client: Any = (
                self._folder(place, patience) if isinstance(place, Folder) else _of(place)
            )

    def _folder(self, place: Folder, patience: float) -> ClientAPI:
        _prepare(place)
        lock = FileLock(place.path / LOCK)
        try:
            lock.acquire(timeout=patience)
        except Timeout as error:
            message = (
                f"{place.path} is in use by another process; close that one, or let a server "
                f"share it: chroma run --path {place.path}, and chroma+http://localhost:8000"
            )
            raise StoreBusy(message) from error
        try:
            client = chromadb.PersistentClient(path=str(place.path), settings=quiet())
        except BaseException:
            lock.release()
            raise
        self._lock = lock
        return client

    @property
    def shared(self) -> bool:
        """Whether other processes may use the place at the same time."""
        return isinstance(self.place, Server)

    def close(self) -> None:
        """Release the client and the folder. Twice is harmless."""
        with suppress(Exception):  # It is gone in any case; there is nothing to lose any more.
            self.client.close()
        _hang_up(self.client)
        if self._lock is not None:
            self._lock.release()


def quiet(**more: Any) -> Settings:
    """Return settings of Chroma by which it tells nobody anything."""
    return Settings(anonymized_telemetry=False, **more)


def _prepare(place: Folder) -> None:
    path = place.path
    if path.exists() and not path.is_dir():
        message = f"{path} is a file; a store on Chroma is a folder, so choose another path"
        raise NotADatabase(message)
    if path.is_dir() and not (path / DATABASE_FILE).exists() and _has_more(path):
        message = f"{path} holds files that are not Chroma's; choose an empty or a new folder"
        raise NotADatabase(message)
    path.mkdir(parents=True, exist_ok=True, mode=FOLDER_MODE)
    if not os.access(path, os.W_OK):
        message = f"{path} cannot be written; change its permissions or choose another folder"
        raise StoreReadOnly(message)


def _has_more(path: os.PathLike[str]) -> bool:
    return any(name != LOCK for name in os.listdir(path))  # noqa: PTH208 - names are enough


def _of(place: Server) -> ClientAPI:
    headers = {} if place.token is None else {"Authorization": f"Bearer {place.token}"}
    where: dict[str, Any] = {
        "host": place.host,
        "port": place.port,
        "ssl": place.secure,
        "headers": headers,
    }
    if (place.tenant, place.database) != (TENANT, DATABASE):
        _make_database(place, where)
    return chromadb.HttpClient(
        **where, settings=quiet(), tenant=place.tenant, database=place.database
    )


def _make_database(place: Server, where: dict[str, Any]) -> None:
    settings = quiet(
        chroma_api_impl="chromadb.api.fastapi.FastAPI",
        chroma_server_host=place.host,
        chroma_server_http_port=place.port,
        chroma_server_ssl_enabled=place.secure,
        chroma_server_headers=where["headers"],
    )
    admin: Any = AdminClient(settings)
    steps: tuple[Callable[[], object], ...] = (
        lambda: admin.create_tenant(place.tenant),
        lambda: admin.create_database(place.database, place.tenant),
    )
    for make in steps:
        # It is there already, perhaps made by another process at this moment; a server that is
        # no Chroma fails with the client itself.
        with suppress(UniqueConstraintError, ChromaError):
            make()
    _hang_up(admin)


def _hang_up(client: Any) -> None:
    """Close the connections of a client, which it leaves open."""
    for each in (client, getattr(client, "_admin_client", None)):
        session = getattr(getattr(each, "_server", None), "_session", None)
        if isinstance(session, httpx.Client):
            session.close()


@contextmanager
def translated(place: Place) -> Iterator[None]:
    """Turn what Chroma and its transports raise into errors of ours that name the place."""
    try:
        yield
    except (ChromaAuthError, AuthorizationError) as error:
        message = f"{place} refuses the token; set storage.token to one that it knows"
        raise StoreError(message) from error
    except ChromaError as error:
        raise _of_engine(place, error) from error
    except httpx.HTTPError as error:
        message = (
            f"{place} did not answer ({str(error) or type(error).__name__}); is the server up?"
        )
        raise StoreError(message) from error
    except AttributeError as error:
        if "bindings" not in str(error):
            raise
        message = f"{place} is closed; open the memory again"
        raise StoreClosed(message) from error
    except UnicodeEncodeError as error:
        message = f"a text holds a character that cannot be stored ({error.reason}); remove it"
        raise InvalidInput(message) from error
    except ValueError as error:
        message = f"{place} cannot be used: {error}"
        raise StoreError(message) from error
    except OSError as error:
        message = f"{place} cannot be used: {error}"
        raise StoreError(message) from error


def _of_engine(place: Place, error: ChromaError) -> StoreError:
    text = str(error)
    low = text.lower()
    if "disk is full" in low or "no space left" in low:
        return StoreFull(f"{place} is full; make room. What was stored before is intact")
    if "readonly" in low or "read-only" in low or "permission denied" in low:
        return StoreReadOnly(f"{place} cannot be written; change its permissions")
    if "not a database" in low or "malformed" in low:
        return NotADatabase(f"{place} is damaged or no database of Chroma ({text}); restore it")
    return StoreError(f"{place} failed: {text}")


def missing(error: Exception) -> bool:
    """Return whether ``error`` says that a collection is not there (any more)."""
    return isinstance(error, NotFoundError) or isinstance(error.__cause__, NotFoundError)
