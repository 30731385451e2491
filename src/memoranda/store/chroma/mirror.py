"""The collection ``memories``: records as other readers of Chroma find them (requirement S1.01).

Each has its text as the document, its embedding in cosine space, and as metadata whose it is, its
type, when it was made, what the caller attached and the names it mentions. It is written after
the journal, and nothing is read from it but what others changed there.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from memoranda.model.checks import from_ms
from memoranda.model.query import Vector
from memoranda.store.chroma.collections import MEMORIES, PAGE, Collections, batches
from memoranda.store.chroma.replica import MirrorChange, Replica, Touched
from memoranda.store.sql.rows import STORED_FLOAT, Row

# Dimensions of placeholders while no model is known: those of all-MiniLM-L6-v2 (S1.02).
UNKNOWN_DIMENSIONS = 384
LARGEST = 2**63 - 1
# Names that metadata can have, of those that a caller may give.
NAME = re.compile(r"[^\W\d][\w.-]{0,63}")
# A metadata that rows of other programs do not have.
OURS = "generation"
# What is told of a record under the same name, as far as it has a value.
TOLD = (
    "agent", "type", "created_at", "valid_until", "session_id", "closed", "indexed", "unlinked",
    "entities",
)  # fmt: skip
ROWS = """
SELECT r.id, r.content, (SELECT embedding FROM vectors WHERE record_key = r.key), r.metadata,
    r.agent, CASE r.kind WHEN 'episode' THEN 'conversation' ELSE r.kind END, r.created_at,
    r.valid_until, r.session_id,
    r.closed_at IS NOT NULL OR r.superseded_by IS NOT NULL OR r.indexed = 0, r.indexed,
    EXISTS (SELECT 1 FROM derivations WHERE record_key = r.key AND work = 'entities'),
    (SELECT json_group_array(DISTINCT folded) FROM record_entities WHERE record_key = r.key)
FROM records r
"""


class MirroredRecord(NamedTuple):
    """A record as it is in the collection."""

    id: str
    text: str
    metadata: dict[str, Any]
    vector: Vector  # Without numbers, where it has none yet.


class Mirror:
    """Writes the records of all users to the collection, and asks it what is there.

    Attributes:
        dimensions: how many numbers the vectors of the store's model have; 0 before there is one.
        generation: which vectors count.
    """

    def __init__(self, collections: Collections) -> None:
        """Write to ``memories``, and to collections beside it for vectors of other lengths."""
        self._collections = collections
        self.dimensions = self.generation = 0

    # Writing

    def write(self, replica: Replica, touched: Touched) -> None:
        """Bring records up to date. Doing it twice changes nothing."""
        call = self._collections.call
        for ids in batches(list(touched), PAGE):
            # Chroma's index takes four times as long to move a vector as to take a new one in.
            moved = [each for each in ids if touched[each] is MirrorChange.REPLACED]
            for home in self._collections.homes() if moved else ():
                call(home, "delete", ids=moved)
            rows = list(self._read(replica, ids))
            changed = [row for row in rows if touched[row.id] is MirrorChange.CHANGED]
            if changed:
                call(
                    MEMORIES,
                    "update",
                    ids=[row.id for row in changed],
                    metadatas=[row.metadata for row in changed],
                )
            made = [row for row in rows if touched[row.id] is not MirrorChange.CHANGED]
            if made:
                self._add(made)

    def _add(self, rows: Sequence[MirroredRecord]) -> None:
        """Add records; those with an embedding of another length have it in a collection apart."""
        width = self._collections.width() or self.dimensions or UNKNOWN_DIMENSIONS
        self._collections.call(
            MEMORIES,
            "add",
            ids=[row.id for row in rows],
            embeddings=[
                row.vector if len(row.vector) == width else placeholder(row.id, width)
                for row in rows
            ],
            documents=[row.text for row in rows],
            metadatas=[without_none(row.metadata) for row in rows],
        )
        for apart in {len(row.vector) for row in rows} - {0, width}:
            here = [row for row in rows if len(row.vector) == apart]
            self._collections.call(
                f"{MEMORIES}-{apart}",
                "upsert",
                ids=[row.id for row in here],
                embeddings=[row.vector for row in here],
                metadatas=[{"user": row.metadata["user"]} for row in here],
            )

    # Asking

    def known(self, ids: Collection[str]) -> set[str]:
        """Return which of these records are there, whoever's they are."""
        return {
            each
            for part in batches(list(ids), PAGE)
            for each in self._collections.call(MEMORIES, "get", ids=part, include=[])["ids"]
        }

    def metadata(self, where: Mapping[str, Any], limit: int | None = None) -> list[dict[str, Any]]:
        """Return the metadata of the first records that a condition lets through."""
        found = self._collections.call(
            MEMORIES, "get", where=dict(where), limit=limit, include=["metadatas"]
        )
        rows: list[dict[str, Any]] = found["metadatas"]
        return rows

    def differing(self, replica: Replica) -> tuple[Touched, dict[str, str]]:
        """Compare the collection with the rows of a user.

        Returns:
            the records that are not there as they should be, and the texts that others changed.
        """
        rows = {row.id: row for row in self._read(replica)}
        wrong, texts, seen = {}, {}, set()
        included = ["metadatas", "documents"]
        for page in self._collections.pages(MEMORIES, {"user": replica.user}, included):
            seen.update(page["ids"])
            found = zip(page["ids"], page["documents"], page["metadatas"], strict=True)
            for record, text, told in found:
                row = rows.get(record)
                if row is not None and text not in {row.text, None}:
                    texts[record] = text
                # What is not ours stays as it is.
                as_it_is = OURS not in told if row is None else without_none(row.metadata) == told
                if record in texts or not as_it_is:
                    wrong[record] = MirrorChange.REPLACED
        wrong.update(dict.fromkeys(rows.keys() - seen, MirrorChange.REPLACED))
        return wrong, texts

    def _read(self, replica: Replica, ids: Sequence[str] | None = None) -> Iterator[MirroredRecord]:
        """Return records of a user as they are in the collection; all, or those with these ids."""
        if ids is None:
            sql, values = ROWS, {}
        else:
            sql = f"{ROWS} WHERE r.id IN (@texts(:ids)) ORDER BY r.key"
            values = {"ids": json.dumps(list(ids))}

        def make(row: Row) -> MirroredRecord:
            record, text, stored, metadata, *values = row
            told = dict(zip(TOLD, values, strict=True))
            own = told | {
                "user": replica.user,
                "created_at": _stamp(told["created_at"]),
                "valid_until": told["valid_until"] and _stamp(told["valid_until"]),
                "closed": bool(told["closed"]),
                "indexed": bool(told["indexed"]),
                "unlinked": bool(told["unlinked"]) or None,
                "entities": sorted(json.loads(told["entities"])) or None,
                OURS: -1 if stored is None else self.generation,
            }
            attached = {
                name: value
                for name, value in json.loads(metadata).items()
                if NAME.fullmatch(name) and _is_plain(value)
            }
            vector = np.frombuffer(stored or b"", STORED_FLOAT).astype(np.float32)
            return MirroredRecord(record, text, attached | own, vector)

        with replica.read() as connection:
            made = connection.made(make, "records", sql, values)
        yield from (each for each in made if each is not None)


def _stamp(moment: int) -> str:
    """Return a moment as requirement S1 writes it: UTC, in ISO 8601 without a zone."""
    return from_ms(moment).replace(tzinfo=None).isoformat()


def _is_plain(value: object) -> bool:
    if isinstance(value, int) and not isinstance(value, bool):
        return -LARGEST <= value <= LARGEST
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, str | bool)


def placeholder(id: str, dimensions: int) -> Vector:
    """Return what stands for the embedding of a record that has none yet.

    A direction of its own for each, so that it is near to nothing that is asked for.
    """
    seed = int.from_bytes(hashlib.blake2b(id.encode(), digest_size=8).digest())
    made = np.random.default_rng(seed).standard_normal(dimensions)
    vector: Vector = (made / np.linalg.norm(made)).astype(np.float32)
    return vector


def without_none(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return metadata as Chroma keeps it: without what has no value."""
    return {name: value for name, value in entry.items() if value is not None}
