"""The layout of vectors on disk: float16 rows by user against a ``vec0`` table by user.

Both in a database that holds nothing else, so that only the layouts differ. Ours is read
once into an array and searched there; ``vec0`` searches on disk.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import apsw
import numpy as np

from benchmarks.floors import vec_connection, vec_table
from benchmarks.measure import Step, interleaved, micro, show, timed
from benchmarks.workload import DIMENSIONS, unit_vectors
from memoranda.model.query import Vector

SHAPES = ((10, 5_000), (2_000, 50))
QUICK_SHAPES = ((10, 1_000), (400, 50))
BEST = 50
OURS = "float16 rows by user, read into an array"
THEIRS = "vec0 with a partition for each user"
NEAREST = "SELECT rowid, distance FROM vectors WHERE user = ? AND embedding MATCH ? AND k = ?"
ROWS = """
CREATE TABLE vectors (
    user_key INTEGER NOT NULL, seq INTEGER NOT NULL, record_key INTEGER NOT NULL,
    embedding BLOB NOT NULL, PRIMARY KEY (user_key, seq)
) WITHOUT ROWID;
CREATE INDEX vectors_record ON vectors (record_key);
"""


def run(*, quick: bool) -> None:
    """Print the table."""
    rows: list[tuple[str, ...]] = []
    for users, each in QUICK_SHAPES if quick else SHAPES:
        with tempfile.TemporaryDirectory() as folder:
            rows += _compare(Path(folder), users, each)
    show(
        f"Storage of vectors, {DIMENSIONS} dimensions",
        ("users × records", "layout", "bytes a record", "first search", f"p50, {BEST} nearest"),
        rows,
    )


def _compare(folder: Path, users: int, each: int) -> list[tuple[str, ...]]:
    ours, theirs = _Rows(folder / "rows.db"), _Vec0(folder / "vec0.db")
    # One record of every user in turn, as users write.
    for turn in range(each):
        vectors = unit_vectors(users, turn)
        ours.put(turn, vectors)
        theirs.put(turn, vectors)
    query = unit_vectors(1, seed=each + 1)[0]
    assert ours.nearest(0, query)[0] == theirs.nearest(0, query)[0]
    subjects: dict[str, Step] = {
        OURS: lambda i: ours.nearest(i % min(users, 20), query),
        THEIRS: lambda i: theirs.nearest(i % min(users, 20), query),
    }
    first = {
        OURS: timed(lambda _: ours.nearest(users - 1, query)),
        THEIRS: timed(lambda _: theirs.nearest(users - 1, query)),
    }
    times = interleaved(subjects, 100, warm=20)
    sizes = {OURS: ours.size(), THEIRS: theirs.size()}
    return [
        (
            f"{users:,} × {each:,}",
            name,
            f"{sizes[name] / (users * each):,.0f}",
            micro(first[name]),
            micro(times[name].median),
        )
        for name in subjects
    ]


class _Rows:
    """Rows by user, and arrays of the users that were asked for."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection = vec_connection(path)
        self._connection.execute(ROWS)
        self._known: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def put(self, turn: int, vectors: np.ndarray) -> None:
        """Store one vector of every user."""
        with self._connection:
            self._connection.executemany(
                "INSERT INTO vectors VALUES (?, ?, ?, ?)",
                (
                    (user, turn, turn * len(vectors) + user, vector.astype("<f2").tobytes())
                    for user, vector in enumerate(vectors)
                ),
            )

    def nearest(self, user: int, query: Vector) -> list[int]:
        """Return the keys of the nearest records."""
        if user not in self._known:
            found = self._connection.execute(
                "SELECT record_key, embedding FROM vectors WHERE user_key = ? ORDER BY seq", (user,)
            ).fetchall()
            stored = np.frombuffer(b"".join(row[1] for row in found), "<f2")
            self._known[user] = (
                np.array([row[0] for row in found]),
                stored.reshape(len(found), -1).astype(np.float32),
            )
        keys, vectors = self._known[user]
        likeness = np.vecdot(vectors, query)
        best = np.argpartition(-likeness, min(BEST, len(keys)) - 1)[:BEST]
        found_keys: list[int] = keys[best[np.argsort(-likeness[best])]].tolist()
        return found_keys

    def size(self) -> int:
        """Return the bytes of the file."""
        return _size(self._connection, self._path)


class _Vec0:
    """The table of sqlite-vec."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection = vec_connection(path)
        self._connection.execute(vec_table(DIMENSIONS))

    def put(self, turn: int, vectors: np.ndarray) -> None:
        """Store one vector of every user."""
        with self._connection:
            self._connection.executemany(
                "INSERT INTO vectors (rowid, user, embedding) VALUES (?, ?, ?)",
                (
                    (turn * len(vectors) + user, user, vector.tobytes())
                    for user, vector in enumerate(vectors)
                ),
            )

    def nearest(self, user: int, query: Vector) -> list[int]:
        """Return the keys of the nearest records."""
        rows = self._connection.execute(NEAREST, (user, query.tobytes(), BEST))
        return [row[0] for row in rows]

    def size(self) -> int:
        """Return the bytes of the file."""
        return _size(self._connection, self._path)


def _size(connection: apsw.Connection, path: Path) -> int:
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path.stat().st_size
