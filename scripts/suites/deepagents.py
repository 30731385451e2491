"""Times our backend beside that of Deep Agents on a store in memory."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from deepagents.backends import BackendProtocol, StoreBackend
from langgraph.store.memory import InMemoryStore

from memoranda import Memory, Settings
from memoranda.integrations.deepagents import DeepAgentsBackend

STEPS: dict[str, Callable[[BackendProtocol, int], Any]] = {
    "write": lambda backend, n: backend.write(f"/{n}.md", f"tea {n}"),
    "edit": lambda backend, n: backend.edit(f"/{n}.md", "tea", "oolong"),
    "read": lambda backend, n: backend.read(f"/{n}.md"),
    "ls": lambda backend, _: backend.ls("/"),
    "grep": lambda backend, n: backend.grep(str(n)),
}


def speeds(place: Path) -> dict[str, tuple[Callable[[int], Any], Callable[[int], Any]]]:
    """Return operations on ours and on the default, to be called with numbers."""
    ours = DeepAgentsBackend(Memory(place, settings=Settings(embedding={"model": "none"})))
    theirs = StoreBackend(store=InMemoryStore(), namespace=lambda _: ("files",))
    return {name: (partial(step, ours), partial(step, theirs)) for name, step in STEPS.items()}
