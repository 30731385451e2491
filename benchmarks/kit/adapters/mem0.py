"""mem0 with its default store in a folder (Qdrant), and ``infer=False``: no language model."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

os.environ["MEM0_TELEMETRY"] = "False"

from mem0 import Memory
from mem0.embeddings.base import EmbeddingBase

from benchmarks.kit.adapter import Embed, Turn

UNUSED = {"provider": "openai", "config": {"api_key": "never called"}}
ALL = 10_000


class Shared(EmbeddingBase):
    """The embedder that all memories get."""

    def __init__(self, embed: Embed) -> None:
        """Ask ``embed``."""
        super().__init__()
        self._embed = embed

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:  # noqa: ARG002
        """Return the vector of a text."""
        return self._embed([text])[0]


class Mem0:
    """Memories with the turn, or the key, in their metadata, as their ids are their own."""

    about = "cosine (Qdrant in a folder)"
    packages = ("mem0ai", "qdrant-client")

    def __init__(self, folder: Path, embed: Embed) -> None:
        """Open the folder."""
        store = {
            "collection_name": "kit",
            "embedding_model_dims": len(embed(["one"])[0]),
            "path": str(folder / "qdrant"),
            "on_disk": True,
        }
        self._memory = Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": store},
                "embedder": UNUSED,
                "llm": UNUSED,
                "history_db_path": str(folder / "history.db"),
            }
        )
        self._memory.embedding_model = Shared(embed)

    def _keep(self, user: str, text: str, metadata: dict[str, str]) -> None:
        said = [{"role": "user", "content": text}]
        self._memory.add(said, user_id=user, metadata=metadata, infer=False)

    def add(self, user: str, turns: Sequence[Turn]) -> None:
        """Keep turns one by one."""
        for turn in turns:
            self._keep(user, turn.text, {"sort": "turn", "turn": turn.id})

    def search(self, user: str, query: str, limit: int) -> list[str]:
        """Return the turns with the nearest vectors, however far they are."""
        where = {"user_id": user, "sort": "turn"}
        found = self._memory.search(query, top_k=limit, filters=where, threshold=0.0)
        return [each["metadata"]["turn"] for each in found["results"]]

    def _values(self, user: str, **where: str) -> list[dict[str, Any]]:
        filters = {"user_id": user, "sort": "value", **where}
        found: list[dict[str, Any]] = self._memory.get_all(filters=filters, top_k=ALL)["results"]
        return found

    def put(self, user: str, key: str, value: str) -> None:
        """Update the memory of a key, or keep a new one."""
        for known in self._values(user, key=key):
            self._memory.update(known["id"], text=value)
            return
        self._keep(user, value, {"sort": "value", "key": key})

    def get(self, user: str, key: str) -> str | None:
        """Return the memory of a key."""
        found = self._values(user, key=key)
        return found[0]["memory"] if found else None

    def delete(self, user: str, key: str) -> None:
        """Delete the memory of a key."""
        for known in self._values(user, key=key):
            self._memory.delete(known["id"])

    def list(self, user: str) -> list[str]:
        """Return the keys of all memories that have one."""
        return [each["metadata"]["key"] for each in self._values(user)]

    def close(self) -> None:
        """Let go of the folder."""
        self._memory.close()
        self._memory.vector_store.client.close()
