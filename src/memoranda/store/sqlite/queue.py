"""Which records wait for their vectors, and the model that makes them."""

from __future__ import annotations

from typing import Any

import apsw

from memoranda.model.models import Record
from memoranda.model.scope import Scope
from memoranda.store.sqlite.rows import RECORD, record

MODEL = "embedding_model"
DIMENSIONS = "embedding_dimensions"
OWNED = (
    "p.user_key = (SELECT key FROM users WHERE name = ?) "
    "AND (? IS NULL OR r.agent IS NULL OR r.agent = ?)"
)


def pending(connection: apsw.Connection, scope: Scope | None, limit: int) -> list[Record]:
    """Return the oldest records without vectors, of one user or of all."""
    clause, values = _of(scope)
    rows: list[Any] = connection.execute(
        f"SELECT u.name, {RECORD} FROM pending_vectors p "
        "JOIN records r ON r.key = p.record_key JOIN users u ON u.key = r.user_key "
        f"WHERE {clause} ORDER BY p.record_key LIMIT ?",
        (*values, limit),
    ).fetchall()
    return [record(row[0], row[1:]) for row in rows]


def count(connection: apsw.Connection, scope: Scope | None) -> int:
    """Return how many records wait, of one user or of all."""
    clause, values = _of(scope)
    found: int = connection.execute(
        "SELECT count(*) FROM pending_vectors p JOIN records r ON r.key = p.record_key "
        f"WHERE {clause}",
        values,
    ).get
    return found


def _of(scope: Scope | None) -> tuple[str, tuple[str | None, ...]]:
    if scope is None:
        return "TRUE", ()
    return OWNED, (scope.user, scope.agent, scope.agent)


def model(connection: apsw.Connection) -> tuple[str, int] | None:
    """Return name and dimensions of the stored vectors' model."""
    rows: list[Any] = connection.execute(
        "SELECT key, value FROM meta WHERE key IN (?, ?)", (MODEL, DIMENSIONS)
    ).fetchall()
    meta = dict(rows)
    return (meta[MODEL], int(meta[DIMENSIONS])) if meta else None


def reset(connection: apsw.Connection, name: str, dimensions: int) -> int:
    """Drop all vectors, name the model and mark every record pending; return their count."""
    connection.execute("DELETE FROM vectors")
    connection.execute("UPDATE users SET index_epoch = index_epoch + 1, vector_seq = 0")
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (MODEL, name))
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (DIMENSIONS, str(dimensions)))
    connection.execute(
        "INSERT OR IGNORE INTO pending_vectors SELECT key, user_key FROM records WHERE indexed = 1"
    )
    return count(connection, None)
