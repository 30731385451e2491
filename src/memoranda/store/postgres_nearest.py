"""What is prepared for users with too many records on PostgreSQL to rank them all.

Each has a table of vectors with an index of pgvector (HNSW), and lists of the records that hold the
terms of many.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from memoranda.model.models import Scope
from memoranda.store.postgres_term_lists import drop_lists, list_terms, note_removed
from memoranda.store.sql.database import SqlConnection
from memoranda.store.sql.rows import STORED_FLOAT

T = TypeVar("T")
# Vectors that are copied at once into a table, and bytes that the making of its index may take.
AT_ONCE = 10_000
MOST_MEMORY = 2 * 2**30
# What a vector takes beside its numbers while the index is made; measured: 650. Where that is more
# than there is, the rest takes ten times as long.
BESIDE = 900

# Whether the table of a user's vectors is as it was made. It is not after a backup was restored
# where pgvector is missing, or after pgvector was dropped.
READY = """
EXISTS (SELECT 1 FROM pg_attribute a WHERE a.attname = 'embedding' AND NOT a.attisdropped
    AND a.attrelid = to_regclass('nearest_' || CAST(:user AS text)))
"""
LARGE = f"""
SELECT records, terms, dimensions, listed FROM large_users WHERE user_key = :user AND {READY}
"""
TO_INDEX = """
SELECT key, name FROM users WHERE vector_seq > :most AND name IS NOT NULL ORDER BY key
"""
# Whether all is to be prepared (2), only the lists of terms are to be continued (1), or nothing is.
DUE = f"""
SELECT CASE WHEN l.counted_at >= :grown * u.vector_seq AND l.removed < :common AND {READY}
    THEN CASE WHEN (SELECT count(*) FROM (SELECT 1 FROM records r
        WHERE r.user_key = :user AND r.key > l.listed LIMIT :unlisted) later) < :unlisted
        THEN 0 ELSE 1 END
    ELSE CASE WHEN (SELECT count(*) FROM vectors v WHERE v.user_key = :user) > :most
        THEN 2 ELSE 0 END END
FROM users u LEFT JOIN large_users l ON l.user_key = :user WHERE u.key = :user
"""
MAKE = """
CREATE TABLE {table} (
    user_key bigint NOT NULL DEFAULT {user},
    record_key bigint PRIMARY KEY,
    embedding halfvec({dimensions}) NOT NULL,
    FOREIGN KEY (user_key, record_key) REFERENCES records (user_key, key) ON DELETE CASCADE
)
"""
NEEDED = (
    "users with too many memories for that are ranked in memory all the same; let an administrator "
    "run CREATE EXTENSION vector (pgvector 0.7 or newer), and the owner of the tables a worker"
)
UNSAMPLED = "ALTER TABLE {table} ALTER COLUMN embedding SET STATISTICS 0"
# As much as the server gives for such work, or more.
MEMORY = """
SELECT set_config('maintenance_work_mem', CAST(greatest(
    pg_size_bytes(current_setting('maintenance_work_mem')), :bytes) / 1024 AS text) || 'kB', TRUE)
"""
INDEX = "CREATE INDEX ON {table} USING hnsw (embedding halfvec_ip_ops)"
NEXT_VECTORS = """
SELECT v.seq, v.record_key, v.embedding FROM vectors v JOIN records r ON r.key = v.record_key
WHERE v.user_key = :user AND r.user_key = :user AND v.seq > :seq AND r.kind <> 'item'
ORDER BY v.seq LIMIT :most
"""
PUT = """
INSERT INTO {table} (record_key, embedding)
SELECT :key, CAST(:vector AS halfvec) FROM records
WHERE user_key = :user AND key = :key AND kind <> 'item'
ON CONFLICT (record_key) DO UPDATE SET embedding = excluded.embedding
"""
COUNT = """
INSERT INTO large_users (user_key, dimensions, counted_at, records, terms, listed, removed)
SELECT :user, :dimensions, (SELECT vector_seq FROM users WHERE key = :user), count(*),
    coalesce(avg(term_count), 1), :listed, 0
FROM records WHERE user_key = :user AND kind <> 'item' AND closed_at IS NULL
ON CONFLICT (user_key) DO UPDATE SET dimensions = excluded.dimensions,
    counted_at = excluded.counted_at, records = excluded.records, terms = excluded.terms
"""
HAS_RECORDS = "SELECT EXISTS (SELECT 1 FROM records WHERE user_key = :user)"

COPY = "COPY {table} (record_key, embedding) FROM STDIN (FORMAT BINARY)"


class LargeUser(NamedTuple):
    """What is known of a user whose candidates come from the database.

    Attributes:
        records: how many they have.
        terms: how many terms one has, in the mean.
        dimensions: of the vectors that are indexed.
        listed: the key of the last record in the lists of terms.
    """

    records: int
    terms: float
    dimensions: int
    listed: int


class WritingStore(Protocol):
    """What runs a part of the work in a transaction of its own."""

    def write_as(self, scope: Scope | None, work: Callable[[Any], T]) -> T:
        """Do ``work`` in a transaction that only writers of the scope's user wait for.

        It is of who logged in: nothing limits it to the rows of the user.
        """

    def protect(self, connection: SqlConnection, table: str) -> None:
        """Limit transactions to the rows of their user in a new table, if in others they are."""

    def vector_model(self) -> tuple[str, int] | None:
        """Return name and dimensions of the stored vectors' model."""


def table_of(user: int) -> str:
    """Return the table of a large user's vectors."""
    return f"nearest_{user:d}"


def large_user(connection: SqlConnection, user: int) -> LargeUser | None:
    """Return what is known of a user, if their candidates come from the database."""
    row = connection.one(LARGE, {"user": user})
    return None if row is None else LargeUser(*row)


def drop(connection: SqlConnection, users: Iterable[int]) -> None:
    """Remove what was prepared for these users. Only their owner could drop their tables."""
    for user in users:
        drop_lists(connection, user)
        prepared = [] if large_user(connection, user) is None else [table_of(user)]
        for table in (*prepared, "large_users"):
            connection.run(f"DELETE FROM {table} WHERE user_key = :user", {"user": user})


def put(connection: SqlConnection, user: int, vectors: Mapping[int, bytes]) -> None:
    """Add vectors to the index of a user, if there is one: float16 bytes by the key of a record."""
    if vectors and large_user(connection, user) is not None:
        _put(connection, user, vectors)


def _put(connection: SqlConnection, user: int, vectors: Mapping[int, bytes]) -> None:
    rows = [
        {"user": user, "key": key, "vector": literal_of(np.frombuffer(blob, STORED_FLOAT))}
        for key, blob in vectors.items()
    ]
    connection.run_many(PUT.format(table=table_of(user)), rows)


def continue_lists(store: WritingStore, scope: Scope, user: int) -> None:
    """Add what came since to the lists of a large user's terms."""

    def add(connection: SqlConnection) -> None:
        known = large_user(connection, user)
        if known is not None:
            list_terms(connection, user, after=known.listed)

    store.write_as(scope, add)


def index(store: WritingStore, scope: Scope, user: int) -> None:
    """Prepare the search of a large user, or only count anew where that was done.

    Writers of the user wait no longer than one part of it takes. Others may be erased meanwhile,
    which takes them out of the new table, too; what is added meanwhile comes at the end.
    """
    table = table_of(user)
    model = store.vector_model()
    dimensions = 0 if model is None else model[1]

    def make(connection: Any) -> bool:
        known = large_user(connection, user)
        if known is not None and known.dimensions == dimensions:
            return False
        drop(connection, [user])
        connection.run(f"DROP TABLE IF EXISTS {table}")
        connection.run("CREATE EXTENSION IF NOT EXISTS vector")
        connection.run(MAKE.format(table=table, user=user, dimensions=dimensions))
        connection.run(UNSAMPLED.format(table=table))
        store.protect(connection, table)
        return True

    def fill(connection: Any) -> int | None:
        rows = connection.all(NEXT_VECTORS, {"user": user, "seq": last, "most": AT_ONCE})
        vectors = ((key, _binary(blob)) for _, key, blob in rows)
        connection.copy(COPY.format(table=table), vectors, ("int8", "bytea"))
        return rows[-1][0] if rows else None

    def build(connection: Any) -> None:
        size = connection.value(f"SELECT count(*) FROM {table}") * (2 * dimensions + BESIDE)
        connection.all(MEMORY, {"bytes": min(MOST_MEMORY, size)})
        connection.run(INDEX.format(table=table))

    def finish(connection: Any) -> None:
        if is_new:
            rows = connection.all(NEXT_VECTORS, {"user": user, "seq": last, "most": None})
            _put(connection, user, {key: blob for _, key, blob in rows})
        connection.run(COUNT, {"user": user, "dimensions": dimensions, "listed": listed})
        note_removed(connection, user, 0)
        if not connection.value(HAS_RECORDS, {"user": user}):  # It was deleted meanwhile.
            drop(connection, [user])

    last = 0
    is_new = store.write_as(scope, make)
    if is_new:
        while (filled := store.write_as(scope, fill)) is not None:
            last = filled
        store.write_as(None, build)
    listed = store.write_as(None, lambda connection: list_terms(connection, user))
    store.write_as(scope, finish)


def _binary(blob: bytes) -> bytes:
    """Return a vector as pgvector takes a ``halfvec``."""
    numbers = np.frombuffer(blob, STORED_FLOAT)
    return len(numbers).to_bytes(2, "big") + b"\0\0" + numbers.astype(">f2").tobytes()


def literal_of(vector: NDArray[Any]) -> str:
    """Return a vector as pgvector reads it."""
    return json.dumps(vector.tolist(), separators=(",", ":"))
