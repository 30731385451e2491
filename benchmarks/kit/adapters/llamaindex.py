"""LlamaIndex: its simple vector store and its simple key-value store, written when they close."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from llama_index.core.schema import TextNode
from llama_index.core.storage.kvstore import SimpleKVStore
from llama_index.core.vector_stores import MetadataFilter, MetadataFilters, SimpleVectorStore
from llama_index.core.vector_stores.types import VectorStoreQuery

from benchmarks.kit.adapter import Embed, Turn


class LlamaIndex:
    """Nodes with the user in their metadata; a collection of values for each user."""

    about = "cosine (exact)"
    packages = ("llama-index-core",)

    def __init__(self, folder: Path, embed: Embed) -> None:
        """Load the files, if they are there."""
        self._embed = embed
        self._files = str(folder / "vectors.json"), str(folder / "values.json")
        vectors, values = self._files
        written = Path(vectors).exists()
        self._nodes = (
            SimpleVectorStore.from_persist_path(vectors) if written else SimpleVectorStore()
        )
        self._values = SimpleKVStore.from_persist_path(values) if written else SimpleKVStore()

    def add(self, user: str, turns: Sequence[Turn]) -> None:
        """Keep nodes with their vectors."""
        vectors = self._embed([turn.text for turn in turns])
        self._nodes.add(
            [
                TextNode(
                    id_=f"{user}\n{turn.id}",
                    text=turn.text,
                    embedding=vector,
                    metadata={"user": user},
                )
                for turn, vector in zip(turns, vectors, strict=True)
            ]
        )

    def search(self, user: str, query: str, limit: int) -> list[str]:
        """Return the turns with the nearest vectors."""
        found = self._nodes.query(
            VectorStoreQuery(
                query_embedding=self._embed([query])[0],
                similarity_top_k=limit,
                filters=MetadataFilters(filters=[MetadataFilter(key="user", value=user)]),
            )
        )
        return [id_.partition("\n")[2] for id_ in found.ids or ()]

    def put(self, user: str, key: str, value: str) -> None:
        """Put a value."""
        self._values.put(key, {"value": value}, collection=user)

    def get(self, user: str, key: str) -> str | None:
        """Get a value."""
        found = self._values.get(key, collection=user)
        return None if found is None else found["value"]

    def delete(self, user: str, key: str) -> None:
        """Delete a value."""
        self._values.delete(key, collection=user)

    def list(self, user: str) -> list[str]:
        """Return the keys of a collection."""
        return list(self._values.get_all(collection=user))

    def close(self) -> None:
        """Write both files."""
        vectors, values = self._files
        self._nodes.persist(vectors)
        self._values.persist(values)
