"""LangGraph: its store on SQLite, with sqlite-vec."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from langgraph.store.base import PutOp
from langgraph.store.sqlite import SqliteStore

from benchmarks.kit.adapter import Embed, Turn

PAGE = 1_000


class LangGraph:
    """Items under the namespaces of a user."""

    about = "cosine (exact, sqlite-vec)"
    packages = ("langgraph-checkpoint-sqlite", "sqlite-vec")

    def __init__(self, folder: Path, embed: Embed) -> None:
        """Open a SQLite file."""
        self._stack = ExitStack()
        # Called fields in its documentation; without text_fields all is embedded, as JSON.
        index = {"dims": len(embed(["one"])[0]), "embed": embed, "text_fields": ["text"]}
        opened = SqliteStore.from_conn_string(str(folder / "store.db"), index=index)
        self._store = self._stack.enter_context(opened)
        self._store.setup()

    def add(self, user: str, turns: Sequence[Turn]) -> None:
        """Put items that are embedded."""
        self._store.batch([PutOp((user, "turns"), turn.id, {"text": turn.text}) for turn in turns])

    def search(self, user: str, query: str, limit: int) -> list[str]:
        """Return the turns with the nearest vectors."""
        found = self._store.search((user, "turns"), query=query, limit=limit)
        return [item.key for item in found]

    def put(self, user: str, key: str, value: str) -> None:
        """Put an item that is not embedded."""
        self._store.put((user, "values"), key, {"value": value}, index=False)

    def get(self, user: str, key: str) -> str | None:
        """Get an item."""
        item = self._store.get((user, "values"), key)
        return None if item is None else item.value["value"]

    def delete(self, user: str, key: str) -> None:
        """Delete an item."""
        self._store.delete((user, "values"), key)

    def list(self, user: str) -> list[str]:
        """Return the keys of all items."""
        return [item.key for item in self._store.search((user, "values"), limit=PAGE)]

    def close(self) -> None:
        """Close the file."""
        self._stack.close()
