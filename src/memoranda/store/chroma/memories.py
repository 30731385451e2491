"""The collection ``memories``: active records as other programs read them (requirement S1.01).

Each has its text as the document, its embedding in cosine space, and as metadata whose it is, its
type, when it was made, and what the caller attached. A record that was forgotten, replaced or
retired is not in it. It is written after the journal, and read only to be compared.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from memoranda.model.checks import from_ms
from memoranda.model.query import Vector
from memoranda.store.chroma.folder import MEMORIES, PAGE, ChromaFolder, batches
from memoranda.store.sql.database import SqlConnection
from memoranda.store.sql.index_reads import vector_model
from memoranda.store.sql.rows import STORED_FLOAT, Row

# Dimensions of placeholders while no model is known: those of all-MiniLM-L6-v2 (requirement S1.02).
UNKNOWN_DIMENSIONS = 384
LARGEST = 2**63 - 1
# Names of a caller's metadata that Chroma takes.
NAME = re.compile(r"(?![#$]|chroma:).{1,200}", re.DOTALL)
# Metadata that each row has, and by which those of other programs are told from it.
STORED_BY, MEMORANDA = "stored_by", "memoranda"
# Metadata by which rows of memoranda 0.2 are known.
GENERATION = "generation"
# Metadata as JSON for what the caller attached and has no place under its own name.
OWN = "own"
# Metadata that are columns of a record, and those of them that are times.
COLUMNS = (
    *("user", "agent", "type", "created_at", "event_time", "valid_until"),
    *("session_id", "role"),
)
TIMES = ("created_at", "event_time", "valid_until")
RESERVED = frozenset((*COLUMNS, STORED_BY, GENERATION, OWN, "closed", "embedded"))
ACTIVE_ONLY = "r.closed_at IS NULL AND r.superseded_by IS NULL AND r.indexed = 1"
ROWS = f"""
SELECT r.id, r.content, r.metadata,
    (SELECT embedding FROM vectors v WHERE v.record_key = r.key),
    (SELECT name FROM users u WHERE u.key = r.user_key), r.agent,
    CASE r.kind WHEN 'episode' THEN 'conversation' ELSE r.kind END, r.created_at, r.event_time,
    r.valid_until, r.session_id, r.source_role
FROM records r WHERE {ACTIVE_ONLY} AND r.id IN (@texts(:ids)) ORDER BY r.key
"""
ACTIVE = f"SELECT r.id FROM records r WHERE {ACTIVE_ONLY}"


class Memories:
    """Writes records to the collection, and compares it with them.

    Attributes:
        foreign: text and metadata of rows of another program, by id, as far as was looked.
    """

    def __init__(self, folder: ChromaFolder) -> None:
        """Write to the collection ``memories`` of ``folder``."""
        self._folder = folder
        self.foreign: dict[str, tuple[str, dict[str, Any]]] = {}
        # The ids of all its rows, and of some that are gone or could not be written.
        self._held: set[str] = set()

    def write(self, connection: SqlConnection, changed: Collection[str]) -> None:
        """Bring records up to date. Doing it twice changes nothing.

        Args:
            connection: has the records.
            changed: their ids.
        """
        if not changed:
            return
        dimensions = (vector_model(connection) or ("", UNKNOWN_DIMENSIONS))[1]
        found = self._folder.call(MEMORIES, "get", limit=1, include=["embeddings"])["embeddings"]
        if len(found) and len(found[0]) != dimensions:  # All embeddings of a collection have one.
            self._folder.drop(MEMORIES)
            zeros = np.zeros(dimensions, np.float32)
            foreign = self.foreign.items()
            self._add([(key, text, held or None, zeros) for key, (text, held) in foreign])
            changed = connection.column(ACTIVE)
        # A row that is written over would keep metadata that the record has no longer.
        self.remove([each for each in changed if each in self._held])
        rows = connection.all(ROWS, {"ids": json.dumps([*changed])})
        self._held.update(row[0] for row in rows)
        self._add([(*row[:2], _metadata(row), _embedding(row, dimensions)) for row in rows])

    def _add(self, rows: Sequence[tuple[Any, ...]]) -> None:
        """Add rows of id, text, metadata and embedding."""
        names = ("ids", "documents", "metadatas", "embeddings")
        for some in batches(rows, PAGE):
            columns = map(list, zip(*some, strict=True))
            self._folder.call(MEMORIES, "add", **dict(zip(names, columns, strict=True)))

    def remove(self, ids: Sequence[str]) -> None:
        """Remove rows from the collection, also those of another program."""
        for some in batches(ids, PAGE):
            self._folder.call(MEMORIES, "delete", ids=list(some))
        for each in ids:
            self.foreign.pop(each, None)

    def compare(self, connection: SqlConnection, changed: Collection[str] = ()) -> set[str]:
        """Return ids of what the collection lacks, and has other than it should.

        Args:
            connection: has the records.
            changed: the records that may be there as they were.
        """
        active = {*connection.column(ACTIVE)}
        self._held = {*self._folder.ids(MEMORIES)}
        wrong = active - self._held
        rows = {row[0]: row for row in connection.all(ROWS, {"ids": json.dumps([*changed])})}
        looked_at = self._held - active | self._held & rows.keys()
        for key, text, metadata in self._folder.rows(MEMORIES, sorted(looked_at)):
            if key in rows and (text, metadata) == (rows[key][1], _metadata(rows[key])):
                continue
            if key not in active and is_foreign(metadata):
                self.foreign[key] = text or "", metadata or {}
            else:
                wrong.add(key)
        return wrong


def is_foreign(metadata: Mapping[str, Any] | None) -> bool:
    """Return whether another program wrote a row of the collection."""
    return metadata is None or not {STORED_BY, GENERATION} & metadata.keys()


def _embedding(row: Row, dimensions: int) -> Vector:
    """Return the embedding of a row of ``ROWS``; zeros, near to nothing, while it has none."""
    stored = np.zeros(dimensions) if row[3] is None else np.frombuffer(row[3], STORED_FLOAT)
    return stored.astype(np.float32)


def _metadata(row: Row) -> dict[str, Any]:
    """Return what stands beside the text of a row of ``ROWS``."""
    _, _, attached, embedding, *values = row
    told = {
        # A moment as requirement S1 writes it: UTC, in ISO 8601 without a zone.
        name: from_ms(value).replace(tzinfo=None).isoformat() if name in TIMES else value
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
    return plain | told


def _is_plain(value: object) -> bool:
    if isinstance(value, int):
        return -LARGEST <= value <= LARGEST
    return isinstance(value, str) or (isinstance(value, float) and math.isfinite(value))
