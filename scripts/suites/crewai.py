"""Puts our storage in the place of CrewAI's on LanceDB, which its tests are about."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from crewai.memory.storage import lancedb_storage
from crewai.memory.types import MemoryRecord

from memoranda import Memory, Settings
from memoranda.integrations.crewai import MemorandaStorage

os.environ.setdefault("OPENAI_API_KEY", "none is asked")  # The tests of CrewAI have one, too.
WORDLESS = Settings(embedding={"model": "none"})
SIZE = 384
LanceStorage = lancedb_storage.LanceDBStorage


class SuiteStorage(MemorandaStorage):
    """The storage, made as CrewAI's own is."""

    def __init__(self, path: Any = None, **named: Any) -> None:
        """Open a memory in a folder."""
        del named
        if path is not None:
            Path(path).mkdir(parents=True, exist_ok=True)
        place = ":memory:" if path is None else Path(path) / "memory.db"
        super().__init__(Memory(place, settings=WORDLESS))


lancedb_storage.LanceDBStorage = SuiteStorage


def speeds(place: Path) -> dict[str, tuple[Callable[[int], Any], Callable[[int], Any]]]:
    """Return operations on storages of 1,000 records, ours and CrewAI's own."""
    made = np.random.default_rng(1).normal(size=(1_300, SIZE))
    vectors = [each.tolist() for each in made]

    def record(number: int) -> MemoryRecord:
        scope, text = f"/team/{number % 10}", f"Trip {number} goes to Lisbon."
        return MemoryRecord(
            id=str(number), content=text, scope=scope, embedding=vectors[number % 1_300]
        )

    ours = MemorandaStorage(Memory(place, settings=WORDLESS))
    theirs = LanceStorage(path=place.parent / "theirs", vector_dim=SIZE)
    for storage in (ours, theirs):
        storage.save([record(number) for number in range(1_000)])
    steps: dict[str, Callable[[Any, int], Any]] = {
        "save": lambda storage, number: storage.save([record(1_000 + number)]),
        "search": lambda storage, number: storage.search(vectors[number]),
        "search in a scope": lambda storage, number: storage.search(
            vectors[number], scope_prefix=f"/team/{number % 10}"
        ),
        "list_scopes": lambda storage, _: storage.list_scopes("/team"),
    }
    return {name: (partial(step, ours), partial(step, theirs)) for name, step in steps.items()}
