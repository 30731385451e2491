"""Puts our store in the place of the harness's own in memory, which its tests are about."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from pydantic_ai_harness import memory as harness

from memoranda import AsyncMemory, Settings
from memoranda.integrations.pydantic_ai_harness import HarnessMemoryStore

WORDLESS = Settings(embedding={"model": "none"})
OwnStore = harness.InMemoryStore


class SuiteStore(HarnessMemoryStore):
    """The store, made as the harness's own is."""

    def __init__(self, files: dict[str, str] | None = None) -> None:
        """Keep the files that are given."""
        memory = AsyncMemory(":memory:", settings=WORDLESS)
        super().__init__(memory)
        for path, text in (files or {}).items():
            self.files._opened().write(path, text)  # noqa: SLF001 - nothing can be awaited here


harness.InMemoryStore = SuiteStore


def speeds(place: Path) -> dict[str, tuple[Callable[[int], Any], Callable[[int], Any]]]:
    """Return operations on ours and on the harness's own, to be called with numbers."""
    loop = asyncio.new_event_loop()

    def call(store: Any, verb: str, number: int) -> Any:
        path = f"{number}.md"
        steps = {
            "write": partial(store.write, path, f"tea {number}", expected_version=None),
            "read": partial(store.read, path, max_chars=1_000),
            "list": partial(store.list_paths, "29", limit=10),
            "search": partial(
                store.search, "", "tea 9", limit=5, max_files=100, max_chars=500, max_file_chars=500
            ),
        }
        return loop.run_until_complete(steps[verb]())

    ours, theirs = HarnessMemoryStore(AsyncMemory(place, settings=WORDLESS)), OwnStore()
    return {
        verb: (partial(call, ours, verb), partial(call, theirs, verb))
        for verb in ("write", "read", "list", "search")
    }
