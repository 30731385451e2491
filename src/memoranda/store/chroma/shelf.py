"""Rows ⇄ what Chroma keeps in its collections.

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
from datetime import UTC, datetime
from typing import Any

import numpy as np

from memoranda.errors import NotADatabase, StoreError
from memoranda.model.models import Kind
from memoranda.model.vectors import Vector, Vectors
from memoranda.store.chroma.collections import (
    COMMITS,
    LEDGER,
    MEMORIES,
    PAGE,
    Collections,
    batches,
)
from memoranda.store.chroma.rows import Counters, Row, Stored, decode, encode
from memoranda.store.chroma.state import Changes

UNKNOWN_DIMENSIONS = 384
"""Of stand-ins where no model is known yet: those of all-MiniLM-L6-v2 (seed 001)."""
NO_VECTOR = [1.0]
OWN = frozenset(
    {
        "user",
        "agent",
        "type",
        "created_at",
        "valid_until",
        "session_id",
        "entities",
        "closed",
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


class Shelf(Collections):
    """Reads and writes the rows of one place."""

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

    def vectors(self, ids: Sequence[str], width: int) -> Vectors:
        """Return the embeddings of records, in the order of ``ids``.

        What another process erased in this moment has one that is near to nothing.
        """
        if not ids:
            return np.empty((0, 0), np.float32)
        held: dict[str, Any] = {}
        home = self.home(width)
        for part in batches(ids, PAGE):
            found = self._call(home, "get", ids=part, include=["embeddings"])
            held.update(zip(found["ids"], found["embeddings"], strict=True))
        rows = [held[each] if each in held else placeholder(each, width) for each in ids]
        return np.asarray(rows, np.float32)

    def embedded(self, width: int) -> set[str]:
        """Return the records that have an embedding of this length, or what stands for one."""
        pages = self._pages(self.home(width), None, [])
        return {each for page in pages for each in page["ids"]}

    def commits(self, user: str) -> list[str]:
        """Return the ids of the commits of a user that are kept."""
        where = {"$and": [{"user": user}, {"table": COMMITS}]}
        return [each for page in self._pages(LEDGER, where, []) for each in page["ids"]]

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

    def _records(self, found: Any) -> Iterator[Stored]:
        for key, text, entry in _listed(found):
            if "row" not in entry:
                continue  # Not written by memoranda, and none of its business.
            row = self._row(Stored.table, entry, key)
            if not isinstance(row, Stored) or row.key != key or text is None:
                raise self._damaged(key)
            yield replace(row, record=replace(row.record, content=text))

    def _row(self, table: str, entry: Mapping[str, Any], key: str = "a row") -> Row:
        try:
            return decode(table, entry["row"])
        except (KeyError, ValueError) as error:
            raise self._damaged(f"{key} of {table}") from error

    def _damaged(self, what: str) -> NotADatabase:
        message = (
            f"{self.connection.place}: {what} cannot be read; something else changed it, or a "
            f"newer memoranda wrote it. Restore a backup, or upgrade"
        )
        return NotADatabase(message)

    # Writing

    def enter(self, entries: Mapping[str, Mapping[str, Any]]) -> None:
        """Add rows to the ledger; where others may do so, too, the first one with an id stays."""
        self._call(
            LEDGER,
            "add" if self.connection.shared else "upsert",
            ids=list(entries),
            embeddings=[NO_VECTOR] * len(entries),
            metadatas=[dict(entry) for entry in entries.values()],
        )

    def remove(self, ids: Sequence[str]) -> None:
        """Remove rows of the ledger, those that are there."""
        for part in batches(ids, PAGE):
            self._call(LEDGER, "delete", ids=part)

    def is_one_call(self, write: Write) -> bool:
        """Return whether a write is a single call, and so all or nothing by itself."""
        rows = write.changes.values()
        return len(rows) <= PAGE and not any(row is None or isinstance(row, Stored) for row in rows)

    def write(self, write: Write) -> None:
        """Store rows. Counters come last: where they are, all before them is there, too."""
        lost = [
            key
            for (table, key), row in write.changes.items()
            if row is None and table == Stored.table
        ]
        for home in self.homes() if lost else ():
            for part in batches(lost, PAGE):
                self._call(home, "delete", ids=part)
        records = [row for row in write.changes.values() if isinstance(row, Stored)]
        for rows in batches(records, PAGE):
            self._write_records(rows, write)
        self._write_ledger(write)

    def _write_records(self, rows: Sequence[Stored], write: Write) -> None:
        known = self.width()
        try:
            self._write_wide(known or self.wanted or UNKNOWN_DIMENSIONS, rows, write)
        except StoreError:
            found = None if known else self.width()
            if found is None:
                raise
            # Another process was the first to store something, of another length.
            self._write_wide(found, rows, write)

    def _write_wide(self, width: int, rows: Sequence[Stored], write: Write) -> None:
        vectors = {row.key: write.vectors[row.key] for row in rows if row.key in write.vectors}
        here = {key: vector for key, vector in vectors.items() if len(vector) == width}
        # Where it is not known what is new, all is added: what is there already stays as it is,
        # and is then changed.
        new = [row for row in rows if write.new is None or row.key in write.new]
        old = [row for row in rows if write.new is None or row.key not in write.new]
        made = [row for row in old if row.key in here]
        rest = [row for row in old if row.key not in here]
        self._write_apart([key for key in vectors if key not in here], write)
        if new:
            self._add(new, width, here, write.user)
        if rest:
            entries = [metadata(write.user, row) for row in rest]
            self._call(MEMORIES, "update", ids=_keys(rest), metadatas=entries)
        if made:
            # Chroma's index takes four times as long to move a vector as to take a new one in.
            self._call(MEMORIES, "delete", ids=_keys(made))
            self._add(made, width, here, write.user)

    def _write_apart(self, keys: Sequence[str], write: Write) -> None:
        """Store vectors of other lengths than those of the memories."""
        for width in {len(write.vectors[key]) for key in keys}:
            ids = [key for key in keys if len(write.vectors[key]) == width]
            self._call(
                self.home(width),
                "upsert",
                ids=ids,
                embeddings=[write.vectors[key] for key in ids],
                metadatas=[{"user": write.user}] * len(ids),
            )

    def _add(
        self, rows: Sequence[Stored], width: int, vectors: Mapping[str, Vector], user: str
    ) -> None:
        entries = [metadata(user, row) for row in rows]
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
                metadatas=[entry(write.user, row) for row in part],
            )

    def has(self, user: str, table: str) -> bool:
        """Return whether a user has any row of a table of the ledger, or any record."""
        if table == Stored.table:
            found = self._call(MEMORIES, "get", where={"user": user}, limit=1, include=[])
        else:
            where = {"$and": [{"user": user}, {"table": table}]}
            found = self._call(LEDGER, "get", where=where, limit=1, include=[])
        return bool(found["ids"])


def address(user: str, table: str, key: str) -> str:
    """Return the id of a row of the ledger."""
    return json.dumps([user, table, key], ensure_ascii=False)


def entry(user: str, row: Row) -> dict[str, Any]:
    """Return the metadata of a row of the ledger."""
    return {"user": user, "table": row.table, "row": encode(row)}


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
        "created_at": _stamp(item.created_at),
        "valid_until": None if item.valid_until is None else _stamp(item.valid_until),
        "session_id": item.session_id,
        "entities": sorted({name for _, name in row.links}) or None,
        "closed": row.closed_at is not None or item.superseded_by is not None,
        "indexed": row.indexed,
        "generation": row.generation,
        "row": encode(replace(row, record=replace(item, content=""))),
    }
    return {**attached, **own}


def _stamp(moment: datetime) -> str:
    """Return a moment as seed 001 writes it: UTC, in ISO 8601 without a zone."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat()


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


def _listed(found: Any) -> list[tuple[str, str | None, dict[str, Any]]]:
    return list(zip(found["ids"], found["documents"], _metadatas(found), strict=True))


def _metadatas(found: Any) -> Iterable[dict[str, Any]]:
    return [entry or {} for entry in found["metadatas"]]
