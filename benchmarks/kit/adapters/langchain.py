"""LangChain: its vector store in memory, which is written to a file when it closes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore

from benchmarks.kit.adapter import Embed, Turn, WithoutKeys


class Shared(Embeddings):
    """The embedder that all memories get."""

    def __init__(self, embed: Embed) -> None:
        """Ask ``embed``."""
        self._embed = embed

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return their vectors."""
        return self._embed(texts)

    def embed_query(self, text: str) -> list[float]:
        """Return its vector."""
        return self._embed([text])[0]


class LangChain(WithoutKeys):
    """Documents with the user in their metadata; they cannot be listed."""

    about = "cosine (exact)"
    packages = ("langchain-core",)

    def __init__(self, folder: Path, embed: Embed) -> None:
        """Load the file, if it is there."""
        self._file = str(folder / "vectors.json")
        shared = Shared(embed)
        loaded = Path(self._file).exists()
        self._store = (
            InMemoryVectorStore.load(self._file, shared) if loaded else InMemoryVectorStore(shared)
        )

    def add(self, user: str, turns: Sequence[Turn]) -> None:
        """Keep documents."""
        self._store.add_documents(
            [
                Document(
                    turn.text, id=f"{user}\n{turn.id}", metadata={"user": user, "turn": turn.id}
                )
                for turn in turns
            ]
        )

    def search(self, user: str, query: str, limit: int) -> list[str]:
        """Return the turns with the nearest vectors."""
        found = self._store.similarity_search(
            query, k=limit, filter=lambda document: document.metadata["user"] == user
        )
        return [document.metadata["turn"] for document in found]

    def close(self) -> None:
        """Write the file."""
        self._store.dump(self._file)
