"""The two collections: rows ⇄ what Chroma keeps.

``memories`` has the records (seed 001): the text as the document, the embedding in cosine space,
and as metadata whose it is, its type, when it was made, what the caller attached, the names it
mentions, and the whole row. ``ledger`` has everything that is not searched by meaning.

Every method is one or a few calls of Chroma, each atomic by itself; that several take effect
together is the work of the journal. Writing the same twice changes nothing.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, TypeVar

import numpy as np
from chromadb.api.models.Collection import Collection as ChromaCollection
from chromadb.errors import ChromaError

from recollect.core.errors import NotADatabase
from recollect.core.models import Kind
from recollect.core.vectors import Vector, Vectors
from recollect.stores.chroma.client import Connection, missing, translated
from recollect.stores.chroma.rows import Counters, Row, Stored, decode, encode
from recollect.stores.chroma.state import Changes

MEMORIES, LEDGER = "memories", "ledger"
EVERYTHING = ["metadatas", "documents", "embeddings"]
TEXTS = ("ids", "metadatas", "documents")
COMMITS = "commits"
"""The table of the journal, in the ledger."""
PAGE = 1_000
UNKNOWN_DIMENSIONS = 1
FLOAT = 4
NO_VECTOR = [1.0]
OWN = frozenset(
    {
        "user",
        "agent",
        "type",
        "created_at",
        "session_id",
        "entities",
        "indexed",
        "generation",
        "row",
    }
)
"""Names of metadata that are the store's own."""
CONVERSATION = "conversation"  # What seed 001 calls an episode.
LARGEST = 2**63 - 1
NAME = re.compile(r"[^\W\d][\w.-]{0,63}")
"""Names that metadata can have, of those that a caller may give. Others are in the row alone."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Write:
    """What is to be stored together.

    Attributes:
        user: whose rows they are.
        changes: the rows.
        vectors: embeddings of some of the records.
        new: the records that are not stored yet, if that is known.
    """

    user: str
    changes: Changes
    vectors: Mapping[str, Vector] = field(default_factory=dict)
    new: Collection[str] | None = None


class Shelf:
    """Reads and writes the collections of one place."""

    def __init__(self, connection: Connection) -> None:
        """Open the collections, making them if they are not there."""
        self.connection = connection
        self._mend()
        self._collections = {name: self._opened(name) for name in (MEMORIES, LEDGER)}

    # Collections

    def _opened(self, name: str) -> ChromaCollection:
        return self._made(self.connection.client, name, UNKNOWN_DIMENSIONS)

    def _made(self, client: Any, name: str, dimensions: int) -> ChromaCollection:
        with translated(self.connection.place):
            made: ChromaCollection = client.get_or_create_collection(
                name,
                embedding_function=None,
                metadata={"dimensions": dimensions},
                configuration={"hnsw": {"space": "cosine"}},
            )
            return made

    def _mend(self) -> None:
        """Finish or take back a rewriting that was broken off."""
        with translated(self.connection.place):
            client = self.connection.client
            names = {each.name for each in client.list_collections()}
            for name in (MEMORIES, LEDGER):
                if following(name) in names and name in names:
                    client.delete_collection(following(name))
                elif following(name) in names:
                    client.get_collection(following(name), embedding_function=None).modify(
                        name=name
                    )

    @property
    def dimensions(self) -> int:
        """How many numbers the embeddings have, also those that stand for none."""
        return int(
            (self._collections[MEMORIES].metadata or {}).get("dimensions", UNKNOWN_DIMENSIONS)
        )

    def look_again(self) -> int:
        """Open the memories again, as another process may have replaced them."""
        self._collections[MEMORIES] = self._opened(MEMORIES)
        return self.dimensions

    def _call(self, collection: str, method: str, **arguments: Any) -> Any:
        with translated(self.connection.place):
            try:
                return self._invoke(collection, method, arguments)
            except ChromaError as error:
                if not missing(error) or collection != MEMORIES:
                    raise
        # Another process has given the memories other dimensions.
        self.look_again()
        with translated(self.connection.place):
            return self._invoke(collection, method, arguments)

    def _invoke(self, collection: str, method: str, arguments: Mapping[str, Any]) -> Any:
        return getattr(self._collections[collection], method)(**arguments)

    # Reading

    def entries(self, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Return the metadata of the rows of the ledger with these ids, as far as they exist."""
        found = self._call(LEDGER, "get", ids=list(ids), include=["metadatas"])
        return dict(zip(found["ids"], _metadatas(found), strict=True))

    def load(self, user: str) -> list[Row]:
        """Return all rows of a user."""
        where: Any = {"$and": [{"user": user}, {"table": {"$ne": COMMITS}}]}
        rows = [
            self._row(entry["table"], entry)
            for page in self._pages(LEDGER, where, ["metadatas"])
            for entry in _metadatas(page)
        ]
        for page in self._pages(MEMORIES, {"user": user}, ["metadatas", "documents"]):
            rows += self._records(page)
        return rows

    def records(self, where: Mapping[str, Any], *, limit: int) -> list[Stored]:
        """Return the first records whose metadata Chroma lets through."""
        include = ["metadatas", "documents"]
        found = self._call(MEMORIES, "get", where=dict(where), limit=limit, include=include)
        return list(self._records(found))

    def count(self, where: Mapping[str, Any]) -> int:
        """Return how many records have metadata that Chroma lets through."""
        return len(self._call(MEMORIES, "get", where=dict(where), include=[])["ids"])

    def known(self, ids: Sequence[str]) -> set[str]:
        """Return which of these records are stored, whoever's they are."""
        return {
            each
            for part in batches(ids, PAGE)
            for each in self._call(MEMORIES, "get", ids=part, include=[])["ids"]
        }

    def vectors(self, ids: Sequence[str]) -> Vectors:
        """Return the embeddings of records, in the order of ``ids``."""
        held: dict[str, Any] = {}
        for part in batches(ids, PAGE):
            found = self._call(MEMORIES, "get", ids=part, include=["embeddings"])
            held.update(zip(found["ids"], found["embeddings"], strict=True))
        if not ids:
            return np.empty((0, 0), np.float32)
        return np.asarray([held[each] for each in ids], np.float32)

    def shelved(self) -> Iterator[tuple[Stored, dict[str, Any]]]:
        """Return every record and the metadata it is stored with, whoever's it is."""
        for page in self._pages(MEMORIES, None, ["metadatas", "documents"]):
            entries = dict(zip(page["ids"], _metadatas(page), strict=True))
            for row in self._records(page):
                yield row, entries[row.key]

    def users(self) -> dict[str, Counters]:
        """Return what is counted of every user that ever stored something."""
        found: dict[str, Counters] = {}
        for page in self._pages(LEDGER, {"table": Counters.table}, ["metadatas"]):
            for entry in _metadatas(page):
                row = self._row(Counters.table, entry)
                if isinstance(row, Counters):
                    found[entry["user"]] = row
        return found

    def _pages(
        self, collection: str, where: Mapping[str, Any] | None, include: Sequence[str]
    ) -> Iterator[Any]:
        condition = None if where is None else dict(where)
        for offset in count(0, PAGE):
            found = self._call(
                collection, "get", where=condition, include=include, limit=PAGE, offset=offset
            )
            yield found
            if len(found["ids"]) < PAGE:
                return

    def _records(self, found: Any) -> Iterator[Stored]:
        for key, text, entry in _listed(found):
            if "row" not in entry:
                continue  # Not written by recollect: ``verify`` tells of it.
            row = self._row(Stored.table, entry)
            if not isinstance(row, Stored) or row.key != key:
                raise self._damaged(key)
            yield replace(row, record=replace(row.record, content=text))

    def _row(self, table: str, entry: Mapping[str, Any]) -> Row:
        try:
            return decode(table, entry["row"])
        except (KeyError, ValueError) as error:
            raise self._damaged(f"a row of {table}") from error

    def _damaged(self, what: str) -> NotADatabase:
        message = (
            f"{self.connection.place}: {what} cannot be read; something else changed it, or a "
            f"newer recollect wrote it. Restore a backup, or upgrade"
        )
        return NotADatabase(message)

    # Writing

    def add_once(self, id: str, entry: Mapping[str, Any]) -> None:
        """Add a row to the ledger, unless there is one with this id: the first one stays."""
        self._call(LEDGER, "add", ids=[id], embeddings=[NO_VECTOR], metadatas=[dict(entry)])

    def remove(self, ids: Sequence[str]) -> None:
        """Remove rows of the ledger, those that are there."""
        for part in batches(ids, PAGE):
            self._call(LEDGER, "delete", ids=part)

    def write(self, write: Write) -> None:
        """Store rows. Counters come last: where they are, all before them is there, too."""
        gone = [key for (table, key), row in write.changes.items() if row is None]
        lost = [key for key in gone if (Stored.table, key) in write.changes]
        for part in batches(lost, PAGE):
            self._call(MEMORIES, "delete", ids=part)
        records = [row for row in write.changes.values() if isinstance(row, Stored)]
        for rows in batches(records, PAGE):
            self._write_records(rows, write)
        self._write_ledger(write)

    def _write_records(self, rows: Sequence[Stored], write: Write) -> None:
        # Where it is not known what is new, all is added: what is there already stays as it is,
        # and is then changed.
        new = [row for row in rows if write.new is None or row.key in write.new]
        old = [row for row in rows if write.new is None or row.key not in write.new]
        made = [row for row in old if row.key in write.vectors]
        rest = [row for row in old if row.key not in write.vectors]
        if new:
            self._add(new, write)
        if rest:
            entries = [metadata(write.user, row) for row in rest]
            self._call(MEMORIES, "update", ids=_keys(rest), metadatas=entries)
        if made:
            entries = [metadata(write.user, row) for row in made]
            vectors = [write.vectors[row.key] for row in made]
            self._call(MEMORIES, "update", ids=_keys(made), metadatas=entries, embeddings=vectors)

    def _add(self, rows: Sequence[Stored], write: Write) -> None:
        width, vectors = self.dimensions, write.vectors
        entries = [metadata(write.user, row) for row in rows]
        self._call(
            MEMORIES,
            "add",
            ids=_keys(rows),
            embeddings=[
                vectors[row.key] if row.key in vectors else placeholder(row.key, width)
                for row in rows
            ],
            documents=[row.record.content for row in rows],
            metadatas=[without_none(entry) for entry in entries],
        )

    def mend(self, wrong: Sequence[tuple[Stored, Mapping[str, Any]]]) -> None:
        """Give records the metadata of their rows in place of what they are stored with."""
        for part in batches(wrong, PAGE):
            entries = [
                {**dict.fromkeys(entry), **metadata(entry["user"], row)} for row, entry in part
            ]
            self._call(MEMORIES, "update", ids=_keys(r for r, _ in part), metadatas=entries)

    def _write_ledger(self, write: Write) -> None:
        self.remove(
            [
                address(write.user, *at)
                for at, row in write.changes.items()
                if row is None and at[0] != Stored.table
            ]
        )
        kept = [
            row for row in write.changes.values() if row is not None and not isinstance(row, Stored)
        ]
        kept.sort(key=lambda row: isinstance(row, Counters))
        for part in batches(kept, PAGE):
            self._call(
                LEDGER,
                "upsert",
                ids=[address(write.user, row.table, row.key) for row in part],
                embeddings=[NO_VECTOR] * len(part),
                metadatas=[
                    {"user": write.user, "table": row.table, "row": encode(row)} for row in part
                ],
            )

    def has(self, user: str, table: str) -> bool:
        """Return whether a user has any row of a table of the ledger, or any record."""
        if table == Stored.table:
            found = self._call(MEMORIES, "get", where={"user": user}, limit=1, include=[])
        else:
            where = {"$and": [{"user": user}, {"table": table}]}
            found = self._call(LEDGER, "get", where=where, limit=1, include=[])
        return bool(found["ids"])

    def bytes(self) -> int:
        """Return how many bytes the rows take, without what Chroma adds to them."""
        total = 0
        for collection in (MEMORIES, LEDGER):
            width = FLOAT * self._width(collection)
            for page in self._pages(collection, None, ["metadatas", "documents"]):
                texts = [text or "" for text in page["documents"]]
                rows = [entry.get("row", "") for entry in _metadatas(page)]
                total += sum(width + len(text.encode()) for text in (*texts, *rows))
        return total

    # All of it

    def _width(self, collection: str) -> int:
        return self.dimensions if collection == MEMORIES else UNKNOWN_DIMENSIONS

    def copy_to(self, client: Any) -> None:
        """Copy everything to another client, so that what is there is of one moment.

        What is committed while it goes on is in the journal, which is copied last.
        """
        for name, where in (
            (LEDGER, {"table": Counters.table}),
            (LEDGER, {"table": {"$nin": [Counters.table, COMMITS]}}),
            (MEMORIES, None),
            (LEDGER, {"table": COMMITS}),
        ):
            to = self._made(client, name, self._width(name))
            for page in self._pages(name, where, EVERYTHING):
                _paste(to, page, page["embeddings"])

    def rewrite(self, collection: str, dimensions: int | None = None) -> None:
        """Write a collection anew and drop the old one, with all that was removed from it.

        Args:
            collection: which.
            dimensions: how many numbers the embeddings have from now on; none of the old ones
                is kept then.
        """
        client = self.connection.client
        width = dimensions or self._width(collection)
        to = self._made(client, following(collection), width)
        done: dict[str, str] = {}
        while self._copy(collection, to, done, dimensions):
            pass  # What came or changed meanwhile.
        with translated(self.connection.place):
            client.delete_collection(collection)
            to.modify(name=collection)
        self._collections[collection] = to

    def _copy(
        self, collection: str, to: ChromaCollection, done: dict[str, str], dimensions: int | None
    ) -> int:
        copied = 0
        for page in self._pages(collection, None, EVERYTHING):
            seen = [(entry or {}).get("row", "") for entry in page["metadatas"]]
            fresh = [at for at, key in enumerate(page["ids"]) if done.get(key) != seen[at]]
            copied += len(fresh)
            done.update((page["ids"][at], seen[at]) for at in fresh)
            part = {name: page[name] and [page[name][at] for at in fresh] for name in TEXTS}
            vectors = [
                placeholder(page["ids"][at], dimensions) if dimensions else page["embeddings"][at]
                for at in fresh
            ]
            if fresh:
                with translated(self.connection.place):
                    _paste(to, part, vectors)
        return copied


def _paste(to: ChromaCollection, page: Mapping[str, Any], vectors: Any) -> None:
    if not page["ids"]:
        return
    told = {"documents": page["documents"]} if any(page["documents"] or ()) else {}
    to.upsert(ids=page["ids"], embeddings=vectors, metadatas=page["metadatas"], **told)


def following(collection: str) -> str:
    """Return the name under which a collection is written anew."""
    return f"{collection}-next"


def address(user: str, table: str, key: str) -> str:
    """Return the id of a row of the ledger."""
    return json.dumps([user, table, key], ensure_ascii=False)


def placeholder(id: str, dimensions: int) -> Vector:
    """Return what stands for the embedding of a record that has none yet.

    A direction of its own for each, so that it is near to nothing that is asked for.
    """
    seed = int.from_bytes(hashlib.blake2b(id.encode(), digest_size=8).digest())
    made = np.random.default_rng(seed).standard_normal(dimensions)
    vector: Vector = (made / np.linalg.norm(made)).astype(np.float32)
    return vector


def metadata(user: str, row: Stored) -> dict[str, Any]:
    """Return the metadata of a record: what can be filtered by, and the row without its text."""
    item = row.record
    attached = {
        name: value
        for name, value in item.attributes.items()
        if NAME.fullmatch(name) and _is_plain(value)
    }
    own = {
        "user": user,
        "agent": item.agent,
        "type": CONVERSATION if item.kind is Kind.EPISODE else item.kind.value,
        "created_at": item.created_at.isoformat(),
        "session_id": item.session_id,
        "entities": sorted({name for _, name in row.links}) or None,
        "indexed": row.indexed,
        "generation": row.generation,
        "row": encode(replace(row, record=replace(item, content=""))),
    }
    return {**attached, **own}


def batches(values: Sequence[T] | Collection[T], size: int) -> Iterator[list[T]]:
    """Return ``values`` in lists of at most ``size``."""
    held = list(values)
    for start in range(0, len(held), size):
        yield held[start : start + size]


def _is_plain(value: object) -> bool:
    if isinstance(value, int) and not isinstance(value, bool):
        return -LARGEST <= value <= LARGEST
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, str | bool)


def without_none(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return an entry as Chroma keeps it: without what has no value."""
    return {name: value for name, value in entry.items() if value is not None}


def _keys(rows: Iterable[Stored]) -> list[str]:
    return [row.key for row in rows]


def _listed(found: Any) -> list[tuple[str, str, dict[str, Any]]]:
    return list(zip(found["ids"], found["documents"], _metadatas(found), strict=True))


def _metadatas(found: Any) -> Iterable[dict[str, Any]]:
    return [entry or {} for entry in found["metadatas"]]
