"""A folder of Chroma: locked for this process, called, and cleaned of what was removed from it.

The journal in it tells what each commit changed, in order, as rows of a collection. An entry is a
patchset of SQLite's session extension, in base64 as metadata (documents would go into Chroma's
full-text index), in one row, or in several where it is large; the first of these is written last,
and is the commit. A snapshot is an entry that holds everything, and begins the journal anew.
"""

from __future__ import annotations

import os
import shutil
import stat
import struct
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep
from typing import Any, TypeVar

import apsw
import chromadb
from chromadb.api.models.Collection import Collection
from chromadb.config import Settings
from chromadb.errors import ChromaError
from filelock import FileLock, Timeout

from memoranda import errors
from memoranda.store.sql.database import require_known
from memoranda.text.files import make_private_folder

SCHEME = "chroma://"
DATABASE, LOG, LOCK = "chroma.sqlite3", "chroma.sqlite3-wal", "memoranda.lock"
# Seconds to wait for another process that has the folder.
PATIENCE = 5.0
# Seconds to wait for the threads of a client that was closed, and between two looks at them.
LEAVING, POLL = 10.0, 0.05
# Rows that one call of Chroma takes.
PAGE = 1_000
# After so many writes Chroma saves an index; those that come later are replayed at each opening.
HNSW = {"hnsw": {"space": "cosine", "sync_threshold": 100, "batch_size": 100}}
SPACE = {"hnsw:space": "cosine"}
MEMORIES, JOURNAL = "memories", "memoranda-journal"
# Characters of a patch in one row: Chroma holds the rows of a call several times.
PIECE = 1_000_000
# Characters of commits that are kept behind any snapshot.
SMALLEST = 1 << 18
NO_VECTOR = [1.0]
# How the header of an index begins: among others the number of its vectors and the bytes of each.
INDEX_HEADER = struct.Struct("<iQQQQQQ")
INDEX_VERSION = 1
# Bytes of the length of a vector.
LENGTH = 4
# What an error of Chroma or of its database says, the error of ours, and what that says.
MEANINGS: Mapping[str, tuple[type[errors.StoreError], str]] = {
    "disk is full|no space left": (errors.StoreFull, "is full; make room, nothing stored was lost"),
    "readonly|read-only|permission denied": (
        errors.StoreReadOnly,
        "cannot be written; change its permissions",
    ),
    "not a database|malformed": (errors.NotADatabase, "is damaged; restore a backup"),
    "locked": (errors.StoreBusy, "is in use by another program; close that one and try again"),
}
# What Chroma's database keeps of rows that were removed or replaced: texts and metadata of writes
# that are in the rows already. The vectors of these writes stay: the index may not have been saved
# with them yet.
CLEAN = """
PRAGMA secure_delete = ON;
BEGIN;
UPDATE embeddings_queue SET metadata = NULL WHERE metadata IS NOT NULL AND seq_id <= (
    SELECT m.seq_id FROM segments s JOIN max_seq_id m ON m.segment_id = s.id
    WHERE s.scope = 'METADATA' AND s.collection = substr(embeddings_queue.topic, -36)
);
INSERT INTO embedding_fulltext_search (embedding_fulltext_search) VALUES ('optimize');
COMMIT;
VACUUM;
"""
# The calls of a collection that change nothing.
READING = frozenset({"get", "count", "query", "peek"})
T = TypeVar("T")


def _copy_folder(path: Path, copy: Path) -> Path:
    """Copy a folder that may only be read, as Chroma writes into it to read; return the copy."""
    shutil.copytree(path, copy, copy_function=shutil.copyfile)
    for each in (copy, *(each for each in copy.rglob("*") if each.is_dir())):
        each.chmod(stat.S_IRWXU)
    return copy


class ChromaFolder:
    """A folder in which Chroma keeps its files, used by this process alone until it is closed.

    Attributes:
        path: the folder.

    Raises:
        StoreBusy: another process has it.
        NotADatabase: it is a file, or a folder of something else.
        StoreError: Chroma cannot open it.
    """

    def __init__(self, path: Path) -> None:
        """Lock the folder and open it, making it if it is not there."""
        self.path, self._process = path, os.getpid()
        self._collections: dict[str, Collection] = {}
        self._at, self._copy = path, None
        with self._translated():
            if path.is_dir() and not os.access(path, os.W_OK):
                self._copy = TemporaryDirectory(prefix="memoranda-")
                self._at = _copy_folder(path, Path(self._copy.name) / "chroma")
            self._prepare()
            self._lock = FileLock(self._at / LOCK)
            try:
                self._lock.acquire(timeout=PATIENCE)
            except Timeout as error:
                why = f"{path} is in use by another process, and serves one at a time; "
                remedy = f"close that one, or look at a copy: cp -r {path} COPY"
                raise errors.StoreBusy(why + remedy) from error
            try:
                # By a log of what is written ahead, a call takes half the time.
                with closing(apsw.Connection(str(self._at / DATABASE))) as database:
                    database.execute("PRAGMA journal_mode = WAL").fetchall()
                self._client = self._open_client()
            except BaseException:
                self._release()
                raise

    def __str__(self) -> str:
        """Return the location as it is given to ``Memory``."""
        return f"{SCHEME}{self.path}"

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
            message = f"{self.path} was opened before this process was forked; use it in that one"
            raise errors.StoreBusy(message)
        if self._copy and method not in READING:
            message = f"{self} cannot be written; this process may not write {self.path}"
            raise errors.StoreReadOnly(f"{message}; change its permissions, or use a copy")
        with self._translated():
            if name not in self._collections:
                self._collections[name] = self._client.get_or_create_collection(
                    name, embedding_function=None, metadata=SPACE, configuration=HNSW
                )
            return getattr(self._collections[name], method)(**arguments)

    def rows(self, name: str, ids: Sequence[str] | None = None) -> Iterator[tuple[str, str, Any]]:
        """Yield id, text and metadata of rows of a collection, or of all of them."""
        for some in batches(self.ids(name) if ids is None else ids, PAGE):
            found = self.call(name, "get", ids=list(some), include=["documents", "metadatas"])
            yield from zip(found["ids"], found["documents"], found["metadatas"], strict=True)

    def ids(self, name: str, **where: Any) -> list[str]:
        """Return the ids of the rows of a collection."""
        return list(self.call(name, "get", include=[], **where)["ids"])

    def drop(self, name: str) -> None:
        """Remove a collection with everything in it."""
        self._collections.pop(name, None)
        with self._translated():
            self._client.delete_collection(name)

    def clean(self) -> None:
        """Overwrite what Chroma's database holds of rows that were removed or replaced.

        The floats of removed vectors stay in the files of the index until Chroma writes it anew.
        """
        for name in (JOURNAL, MEMORIES):
            self._save_index(name)
        with self._translated():
            try:
                self._leave()
                with closing(apsw.Connection(str(self._at / DATABASE))) as database:
                    database.execute(CLEAN).fetchall()
            finally:
                self._client = self._open_client()

    def _save_index(self, name: str) -> None:
        """Let Chroma save the index of a collection, by as many writes as it takes.

        One that was not saved is made anew later, with whatever is in the memory of the process.
        """
        self.call(name, "count")
        writes = self._collections[name].configuration_json["hnsw"]["sync_threshold"]
        ids = [f"nobody-{number}" for number in range(writes)]
        self.call(name, "update", ids=ids, metadatas=[{"type": "nothing"}] * writes)

    def close(self) -> None:
        """Close the client and unlock the folder. Closing it twice is harmless."""
        if self._lock.is_locked:
            with suppress(Exception):  # There is nothing to lose any more.
                self._leave()
            self._release()

    def _release(self) -> None:
        self._lock.release()
        if self._copy:
            self._copy.cleanup()

    def _prepare(self) -> None:
        if not self.path.is_file():
            make_private_folder(self._at)
            if (self._at / DATABASE).exists() or {*self._at.iterdir()} <= {self._at / LOCK}:
                return
        message = f"{self.path} is a file, or not Chroma's; choose an empty or a new folder"
        raise errors.NotADatabase(message)

    def _open_client(self) -> Any:  # The interface of Chroma's clients lacks `close`.
        # Neither the environment nor an .env file says anything of this folder.
        settings = Settings.model_construct(anonymized_telemetry=False)
        return chromadb.PersistentClient(path=str(self._at), settings=settings)

    def _leave(self) -> None:
        """Close the client, and wait until its threads have left the database without a log."""
        self._collections.clear()
        self._client.close()
        end = monotonic() + LEAVING
        while (self._at / LOG).exists():
            if monotonic() > end:
                raise errors.StoreBusy(f"{self} is in use by another program; close that one")
            sleep(POLL)
            # Threads that leave at once leave the log: the last one to close takes it away.
            with suppress(apsw.Error), closing(apsw.Connection(str(self._at / DATABASE))) as it:
                it.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        self._blank_room()

    def _blank_room(self) -> None:
        """Overwrite what Chroma saved behind the last vector of an index.

        It is memory of the process that was never used for the index: perhaps an erased text.
        """
        for header in self._at.glob("*/header.bin"):
            version, _, _, used, size, _, _ = INDEX_HEADER.unpack_from(header.read_bytes())
            if version != INDEX_VERSION:
                continue
            for name, width in (("data_level0.bin", size), ("length.bin", LENGTH)):
                with (header.parent / name).open("r+b") as file:
                    room = file.seek(0, os.SEEK_END) - used * width
                    file.seek(used * width)
                    file.write(bytes(max(room, 0)))

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Raise an error of ours that names the folder in place of any of Chroma's."""
        try:
            yield
        except (ChromaError, apsw.Error, OSError, ValueError) as error:
            for words, (kind, message) in MEANINGS.items():
                if any(each in str(error).lower() for each in words.split("|")):
                    raise kind(f"{self} {message} ({error})") from error
            raise errors.StoreError(f"{self} cannot be used: {error}") from error


class Journal:
    """Keeps the commits of a folder.

    Attributes:
        number: of the last entry; 0 before any.
        outgrown: whether the commits are larger than the snapshot that they follow.
    """

    def __init__(self, folder: ChromaFolder) -> None:
        """Keep them in a collection of their own."""
        self._folder = folder
        self.number = self._snapshot_size = self._commits_size = 0

    def read(self) -> Iterator[tuple[int, bytes, bool]]:
        """Yield the last snapshot and the commits after it, in order.

        Of each: the number of the schema that the tables had, the patchset, and whether it is a
        snapshot.

        Raises:
            SchemaTooNew: a newer memoranda wrote one.
            NotADatabase: one is missing or cannot be read.
        """
        first = max(self._folder.ids(JOURNAL, where={"snapshot": True}), default="")
        heads = [each for each in self._folder.ids(JOURNAL) if each.isdigit() and each >= first]
        for key, _, row in sorted(self._folder.rows(JOURNAL, heads)):
            try:
                schema, is_snapshot = row["schema"], row["snapshot"]
                if not is_snapshot and row["number"] != self.number + 1:
                    raise ValueError(f"entry {self.number + 1} is missing")  # noqa: TRY301
                parts = [f"{key}-{part}" for part in range(1, row["parts"])]
                pieces = {each: it["patch"] for each, _, it in self._folder.rows(JOURNAL, parts)}
                text = row["patch"] + "".join(pieces[each] for each in parts)
                patch = b64decode(text, validate=True)
            except (KeyError, ValueError, TypeError) as error:
                message = f"{self._folder}: the journal cannot be read ({error}); restore a backup"
                raise errors.NotADatabase(message) from error
            require_known(schema, str(self._folder))
            self._count(row["number"], len(text), is_snapshot=is_snapshot)
            yield schema, patch, is_snapshot

    def append(self, schema: int, patch: bytes, is_snapshot: bool = False) -> None:  # noqa: FBT001, FBT002 - as `read` yields them
        """Commit an entry; where it fails, it is not there.

        Args:
            schema: number of the schema of the tables.
            patch: the patchset.
            is_snapshot: whether the patchset holds everything, and takes the place of all before.
        """
        text = b64encode(patch).decode()
        pieces = list(batches(text, PIECE)) or [""]
        number = self.number + 1
        head = {"schema": schema, "parts": len(pieces), "snapshot": is_snapshot}
        for part in reversed(range(len(pieces))):
            row = {"number": number, "patch": pieces[part]} | ({} if part else head)
            key = f"{number:012}-{part}" if part else f"{number:012}"
            values = {"ids": [key], "embeddings": [NO_VECTOR], "metadatas": [row]}
            self._folder.call(JOURNAL, "upsert", **values)
        self._count(number, len(text), is_snapshot=is_snapshot)
        if is_snapshot:
            self._folder.call(JOURNAL, "delete", where={"number": {"$lt": number}})

    @property
    def outgrown(self) -> bool:
        """Whether the commits are larger than the snapshot that they follow."""
        return self._commits_size > max(self._snapshot_size, SMALLEST)

    def _count(self, number: int, size: int, *, is_snapshot: bool) -> None:
        self.number = number
        self._commits_size = 0 if is_snapshot else self._commits_size + size
        self._snapshot_size = size if is_snapshot else self._snapshot_size


def batches(values: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Yield ``values`` in parts of at most ``size``."""
    for start in range(0, len(values), size):
        yield values[start : start + size]
