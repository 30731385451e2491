"""Chroma by hand: what a program pays that adds to a collection and queries it, and no more.

One collection in cosine space; of each text its id, vector, document and three metadata. No
transactions, no terms, no entities, no history, no validity, no reasons.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import chromadb
from chromadb.config import Settings

from memoranda.model.query import Vector, Vectors

NAME = "bare"
USER = "ana"


class BareChroma:
    """A collection of Chroma's own client."""

    def __init__(self, place: Path) -> None:
        """Open a folder; the collection is made if need be."""
        quiet = Settings(anonymized_telemetry=False)
        self._client: Any = chromadb.PersistentClient(path=str(place), settings=quiet)
        self._collection = self._client.get_or_create_collection(
            NAME, embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
        )

    def add(self, first: int, texts: Sequence[str], vectors: Vectors) -> None:
        """Add texts in one call; their ids count on from ``first``."""
        numbers = range(first, first + len(texts))
        self._collection.add(
            ids=[f"fact_{number:026d}" for number in numbers],
            embeddings=vectors,
            documents=list(texts),
            metadatas=[{"user": USER, "type": "fact", "created_at": n} for n in numbers],
        )

    def nearest(self, vector: Vector, limit: int) -> list[str]:
        """Return the documents of the nearest texts of the user."""
        found = self._collection.query(
            query_embeddings=[vector],
            n_results=limit,
            where={"user": USER},
            include=["documents", "metadatas", "distances"],
        )
        documents: list[str] = found["documents"][0]
        return documents

    def close(self) -> None:
        """Release the place."""
        self._client.close()
