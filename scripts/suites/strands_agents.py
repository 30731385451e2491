"""Puts our store in the place of Strands' own on a file, which its tests are about."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from strands import vended_memory_stores
from strands.vended_memory_stores import test_memory_store as strands_store

from memoranda import AsyncMemory, Settings
from memoranda.integrations.strands_agents import MemorandaMemoryStore

WORDLESS = Settings(embedding={"model": "none"})
OwnStore = strands_store.TestMemoryStore


class SuiteStore(MemorandaMemoryStore):
    """The store, made as Strands' own is."""

    __test__ = False

    def __init__(self, *, persist: bool = True, path: str | None = None, **config: Any) -> None:
        """Open a memory, for the path that is given."""
        self._file = Path(path) if persist and path else None
        place = f"{path}.db" if self._file else ":memory:"
        config.setdefault("extraction", None)
        super().__init__(AsyncMemory(place, settings=WORDLESS), **config)

    async def add(self, content: str, metadata: dict[str, Any] | None = None) -> Any:
        """Return the id as Strands' own store does, and write what the tests read of its file."""
        added = await super().add(content, metadata)
        if self._file:
            kept = await self.memory.records(kind="fact")
            lines = [
                {
                    "id": each.id,
                    "content": each.content,
                    "metadata": dict(each.metadata),
                    "createdAt": each.created_at.isoformat(),
                }
                for each in kept
            ]
            self._file.write_text(json.dumps(lines, indent=2), "utf-8")
        return SimpleNamespace(id=added)


strands_store.TestMemoryStore = vended_memory_stores.TestMemoryStore = SuiteStore


def speeds(place: Path) -> dict[str, tuple[Callable[[int], Any], Callable[[int], Any]]]:
    """Return operations on ours and on Strands' own, to be called with numbers."""
    loop = asyncio.new_event_loop()
    ours = MemorandaMemoryStore(AsyncMemory(place, settings=WORDLESS), name="ours")
    theirs = OwnStore(name="theirs", path=str(place.parent / "theirs.json"))
    steps: dict[str, Callable[[Any, int], Any]] = {
        "add": lambda store, number: store.add(f"Trip {number} goes to Lisbon."),
        "search": lambda store, number: store.search(f"trip {number}"),
    }

    def call(step: Callable[[Any, int], Any], store: Any, number: int) -> Any:
        return loop.run_until_complete(step(store, number))

    return {
        name: (partial(call, step, ours), partial(call, step, theirs))
        for name, step in steps.items()
    }
