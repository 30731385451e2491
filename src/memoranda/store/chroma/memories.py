"""The collection ``memories``: active records as other programs read them (requirement S1.01).

Each has its text as the document, its embedding in cosine space, and as metadata whose it is, its
type, when it was made, and what the caller attached. A record that was forgotten, replaced or
retired is not in it. It is written after the journal, and read only to be compared.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from memoranda.model.checks import from_ms
from memoranda.model.query import Vector
from memoranda.store.chroma.folder import PAGE, ChromaFolder, batches
from memoranda.store.sql.database import SqlConnection
from memoranda.store.sql.health import meta
from memoranda.store.sql.reads import DIMENSIONS
from memoranda.store.sql.rows import STORED_FLOAT, Row

MEMORIES = "memories"
# Dimensions of placeholders while no model is known: those of all-MiniLM-L6-v2 (S1.02).
UNKNOWN_DIMENSIONS = 384
LARGEST = 2**63 - 1
# Names of a caller's metadata that Chroma takes.
NAME = re.compile(r"(?![#$]|chroma:).{1,200}", re.DOTALL)
# Metadata that each row has, and by which those of other programs are told from it.
STORED_BY, MEMORANDA = "stored_by", "memoranda"
# Metadata by which rows of memoranda 0.2 are known.
GENERATION = "generation"
# Under this name an imported record tells which row of another program it was.
ADOPTED_ID = "chroma_id"
# Metadata as JSON for what the caller attached and has no place under its own name.
OWN = "own"
# Metadata that are columns of a record, and those of them that are times.
COLUMNS = (
    *("user", "agent", "type", "created_at", "event_time", "valid_until"),
    *("session_id", "role"),
)
TIMES = ("created_at", "event_time", "valid_until")
RESERVED = frozenset((*COLUMNS, STORED_BY, GENERATION, OWN, "closed", "embedded"))
ROWS = """
SELECT r.id, r.content, r.metadata,
    (SELECT embedding FROM vectors v WHERE v.record_key = r.key),
    (SELECT name FROM users u WHERE u.key = r.user_key), r.agent,
    CASE r.kind WHEN 'episode' THEN 'conversation' ELSE r.kind END, r.created_at, r.event_time,
    r.valid_until, r.session_id, r.source_role
FROM records r WHERE r.closed_at IS NULL AND r.superseded_by IS NULL AND r.indexed = 1
"""
CHOSEN = f"{ROWS} AND r.id IN (@texts(:ids)) ORDER BY r.key"
ADOPTED = "SELECT metadata FROM records WHERE instr(metadata, :name)"


class MemoryRow(NamedTuple):
    """A record as it is in the collection."""

    id: str
    text: str
    metadata: dict[str, Any]
    vector: Vector  # Without numbers, where it has none yet.


class Comparison(NamedTuple):
    """How the collection differs from the records.

    Attributes:
        changed: ids of records, also of those that are gone, and whether no row has each.
        foreign: ids of rows that another program wrote.
    """

    changed: dict[str, bool]
    foreign: list[str]


class Memories:
    """Writes records to the collection, and compares it with them.

    Attributes:
        are_written: whether the collection is known to have all that was committed.
        foreign: ids of rows of another program that are no records here, as far as was looked.
    """

    def __init__(self, folder: ChromaFolder) -> None:
        """Write to the collection ``memories`` of ``folder``."""
        self._folder = folder
        self.are_written = False
        self.foreign: list[str] = []

    def write(self, connection: SqlConnection, changed: Mapping[str, bool]) -> None:
        """Bring records up to date. Doing it twice changes nothing.

        Args:
            connection: has the records.
            changed: their ids, and whether the collection has no row of each.
        """
        dimensions = int(meta(connection, DIMENSIONS) or UNKNOWN_DIMENSIONS)
        if self.width() not in {None, dimensions}:  # All embeddings of a collection have one.
            self._folder.drop(MEMORIES)
            every = connection.all("SELECT id FROM records")
            changed = dict.fromkeys((row[0] for row in every), True)
        for ids in batches(list(changed), PAGE):
            # Chroma's index takes four times as long to move a vector as to take a new one in.
            if there := [each for each in ids if not changed[each]]:
                self._folder.call(MEMORIES, "delete", ids=there)
            self._add(_read(connection, CHOSEN, ids), dimensions)

    def width(self) -> int | None:
        """Return how many numbers the embeddings have; ``None`` before there are any."""
        found = self._folder.call(MEMORIES, "get", limit=1, include=["embeddings"])["embeddings"]
        return len(found[0]) if len(found) else None

    def count(self) -> int:
        """Return how many rows there are, also of other programs."""
        found: int = self._folder.call(MEMORIES, "count")
        return found

    def compare(self, connection: SqlConnection) -> Comparison:
        """Compare the collection with the active records."""
        rows = {row.id: row for row in _read(connection, ROWS)}
        changed: dict[str, bool] = {}
        foreign: list[str] = []
        for page in self._folder.pages(MEMORIES, ["documents", "metadatas"]):
            found = zip(page["ids"], page["documents"], page["metadatas"], strict=True)
            for record, text, metadata in found:
                row = rows.pop(record, None)
                if row is None and is_foreign(metadata):
                    foreign.append(record)
                elif row is None or (text, metadata) != (row.text, row.metadata):
                    changed[record] = False
        return Comparison(changed | dict.fromkeys(rows, True), foreign)

    def drop_adopted(self, connection: SqlConnection, foreign: Sequence[str]) -> int:
        """Remove rows of other programs that are records here; return how many they were."""
        found = connection.all(ADOPTED, {"name": ADOPTED_ID}) if foreign else []
        known = {json.loads(row[0]).get(ADOPTED_ID) for row in found}
        adopted = [each for each in foreign if each in known]
        for ids in batches(adopted, PAGE):
            self._folder.call(MEMORIES, "delete", ids=ids)
        self.foreign = [each for each in foreign if each not in known]
        return len(adopted)

    def _add(self, rows: Sequence[MemoryRow], dimensions: int) -> None:
        if rows:
            vectors = [
                row.vector if len(row.vector) else placeholder(row.id, dimensions) for row in rows
            ]
            self._folder.call(
                MEMORIES,
                "add",
                ids=[row.id for row in rows],
                embeddings=vectors,
                documents=[row.text for row in rows],
                metadatas=[row.metadata for row in rows],
            )


def is_foreign(metadata: Mapping[str, Any] | None) -> bool:
    """Return whether another program wrote a row of the collection."""
    return metadata is None or not {STORED_BY, GENERATION} & metadata.keys()


def placeholder(id: str, dimensions: int) -> Vector:
    """Return what stands for the embedding of a record that has none yet.

    A direction of its own for each, so that it is near to nothing that is asked for.
    """
    seed = int.from_bytes(hashlib.blake2b(id.encode(), digest_size=8).digest())
    made = np.random.default_rng(seed).standard_normal(dimensions)
    vector: Vector = (made / np.linalg.norm(made)).astype(np.float32)
    return vector


def _read(connection: SqlConnection, sql: str, ids: Sequence[str] | None = None) -> list[MemoryRow]:
    values = {} if ids is None else {"ids": json.dumps(ids)}
    return [_memory_row(row) for row in connection.all(sql, values)]


def _memory_row(row: Row) -> MemoryRow:
    """Return a row of ``ROWS`` as it is in the collection."""
    record, text, attached, embedding, *values = row
    told = {
        name: _iso(value) if name in TIMES else value
        for name, value in zip(COLUMNS, values, strict=True)
        if value is not None
    }
    given = json.loads(attached)
    plain = {
        name: value
        for name, value in given.items()
        if name not in RESERVED and NAME.fullmatch(name) and _is_plain(value)
    }
    if rest := {name: value for name, value in given.items() if name not in plain}:
        told[OWN] = json.dumps(rest, ensure_ascii=False)
    told |= {STORED_BY: MEMORANDA, "closed": False, "embedded": embedding is not None}
    vector = np.frombuffer(embedding or b"", STORED_FLOAT).astype(np.float32)
    return MemoryRow(record, text, plain | told, vector)


def _iso(moment: int) -> str:
    """Return a moment as requirement S1 writes it: UTC, in ISO 8601 without a zone."""
    return from_ms(moment).replace(tzinfo=None).isoformat()


def _is_plain(value: object) -> bool:
    if isinstance(value, int) and not isinstance(value, bool):
        return -LARGEST <= value <= LARGEST
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, str | bool)
