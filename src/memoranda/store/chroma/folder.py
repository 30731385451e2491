"""A folder of Chroma: locked for this process, called, and cleaned of what was removed from it."""

from __future__ import annotations

import json
import os
import shutil
import struct
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Any, TypeVar

import apsw
import chromadb
from chromadb.api.models.Collection import Collection
from chromadb.config import Settings
from chromadb.errors import ChromaError, NotFoundError
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

SCHEME = "chroma://"
DATABASE, LOG, LOCK = "chroma.sqlite3", "chroma.sqlite3-wal", "memoranda.lock"
# Seconds to wait for another process that has the folder.
PATIENCE = 5.0
# Seconds to wait for the threads of a client that was closed.
LEAVING = 10.0
# Seconds after which the log of a client that was closed is taken away for its threads.
GRACE = 0.05
POLL = 0.001
FOLDER_MODE = 0o700
# Rows that one call of Chroma takes.
PAGE = 1_000
# Writes after which Chroma saves an index; those that come later are replayed at each opening.
SYNC = 100
# How the header of an index begins: among others the number of its vectors and the bytes of each.
INDEX_HEADER = struct.Struct("<iQQQQQQ")
INDEX_VERSION = 1
# Bytes of the length of a vector.
LENGTH = 4
# Words of an error of Chroma or of its database, the error of ours, and what it says.
MEANINGS: tuple[tuple[tuple[str, ...], type[StoreError], str], ...] = (
    (
        ("disk is full", "no space left"),
        StoreFull,
        "{place} is full; make room. What was stored before is intact",
    ),
    (
        ("readonly", "read-only", "permission denied"),
        StoreReadOnly,
        "{place} cannot be written; change its permissions",
    ),
    (
        ("not a database", "malformed"),
        NotADatabase,
        "{place} is damaged or no database of Chroma ({error}); restore a backup",
    ),
    (("locked",), StoreBusy, "{place} is in use by another program; close that one and try again"),
)
# What Chroma's database keeps of rows that were removed or replaced.
CLEANING = (
    # Rows of collections that were dropped.
    "DELETE FROM embedding_metadata WHERE id NOT IN (SELECT id FROM embeddings)",
    "DELETE FROM embedding_metadata_array WHERE id NOT IN (SELECT id FROM embeddings)",
    "DELETE FROM embedding_fulltext_search WHERE rowid NOT IN (SELECT id FROM embeddings)",
    "DELETE FROM embeddings_queue WHERE substr(topic, -36) NOT IN (SELECT id FROM collections)",
    # Texts and metadata of writes that are in the rows already. The vectors of these writes stay:
    # the index may not have been saved with them yet.
    """
    UPDATE embeddings_queue SET metadata = NULL WHERE metadata IS NOT NULL AND seq_id <= (
        SELECT m.seq_id FROM segments s JOIN max_seq_id m ON m.segment_id = s.id
        WHERE s.scope = 'METADATA' AND s.collection = substr(embeddings_queue.topic, -36)
    )
    """,
    # Names of metadata that no row has any more.
    """
    UPDATE collections SET schema_str = json_set(schema_str, '$.keys', json((
        SELECT json_group_object(k.key, json(k.value)) FROM json_each(schema_str, '$.keys') k
        WHERE k.key LIKE '#%' OR k.key IN (
            SELECT key FROM embedding_metadata UNION SELECT key FROM embedding_metadata_array
        )
    )))
    WHERE name IN (SELECT value FROM json_each(:collections))
    AND json_type(schema_str, '$.keys') = 'object'
    """,
    "INSERT INTO embedding_fulltext_search (embedding_fulltext_search) VALUES ('optimize')",
)
T = TypeVar("T")


class ChromaFolder:
    """A folder in which Chroma keeps its files, used by this process alone until it is closed.

    Attributes:
        path: the folder.

    Raises:
        StoreBusy: another process has it.
        NotADatabase: it is a file, or a folder of something else.
        StoreReadOnly: it cannot be written.
        StoreError: Chroma cannot open it.
    """

    def __init__(self, path: Path) -> None:
        """Lock the folder and open it, making it if it is not there."""
        self.path, self._process = path, os.getpid()
        self._collections: dict[str, Collection] = {}
        with self._translated():
            self._prepare()
            self._lock = FileLock(path / LOCK)
            try:
                self._lock.acquire(timeout=PATIENCE)
            except Timeout as error:
                message = (
                    f"{path} is in use by another process, and a folder of Chroma serves one at a "
                    f"time; close that one, or move the memory to a SQLite file or to PostgreSQL, "
                    f"which serve several: memoranda copy {self} agent.db"
                )
                raise StoreBusy(message) from error
            try:
                self._write_ahead()
                self._client = self._open_client()
            except BaseException:
                self._lock.release()
                raise

    def __str__(self) -> str:
        """Return the location as it is given to ``Memory``."""
        return f"{SCHEME}{self.path}"

    # Collections

    def names(self) -> list[str]:
        """Return the names of all collections in the folder."""
        with self._translated():
            return [each.name for each in self._client.list_collections()]

    def call(self, name: str, method: str, **arguments: Any) -> Any:
        """Call a method of a collection, which is made if it is not there.

        Raises:
            StoreBusy: this process was forked from the one that opened the folder.
            StoreError: Chroma could not do it; a write was not carried out.
        """
        if self._process != os.getpid():
            message = (
                f"{self.path} was opened before this process was forked, and a folder of Chroma "
                f"serves one process at a time; open the memory in the one that uses it"
            )
            raise StoreBusy(message)
        with self._translated():
            if name not in self._collections:
                self._collections[name] = self._client.get_or_create_collection(
                    name,
                    embedding_function=None,
                    metadata={"hnsw:space": "cosine"},
                    configuration={
                        "hnsw": {"space": "cosine", "sync_threshold": SYNC, "batch_size": SYNC}
                    },
                )
            return getattr(self._collections[name], method)(**arguments)

    def pages(self, name: str, included: Sequence[str]) -> Iterator[dict[str, Any]]:
        """Yield all rows of a collection, a page at a time, as ``get`` returns them."""
        found: list[str] = self.call(name, "get", include=[])["ids"]
        for ids in batches(found, PAGE):
            yield self.call(name, "get", ids=ids, include=list(included))

    def drop(self, name: str) -> None:
        """Remove a collection with everything in it; it may be missing."""
        self._collections.pop(name, None)
        with self._translated(), suppress(NotFoundError):
            self._client.delete_collection(name)

    # Files

    def clean(self, names: Sequence[str]) -> None:
        """Overwrite what Chroma's database holds of rows that were removed or replaced.

        The floats of removed vectors stay in the files of the index until Chroma writes it anew.

        Args:
            names: the collections that are not of other programs.
        """
        for name in names:
            self._save_index(name)
        with self._left():
            flags = apsw.SQLITE_OPEN_READWRITE
            with closing(apsw.Connection(str(self.path / DATABASE), flags=flags)) as database:
                database.execute("PRAGMA secure_delete = ON").fetchall()
                with database:
                    for statement in CLEANING:
                        database.execute(statement, {"collections": json.dumps(list(names))})
                database.execute("VACUUM").fetchall()
                used = {row[0] for row in database.execute("SELECT id FROM segments")}
            for index in self.path.glob("*/header.bin"):
                if index.parent.name not in used:
                    shutil.rmtree(index.parent)

    def _save_index(self, name: str) -> None:
        """Let Chroma save the index of a collection, by as many writes as it takes.

        An index that was not saved is made anew at the next opening, with whatever is in the
        memory of the process. A collection without rows goes with its index.
        """
        if not self.call(name, "count"):
            self.drop(name)
            return
        writes = self._collections[name].configuration_json["hnsw"]["sync_threshold"]
        for ids in batches([f"nobody-{number}" for number in range(writes)], PAGE):
            self.call(name, "update", ids=list(ids), metadatas=[{"type": "nothing"}] * len(ids))

    def copy(self, target: Path) -> None:
        """Write a copy of the folder to ``target``, which appears whole or not at all.

        Raises:
            InvalidInput: there is something already.
            StoreError: it cannot be written.
        """
        if target.exists():
            raise InvalidInput(f"{target} exists already; name a folder that does not")
        if not target.absolute().parent.is_dir():
            message = f"{target.parent} is no folder; make it first, or name another place"
            raise StoreReadOnly(message)
        part = target.with_name(f"{target.name}.part")
        with self._left():
            try:
                shutil.copytree(self.path, part, ignore=shutil.ignore_patterns(LOCK))
                part.rename(target)
            except OSError as error:
                shutil.rmtree(part, ignore_errors=True)
                message = f"{target} cannot be written ({error.strerror}); name another folder"
                raise StoreReadOnly(message) from error

    def size(self) -> int:
        """Return the bytes of all files in the folder."""
        return sum(path.stat().st_size for path in self.path.rglob("*") if path.is_file())

    def close(self) -> None:
        """Close the client and unlock the folder. Closing it twice is harmless."""
        if self._lock.is_locked:
            with suppress(Exception):  # There is nothing to lose any more.
                self._leave()
            self._lock.release()

    # Opening and leaving

    def _prepare(self) -> None:
        path = self.path
        if path.exists() and not path.is_dir():
            message = f"{path} is a file; a store on Chroma is a folder, so choose another path"
            raise NotADatabase(message)
        if path.is_dir() and not (path / DATABASE).exists() and {*path.iterdir()} - {path / LOCK}:
            message = f"{path} holds files that are not Chroma's; choose an empty or a new folder"
            raise NotADatabase(message)
        path.mkdir(parents=True, exist_ok=True, mode=FOLDER_MODE)
        if not os.access(path, os.W_OK):
            message = f"{path} cannot be written; change its permissions or choose another folder"
            raise StoreReadOnly(message)

    def _write_ahead(self) -> None:
        """Let the database write ahead to a log, by which a call takes a fraction of the time.

        Only before Chroma opens it: a process that opens a database by two libraries at once
        loses its locks on it.
        """
        if not (self.path / LOG).exists():  # Else it does so already; a killed process left it.
            with closing(apsw.Connection(str(self.path / DATABASE))) as database:
                database.set_busy_timeout(int(PATIENCE * 1_000))
                database.execute("PRAGMA journal_mode = WAL").fetchall()

    def _open_client(self) -> Any:  # The interface of Chroma's clients lacks `close`.
        settings = Settings(anonymized_telemetry=False)
        return chromadb.PersistentClient(path=str(self.path), settings=settings)

    def _leave(self) -> None:
        """Close the client, and wait until its threads have left the database without a log."""
        self._collections.clear()
        self._client.close()
        since = monotonic()
        while (self.path / LOG).exists():
            waited = monotonic() - since
            if waited > LEAVING:
                raise StoreBusy(f"{self} is in use by another program; close that one")
            if waited > GRACE:
                # The last one to close a database takes its log away.
                with (
                    suppress(apsw.Error),
                    closing(apsw.Connection(str(self.path / DATABASE))) as it,
                ):
                    it.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            sleep(POLL)
        self._blank_room()

    def _blank_room(self) -> None:
        """Overwrite what Chroma saved behind the last vector of an index.

        It is memory of the process that was never used for the index: perhaps an erased text.
        """
        for header in self.path.glob("*/header.bin"):
            begin = header.read_bytes()[: INDEX_HEADER.size]
            version, _, _, used, size, _, _ = INDEX_HEADER.unpack(begin)
            if version != INDEX_VERSION:
                continue
            for name, width in (("data_level0.bin", size), ("length.bin", LENGTH)):
                with (header.parent / name).open("r+b") as file:
                    room = file.seek(0, os.SEEK_END) - used * width
                    file.seek(used * width)
                    file.write(bytes(max(room, 0)))

    @contextmanager
    def _left(self) -> Iterator[None]:
        """Close Chroma for as long as the block lasts, so that its files may be used."""
        with self._translated():
            try:
                self._leave()
                yield
            finally:
                self._client = self._open_client()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Raise an error of ours that names the folder in place of any of Chroma's."""
        try:
            yield
        except MemorandaError:
            raise
        except (ChromaError, apsw.Error, OSError, ValueError) as error:
            raise self._meaning(error) from error
        except AttributeError as error:
            if "bindings" not in str(error):
                raise
            raise StoreClosed(f"{self} is closed; open the memory again") from error

    def _meaning(self, error: Exception) -> MemorandaError:
        if isinstance(error, NotFoundError):
            return StoreError(f"{self}: what is there was removed ({error}); open it again")
        if isinstance(error, UnicodeEncodeError):
            why = f"a text holds a character that cannot be stored: {error.reason}; remove it"
            return InvalidInput(why)
        text = str(error).lower()
        for words, kind, message in MEANINGS:
            if any(each in text for each in words):
                return kind(message.format(place=self, error=error))
        return StoreError(f"{self} cannot be used: {error}")


def batches(values: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Yield ``values`` in parts of at most ``size``."""
    for start in range(0, len(values), size):
        yield values[start : start + size]
