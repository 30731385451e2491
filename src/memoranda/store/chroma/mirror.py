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
from dataclasses import dataclass
from typing import Any

import numpy as np

from memoranda.errors import StoreError
from memoranda.model.checks import from_ms
from memoranda.model.models import Kind
from memoranda.model.query import Vector
from memoranda.store.chroma.collections import MEMORIES, PAGE, Collections, batches
from memoranda.store.chroma.replica import MirrorChange, Replica, Touched

# Dimensions of placeholders while no model is known: those of all-MiniLM-L6-v2 (S1.02).
UNKNOWN_DIMENSIONS = 384
CONVERSATION = "conversation"  # What requirement S1 calls an episode.
LARGEST = 2**63 - 1
# Names that metadata can have, of those that a caller may give.
NAME = re.compile(r"[^\W\d][\w.-]{0,63}")
# A metadata that rows of other programs do not have.
OURS = "generation"
ROWS = """
SELECT r.id, r.content, r.agent, r.kind, r.created_at, r.valid_until, r.session_id,
    r.closed_at IS NOT NULL OR r.superseded_by IS NOT NULL, r.indexed, r.attributes,
    (SELECT json_group_array(DISTINCT folded) FROM record_entities WHERE record_key = r.key),
    EXISTS (SELECT 1 FROM derivations WHERE record_key = r.key AND work = 'entities'),
    (SELECT embedding FROM vectors WHERE record_key = r.key)
FROM records r
"""


@dataclass(frozen=True, slots=True)
class Mirrored:
    """A record as it is in the collection."""

    id: str
    text: str
    metadata: dict[str, Any]
    vector: Vector | None


class Mirror:
    """Writes the records of all users to the collection, and asks it what is there.

    Attributes:
        dimensions: how many numbers the vectors of the store's model have; 0 before there is one.
    """

    def __init__(self, collections: Collections) -> None:
        """Write to ``memories``, and to collections beside it for vectors of other lengths."""
        self._collections = collections
        self.dimensions = 0

    # Writing

    def write(self, replica: Replica, touched: Touched, generation: int) -> None:
        """Bring records up to date. Doing it twice changes nothing."""
        for ids in batches(list(touched), PAGE):
            rows = {row.id: row for row in read(replica, generation, ids)}
            gone = [each for each in ids if each not in rows]
            if gone:
                self.remove(gone)
            if rows:
                self._write(replica.user, rows, touched)

    def remove(self, ids: Sequence[str]) -> None:
        """Remove records."""
        for home in self._collections.homes():
            for part in batches(ids, PAGE):
                self._collections.call(home, "delete", ids=part)

    def _write(self, user: str, rows: Mapping[str, Mirrored], touched: Touched) -> None:
        width = self._collections.width()
        try:
            wanted = width or self.dimensions or UNKNOWN_DIMENSIONS
            self._write_wide(wanted, user, rows, touched)
        except StoreError:
            found = None if width else self._collections.width()
            if found is None:
                raise
            # Another process was the first to store something, of another length.
            self._write_wide(found, user, rows, touched)

    def _write_wide(
        self, width: int, user: str, rows: Mapping[str, Mirrored], touched: Touched
    ) -> None:
        self._write_apart([row for row in rows.values() if _length(row) not in {0, width}], user)
        changed = [row for row in rows.values() if touched[row.id] is MirrorChange.CHANGED]
        made = [row for row in rows.values() if touched[row.id] is not MirrorChange.CHANGED]
        moved = [row.id for row in made if touched[row.id] is MirrorChange.REPLACED]
        if changed:
            self._collections.call(
                MEMORIES,
                "update",
                ids=[row.id for row in changed],
                metadatas=[row.metadata for row in changed],
            )
        if moved:
            # Chroma's index takes four times as long to move a vector as to take a new one in.
            self._collections.call(MEMORIES, "delete", ids=moved)
        if made:
            vectors = [row.vector if _length(row) == width else None for row in made]
            self._collections.call(
                MEMORIES,
                "add",
                ids=[row.id for row in made],
                embeddings=[
                    placeholder(row.id, width) if vector is None else vector
                    for row, vector in zip(made, vectors, strict=True)
                ],
                documents=[row.text for row in made],
                metadatas=[without_none(row.metadata) for row in made],
            )

    def _write_apart(self, rows: Sequence[Mirrored], user: str) -> None:
        """Store vectors of other lengths than those of the memories."""
        for width in {_length(row) for row in rows}:
            here = [row for row in rows if _length(row) == width]
            self._collections.call(
                self._collections.home(width),
                "upsert",
                ids=[row.id for row in here],
                embeddings=[row.vector for row in here],
                metadatas=[{"user": user}] * len(here),
            )

    # Asking

    def known(self, ids: Collection[str]) -> set[str]:
        """Return which of these records are there, whoever's they are."""
        return {
            each
            for part in batches(list(ids), PAGE)
            for each in self._collections.call(MEMORIES, "get", ids=part, include=[])["ids"]
        }

    def has(self, user: str) -> bool:
        """Return whether any record of a user is there."""
        found = self._collections.call(MEMORIES, "get", where={"user": user}, limit=1, include=[])
        return bool(found["ids"])

    def owners(self, where: Mapping[str, Any], *, limit: int) -> list[str]:
        """Return whose the first records are that a condition lets through."""
        found = self._collections.call(
            MEMORIES, "get", where=dict(where), limit=limit, include=["metadatas"]
        )
        return list(dict.fromkeys(row["user"] for row in found["metadatas"]))

    def count(self, where: Mapping[str, Any]) -> int:
        """Return how many records a condition lets through."""
        found = self._collections.call(MEMORIES, "get", where=dict(where), include=[])
        return len(found["ids"])

    def differing(self, replica: Replica, generation: int) -> tuple[Touched, dict[str, str]]:
        """Compare the collection with the rows of a user.

        Returns:
            the records that are not there as they should be, and the texts that others changed.
        """
        rows = {row.id: row for row in read(replica, generation)}
        wrong, texts, seen = {}, {}, set()
        for page in self._collections.pages(
            MEMORIES, {"user": replica.user}, ["metadatas", "documents"]
        ):
            for record, text, told in zip(
                page["ids"], page["documents"], page["metadatas"], strict=True
            ):
                seen.add(record)
                row = rows.get(record)
                if row is None:
                    if OURS in told:
                        wrong[record] = MirrorChange.REPLACED
                elif text != row.text and text is not None:
                    wrong[record], texts[record] = MirrorChange.REPLACED, text
                elif without_none(row.metadata) != told:
                    wrong[record] = MirrorChange.REPLACED
        wrong.update(dict.fromkeys(rows.keys() - seen, MirrorChange.REPLACED))
        return wrong, texts


def read(replica: Replica, generation: int, ids: Sequence[str] | None = None) -> Iterator[Mirrored]:
    """Return records of a user as they are in the collection; all, or those with these ids."""
    if ids is None:
        rows = replica.all(ROWS)
    else:
        sql = f"{ROWS} WHERE r.id IN (@texts(:ids)) ORDER BY r.key"
        rows = replica.all(sql, ids=json.dumps(list(ids)))
    for record, text, *told, vector in rows:
        found = None if vector is None else np.frombuffer(vector, np.float16).astype(np.float32)
        metadata = _metadata(replica.user, *told, generation=-1 if found is None else generation)
        yield Mirrored(record, text, metadata, found)


def _metadata(  # noqa: PLR0917 - the columns of a row
    user: str,
    agent: str | None,
    kind: str,
    created_at: int,
    valid_until: int | None,
    session: str | None,
    closed: int,
    indexed: int,
    attributes: str,
    entities: str,
    unlinked: int,
    *,
    generation: int,
) -> dict[str, Any]:
    """Return what can be filtered by; what has no value is ``None``."""
    attached = {
        name: value
        for name, value in json.loads(attributes).items()
        if NAME.fullmatch(name) and _is_plain(value)
    }
    own = {
        "user": user,
        "agent": agent,
        "type": CONVERSATION if kind == Kind.EPISODE else kind,
        "created_at": _stamp(created_at),
        "valid_until": None if valid_until is None else _stamp(valid_until),
        "session_id": session,
        "entities": sorted(json.loads(entities)) or None,
        "closed": bool(closed),
        "indexed": bool(indexed),
        "unlinked": True if unlinked else None,
        OURS: generation,
    }
    return {**attached, **own}


def _stamp(moment: int) -> str:
    """Return a moment as requirement S1 writes it: UTC, in ISO 8601 without a zone."""
    return from_ms(moment).replace(tzinfo=None).isoformat()


def _is_plain(value: object) -> bool:
    if isinstance(value, int) and not isinstance(value, bool):
        return -LARGEST <= value <= LARGEST
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, str | bool)


def _length(row: Mirrored) -> int:
    return 0 if row.vector is None else len(row.vector)


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
