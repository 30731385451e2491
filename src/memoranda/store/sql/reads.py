"""The statements that read, each over an open connection and of one user."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from memoranda.errors import NotFound
from memoranda.model.checks import from_ms, to_ms
from memoranda.model.models import ConversationInfo, Entity, Kind, Message, Record, Scope
from memoranda.model.notes import NotedLine, NotesBase
from memoranda.model.query import Filter, IndexChanges, IndexRow, IndexVersion, Lineage
from memoranda.model.sessions import SessionInfo
from memoranda.model.usage import StageUsage, Usage
from memoranda.store.sql.dialect import SqlConnection
from memoranda.store.sql.filters import VALID, Where, matching, owned
from memoranda.store.sql.rows import (
    CONVERSATION,
    MESSAGE,
    RECORD,
    STORED_FLOAT,
    conversation,
    dump,
    message,
    optional_time,
    record,
)

MODEL = "embedding_model"
DIMENSIONS = "embedding_dimensions"
PROFILE_RECORDS = 20
NOTHING = IndexChanges(
    IndexVersion(), reset=True, rows=(), ordinals=(), vectors=np.empty((0, 0), np.float32)
)
# As the partial index has it, or it would not be used.
NOTEWORTHY = "r.kind = 'fact' AND r.superseded_by IS NULL AND r.trust <> 'external'"
NOTEWORTHY_ORDER = (
    "ORDER BY (r.trust = 'person') DESC, (r.decay_rate = 0) DESC, r.confidence DESC, "
    "r.created_at DESC, r.key DESC"
)
NOTEWORTHY_EPOCH = """
SELECT coalesce(sum(epoch), 0) FROM noteworthy_epochs
WHERE user_key = :user AND (CAST(:agent AS text) IS NULL OR agent IN ('', :agent))
"""
# The user's own may be the end of a fact that is not noteworthy: a needless change does no harm.
NEXT_END = """
SELECT min(valid_until) FROM records
WHERE user_key = :user AND kind = 'fact' AND valid_until > :now
"""
# An agent learns nothing of what others have.
NEXT_END_OF_AGENT = f"""
SELECT min(n.next) FROM (
    SELECT min(r.valid_until) AS next FROM records r
    WHERE r.user_key = :user AND r.agent IS NULL AND {NOTEWORTHY} AND r.valid_until > :now
    UNION ALL SELECT min(r.valid_until) FROM records r
    WHERE r.user_key = :user AND r.agent = :agent AND {NOTEWORTHY} AND r.valid_until > :now) n
"""
SESSIONS = """
SELECT c.session_id, min(c.first_seen_at),
    CASE WHEN count(*) = count(c.consolidated_at) THEN max(c.consolidated_at) END,
    coalesce(min(c.through) FILTER (WHERE c.consolidated_at IS NULL), max(c.through)),
    CASE WHEN min(c.noted) = max(c.noted) THEN max(c.noted) ELSE coalesce((
        SELECT min(n.noted) FROM sessions n
        WHERE n.user_key = :user AND n.session_id = c.session_id
            AND (CAST(:agent AS text) IS NULL OR n.agent IN ('', :agent)) AND EXISTS (
                SELECT 1 FROM records r WHERE r.user_key = :user AND r.session_id = n.session_id
                AND r.position > n.noted AND r.kind = 'episode' AND r.closed_at IS NULL
                AND coalesce(r.agent, '') = n.agent)), max(c.noted)) END
FROM sessions c WHERE c.user_key = :user
    AND (CAST(:agent AS text) IS NULL OR c.agent IN ('', :agent)) AND {chosen}
GROUP BY c.session_id ORDER BY min(c.first_seen_at), c.session_id
"""
PENDING_SESSIONS = """
c.session_id IN (SELECT session_id FROM sessions p WHERE p.user_key = :user
    AND p.consolidated_at IS NULL AND (CAST(:agent AS text) IS NULL OR p.agent IN ('', :agent)))
"""
USAGE = """
SELECT stage, model, sum(requests), sum(failures), sum(input_tokens), sum(output_tokens),
    sum(cost), sum(seconds)
FROM model_usage
WHERE user_key = :user AND (CAST(:agent AS text) IS NULL OR agent IN ('', :agent))
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
# What a person said stands on that word: it does not go with sources that only said it, too.
DERIVED = """
WITH RECURSIVE found (id) AS (
    SELECT value FROM (@texts(:ids)) i
    UNION
    SELECT r.id FROM found JOIN record_sources s
        ON s.user_key = :user AND s.source_id = found.id
    JOIN records r ON r.key = s.record_key AND r.origin NOT IN ('api', 'tool')
)
SELECT id FROM found
"""
CITING = """
SELECT DISTINCT r.id FROM (@texts(:ids)) i
JOIN record_sources s ON s.user_key = :user AND s.source_id = i.value
JOIN records r ON r.key = s.record_key
"""
# What is only believed less, for what came later, is a word of its own and no former version.
VERSIONS = """
WITH RECURSIVE found (id) AS (
    SELECT value FROM (@texts(:ids)) i
    UNION
    SELECT r.id FROM found JOIN records r ON r.superseded_by = found.id AND r.user_key = :user
        AND r.superseded_by IS NOT NULL AND r.closed_at IS NOT NULL
)
SELECT id FROM found
"""
COPIES = """
SELECT id FROM records WHERE user_key = :user
  AND content_hash IN (SELECT content_hash FROM records
                       WHERE user_key = :user AND id IN (@texts(:ids)))
"""
OTHERS = """
SELECT r.id FROM records r WHERE r.id IN ({related})
  AND r.id NOT IN (@texts(:ids)) AND r.user_key = :user
  AND (CAST(:agent AS text) IS NULL OR r.agent IS NULL OR r.agent = :agent)
ORDER BY r.key
"""
DECIDED = """
SELECT d.folded, d.target FROM entity_decisions d
WHERE d.user_key = :user AND (CAST(:agent AS text) IS NULL OR (
    SELECT count(DISTINCT l.folded) FROM record_entities l JOIN records r ON r.key = l.record_key
    WHERE r.user_key = :user AND (r.agent IS NULL OR r.agent = :agent)
        AND l.folded IN (d.folded, d.target)) = CASE WHEN d.folded = d.target THEN 1 ELSE 2 END)
ORDER BY d.folded
"""
COUNTED = """
SELECT e.key, e.id, e.name, e.type, count(DISTINCT l.record_key) AS times
FROM entities e JOIN record_entities l ON l.entity_key = e.key
JOIN records r ON r.key = l.record_key
"""
INDEX_ROWS = """
SELECT key, session_id, position, length(content), term_count, kind, agent, source_role,
    event_time, created_at, valid_until, confidence
FROM records WHERE user_key = :user AND key > :ordinal ORDER BY key
"""
INDEX_VECTORS = """
SELECT seq, record_key, embedding FROM vectors WHERE user_key = :user AND seq > :seq ORDER BY seq
"""
CONVERSATION_OWNED = (
    "c.user_key = (SELECT key FROM users WHERE name = :user) "
    "AND (CAST(:agent AS text) IS NULL OR c.agent IS NULL OR c.agent = :agent)"
)
PENDING = """
FROM derivations p JOIN records r ON r.key = p.record_key JOIN users u ON u.key = r.user_key
WHERE p.work = :work
"""
PENDING_OF_USER = """
AND p.user_key = (SELECT key FROM users WHERE name = :user)
AND (CAST(:agent AS text) IS NULL OR r.agent IS NULL OR r.agent = :agent)
"""


def select_records(
    connection: SqlConnection, scope: Scope, user: int, where: Where, end: str = "ORDER BY r.key"
) -> list[Record]:
    """Return the records of the scope that meet conditions of its own."""
    mine = owned(scope, user)
    rows = connection.all(
        f"SELECT {RECORD} FROM records r WHERE {mine.sql} AND {where.sql} {end}",
        mine.values | where.values,
    )
    return [record(scope.user, row) for row in rows]


def by_ids(connection: SqlConnection, scope: Scope, user: int, ids: Sequence[str]) -> list[Record]:
    """Return the records that exist, in the order of ``ids``."""
    where = Where("r.id IN (@texts(:ids))", {"ids": dump(list(ids))})
    found = {each.id: each for each in select_records(connection, scope, user, where, "")}
    return [found[wanted] for wanted in ids if wanted in found]


def page(
    connection: SqlConnection,
    scope: Scope,
    user: int,
    where: Filter,
    *,
    limit: int,
    after: str | None,
) -> list[Record]:
    """Return a page of matching records in the order in which they were recorded."""
    clause = matching(scope, user, where)
    start = 0 if after is None else _key_of(connection, scope, user, after)
    rows = connection.all(
        f"SELECT {RECORD} FROM records r WHERE {clause.sql} AND r.key > :start "
        "ORDER BY r.key LIMIT :limit",
        clause.values | {"start": start, "limit": limit},
    )
    return [record(scope.user, row) for row in rows]


def _key_of(connection: SqlConnection, scope: Scope, user: int, id: str) -> int:
    where = owned(scope, user)
    key: int | None = connection.value(
        f"SELECT r.key FROM records r WHERE r.id = :id AND {where.sql}", where.values | {"id": id}
    )
    if key is None:
        message = f"after={id!r} is no record of this user; pass the id of the last record you got"
        raise NotFound(message)
    return key


def latest(connection: SqlConnection, scope: Scope, user: int, where: Filter) -> Record | None:
    """Return the matching record that was recorded last."""
    clause = matching(scope, user, where)
    row = connection.one(
        f"SELECT {RECORD} FROM records r WHERE {clause.sql} ORDER BY r.key DESC LIMIT 1",
        clause.values,
    )
    return None if row is None else record(scope.user, row)


def recorded_between(
    connection: SqlConnection,
    scope: Scope,
    user: int,
    kind: Kind,
    *,
    now: datetime,
    since: datetime | None,
    before: datetime | None,
) -> list[Record]:
    """Return the active records of a kind recorded in a span of time, oldest first."""
    where = Where(
        "r.kind = :kind AND r.created_at >= :since AND r.created_at < :before AND r.indexed = 1 "
        f"AND {VALID}",
        {
            "kind": kind.value,
            "since": 0 if since is None else to_ms(since),
            "before": to_ms(before or datetime.max.replace(tzinfo=UTC)),
            "now": to_ms(now),
        },
    )
    return select_records(connection, scope, user, where, "ORDER BY r.created_at, r.key")


def related(
    connection: SqlConnection, statement: str, scope: Scope, user: int, ids: Sequence[str]
) -> list[str]:
    """Return what the scope sees of the records that a statement relates to ``ids``."""
    values = {"ids": dump(list(ids)), "user": user, "agent": scope.agent}
    rows = connection.all(OTHERS.replace("{related}", statement), values)
    return [row[0] for row in rows]


def versions(connection: SqlConnection, scope: Scope, user: int, ids: Sequence[str]) -> list[str]:
    """Return the records that one of ``ids`` replaced, and those that these did, oldest first."""
    return related(connection, VERSIONS, scope, user, ids)


def copies(connection: SqlConnection, scope: Scope, user: int, ids: Sequence[str]) -> list[str]:
    """Return the other records with the very text of one of ``ids``, oldest first."""
    return related(connection, COPIES, scope, user, ids)


def derived(connection: SqlConnection, scope: Scope, user: int, ids: Sequence[str]) -> list[str]:
    """Return the records that rest on ``ids``, directly or through others, oldest first."""
    return related(connection, DERIVED, scope, user, ids)


def citing(connection: SqlConnection, scope: Scope, user: int, ids: Sequence[str]) -> list[str]:
    """Return the records that name one of ``ids`` as a source, oldest first."""
    return related(connection, CITING, scope, user, ids)


def sessions(
    connection: SqlConnection,
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
    chosen = ["TRUE"] if only is None else ["c.session_id = :only"]
    if exclude is not None:
        chosen.append("c.session_id <> :exclude")
    if pending:
        chosen.append(PENDING_SESSIONS)
    rows = connection.all(
        SESSIONS.replace("{chosen}", " AND ".join(chosen)),
        {"user": user, "agent": scope.agent, "exclude": exclude, "only": only},
    )
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


def usage(connection: SqlConnection, scope: Scope, user: int) -> list[StageUsage]:
    """Return what stages have used of language models, by stage and model."""
    return [
        StageUsage(
            row[0],
            row[1],
            Usage(
                requests=int(row[2]),
                failures=int(row[3]),
                input_tokens=int(row[4]),
                output_tokens=int(row[5]),
                cost=row[6],
                seconds=row[7],
            ),
        )
        for row in connection.all(USAGE, {"user": user, "agent": scope.agent})
    ]


def lineage(connection: SqlConnection, scope: Scope, user: int) -> Lineage:
    """Return sources and successions among the records that the scope sees."""
    mine = owned(scope, user)
    other = mine.sql.replace("r.", "s.")
    sources, replaced = (
        connection.all(sql.replace("{facts}", mine.sql).replace("{sources}", other), mine.values)
        for sql in (SOURCES, REPLACED)
    )
    pairs: Any = sources
    replacements: Any = replaced
    return Lineage(pairs, replacements)


def index_changes(connection: SqlConnection, user: int, since: IndexVersion) -> IndexChanges:
    """Return what came after ``since``, or everything where known rows changed.

    Vectors are float16 rows by user. Measured at 384 dimensions against a vec0 table with a
    partition for each user: 1.1 kB a record instead of 1.9 (10 users with 5,000 records) or 32
    (2,000 users with 50), and once read, a tenth of vec0's time for a search.
    """
    state = connection.one(
        "SELECT index_epoch, vector_seq FROM users WHERE key = :user", {"user": user}
    )
    if state is None:
        return NOTHING
    epoch, vector = state
    reset = since.epoch != epoch
    start = IndexVersion(epoch) if reset else since
    values = {"user": user, "ordinal": start.ordinal, "seq": start.vector}
    rows = [IndexRow(*row) for row in connection.all(INDEX_ROWS, values)]
    found = connection.all(INDEX_VECTORS, values) if vector > start.vector else []
    stored = np.frombuffer(b"".join(row[2] for row in found), STORED_FLOAT)
    return IndexChanges(
        version=IndexVersion(
            epoch,
            rows[-1].ordinal if rows else start.ordinal,
            found[-1][0] if found else start.vector,
        ),
        reset=reset,
        rows=rows,
        ordinals=[row[1] for row in found],
        vectors=stored.reshape(len(found), -1 if found else 0).astype(np.float32),
    )


def mentioning(
    connection: SqlConnection, scope: Scope, user: int, folded: Sequence[str]
) -> list[tuple[int, int]]:
    """Return ordinals of records that mention entities with these names; most entities first."""
    where = owned(scope, user)
    rows = connection.all(
        "SELECT r.key, count(DISTINCT l.entity_key) AS matched FROM entity_names n "
        "JOIN record_entities l ON l.entity_key = n.entity_key "
        "JOIN records r ON r.key = l.record_key "
        f"WHERE {where.sql} AND n.user_key = :user AND n.folded IN (@texts(:folded)) "
        "GROUP BY r.key ORDER BY matched DESC, r.key DESC",
        where.values | {"folded": dump(list(folded))},
    )
    return [(row[0], row[1]) for row in rows]


def profile(
    connection: SqlConnection, scope: Scope, user: int, folded: str, where: Filter
) -> Entity | None:
    """Return the entity of a name, the most mentioned where several have it, with its records."""
    clause = matching(scope, user, where)
    row = connection.one(
        f"{COUNTED} WHERE {clause.sql} AND e.key IN "
        "(SELECT entity_key FROM entity_names WHERE user_key = :user AND folded = :folded) "
        "GROUP BY e.key, e.id, e.name, e.type ORDER BY times DESC, e.name LIMIT 1",
        clause.values | {"folded": folded},
    )
    if row is None:
        return None
    rows = connection.all(
        f"SELECT DISTINCT {RECORD}, r.key FROM records r "
        "JOIN record_entities l ON l.record_key = r.key "
        f"WHERE l.entity_key = :entity AND {clause.sql} "
        "ORDER BY r.event_time DESC, r.key DESC LIMIT :limit",
        clause.values | {"entity": row[0], "limit": PROFILE_RECORDS},
    )
    return replace(
        _entity(connection, clause, row), records=tuple(record(scope.user, each) for each in rows)
    )


def entities(
    connection: SqlConnection,
    scope: Scope,
    user: int,
    where: Filter,
    *,
    type: str | None,
    limit: int,
) -> list[Entity]:
    """Return the entities of matching records, most mentioned first, then by name."""
    clause = matching(scope, user, where)
    of_type = "" if type is None else "AND e.type = :type"
    rows = connection.all(
        f"{COUNTED} WHERE {clause.sql} {of_type} GROUP BY e.key, e.id, e.name, e.type "
        "ORDER BY times DESC, e.name, e.key LIMIT :limit",
        clause.values | {"type": type, "limit": limit},
    )
    return [_entity(connection, clause, row) for row in rows]


def _entity(connection: SqlConnection, where: Where, row: Sequence[Any]) -> Entity:
    key, identity, name, kind, times = row
    aliases = connection.all(
        "SELECT DISTINCT n.name FROM record_entities l "
        "JOIN records r ON r.key = l.record_key "
        "JOIN entity_names n ON n.user_key = r.user_key AND n.folded = l.folded "
        "AND n.entity_key = l.entity_key "
        f"WHERE l.entity_key = :entity AND n.name <> :name AND {where.sql} ORDER BY n.name",
        where.values | {"entity": key, "name": name},
    )
    return Entity(
        id=identity,
        name=name,
        type=kind,
        aliases=tuple(alias[0] for alias in aliases),
        mention_count=times,
    )


def notes_base(connection: SqlConnection, scope: Scope, user: int, folder: str) -> NotesBase | None:
    """Return the synced content of MEMORY.md for exactly this scope and folder."""
    lines: str | None = connection.value(
        "SELECT lines FROM notes_bases "
        "WHERE user_key = :user AND agent = :agent AND folder = :folder",
        {"user": user, "agent": scope.agent or "", "folder": folder},
    )
    if lines is None:
        return None
    return NotesBase(folder, tuple(NotedLine(*line) for line in json.loads(lines)))


def noteworthy_version(connection: SqlConnection, scope: Scope, user: int, now: datetime) -> str:
    """Return a text that is another whenever other facts are noteworthy.

    What is done to facts is counted. While their count stays, those noteworthy later are some
    of those noteworthy before, and the next end tells which: where it is the same, so are they.
    """
    values = {"user": user, "agent": scope.agent, "now": to_ms(now)}
    epoch = connection.value(NOTEWORTHY_EPOCH, values)
    ending = connection.value(NEXT_END if scope.agent is None else NEXT_END_OF_AGENT, values)
    return f"{epoch}-{'never' if ending is None else ending}"


def pending(connection: SqlConnection, scope: Scope | None, work: str, limit: int) -> list[Record]:
    """Return the oldest records for which a work is still to be done, of one user or of all."""
    sql, values = _pending(scope, work)
    rows = connection.all(
        f"SELECT u.name, {RECORD} {sql} ORDER BY p.record_key LIMIT :limit",
        values | {"limit": limit},
    )
    return [record(row[0], row[1:]) for row in rows]


def pending_count(connection: SqlConnection, scope: Scope | None, work: str) -> int:
    """Return for how many records a work is still to be done, of one user or of all."""
    sql, values = _pending(scope, work)
    return int(connection.value(f"SELECT count(*) {sql}", values))


def _pending(scope: Scope | None, work: str) -> tuple[str, dict[str, Any]]:
    if scope is None:
        return PENDING, {"work": work}
    values = {"work": work, "user": scope.user, "agent": scope.agent}
    return PENDING + PENDING_OF_USER, values


def vector_model(connection: SqlConnection) -> tuple[str, int] | None:
    """Return name and dimensions of the stored vectors' model."""
    rows = connection.all(
        "SELECT name, value FROM meta WHERE name IN (:model, :dimensions)",
        {"model": MODEL, "dimensions": DIMENSIONS},
    )
    meta = {row[0]: row[1] for row in rows}
    return (meta[MODEL], int(meta[DIMENSIONS])) if meta else None


def conversations(
    connection: SqlConnection, scope: Scope, id: str | None = None
) -> list[ConversationInfo]:
    """Return the conversations that the scope sees, or the one of that id, the newest first."""
    chosen = "" if id is None else "AND c.id = :id"
    rows = connection.all(
        f"SELECT {CONVERSATION} FROM conversations c WHERE {CONVERSATION_OWNED} {chosen} "
        "ORDER BY c.created_at DESC, c.key DESC",
        {"user": scope.user, "agent": scope.agent, "id": id},
    )
    return [conversation(row) for row in rows]


def messages(
    connection: SqlConnection,
    scope: Scope,
    id: str,
    *,
    last: int | None,
    after: int | None,
    cleared: bool,
    pinned: bool,
) -> list[Message]:
    """Return the last so many messages in order, or all; only those after a position."""
    limit = "" if last is None else "LIMIT :last"
    rows = connection.all(
        f"SELECT {MESSAGE} FROM messages m JOIN conversations c ON c.key = m.conversation_key "
        f"WHERE {CONVERSATION_OWNED} AND c.id = :id "
        "AND m.position > greatest(:after, CASE WHEN :cleared = 1 THEN -1 "
        f"ELSE c.cleared_through END) AND m.pinned >= :pinned ORDER BY m.position DESC {limit}",
        {
            "user": scope.user,
            "agent": scope.agent,
            "id": id,
            "last": last,
            "after": -1 if after is None else after,
            "cleared": int(cleared),
            "pinned": int(pinned),
        },
    )
    return [message(row) for row in rows][::-1]
