"""memoranda, as it comes, with the local model; no facts are extracted from the turns."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchmarks.kit.adapter import Embed, Turn
from memoranda import Memory, Settings
from memoranda.errors import NotFound

PLACE = ("kit",)


class Memoranda:
    """Turns are episodes with session, speaker and time; values are items."""

    about = "words, meaning, names, time, neighbouring turns"
    packages = ("memoranda",)

    def __init__(self, folder: Path, _: Embed) -> None:
        """Open a SQLite file; it has the same model itself."""
        settings = Settings(timezone="UTC", consolidation={"automatic": False})
        self._memory = Memory(folder / "memory.db", settings=settings)

    def add(self, user: str, turns: Sequence[Turn]) -> None:
        """Keep turns, and wait for their vectors."""
        memory = self._memory.as_user(user)
        memory.remember_many(self._episode(turn) for turn in turns)
        memory.embed_pending()

    @staticmethod
    def _episode(turn: Turn) -> dict[str, Any]:
        return {
            "content": turn.text,
            "kind": "episode",
            "session": turn.session,
            "role": turn.speaker or turn.role,
            "trust": "person" if turn.speaker else None,
            "event_time": turn.time,
            "metadata": {"turn": turn.id},
        }

    def search(self, user: str, query: str, limit: int) -> list[str]:
        """Return the turns of the hits."""
        hits = self._memory.as_user(user).search(query, limit=limit)
        return [hit.record.metadata["turn"] for hit in hits]

    def put(self, user: str, key: str, value: str) -> None:
        """Keep an item."""
        self._memory.as_user(user).remember(value, kind="item", namespace=PLACE, key=key)

    def get(self, user: str, key: str) -> str | None:
        """Return the content of an item."""
        record = self._memory.as_user(user).get(namespace=PLACE, key=key)
        return None if record is None else record.content

    def delete(self, user: str, key: str) -> None:
        """Forget an item."""
        with suppress(NotFound):
            self._memory.as_user(user).forget(namespace=PLACE, key=key)

    def list(self, user: str) -> list[str]:
        """Return the keys of all items."""
        memory = self._memory.as_user(user)
        found = memory.records(kind="item", namespace=PLACE, limit=10_000)
        return [record.key for record in found if record.key is not None]

    def close(self) -> None:
        """Close the file."""
        self._memory.close()
