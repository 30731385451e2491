"""Chroma: a collection of turns and one of values, in a folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import chromadb
from chromadb.config import Settings

from benchmarks.kit.adapter import Embed, Turn

BATCH = 1_000
COSINE = {"hnsw:space": "cosine"}


class Chroma:
    """Documents under ids that begin with the user, who is also in their metadata."""

    about = "cosine (HNSW)"
    packages = ("chromadb",)

    def __init__(self, folder: Path, embed: Embed) -> None:
        """Open the folder."""
        self._embed = embed
        settings = Settings(anonymized_telemetry=False)
        self._client = chromadb.PersistentClient(str(folder), settings)
        create = self._client.get_or_create_collection
        self._turns = create("turns", metadata=COSINE, embedding_function=None)
        self._values = create("values", embedding_function=None)

    def add(self, user: str, turns: Sequence[Turn]) -> None:
        """Keep documents with their vectors."""
        for start in range(0, len(turns), BATCH):
            batch = turns[start : start + BATCH]
            self._turns.upsert(
                ids=[f"{user}\n{turn.id}" for turn in batch],
                documents=[turn.text for turn in batch],
                embeddings=self._embed([turn.text for turn in batch]),
                metadatas=[{"user": user, "session": turn.session} for turn in batch],
            )

    def search(self, user: str, query: str, limit: int) -> list[str]:
        """Return the turns with the nearest vectors."""
        found = self._turns.query(
            query_embeddings=self._embed([query]), n_results=limit, where={"user": user}
        )
        return [id_.partition("\n")[2] for id_ in found["ids"][0]]

    def put(self, user: str, key: str, value: str) -> None:
        """Keep a document; every document has a vector, which nobody asks for here."""
        meta = {"user": user, "key": key}
        self._values.upsert([f"{user}\n{key}"], [[0.0]], [meta], [value])

    def get(self, user: str, key: str) -> str | None:
        """Return a document."""
        found = self._values.get([f"{user}\n{key}"])["documents"]
        return found[0] if found else None

    def delete(self, user: str, key: str) -> None:
        """Remove a document."""
        self._values.delete([f"{user}\n{key}"])

    def list(self, user: str) -> list[str]:
        """Return the keys in the metadata of a user's documents."""
        return [str(each["key"]) for each in self._values.get(where={"user": user})["metadatas"]]

    def close(self) -> None:
        """Let go of the folder."""
        self._client.close()
