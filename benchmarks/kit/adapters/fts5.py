"""The floor: what SQLite alone finds, and what anybody could write in half an hour."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from benchmarks.kit.adapter import Embed, Turn

SCHEMA = """
CREATE VIRTUAL TABLE IF NOT EXISTS turns
    USING fts5 (user UNINDEXED, id UNINDEXED, text, tokenize = 'porter unicode61');
CREATE TABLE IF NOT EXISTS pairs (user TEXT, key TEXT, value TEXT, PRIMARY KEY (user, key));
"""
FIND = "SELECT id FROM turns WHERE turns MATCH ? AND user = ? ORDER BY bm25(turns), rowid LIMIT ?"
# Words of a question that half of all turns have too.
STOP = """
a an and are as at be been by can could did do does for from had has have he her his how i in is
it its me my of on or our she that the their they this to was we were what when where which who
whom whose why will with would you your
"""


class Floor:
    """BM25 of any of the words of a query, less stop words."""

    about = "BM25 (FTS5, porter), stop words dropped"
    packages = ()

    def __init__(self, folder: Path, _: Embed) -> None:
        """Open a SQLite file."""
        self._db = sqlite3.connect(
            folder / "floor.db", isolation_level=None, check_same_thread=False
        )
        self._db.executescript(SCHEMA)

    def add(self, user: str, turns: Sequence[Turn]) -> None:
        """Keep a row for each turn."""
        rows = [(user, turn.id, turn.text) for turn in turns]
        self._db.executemany("INSERT INTO turns VALUES (?, ?, ?)", rows)

    def search(self, user: str, query: str, limit: int) -> list[str]:
        """Return the turns with any of the words."""
        words = dict.fromkeys(re.findall(r"\w+", query.casefold()))
        telling = [word for word in words if word not in STOP.split()] or words
        any_of = " OR ".join(f'"{word}"' for word in telling)
        found = self._db.execute(FIND, (any_of, user, limit)) if any_of else ()
        return [id_ for (id_,) in found]

    def put(self, user: str, key: str, value: str) -> None:
        """Write a row."""
        self._db.execute("INSERT OR REPLACE INTO pairs VALUES (?, ?, ?)", (user, key, value))

    def get(self, user: str, key: str) -> str | None:
        """Read a row."""
        query = "SELECT value FROM pairs WHERE user = ? AND key = ?"
        found = self._db.execute(query, (user, key)).fetchone()
        return found[0] if found else None

    def delete(self, user: str, key: str) -> None:
        """Remove a row."""
        self._db.execute("DELETE FROM pairs WHERE user = ? AND key = ?", (user, key))

    def list(self, user: str) -> list[str]:
        """Return the keys of a user's rows."""
        return [key for (key,) in self._db.execute("SELECT key FROM pairs WHERE user = ?", (user,))]

    def close(self) -> None:
        """Close the file."""
        self._db.close()
