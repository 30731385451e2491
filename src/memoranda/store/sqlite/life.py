"""Reads for upkeep: sessions, what fades, what ended by itself, what was used, what rests on what.

Each has a partial index, so that a look for work costs what there is to do, not what is stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import apsw

from memoranda.model.life import Lineage, SessionInfo, StageUsage, Usage
from memoranda.model.models import Kind, Record
from memoranda.model.scope import Scope
from memoranda.model.times import from_ms, to_ms
from memoranda.store.sqlite.filters import VALID, Where, owned
from memoranda.store.sqlite.rows import RECORD, dump, optional_time, record

SESSIONS = """
SELECT c.session_id, min(c.first_seen_at),
    CASE WHEN count(*) = count(c.consolidated_at) THEN max(c.consolidated_at) END,
    coalesce(min(c.through) FILTER (WHERE c.consolidated_at IS NULL), max(c.through)),
    CASE WHEN min(c.noted) = max(c.noted) THEN max(c.noted) ELSE coalesce((
        SELECT min(n.noted) FROM consolidations n
        WHERE n.user_key = :user AND n.session_id = c.session_id
            AND (:agent IS NULL OR n.agent IN ('', :agent)) AND EXISTS (
                SELECT 1 FROM records r WHERE r.user_key = :user AND r.session_id = n.session_id
                AND r.position > n.noted AND r.kind = 'episode' AND r.closed_at IS NULL
                AND coalesce(r.agent, '') = n.agent)), max(c.noted)) END
FROM consolidations c WHERE c.user_key = :user AND (:agent IS NULL OR c.agent IN ('', :agent))
    AND (NOT :pending OR c.session_id IN (
        SELECT session_id FROM consolidations p WHERE p.user_key = :user
        AND p.consolidated_at IS NULL AND (:agent IS NULL OR p.agent IN ('', :agent))))
    AND c.session_id IS NOT :exclude AND {chosen}
GROUP BY c.session_id ORDER BY min(c.first_seen_at), c.session_id
"""
UNENRICHED = "json_extract(r.attributes, '$.enriched_at') IS NULL AND r.indexed = 1"
ENTITIES = """
(SELECT count(*) FROM (SELECT DISTINCT l.entity_key FROM record_entities l
    WHERE l.record_key = r.key LIMIT ?)) <= ?
"""
USAGE = """
SELECT stage, model, sum(requests), sum(failures), sum(input_tokens), sum(output_tokens),
    sum(cost), sum(seconds)
FROM model_usage WHERE user_key = ?1 AND (?2 IS NULL OR agent IN ('', ?2))
GROUP BY stage, model ORDER BY stage, model
"""
SOURCES = """
SELECT r.key, s.key FROM records r JOIN record_sources j ON j.record_key = r.key
JOIN records s ON s.id = j.source_id
WHERE {facts} AND {sources} AND r.source_ids <> '[]' ORDER BY r.key, s.key
"""
REPLACED = """
SELECT r.key, s.key FROM records r JOIN records s ON s.id = r.superseded_by
WHERE {facts} AND {sources} AND r.superseded_by IS NOT NULL ORDER BY r.key
"""


def sessions(
    connection: apsw.Connection,
    scope: Scope,
    user: int,
    *,
    pending: bool = False,
    exclude: str | None = None,
    only: str | None = None,
) -> list[SessionInfo]:
    """Return the sessions of which the scope sees episodes, the first seen first.

    Where agents read their own episodes of one session, it waits until all are done; it is
    told as far as it is of the agent that has something to tell and told least.
    """
    values = {"user": user, "agent": scope.agent, "pending": pending}
    # With a name the planner sees that it needs to look at one session.
    sql = SESSIONS.format(chosen="TRUE" if only is None else "c.session_id = :only")
    rows: Any = connection.execute(sql, values | {"exclude": exclude, "only": only})
    return [
        SessionInfo(
            id=row[0],
            first_seen_at=from_ms(row[1]),
            consolidated_at=optional_time(row[2]),
            through=row[3],
            noted=row[4],
        )
        for row in rows
    ]


def progress(
    connection: apsw.Connection, scope: Scope, user: int, session: str
) -> SessionInfo | None:
    """Return how far a session is, ``None`` where the scope sees no episode of it."""
    found = sessions(connection, scope, user, only=session)
    return found[0] if found else None


def episodes(
    connection: apsw.Connection, scope: Scope, user: int, session: str, *, after: int, limit: int
) -> list[Record]:
    """Return the first episodes of a session beyond a position that no one took back."""
    where = Where(
        "r.session_id = ? AND r.position > ? AND r.kind = 'episode' AND r.closed_at IS NULL",
        (session, after),
    )
    return _records(connection, scope, user, where, "ORDER BY r.position LIMIT ?", limit)


def recalled(connection: apsw.Connection, scope: Scope, user: int, session: str) -> list[str]:
    """Return the records that were recalled into a conversation, the last one first."""
    where = owned(scope, user)
    rows: Any = connection.execute(
        "SELECT r.id FROM recalls c JOIN records r ON r.key = c.record_key "
        f"WHERE c.user_key = ? AND c.session_id = ? AND {where.sql} ORDER BY c.at DESC, r.key DESC",
        (user, session, *where.values),
    )
    return [row[0] for row in rows]


def with_hashes(
    connection: apsw.Connection, scope: Scope, user: int, hashes: Sequence[str], now: datetime
) -> list[Record]:
    """Return the believed records whose content has one of these hashes, oldest first."""
    where = Where(
        f"r.content_hash IN (SELECT value FROM json_each(?)) AND {VALID}",
        (dump(list(hashes)), to_ms(now)),
    )
    return _records(connection, scope, user, where)


def fading(connection: apsw.Connection, scope: Scope, user: int, now: datetime) -> list[Record]:
    """Return the believed facts that have a decay rate, oldest first."""
    condition = f"r.kind = 'fact' AND r.decay_rate > 0 AND r.indexed = 1 AND {VALID}"
    return _records(connection, scope, user, Where(condition, (to_ms(now),)))


def lapsed(connection: apsw.Connection, scope: Scope, user: int, now: datetime) -> list[Record]:
    """Return the records whose validity ended by itself and that were not retired yet."""
    condition = (
        "r.valid_until IS NOT NULL AND r.valid_until <= ? AND r.closed_at IS NULL AND r.indexed = 1"
    )
    return _records(connection, scope, user, Where(condition, (to_ms(now),)))


def recorded(
    connection: apsw.Connection,
    scope: Scope,
    user: int,
    kind: Kind,
    *,
    now: datetime,
    since: datetime | None,
    before: datetime | None,
) -> list[Record]:
    """Return the believed records of a kind recorded in a span of time, oldest first."""
    span = (
        0 if since is None else to_ms(since),
        to_ms(datetime.max.replace(tzinfo=UTC)) if before is None else to_ms(before),
    )
    where = Where(
        f"r.kind = ? AND r.created_at >= ? AND r.created_at < ? AND r.indexed = 1 AND {VALID}",
        (kind.value, *span, to_ms(now)),
    )
    return _records(connection, scope, user, where, "ORDER BY r.created_at, r.key")


def unenriched(
    connection: apsw.Connection,
    scope: Scope,
    user: int,
    *,
    kinds: Sequence[Kind],
    most: int,
    limit: int,
    now: datetime,
) -> list[Record]:
    """Return the oldest believed records that were never enriched and have few entities."""
    where = Where(
        f"{UNENRICHED} AND r.kind IN (SELECT value FROM json_each(?)) AND {VALID} AND {ENTITIES}",
        (dump([kind.value for kind in kinds]), to_ms(now), most + 1, most),
    )
    return _records(connection, scope, user, where, "ORDER BY r.key LIMIT ?", limit)


def _records(
    connection: apsw.Connection,
    scope: Scope,
    user: int,
    where: Where,
    end: str = "ORDER BY r.key",
    *values: int,
) -> list[Record]:
    mine = owned(scope, user)
    rows: Any = connection.execute(
        f"SELECT {RECORD} FROM records r WHERE {mine.sql} AND {where.sql} {end}",
        (*mine.values, *where.values, *values),
    )
    return [record(scope.user, row) for row in rows]


def usage(connection: apsw.Connection, scope: Scope, user: int) -> list[StageUsage]:
    """Return what stages have used of language models, by stage and model."""
    rows: Any = connection.execute(USAGE, (user, scope.agent))
    return [
        StageUsage(
            row[0],
            row[1],
            Usage(
                requests=row[2],
                failures=row[3],
                input_tokens=row[4],
                output_tokens=row[5],
                cost=row[6],
                seconds=row[7],
            ),
        )
        for row in rows
    ]


def lineage(connection: apsw.Connection, scope: Scope, user: int) -> Lineage:
    """Return what rests on what and what took whose place, of what the scope sees."""
    mine = owned(scope, user)
    other = mine.sql.replace("r.", "s.")
    values = (*mine.values, *mine.values)
    found = [
        connection.execute(sql.format(facts=mine.sql, sources=other), values).fetchall()
        for sql in (SOURCES, REPLACED)
    ]
    sources: Any = found[0]
    replaced: Any = found[1]
    return Lineage(sources, replaced)
