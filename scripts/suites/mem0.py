"""mem0 has no tests of its store that run offline; its Memory is timed beside ours."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import memoranda
from memoranda import Settings
from memoranda.compat.mem0 import Memory

SIZE, MANY = 256, 1_000
USER = {"user_id": "ana"}


class WordEmbedder:
    """An embedder that costs nothing, in the place of mem0's."""

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """Return a vector of the words of a text."""
        del memory_action
        vector = [0.001] * SIZE
        for word in text.split():
            vector[sum(word.encode()) % SIZE] += 1.0
        return vector


def speeds(place: Path) -> dict[str, tuple[Callable[[int], Any], Callable[[int], Any]]]:
    """Return operations on 1,000 memories of a user, ours in a file and mem0's on Qdrant in one."""
    os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": str(place.parent / "mem0")}
    from mem0 import Memory as Mem0  # noqa: PLC0415 - it reads the environment

    settings = Settings(embedding={"model": "none"})
    ours = Memory(memoranda.Memory(place, settings=settings))
    model = {"provider": "openai", "config": {"api_key": "none"}}
    store = {"path": str(place.parent / "qdrant"), "embedding_model_dims": SIZE, "on_disk": True}
    theirs = Mem0.from_config({
        "vector_store": {"provider": "qdrant", "config": store},
        "llm": model,
        "embedder": model,
        "history_db_path": str(place.parent / "history.db"),
    })  # fmt: skip
    theirs.embedding_model = WordEmbedder()
    ids = {}
    for memory in (ours, theirs):
        texts = [f"Memory {n} about topic{n % 97} in place{n % 13}" for n in range(MANY)]
        said = [{"role": "user", "content": text} for text in texts]
        added = memory.add(said, **USER, infer=False)["results"]
        ids[memory] = [each["id"] for each in added]
    asked = {"filters": USER}
    narrow = {"filters": {**USER, "role": {"in": ["user"]}}}
    steps: dict[str, Callable[[Any, int], Any]] = {
        "add": lambda memory, at: memory.add(f"Newly said {at}", **USER, infer=False),
        "get": lambda memory, at: memory.get(ids[memory][at]),
        "get_all": lambda memory, _: memory.get_all(**asked),
        "search": lambda memory, at: memory.search(f"topic{at % 97} place{at % 13}", **asked),
        "search, filtered": lambda memory, at: memory.search(f"topic{at % 97}", **narrow),
        "update": lambda memory, at: memory.update(ids[memory][at], text=f"Otherwise {at}"),
        "delete": lambda memory, at: memory.delete(ids[memory][-1 - at]),
    }

    def timed(step: Callable[[Any, int], Any], memory: Any) -> Callable[[int], Any]:
        return lambda number: step(memory, number)

    return {name: (timed(step, ours), timed(step, theirs)) for name, step in steps.items()}
