"""The floors: the least that a careful programmer would write by hand for the same job.

One row and one FTS5 row a record, a ``vec0`` table with a partition for each user. No ids by
time, no history, no entities, no validity, no reasons.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path

import apsw
import sqlite_vec

from memoranda.model.query import Vector, Vectors

BEST = 50
SCHEMA = """
CREATE TABLE records (
    key INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, user INTEGER NOT NULL, kind TEXT NOT NULL,
    content TEXT NOT NULL, created_at INTEGER NOT NULL
);
CREATE INDEX records_user ON records (user);
CREATE VIRTUAL TABLE words USING fts5 (
    content, content = 'records', content_rowid = 'key', tokenize = 'porter unicode61'
);
"""
INSERT_ROW = "INSERT INTO records VALUES (?, ?, ?, ?, ?, ?)"
INSERT_WORDS = "INSERT INTO words (rowid, content) VALUES (?, ?)"


class RawAdd:
    """Rows and FTS5 rows through the standard library, in a file of their own."""

    def __init__(self, path: Path, *, synchronous: str) -> None:
        """Create the file. ``synchronous`` is NORMAL or FULL."""
        self._connection = sqlite3.connect(path, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute(f"PRAGMA synchronous = {synchronous}")
        self._connection.executescript(SCHEMA)
        self._next = 1

    def add(self, text: str) -> None:
        """Store one text, in a transaction of its own."""
        key, self._next = self._next, self._next + 1
        execute = self._connection.execute
        execute("BEGIN IMMEDIATE")
        execute(INSERT_ROW, _row(key, 1, text))
        execute(INSERT_WORDS, (key, text))
        execute("COMMIT")

    def add_many(self, texts: Sequence[str]) -> None:
        """Store many texts in one transaction."""
        start, self._next = self._next, self._next + len(texts)
        self._connection.execute("BEGIN IMMEDIATE")
        rows = [_row(key, 1, text) for key, text in enumerate(texts, start)]
        self._connection.executemany(INSERT_ROW, rows)
        self._connection.executemany(INSERT_WORDS, enumerate(texts, start))
        self._connection.execute("COMMIT")

    def close(self) -> None:
        """Release the file."""
        self._connection.close()


class RawSearch:
    """FTS5 and sqlite-vec side by side, through apsw, as ``sqlite3`` may load no extension.

    Two ways to bind a full-text search to a user, of which the faster one is the floor: as a
    condition on the joined row, and as a term of the query in a column of its own.
    """

    def __init__(self, path: Path) -> None:
        """Create the file."""
        self._connection = vec_connection(path)
        self._connection.execute(SCHEMA)
        self._connection.execute(
            "CREATE VIRTUAL TABLE scoped USING fts5 (content, scope, content = '', "
            "contentless_delete = 1, tokenize = 'porter unicode61')"
        )
        self._connection.execute(vec_table())

    def fill(self, texts: Iterable[tuple[int, str]], vectors: Vectors) -> None:
        """Store texts, each with its user, and their vectors."""
        with self._connection:
            for key, ((user, text), vector) in enumerate(zip(texts, vectors, strict=True), 1):
                execute = self._connection.execute
                execute(INSERT_ROW, _row(key, user, text))
                execute(INSERT_WORDS, (key, text))
                execute("INSERT INTO scoped (rowid, content, scope) VALUES (?, ?, ?)",
                        (key, text, f"u{user}"))  # fmt: skip
                execute("INSERT INTO vectors (rowid, user, embedding) VALUES (?, ?, ?)",
                        (key, user, vector.tobytes()))  # fmt: skip

    def joined_words(self, user: int, keywords: Sequence[str]) -> list[str]:
        """Return the ids of the best 50 by BM25, the user a condition on the row."""
        return self._ids(
            "SELECT r.id FROM words JOIN records r ON r.key = words.rowid "
            "WHERE words MATCH ? AND r.user = ? ORDER BY bm25(words) LIMIT ?",
            (_any(keywords), user, BEST),
        )

    def scoped_words(self, user: int, keywords: Sequence[str]) -> list[str]:
        """Return the ids of the best 50 by BM25, the user a term of the query."""
        return self._ids(
            "SELECT r.id FROM scoped JOIN records r ON r.key = scoped.rowid "
            "WHERE scoped MATCH ? ORDER BY bm25(scoped, 1.0, 0.0) LIMIT ?",
            (f"scope : u{user} AND content : ({_any(keywords)})", BEST),
        )

    def nearest(self, user: int, vector: Vector) -> list[str]:
        """Return the ids of the nearest 50."""
        return self._ids(
            "SELECT r.id FROM (SELECT rowid, distance FROM vectors "
            "WHERE user = ? AND embedding MATCH ? AND k = ?) v "
            "JOIN records r ON r.key = v.rowid ORDER BY v.distance",
            (user, vector.tobytes(), BEST),
        )

    def close(self) -> None:
        """Release the file."""
        self._connection.close()

    def _ids(self, sql: str, values: tuple[object, ...]) -> list[str]:
        return [row[0] for row in self._connection.execute(sql, values)]


def vec_connection(path: Path) -> apsw.Connection:
    """Return a new database in WAL mode that knows ``vec0``."""
    connection = apsw.Connection(str(path))
    connection.enable_load_extension(enable=True)
    connection.load_extension(sqlite_vec.loadable_path())
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA cache_size = -32768")
    connection.execute("PRAGMA mmap_size = 268435456")
    return connection


def vec_table(dimensions: int = 384) -> str:
    """Return the statement that makes a vector table with a partition for each user."""
    return (
        "CREATE VIRTUAL TABLE vectors USING vec0 "
        f"(user INTEGER PARTITION KEY, embedding FLOAT[{dimensions}])"
    )


def _row(key: int, user: int, text: str) -> tuple[object, ...]:
    return key, f"fact_{key:026d}", user, "fact", text, key


def _any(words: Sequence[str]) -> str:
    return " OR ".join(f'"{word}"' for word in words)
