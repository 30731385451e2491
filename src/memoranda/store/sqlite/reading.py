"""Reads of records: by id, page, neighbourhood, time, entity; all of one user."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import apsw

from memoranda.errors import NotFound
from memoranda.model.models import Change, Entity, Kind, Record
from memoranda.model.query import Filter
from memoranda.model.scope import Scope
from memoranda.model.times import from_ms
from memoranda.store.sqlite import entities
from memoranda.store.sqlite.filters import matching, owned
from memoranda.store.sqlite.rows import RECORD, dump, optional_time, record

PROFILE_RECORDS = 20
USERS = """
SELECT name FROM users u WHERE EXISTS (SELECT 1 FROM records WHERE user_key = u.key)
    OR EXISTS (SELECT 1 FROM conversations WHERE user_key = u.key) ORDER BY name
"""


def by_ids(
    connection: apsw.Connection, scope: Scope, user: int, ids: Sequence[str]
) -> list[Record]:
    """Return the records that exist, in the order of ``ids``."""
    where = owned(scope, user)
    rows = connection.execute(
        f"SELECT {RECORD} FROM records r "
        f"WHERE r.id IN (SELECT value FROM json_each(?)) AND {where.sql}",
        (dump(list(ids)), *where.values),
    )
    found = {row[0]: record(scope.user, row) for row in rows}
    return [found[wanted] for wanted in ids if wanted in found]


def page(
    connection: apsw.Connection,
    scope: Scope,
    user: int,
    where: Filter,
    *,
    limit: int,
    after: str | None,
) -> list[Record]:
    """Return a page of matching records in the order in which they were recorded."""
    clause = matching(scope, user, where)
    start = 0 if after is None else _key(connection, scope, user, after)
    rows = connection.execute(
        f"SELECT {RECORD} FROM records r WHERE {clause.sql} AND r.key > ? ORDER BY r.key LIMIT ?",
        (*clause.values, start, limit),
    )
    return [record(scope.user, row) for row in rows]


def _key(connection: apsw.Connection, scope: Scope, user: int, id: str) -> int:
    where = owned(scope, user)
    key: int | None = connection.execute(
        f"SELECT r.key FROM records r WHERE r.id = ? AND {where.sql}",
        (id, *where.values),
    ).get
    if key is None:
        message = f"after={id!r} is no record of this user; pass the id of the last record you got"
        raise NotFound(message)
    return key


def latest(connection: apsw.Connection, scope: Scope, user: int, where: Filter) -> Record | None:
    """Return the matching record that was recorded last."""
    clause = matching(scope, user, where)
    row = connection.execute(
        f"SELECT {RECORD} FROM records r WHERE {clause.sql} ORDER BY r.key DESC LIMIT 1",
        clause.values,
    ).fetchone()
    return None if row is None else record(scope.user, row)


def history(connection: apsw.Connection, scope: Scope, user: int, id: str) -> list[Change]:
    """Return what was done to a record, oldest first."""
    rows: list[Any] = connection.execute(
        "SELECT at, action, reason, detail FROM history WHERE user_key = ?1 AND record_id = ?2 "
        "AND (?3 IS NULL OR agent IS NULL OR agent = ?3) ORDER BY key",
        (user, id, scope.agent),
    ).fetchall()
    return [Change(from_ms(row[0]), row[1], row[2], json.loads(row[3])) for row in rows]


def count(connection: apsw.Connection, scope: Scope, user: int, where: Filter) -> dict[Kind, int]:
    """Return how many records match, by kind."""
    clause = matching(scope, user, where)
    rows: list[Any] = connection.execute(
        f"SELECT r.kind, count(*) FROM records r WHERE {clause.sql} GROUP BY r.kind",
        clause.values,
    ).fetchall()
    return {Kind(row[0]): row[1] for row in rows}


def newest(connection: apsw.Connection, scope: Scope, user: int) -> datetime | None:
    """Return when the newest record was recorded."""
    where = owned(scope, user)
    return optional_time(
        connection.execute(
            f"SELECT max(r.created_at) FROM records r WHERE {where.sql}",
            where.values,
        ).get
    )


def passing(connection: apsw.Connection, scope: Scope, user: int, where: Filter) -> list[int]:
    """Return the ordinals of the matching records."""
    clause = matching(scope, user, where)
    rows = connection.execute(
        f"SELECT r.key FROM records r WHERE {clause.sql}",
        clause.values,
    )
    return [row[0] for row in rows]


def mentioning(
    connection: apsw.Connection, scope: Scope, user: int, folded: Sequence[str]
) -> list[tuple[int, int]]:
    """Return ordinals of records that mention entities with these names; most entities first."""
    where = owned(scope, user)
    rows: list[Any] = connection.execute(
        "SELECT r.key, count(DISTINCT l.entity_key) AS matched FROM entity_names n "
        "JOIN record_entities l ON l.entity_key = n.entity_key "
        "JOIN records r ON r.key = l.record_key "
        f"WHERE {where.sql} AND n.user_key = ? AND n.folded IN (SELECT value FROM json_each(?)) "
        "GROUP BY r.key ORDER BY matched DESC, r.key DESC",
        (*where.values, user, dump(list(folded))),
    ).fetchall()
    return rows


def by_ordinals(
    connection: apsw.Connection, scope: Scope, user: int, ordinals: Sequence[int]
) -> dict[int, Record]:
    """Return the records with these ordinals."""
    where = owned(scope, user)
    rows = connection.execute(
        f"SELECT r.key, {RECORD} FROM records r "
        f"WHERE r.key IN (SELECT value FROM json_each(?)) AND {where.sql}",
        (dump(list(ordinals)), *where.values),
    )
    return {row[0]: record(scope.user, row[1:]) for row in rows}


def profile(
    connection: apsw.Connection, scope: Scope, user: int, folded: str, where: Filter
) -> Entity | None:
    """Return an entity with the newest matching records that mention it."""
    clause = matching(scope, user, where)
    found = entities.find(connection, user, folded, clause)
    if found is None:
        return None
    key, entity = found
    rows: list[Any] = connection.execute(
        f"SELECT DISTINCT {RECORD} FROM records r "
        "JOIN record_entities l ON l.record_key = r.key "
        f"WHERE l.entity_key = ? AND {clause.sql} "
        "ORDER BY r.event_time DESC, r.key DESC LIMIT ?",
        (key, *clause.values, PROFILE_RECORDS),
    ).fetchall()
    return replace(entity, records=tuple(record(scope.user, row) for row in rows))
