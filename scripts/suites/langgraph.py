"""Puts the store of memoranda in the place of LangGraph's own, which its tests are about."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from sqlite3 import connect
from typing import Any

import numpy as np
from langgraph.store import memory as in_memory
from langgraph.store import sqlite
from langgraph.store.base import ensure_embeddings
from langgraph.store.sqlite import aio

from memoranda import Memory, Settings
from memoranda.integrations.langgraph import WHOLE, MemorandaStore

SqliteStore = sqlite.SqliteStore
WORDLESS = Settings(embedding={"model": "none"})


class Embedder:
    """The embeddings of a test, for a memory."""

    def __init__(self, index: Mapping[str, Any]) -> None:
        """Take them from LangGraph's settings of an index."""
        self.name, self.dimensions = "of-the-test", index["dims"]
        self._embeddings = ensure_embeddings(index["embed"])

    def embed(self, texts: list[str]) -> np.ndarray:
        """Return the vectors of texts."""
        return np.array(self._embeddings.embed_documents(texts), np.float32)


class OwnStore(MemorandaStore):
    """The store, made as LangGraph's own are, on a memory of its own."""

    def __init__(self, location: str = ":memory:", *, index: Any = None, ttl: Any = None) -> None:
        """Open a memory."""
        settings = Settings() if index else WORDLESS
        embedder = Embedder(index) if index else None
        memory = Memory(location, settings=settings, embedder=embedder)
        given = index or {}
        fields = given.get("fields") or given.get("text_fields") or WHOLE
        super().__init__(memory, fields=fields, ttl=ttl)

    def setup(self) -> None:
        """Do nothing: a memory is ready."""

    def sweep_ttl(self) -> int:
        """Return how many values had ended since the last time."""
        return self.memory.expire().count


class SqliteLike(OwnStore):
    """The store, as one on a file."""

    @classmethod
    @contextmanager
    def from_conn_string(cls, location: str, **given: Any) -> Iterator[OwnStore]:
        """Open it."""
        store = cls(location, **given)
        with store.memory:
            yield store


class AsyncSqliteLike(OwnStore):
    """The store, as one that is awaited."""

    @classmethod
    @asynccontextmanager
    async def from_conn_string(cls, location: str, **given: Any) -> AsyncIterator[OwnStore]:
        """Open it."""
        store = cls(location, **given)
        with store.memory:
            yield store

    async def setup(self) -> None:
        """Do nothing: a memory is ready."""

    async def sweep_ttl(self) -> int:
        """Return how many values had ended since the last time."""
        return super().sweep_ttl()


def pytest_configure() -> None:
    """Put the stores in their places before a test imports them."""
    in_memory.InMemoryStore = OwnStore
    sqlite.SqliteStore = SqliteLike
    sqlite.AsyncSqliteStore = aio.AsyncSqliteStore = AsyncSqliteLike


def speeds(place: Path) -> dict[str, tuple[Callable[[int], Any], Callable[[int], Any]]]:
    """Return operations on stores of 1,000 values, ours and LangGraph's on SQLite."""
    ours = MemorandaStore(Memory(place, settings=WORDLESS))
    theirs = SqliteStore(connect(place.parent / "theirs.db", isolation_level=None))
    theirs.setup()
    for store in (ours, theirs):
        for number in range(1_000):
            store.put(("users", str(number % 50)), str(number), {"n": number, "text": "a trip"})
    user = ("users", "7")
    steps: dict[str, Callable[[Any, int], Any]] = {
        "put": lambda store, n: store.put(user, f"k{n}", {"n": n, "text": "a trip to Lisbon"}),
        "get": lambda store, n: store.get(user, f"k{n}"),
        "search": lambda store, n: store.search(user, filter={"n": n}),
        "list_namespaces": lambda store, _: store.list_namespaces(prefix=("users",)),
        "delete": lambda store, n: store.delete(user, f"k{n}"),
    }

    def timed(step: Callable[[Any, int], Any], store: Any) -> Callable[[int], Any]:
        return lambda number: step(store, number)

    return {name: (timed(step, ours), timed(step, theirs)) for name, step in steps.items()}
