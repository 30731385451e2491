"""What a PostgreSQL server says of itself, for the doctor and the statistics."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from memoranda.model.reports import Check
from memoranda.store.postgres_batches import keeps_prepared
from memoranda.store.postgres_roles import RowSecurity
from memoranda.store.sql.database import SqlConnection

STATUS = """
SELECT current_setting('server_version'), pg_database_size(current_database()), session_user,
    current_setting('is_superuser') = 'on', pg_has_role(c.relowner, 'USAGE'),
    (SELECT extversion FROM pg_extension WHERE extname = 'vector'),
    (SELECT coalesce(sum(n_live_tup), 0) FROM pg_stat_user_tables WHERE schemaname = n.nspname),
    (SELECT coalesce(sum(n_dead_tup), 0) FROM pg_stat_user_tables WHERE schemaname = n.nspname),
    (SELECT CAST(max(greatest(last_vacuum, last_autovacuum)) AS text) FROM pg_stat_user_tables
        WHERE schemaname = n.nspname)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.oid = CAST('records' AS regclass)
"""
# The first version of pgvector that has vectors of half the precision.
HALF = (0, 7)
# Dead rows that are worth a word, if they are also more than those alive.
MANY_DEAD = 10_000


def server_checks(
    connection: SqlConnection, location: str, limits: RowSecurity | None, pool: str, exact: int
) -> Iterator[Check]:
    """Yield what was found: the server, the role, the index of vectors, the dead rows.

    Args:
        connection: to the server.
        location: of the database, without secrets.
        limits: how transactions are limited to the rows of a user, if they are.
        pool: how the connections of this process are used.
        exact: memories of a user up to which no index is needed.
    """
    version, size, role, is_super, owns, vector, live, dead, vacuumed = connection.all(STATUS)[0]
    raw = connection.raw
    detail = f"{location}, PostgreSQL {version}, {size:,} bytes, {_encryption(raw)}, {pool}"
    if not keeps_prepared(raw):
        detail += ", through a pooler: no statements are prepared"
    yield Check("server", ok=True, detail=detail)
    yield _role(role, limits, is_super=is_super, owns=owns)
    yield _vectors(vector, exact)
    if dead > max(live, MANY_DEAD):
        told = f"{dead:,} dead rows beside {live:,}, last vacuumed {vacuumed or 'never'}"
        yield Check("dead rows", None, told, "run VACUUM, and look why autovacuum does not")


def _encryption(raw: Any) -> str:
    if raw.pgconn.ssl_in_use:
        return "TLS"
    return "a Unix socket" if raw.info.host.startswith("/") else "not encrypted"


def _role(role: str, limits: RowSecurity | None, *, is_super: bool, owns: bool) -> Check:
    whose = "owner of the tables" if owns else "not the owner of the tables"
    if limits is not None:
        told = f"{role}, {whose}; a user's transactions are limited to their rows by {limits.role}"
        return Check("role", ok=True, detail=told)
    told = (
        f"{role}, {'a superuser' if is_super else whose}; nothing but statements tells users apart"
    )
    return Check("role", None, told, "set storage.role: docs/postgresql.md, Row level security")


def _vectors(version: str | None, exact: int) -> Check:
    large = f"users of more than {exact:,} memories"
    if version is None or tuple(map(int, version.split(".")[:2])) < HALF:
        told = f"pgvector {version or 'is not installed'}: {large} are ranked in memory, too"
        remedy = "let an administrator run CREATE EXTENSION vector (0.7 or newer) in this database"
        return Check("pgvector", None, told, remedy)
    return Check("pgvector", ok=True, detail=f"{version}, for {large}")
