"""The connection to Chroma: one client of a place, and its failures as errors of ours."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from threading import Event
from time import monotonic
from typing import Any
from urllib.parse import quote

import apsw
import chromadb
import httpx
from chromadb.api import ClientAPI
from chromadb.config import Settings
from chromadb.errors import AuthorizationError, ChromaAuthError, ChromaError, NotFoundError
from filelock import FileLock, Timeout

from memoranda.errors import (
    InvalidInput,
    MemorandaError,
    NotADatabase,
    StoreBusy,
    StoreClosed,
    StoreError,
    StoreFull,
    StoreReadOnly,
)
from memoranda.store.chroma import index_files
from memoranda.store.chroma.place import Folder, Place, Server

LOCK = "memoranda.lock"
# Seconds to wait for another process that has the folder.
PATIENCE = 5.0
# Seconds that a server may take to be reached, and to answer.
TIMEOUT = httpx.Timeout(30.0, connect=PATIENCE)
# Seconds that Chroma's threads have to take the log of a folder away as they leave.
GRACE = 0.05
# Seconds to wait for them where the folder is to be nobody's.
LEAVING = 10.0
POLL = 0.001
# Seconds to wait for them where the folder is only left.
CLOSING = 1.0
FOLDER_MODE = 0o700
REFUSED = "{place} refuses the token; set storage.token to one that it knows"


class Connection:
    """A client of one place. A folder is held for this process alone until it is closed.

    Raises:
        StoreBusy: another process has the folder.
        StoreError: the place cannot be reached or used.
    """

    def __init__(self, place: Place) -> None:
        """Connect to ``place``, making the folder or the database if it is not there."""
        self.place = place
        self._lock: FileLock | None = None
        with translated(place):
            self.client: Any = self._folder(place) if isinstance(place, Folder) else _of(place)

    def _folder(self, place: Folder) -> ClientAPI:
        _prepare(place)
        lock = FileLock(place.path / LOCK)
        try:
            lock.acquire(timeout=PATIENCE)
        except Timeout as error:
            raise StoreBusy(
                f"{place.path} is in use by another process; close that one, or let a server "
                f"share it: chroma run --path {place.path}, and chroma+http://localhost:8000"
            ) from error
        try:
            _log_ahead(place)
            client = _embedded(place)
        except BaseException:
            lock.release()
            raise
        self._lock = lock
        return client

    @contextmanager
    def left(self, place: Folder) -> Iterator[None]:
        """Leave the files of a folder for as long as the block lasts, and come back."""
        with translated(place):
            self.client.close()
            try:
                if not _is_left(place):
                    raise _of_engine(place, TimeoutError("locked"))
                yield
            finally:
                self.client = _embedded(place)

    @property
    def shared(self) -> bool:
        """Whether other processes may use the place at the same time."""
        return isinstance(self.place, Server)

    def close(self) -> None:
        """Release the client and the folder. Twice is harmless."""
        with suppress(Exception):  # It is gone in any case; there is nothing to lose any more.
            self.client.close()
        for session in _sessions(self.client):
            session.close()  # The client leaves it open.
        if isinstance(self.place, Folder) and self._lock is not None:
            with suppress(OSError):  # A folder that was removed meanwhile.
                if _is_left(self.place, CLOSING):
                    index_files.blank(self.place.path)
            self._lock.release()
        self._lock = None


def quiet(**more: Any) -> Settings:
    """Return settings of Chroma with telemetry switched off."""
    return Settings(anonymized_telemetry=False, **more)


def _prepare(place: Folder) -> None:
    path = place.path
    if path.exists() and not path.is_dir():
        message = f"{path} is a file; a store on Chroma is a folder, so choose another path"
        raise NotADatabase(message)
    if path.is_dir() and not place.database.exists() and {*path.iterdir()} - {path / LOCK}:
        message = f"{path} holds files that are not Chroma's; choose an empty or a new folder"
        raise NotADatabase(message)
    path.mkdir(parents=True, exist_ok=True, mode=FOLDER_MODE)
    if not os.access(path, os.W_OK):
        message = f"{path} cannot be written; change its permissions or choose another folder"
        raise StoreReadOnly(message)


def _embedded(place: Folder) -> ClientAPI:
    return chromadb.PersistentClient(path=str(place.path), settings=quiet())


def _log_ahead(place: Folder) -> None:
    """Let the database write ahead to a log: each call of Chroma takes a fraction of the time.

    Before Chroma opens it: a process that opens a database of SQLite by two libraries at once
    loses its locks on it. Where the file system cannot do it, all stays as it is.
    """
    if not place.log.exists():  # Else it does so already; a killed process left the log.
        with closing(sqlite3.connect(place.database, timeout=PATIENCE)) as database:
            database.execute("PRAGMA journal_mode = WAL")


def _is_left(place: Folder, patience: float = LEAVING) -> bool:
    """Wait until Chroma's threads have left the database, and see that its log goes, too."""
    since = monotonic()
    while place.log.exists():
        waited = monotonic() - since
        if waited > patience:
            return False
        if waited > GRACE:
            # They may go without a word: the last one to close a database takes its log away.
            with suppress(sqlite3.Error), closing(sqlite3.connect(place.database)) as database:
                database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        Event().wait(POLL)
    return True


def _of_engine(place: Place, error: Exception) -> StoreError:
    """Return the error of ours that tells of an error of Chroma's, or of its database's file."""
    text = str(error).lower()
    if isinstance(error, NotFoundError):
        return StoreError(f"{place}: what is there was removed ({error}); open the memory again")
    if "disk is full" in text or "no space left" in text:
        return StoreFull(f"{place} is full; make room. What was stored before is intact")
    if "readonly" in text or "read-only" in text or "permission denied" in text:
        return StoreReadOnly(f"{place} cannot be written; change its permissions")
    if "not a database" in text or "malformed" in text:
        return NotADatabase(f"{place} is damaged or no database of Chroma ({error}); restore it")
    if "locked" in text:
        return StoreBusy(f"{place} is in use by another program; close that one, and try again")
    return StoreError(f"{place} failed: {error}")


def _of(place: Server) -> ClientAPI:
    headers = {} if place.token is None else {"Authorization": f"Bearer {place.token}"}
    _make_database(place, headers)
    # Without TLS no certificates are read, which takes longer than all else.
    settings = quiet() if place.secure else quiet(chroma_server_ssl_verify=False)
    client = chromadb.HttpClient(
        host=place.host,
        port=place.port,
        ssl=place.secure,
        headers=headers,
        settings=settings,
        tenant=place.tenant,
        database=place.database,
    )
    for session in _sessions(client):
        session.timeout = TIMEOUT  # Chroma's own client waits for ever.
    return client


def _make_database(place: Server, headers: dict[str, str]) -> None:
    """See to it that the database is there, and that it is Chroma that answers."""
    address = f"{place.address}/api/v2/tenants"
    tenant, database = quote(place.tenant, safe=""), quote(place.database, safe="")
    with httpx.Client(headers=headers, timeout=TIMEOUT, verify=place.secure) as http:
        answer = http.get(f"{address}/{tenant}/databases/{database}")
        if answer.status_code == httpx.codes.NOT_FOUND and _is_chroma(answer):
            # Another process may make them at this moment: that they are there is looked at last.
            http.post(address, json={"name": place.tenant})
            made = http.post(f"{address}/{tenant}/databases", json={"name": place.database})
            answer = http.get(f"{address}/{tenant}/databases/{database}")
            answer = made if answer.status_code == httpx.codes.NOT_FOUND else answer
    if answer.status_code in {httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN}:
        raise StoreError(REFUSED.format(place=place))
    if not _is_chroma(answer):
        raise StoreError(f"{place} answers, but is no Chroma server; check host, port and path")
    if answer.is_error:
        raise StoreError(f"{place} cannot be used: {answer.json().get('message', answer.text)}")


def _is_chroma(answer: httpx.Response) -> bool:
    """Return whether an answer has the form of Chroma's: a database, or an error with its name."""
    try:
        held = answer.json()
    except ValueError:
        return False
    return isinstance(held, dict) and ("error" in held if answer.is_error else "tenant" in held)


def _sessions(client: Any) -> Iterator[httpx.Client]:
    """Return the connections of a client."""
    for each in (client, getattr(client, "_admin_client", None)):
        session = getattr(getattr(each, "_server", None), "_session", None)
        if isinstance(session, httpx.Client):
            yield session


@contextmanager
def translated(place: Place) -> Iterator[None]:
    """Turn what Chroma and its transports raise into errors of ours that name the place."""
    try:
        yield
    except MemorandaError:
        raise
    except Exception as error:
        match error:
            case ChromaAuthError() | AuthorizationError():
                told: MemorandaError = StoreError(REFUSED.format(place=place))
            case ChromaError() | sqlite3.Error() | apsw.Error():
                told = _of_engine(place, error)
            case httpx.HTTPError():
                why = str(error) or type(error).__name__
                told = StoreError(f"{place} did not answer ({why}); is the server up?")
            case AttributeError() if "bindings" in str(error):
                told = StoreClosed(f"{place} is closed; open the memory again")
            case UnicodeEncodeError(reason=why):
                why = f"a text holds a character that cannot be stored: {why}; remove it"
                told = InvalidInput(why)
            case ValueError() | OSError():
                told = StoreError(f"{place} cannot be used: {error}")
            case _ if type(error) is Exception:  # What else than Chroma answers.
                why = f"did not answer as Chroma does ({error}); is the server up?"
                told = StoreError(f"{place} {why}")
            case _:
                raise
        raise told from error
