"""The reads of a store, written once for all databases."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import accumulate, compress, groupby
from typing import Any, TypeVar

import numpy as np

from memoranda.errors import NotFound
from memoranda.model.checks import from_ms, to_ms
from memoranda.model.erasure import KeptText
from memoranda.model.models import (
    Change,
    ConversationInfo,
    Entity,
    Kind,
    Message,
    PlaceKind,
    Pruning,
    Record,
    Scope,
    TextPlace,
    Tombstone,
)
from memoranda.model.notes import NotesBase
from memoranda.model.ports import Key, NameMatcher
from memoranda.model.query import (
    ORDERED,
    Candidates,
    Filter,
    IndexChanges,
    IndexRow,
    IndexVersion,
    Lineage,
    MetadataCondition,
    Order,
    RecordRelation,
    RecordTokens,
    StoredFloats,
    Vector,
    metadata_conditions,
)
from memoranda.model.sessions import SessionInfo
from memoranda.model.usage import StageUsage
from memoranda.store.sql.database import FOLDER, SqlConnection
from memoranda.store.sql.rows import (
    CHANGES,
    CONVERSATION,
    DAMAGE,
    MESSAGE,
    PRUNING,
    PRUNINGS,
    RECORD,
    REMOVED_MESSAGE,
    SESSIONS,
    STORED_FLOAT,
    USAGE,
    Row,
    conversation,
    decode_namespace,
    dump,
    encode_namespace,
    index_rows,
    message,
    noted_lines,
    read_strings,
    record,
)

T = TypeVar("T")

MODEL = "embedding_model"
DIMENSIONS = "embedding_dimensions"
VALID = "(r.valid_until IS NULL OR r.valid_until > :now)"
FILTERS: dict[str, dict[str, str]] = tomllib.loads((FOLDER / "filters.toml").read_text("utf-8"))
# That a record was stored stands on the record itself.
HISTORY = """
WITH chain AS ({versions})
SELECT at, action, reason, record_id, detail FROM (
    SELECT 0 AS key, created_at AS at, 'insert' AS action, reason, id AS record_id, '{}' AS detail,
        agent, key AS version
    FROM records WHERE user_key = :user AND id IN (SELECT id FROM chain)
    UNION ALL SELECT key, at, action, reason, record_id, detail, agent,
        (SELECT r.key FROM records r WHERE r.id = record_id AND r.user_key = :user)
    FROM history WHERE user_key = :user AND record_id IN (SELECT id FROM chain)
) changes WHERE CAST(:agent AS text) IS NULL OR agent IS NULL OR agent = :agent
ORDER BY version, key
""".replace("{versions}", FILTERS["relations"][RecordRelation.VERSIONS])
SESSIONS_OF_SCOPE = """
SELECT c.session_id, min(c.first_seen_at),
    CASE WHEN count(*) = count(c.consolidated_at) THEN max(c.consolidated_at) END,
    coalesce(min(c.through) FILTER (WHERE c.consolidated_at IS NULL), max(c.through)),
    CASE WHEN min(c.noted) = max(c.noted) THEN max(c.noted) ELSE coalesce((
        SELECT min(n.noted) FROM sessions n
        WHERE n.user_key = :user AND n.session_id = c.session_id
            AND (CAST(:agent AS text) IS NULL OR n.agent IN ('', :agent)) AND EXISTS (
                SELECT 1 FROM records r WHERE r.user_key = :user AND r.session_id = n.session_id
                AND r.position > n.noted AND r.kind = 'episode' AND r.closed_at IS NULL
                AND coalesce(r.agent, '') = n.agent)), max(c.noted)) END,
    max(c.tries), max(c.unread)
FROM sessions c WHERE c.user_key = :user
    AND (CAST(:agent AS text) IS NULL OR c.agent IN ('', :agent)) AND {chosen}
    AND NOT EXISTS (SELECT 1 FROM conversations d
        WHERE d.user_key = :user AND d.id = c.session_id AND d.deleted_at IS NOT NULL)
GROUP BY c.session_id ORDER BY min(c.first_seen_at), c.session_id
"""
PENDING_SESSIONS = """
c.session_id IN (SELECT session_id FROM sessions p WHERE p.user_key = :user
    AND p.consolidated_at IS NULL AND (CAST(:agent AS text) IS NULL OR p.agent IN ('', :agent)))
"""
READ_USAGE = """
SELECT stage, model, CAST(sum(requests) AS bigint), CAST(sum(failures) AS bigint),
    CAST(sum(input_tokens) AS bigint), CAST(sum(output_tokens) AS bigint), sum(cost), sum(seconds)
FROM model_usage
WHERE user_key = :user AND (CAST(:agent AS text) IS NULL OR agent IN ('', :agent))
GROUP BY stage, model ORDER BY stage, model
"""
SOURCES = """
SELECT r.key, s.key FROM records r
JOIN record_sources j ON j.record_key = r.key
JOIN records s ON s.id = j.source_id AND s.user_key = r.user_key
WHERE r.user_key = :user AND r.source_ids <> '[]' ORDER BY r.key, s.key
"""
REPLACED = """
SELECT r.key, s.key FROM records r JOIN records s ON s.id = r.superseded_by
    AND s.user_key = r.user_key
WHERE r.user_key = :user AND r.superseded_by IS NOT NULL ORDER BY r.key
"""
DECIDED = """
SELECT d.folded, d.target FROM entity_decisions d
WHERE d.user_key = :user AND (CAST(:agent AS text) IS NULL OR (
    SELECT count(DISTINCT l.folded) FROM record_entities l JOIN records r ON r.key = l.record_key
    WHERE r.user_key = :user AND l.user_key = :user AND (r.agent IS NULL OR r.agent = :agent)
        AND l.folded IN (d.folded, d.target)) = CASE WHEN d.folded = d.target THEN 1 ELSE 2 END)
ORDER BY d.folded
"""
OTHERS = """
SELECT r.id FROM records r
WHERE r.id IN ({related}) AND r.id NOT IN (@texts(:ids)) AND {mine} ORDER BY r.key
"""
RESTING = """
SELECT r.id, r.kind, r.source_ids FROM records r
WHERE {mine} AND r.origin NOT IN ('api', 'tool') AND r.key IN (
    SELECT record_key FROM record_sources
    WHERE user_key = :user AND source_id IN (@texts(:ids))) ORDER BY r.key
"""
LINKED = """
SELECT r.key, count(DISTINCT l.entity_key) AS matched FROM entity_names n
JOIN record_entities l ON l.entity_key = n.entity_key JOIN records r ON r.key = l.record_key
WHERE {mine} AND n.user_key = :user AND l.user_key = :user AND n.folded IN (@texts(:folded))
GROUP BY r.key ORDER BY matched DESC, r.key DESC
"""
CONVERSATIONS = f"""
SELECT {CONVERSATION} FROM conversations c WHERE c.deleted_at IS NULL AND {{mine}}
"""
NEWEST_FIRST = "ORDER BY c.created_at DESC, c.key DESC"
MESSAGES = f"""
SELECT {MESSAGE} FROM messages m JOIN conversations c ON c.key = m.conversation_key
WHERE c.deleted_at IS NULL AND {{mine}} AND m.user_key = :user
"""
# More than any position.
BEYOND = 1 << 62
# Word for word as the partial indexes of the schema have it. The sign has SQLite look for the
# message of a record, and not among all messages of the conversation.
EXPIRED_THROUGH = """
SELECT m.position FROM records r
JOIN messages m ON m.record_id = r.id AND m.record_id IS NOT NULL
JOIN conversations c ON c.key = +m.conversation_key
WHERE r.user_key = :user AND r.session_id = :id AND r.session_id IS NOT NULL
    AND r.valid_until IS NOT NULL AND r.valid_until <= :now AND r.closed_at IS NULL
    AND c.id = :id AND c.deleted_at IS NULL AND {mine} AND m.user_key = :user
ORDER BY r.valid_until DESC, m.position DESC LIMIT 1
"""
# What has no episode of its own (a picture, a call without words) goes with what came after it.
EXPIRED = """
(m.role <> 'system' AND EXISTS (
    SELECT 1 FROM records r
    WHERE r.user_key = :user AND r.valid_until <= :now AND r.closed_at IS NULL
    AND r.id = coalesce(m.record_id, (SELECT n.record_id FROM messages n
        WHERE n.user_key = :user AND n.conversation_key = m.conversation_key
        AND n.position > m.position AND n.record_id IS NOT NULL ORDER BY n.position LIMIT 1))))
"""
# Id, conversation, model and text, or message. Of all agents, also of conversations that were
# deleted without being erased.
KEPT = {
    PlaceKind.RECORD: """
        SELECT id, NULL, NULL, content || ' | ' || tags || ' | ' || metadata
        FROM records WHERE user_key = :user ORDER BY key
    """,
    PlaceKind.SYSTEM: """
        SELECT id, id, model, system FROM conversations
        WHERE user_key = :user AND system IS NOT NULL
    """,
    PlaceKind.SUMMARY: """
        SELECT p.id, c.id, c.model, p.spans FROM prunings p
        JOIN conversations c ON c.key = p.conversation_key
        WHERE c.user_key = :user AND p.user_key = :user
    """,
    PlaceKind.MESSAGE: f"""
        SELECT m.id, c.id, c.model, {MESSAGE} FROM messages m
        JOIN conversations c ON c.key = m.conversation_key
        WHERE c.user_key = :user AND m.user_key = :user ORDER BY m.key
    """,
}


def _kept_text(kind: PlaceKind, row: Row) -> KeptText:
    id_, conversation, model, *told = row
    place = TextPlace(kind, id_, conversation)
    if kind is PlaceKind.MESSAGE:
        return KeptText(place, message=message(told), model=model)
    return KeptText(place, told[0], model=model)


READ_PRUNINGS = f"""
SELECT {PRUNING} FROM prunings p JOIN conversations c ON c.key = p.conversation_key
WHERE c.deleted_at IS NULL AND {{mine}} AND p.user_key = :user AND c.id = :id ORDER BY p.at, p.key
"""
TOMBSTONES = f"""
SELECT t.id, t.at, t.count, {REMOVED_MESSAGE}
FROM conversations c JOIN tombstones t ON t.user_key = :user AND t.conversation_key = c.key
LEFT JOIN messages m ON m.user_key = :user AND m.tombstone_key = t.key
WHERE {{mine}} AND c.id = :id AND c.deleted_at IS NULL{{chosen}} ORDER BY t.key, m.position
"""
NOTES = """
SELECT agent, folder, lines FROM notes_bases WHERE user_key = :user
    AND (CAST(:agent AS text) IS NULL OR agent = :agent) ORDER BY agent, folder
"""
COUNTED = """
SELECT e.key, e.id, e.name, e.type, count(DISTINCT l.record_key) AS times
FROM entities e
JOIN record_entities l ON e.user_key = :user AND l.user_key = :user AND l.entity_key = e.key
JOIN records r ON r.key = l.record_key
"""
# An IndexVersion, and the last write that removed rows. Most searches find that nothing has
# changed, and read no more than this.
NEWEST = """
SELECT revision, coalesce((SELECT max(r.key) FROM records r WHERE r.user_key = :user), 0),
    vector_seq, removal_revision
FROM users WHERE key = :user
"""
NOTHING_STORED = (0, 0, 0, 0)
NO_VECTORS = np.empty((0, 0), STORED_FLOAT)
FACT_REVISION = "SELECT fact_revision FROM users WHERE key = :user"
# Whether a text asks is seen by a question mark among its last forty characters.
INDEX_ROWS = """
SELECT key, session_id, position, length(content), term_count, kind, agent, source_role,
    event_time, created_at, valid_until, confidence, subject, attribute, event_until,
    substr(content, greatest(length(content) - 39, 1)) LIKE '%?%'
        OR substr(content, greatest(length(content) - 39, 1)) LIKE '%\N{FULLWIDTH QUESTION MARK}%'
FROM records r WHERE user_key = :user AND {new} AND {part} ORDER BY key
"""
# What came since. It has an end, as a server that plans for any beginning takes what has none for a
# third of all.
LATER = "key > :ordinal AND key <= :last"
# Those that have changed since; the last condition names an index.
REVISED = "revised > :revision AND revised > 0"
INDEX_VECTORS = """
SELECT v.seq, v.record_key, v.embedding FROM vectors v JOIN records r ON r.key = v.record_key
WHERE v.user_key = :user AND r.user_key = :user AND v.seq > :seq AND v.seq <= :newest AND {part}
ORDER BY v.seq LIMIT :most
"""
# Vectors that are read at once.
AT_ONCE = 4_096
# Of a number of 16 bits.
EXPONENT = np.int16(0x7C00)
TEXTS = "SELECT r.key, r.content FROM records r WHERE r.key IN (@ints(:keys)) AND {mine}"
VECTORS_OF_RECORDS = """
SELECT record_key, embedding FROM vectors
WHERE record_key IN (@ints(:keys)) AND user_key = :user
"""
VECTORS_OF_TOKENS = """
SELECT record_key, size, tokens FROM token_vectors
WHERE record_key IN (@ints(:keys)) AND user_key = :user
"""
# The same of some of the memories, by their keys.
SOME = "key IN (@ints(:keys))"
CANDIDATE_ROWS = INDEX_ROWS.format(new=SOME, part="r.kind <> 'item'")
# Items have an index of their own: what an application keeps changes no ranking of memories.
INDEX_STATEMENTS = {
    items: tuple(
        sql.format(part=part, new=new)
        for sql, new in ((INDEX_ROWS, LATER), (INDEX_ROWS, REVISED), (INDEX_VECTORS, ""))
    )
    for items, part in ((False, "r.kind <> 'item'"), (True, "r.kind = 'item'"))
}


@dataclass(frozen=True, slots=True)
class Where:
    """Conditions joined by AND, with the values of their parameters by name.

    Attributes:
        sql: the conditions.
        values: their parameters.
        source: the tables that they are about, ``records AS r`` among them.
    """

    sql: str
    values: dict[str, Any]
    source: str = "records r"


def owned(scope: Scope | None, user: int, table: str = "r") -> Where:
    """Limit to what the scope may see; ``None`` sees what all users have."""
    if scope is None:
        return Where("TRUE", {})
    sql = f"{table}.user_key = :user"
    if scope.agent is not None:
        sql += f" AND ({table}.agent IS NULL OR {table}.agent = :agent)"
    return Where(sql, {"user": user, "agent": scope.agent})


def matching(scope: Scope | None, user: int, where: Filter) -> Where:
    """Limit to what the scope may see and the filter lets through."""
    base = owned(scope, user)
    sql, values = [base.sql], base.values | {"now": to_ms(where.as_of or where.now)}
    if where.as_of is not None:
        sql.append("r.created_at <= :now AND " + VALID)
    elif not where.retired:
        sql.append(VALID)
    of_kinds = _of_kinds(where)
    sql.append(of_kinds.sql)
    values |= of_kinds.values
    if where.subset is not None:
        sql.append(FILTERS["subsets"][where.subset])
    for name, condition in FILTERS["conditions"].items():
        value = getattr(where, name)
        if value is not None:
            sql.append(condition)
            values[name] = _bound(value)
    for number, tag in enumerate(where.tags):
        sql.append(f":tag{number} IN (@members(r.tags))")
        values[f"tag{number}"] = tag
    for number, one in enumerate(metadata_conditions(where.metadata)):
        meets, wanted = _comparison(one, f"attribute{number}")
        sql.append(meets)
        values[f"attribute{number}"] = wanted
    # What waits is few: SQLite takes the tables of a CROSS JOIN in their order.
    source = "records r" if where.waiting is None else "derivations w CROSS JOIN records r"
    return Where(" AND ".join(sql), values, source)


def _comparison(condition: MetadataCondition, parameter: str) -> tuple[str, str]:
    """Return a condition on metadata as SQL over ``parameter``, and the value of that."""
    name, operator, wanted = condition
    if operator in ORDERED:
        sql = f"@ordered(r.metadata, :{parameter}, {ORDERED[operator]})"
    elif operator == "in":
        some = f"SELECT 1 FROM (@texts(:{parameter})) one WHERE @attribute(r.metadata, one.value)"
        return f"EXISTS ({some})", dump([dump({name: value}) for value in wanted])
    else:
        sql = f"{'NOT ' if operator == 'ne' else ''}@attribute(r.metadata, :{parameter})"
    return sql, dump({name: wanted})


def _of_kinds(where: Filter) -> Where:
    """Limit to the kinds that a filter names, and to the namespace and key of items."""
    sql: list[str] = []
    values: dict[str, Any] = {}
    if where.kinds and set(where.kinds) != set(Kind):
        # In these words, for the index of rarer kinds.
        sql.append("({})".format(" OR ".join(f"r.kind = '{kind.value}'" for kind in where.kinds)))
    if where.namespace is not None:
        sql.append("r.kind = 'item'")
        start = values["namespace"] = encode_namespace(where.namespace)
        if where.key is not None:
            sql.append("r.namespace = :namespace AND r.item_key = :item_key")
            values["item_key"] = where.key
        elif start:
            # What begins with a text is before that text with a next character in the last place.
            sql.append("r.namespace >= :namespace AND r.namespace < :beyond_namespace")
            values["beyond_namespace"] = f"{start[:-1]}-"
    elif not where.kinds:
        sql.append("r.kind <> 'item'")
    return Where(" AND ".join(sql) or "TRUE", values)


def _bound(value: datetime | Sequence[str] | str | int) -> str | int:
    """Return a value of a filter as a parameter: a moment in milliseconds, a list as JSON."""
    if isinstance(value, datetime):
        return to_ms(value)
    return value if isinstance(value, str | int) else dump(value)


class SqlReads:
    """What a store reads, over connections that are lent by whoever has them."""

    names: NameMatcher

    def _reading(self, scope: Scope | None) -> AbstractContextManager[tuple[SqlConnection, int]]:
        """Lend a connection with the rows of a user (``None``: of all), and the user's key."""
        raise NotImplementedError(scope)

    def snapshot(self) -> AbstractContextManager[None]:
        """Let all reads of this thread inside the block see one moment."""
        raise NotImplementedError

    def _query(self, scope: Scope, sql: str, owner: str = "r", **values: Any) -> list[Any]:
        """Return the rows of a statement that knows a user, an agent and ``values``.

        ``{mine}`` in it limits the table of that name to what the scope may see.
        """
        with self._reading(scope) as (connection, user):
            mine = owned(scope, user, owner)
            return connection.all(sql.replace("{mine}", mine.sql), mine.values | values)

    def _made(
        self,
        make: Callable[[Row], T],
        table: str,
        scope: Scope,
        sql: str,
        owner: str = "r",
        **values: Any,
    ) -> list[T]:
        """Return what ``make`` makes of the rows of a statement, without those that are damaged."""
        with self._reading(scope) as (connection, user):
            mine = owned(scope, user, owner)
            every = mine.values | values
            made = connection.made(make, table, sql.replace("{mine}", mine.sql), every)
        return [each for each in made if each is not None]

    # Records

    def get(self, scope: Scope, keys: Sequence[Key]) -> dict[Key, Record]:
        """Return the records with these ids or ordinals, as far as they exist, in that order."""
        by_id = bool(keys) and isinstance(keys[0], str)
        column, listed = ("r.id", "@texts(:keys)") if by_id else ("r.key", "@ints(:keys)")
        sql = f"SELECT {column}, {RECORD} FROM records r WHERE {column} IN ({listed}) AND {{mine}}"

        def make(row: Row) -> tuple[Key, Record]:
            return row[0], record(scope.user, row[1:])

        found = dict(self._made(make, "records", scope, sql, keys=dump(list(keys))))
        return {key: found[key] for key in keys if key in found}

    def texts(self, scope: Scope, ordinals: Sequence[int]) -> dict[int, str]:
        """Return the text of each of these records, as far as they exist."""
        rows: Any = self._made(tuple, "records", scope, TEXTS, keys=dump(list(ordinals)))
        return dict(rows)

    def records(
        self,
        scope: Scope | None,
        where: Filter,
        *,
        order: Order = Order.RECORDED,
        limit: int | None = None,
        offset: int = 0,
        after: str | None = None,
    ) -> list[Record]:
        """Return the matching records, or a page of them, or those recorded after another.

        In the order ``latest`` that is those recorded before the other.
        """
        if scope is not None and after is not None and not self.get(scope, [after]):
            message = (
                f"after={after!r} is no record of this user; pass the id of the last record you got"
            )
            raise NotFound(message)
        beyond = "<" if order is Order.LATEST else ">"
        theirs = "TRUE" if scope is None else "user_key = :user"
        other = f"AND r.key {beyond} (SELECT key FROM records WHERE id = :after AND {theirs}) "
        end = "" if after is None else other
        page = "" if limit is None else " LIMIT :limit OFFSET :offset"
        end += f"ORDER BY {FILTERS['orders'][order]}{page}"
        found: list[Record] = []
        while True:  # A page that damaged rows leave short is filled: it is no last page.
            missing = None if limit is None else limit - len(found)
            made = self._of_matching(
                scope,
                where,
                f"(SELECT name FROM users WHERE key = r.user_key), {RECORD}",
                end,
                lambda row: record(row[0], row[1:]),
                after=after,
                limit=missing,
                offset=offset,
            )
            found += [each for each in made if each is not None]
            offset += len(made)
            if limit is None or len(found) == limit or not made:
                return found

    def count(self, scope: Scope | None, where: Filter) -> dict[Kind, int]:
        """Return how many records match, by kind."""
        made = self._of_matching(
            scope, where, "r.kind, count(*)", "GROUP BY r.kind", lambda row: (Kind(row[0]), row[1])
        )
        return dict(each for each in made if each is not None)

    def namespaces(self, scope: Scope, where: Filter) -> list[tuple[str, ...]]:
        """Return the namespaces of the matching items, each once."""
        made = self._of_matching(
            scope, where, "DISTINCT r.namespace", make=lambda row: decode_namespace(row[0])
        )
        return sorted(each for each in made if each is not None)

    def ordinals(self, scope: Scope, where: Filter) -> list[int]:
        """Return the ordinals of the matching records."""
        return [row[0] for row in self._of_matching(scope, where, "r.key")]

    def _of_matching(
        self,
        scope: Scope | None,
        where: Filter,
        columns: str,
        end: str = "",
        make: Callable[[Row], Any] = tuple,
        **values: Any,
    ) -> list[Any]:
        with self._reading(scope) as (connection, user):
            clause = matching(scope, user, where)
            sql = f"SELECT {columns} FROM {clause.source} WHERE {clause.sql} {end}"
            return connection.made(make, "records", sql, clause.values | values)

    def related(self, scope: Scope, ids: Sequence[str], relation: RecordRelation) -> list[str]:
        """Return the other records that stand in a relation to ``ids``, oldest first."""
        if relation is RecordRelation.LEARNED:
            return self._learned_only_from(scope, ids)
        sql = OTHERS.replace("{related}", FILTERS["relations"][relation])
        return [row[0] for row in self._query(scope, sql, ids=dump(list(ids)))]

    def _learned_only_from(self, scope: Scope, ids: Sequence[str]) -> list[str]:
        gone = set(ids)
        learned: list[str] = []

        def make(row: Row) -> tuple[str, str, tuple[str, ...]]:
            return row[0], row[1], read_strings(row[2])

        while True:
            rows = self._made(make, "records", scope, RESTING, ids=dump(sorted(gone)))
            new = [
                found
                for found, kind, sources in rows
                if kind != Kind.FACT or gone.issuperset(sources)
                if found not in gone
            ]
            if not new:
                return learned
            learned += new
            gone.update(new)

    def history(self, scope: Scope, id: str) -> list[Change]:
        """Return what was done to a record, oldest first."""
        return self._made(CHANGES.make, "history", scope, HISTORY, ids=dump([id]))

    # Upkeep

    def sessions(
        self,
        scope: Scope,
        *,
        id: str | None = None,
        pending: bool = False,
        exclude: str | None = None,
    ) -> dict[str, SessionInfo]:
        """Return the sessions of which the scope sees episodes, the first seen first.

        Where agents read their own episodes of one session, it waits until all are done; it is
        told as far as it is of the agent that has something to tell and told least.
        """
        chosen = ["TRUE"] if id is None else ["c.session_id = :id"]
        if exclude is not None:
            chosen.append("c.session_id <> :exclude")
        if pending:
            chosen.append(PENDING_SESSIONS)
        sql = SESSIONS_OF_SCOPE.replace("{chosen}", " AND ".join(chosen))
        found = self._made(SESSIONS.make, "sessions", scope, sql, id=id, exclude=exclude)
        return {each.id: each for each in found}

    def usage(self, scope: Scope) -> list[StageUsage]:
        """Return what stages have used of language models, by stage and model."""
        return [
            StageUsage(stage, model, USAGE.make(used))
            for stage, model, *used in self._query(scope, READ_USAGE)
        ]

    def vector_model(self) -> tuple[str, int] | None:
        """Return name and dimensions of the stored vectors' model."""
        with self._reading(None) as (connection, _):
            return vector_model(connection)

    # Search

    def index_changes(
        self, scope: Scope, since: IndexVersion, *, items: bool = False
    ) -> IndexChanges:
        """Return what came after ``since``, or everything where known rows changed.

        Vectors are float16 rows by user. Measured at 384 dimensions against a vec0 table with a
        partition for each user: 1.1 kB a record instead of 1.9 (10 users with 5,000 records) or
        32 (2,000 users with 50), and once read, a tenth of vec0's time for a search.
        """
        later_rows, revised_rows, later_vectors = INDEX_STATEMENTS[items]
        with self.snapshot(), self._reading(scope) as (connection, user):
            *newest, removal = connection.one(NEWEST, {"user": user}) or NOTHING_STORED
            version = IndexVersion(*newest)
            if version == since:
                return IndexChanges(since, reset=False, vectors=NO_VECTORS)
            reset = since.revision < removal or since.revision < 0
            start = IndexVersion(version.revision) if reset else since
            values: dict[str, Any] = {
                "user": user,
                "ordinal": start.ordinal,
                "last": version.ordinal,
                "seq": start.vector,
                "newest": version.vector,
                "revision": start.revision,
                "most": AT_ONCE,
            }
            rows = read_index_rows(connection, connection.rows(later_rows, values))
            changed = read_index_rows(connection, connection.rows(revised_rows, values))
            revised = [row for row in changed if row.ordinal <= start.ordinal]
            vectors = StoredVectors(connection)
            if revised:
                values["keys"] = dump([row.ordinal for row in revised])
                vectors.add(connection.rows(VECTORS_OF_RECORDS, values))
            while values["seq"] < version.vector:
                found = connection.rows(later_vectors, values)
                vectors.add(found)
                last = [row[0] for row in found if row][-1:] if len(found) == AT_ONCE else []
                values["seq"] = last[0] if last else version.vector
            lineage = None
            # What is only said rests on nothing, so adding it changes no lineage.
            if reset or revised or any(row.kind != Kind.EPISODE for row in rows):
                pairs: list[Any] = [connection.all(sql, values) for sql in (SOURCES, REPLACED)]
                lineage = Lineage(*pairs)
        return IndexChanges(
            version=version,
            reset=reset,
            rows=rows,
            revised=revised,
            ordinals=vectors.ordinals,
            vectors=vectors.floats,
            lineage=lineage,
        )

    def is_large(self, scope: Scope) -> bool:
        """Return that every user's memories can be ranked in memory."""
        del scope
        return False

    def candidates(
        self,
        scope: Scope,
        where: Filter,
        *,
        terms: Sequence[str],
        vector: Vector | None,
        attributes: Collection[str],
        most: int,
    ) -> Candidates:
        """Refuse: no user is large."""
        raise NotImplementedError(scope, where, terms, vector, attributes, most)

    def vectors(self, scope: Scope, ordinals: Sequence[int]) -> dict[int, Vector]:
        """Return the vectors of these records as they are stored, of those that have one."""

        def make(row: Row) -> tuple[int, Vector]:
            return row[0], np.frombuffer(row[1], STORED_FLOAT).astype(np.float32)

        rows = self._made(make, "vectors", scope, VECTORS_OF_RECORDS, keys=dump(list(ordinals)))
        return dict(rows)

    def token_vectors(self, scope: Scope, ordinals: Sequence[int]) -> RecordTokens:
        """Return the vectors of the tokens of these records, of those that have some."""
        listed = dump(list(ordinals))
        rows = self._made(_tokens, "token_vectors", scope, VECTORS_OF_TOKENS, keys=listed)
        # Those of another model are of another size, until they are made anew.
        rows = [row for row in rows if row[2] and row[1] == rows[-1][1]]
        if not rows:
            return RecordTokens((), (0,), np.empty((0, 0), np.int8))
        keys, sizes, blobs = zip(*rows, strict=True)
        ends = accumulate(len(blob) // size for blob, size in zip(blobs, sizes, strict=True))
        vectors = np.frombuffer(b"".join(blobs), np.int8).reshape(-1, sizes[0])
        return RecordTokens(keys, (0, *ends), vectors)

    def mentioning(self, scope: Scope, names: Sequence[str]) -> list[tuple[int, int]]:
        """Return ordinals of records that mention entities of these names; most of them first."""
        folded = dump([self.names.fold(name) for name in names])
        return self._query(scope, LINKED, folded=folded)

    # Entities

    def entities(
        self,
        scope: Scope,
        where: Filter,
        *,
        name: str | None = None,
        type: str | None = None,
        except_type: str | None = None,
        limit: int,
    ) -> list[Entity]:
        """Return the entities of matching records, most mentioned first, then by name."""
        chosen = "" if type is None else " AND e.type = :type"
        chosen += "" if except_type is None else " AND e.type <> :except_type"
        if name is not None:
            chosen += (
                " AND e.key IN (SELECT entity_key FROM entity_names "
                "WHERE user_key = :user AND folded = :folded)"
            )
        asked = {
            "type": type,
            "except_type": except_type,
            "limit": limit,
            "folded": self.names.fold(name or ""),
        }
        with self.snapshot(), self._reading(scope) as (connection, user):
            clause = matching(scope, user, where)
            rows = connection.all(
                f"{COUNTED} WHERE {clause.sql}{chosen} GROUP BY e.key, e.id, e.name, e.type "
                "ORDER BY times DESC, e.name, e.key LIMIT :limit",
                clause.values | asked,
            )
            return [
                Entity(
                    id=row[1],
                    name=row[2],
                    type=row[3],
                    aliases=_aliases(connection, clause, row[0], row[2]),
                    mention_count=row[4],
                )
                for row in rows
            ]

    def decisions(self, scope: Scope) -> dict[str, str]:
        """Return to which names' entities persons gave names."""
        found: Any = self._made(tuple, "entity_decisions", scope, DECIDED)
        return dict(found)

    # Conversations

    def conversations(self, scope: Scope, id: str | None = None) -> dict[str, ConversationInfo]:
        """Return the conversations that the scope sees, or the one of that id; newest first."""
        chosen = "" if id is None else "AND c.id = :id"
        sql = f"{CONVERSATIONS} {chosen} {NEWEST_FIRST}"
        found = self._made(conversation, "conversations", scope, sql, "c", id=id)
        return {each.id: each for each in found}

    def messages(
        self,
        scope: Scope,
        id: str | None = None,
        *,
        records: Sequence[str] | None = None,
        now: datetime | None = None,
        last: int | None = None,
        after: int | None = None,
        cleared: bool = False,
        pinned: bool = False,
        expired: bool = False,
    ) -> list[Message]:
        """Return messages in order, of one conversation or with the text of these records."""
        through = -1 if now is None or id is None else self.expired_through(scope, id, now=now)
        if expired and through < 0:
            return []
        start = "-1" if cleared else "c.cleared_through"
        chosen = [f"m.position > greatest(:after, {start})"]
        if after is not None:
            # With an end, a server that plans for any beginning takes them for a few of all.
            chosen.append("m.position > :after AND m.position < :beyond")
        if through >= 0:
            chosen.append(EXPIRED if expired else f"NOT {EXPIRED}")
        if id is not None:
            chosen.append("c.id = :id")
        if records is not None:
            chosen.append("m.record_id IN (@texts(:records))")
        if pinned:
            chosen.append("m.pinned = 1")
        limit = "" if last is None else "LIMIT :last"
        found = self._made(
            message,
            "messages",
            scope,
            f"{MESSAGES} AND {' AND '.join(chosen)} ORDER BY m.position DESC {limit}",
            "c",
            id=id,
            records=None if records is None else dump(list(records)),
            after=-1 if after is None else after,
            beyond=BEYOND,
            last=last,
            now=None if now is None else to_ms(now),
        )
        return found[::-1]

    def expired_through(self, scope: Scope, id: str, *, now: datetime) -> int:
        """Return the position of the message that expired last; -1, if none has."""
        rows = self._query(scope, EXPIRED_THROUGH, "c", id=id, now=to_ms(now))
        return rows[0][0] if rows else -1

    def prunings(self, scope: Scope, id: str) -> list[Pruning]:
        """Return the receipts of all prunings of a conversation, oldest first."""
        return self._made(PRUNINGS.make, "prunings", scope, READ_PRUNINGS, "c", id=id)

    def tombstones(self, scope: Scope, id: str, tombstone: str | None = None) -> list[Tombstone]:
        """Return the tombstones of a conversation, oldest first, or one."""
        chosen = "" if tombstone is None else " AND t.id = :tombstone"
        sql = TOMBSTONES.replace("{chosen}", chosen)

        def make(row: Row) -> tuple[str, datetime, int, Message | None]:
            name, at, count, *left = row
            return name, from_ms(at), count, message(left) if left[0] is not None else None

        rows = self._made(make, "tombstones", scope, sql, "c", id=id, tombstone=tombstone)
        return [
            Tombstone(
                id=name,
                at=at,
                count=count,
                messages=tuple(row[3] for row in left if row[3] is not None),
            )
            for (name, at, count), left in groupby(rows, key=lambda row: row[:3])
        ]

    def kept_texts(self, scope: Scope) -> list[KeptText]:
        """Return every text of the user, in records and beside them."""
        with self.snapshot():
            return [
                text
                for kind, sql in KEPT.items()
                for text in self._made(partial(_kept_text, kind), kind, scope, sql)
            ]

    # Notes

    def notes_bases(self, scope: Scope) -> dict[tuple[Scope, str], NotesBase]:
        """Return what MEMORY.md last said, by whose it is and its folder."""

        def make(row: Row) -> tuple[tuple[Scope, str], NotesBase]:
            agent, folder, lines = row
            return (Scope(scope.user, agent or None), folder), NotesBase(folder, noted_lines(lines))

        return dict(self._made(make, "notes_bases", scope, NOTES))

    def fact_revision(self, scope: Scope) -> int:
        """Return the number of the user's last write that changed which facts there are.

        Facts that end by themselves change nothing that is stored, and it tells nothing of these.
        """
        with self._reading(scope) as (connection, user):
            return connection.value(FACT_REVISION, {"user": user}) or 0


def vector_model(connection: SqlConnection) -> tuple[str, int] | None:
    """Return name and dimensions of the stored vectors' model."""
    rows = connection.all(
        "SELECT name, value FROM meta WHERE name IN (:model, :dimensions)",
        {"model": MODEL, "dimensions": DIMENSIONS},
    )
    meta: dict[str, Any] = dict(rows)
    if not str(meta.get(DIMENSIONS, "")).isdecimal() or not isinstance(meta.get(MODEL), str):
        return None  # None yet, or damaged: the vectors are made anew.
    return meta[MODEL], int(meta[DIMENSIONS])


def read_index_rows(connection: SqlConnection, rows: Sequence[Any]) -> list[IndexRow]:
    """Return what ranking reads of records, without those that are damaged."""
    try:
        return index_rows(rows)
    except DAMAGE:
        made = [connection.make(lambda row: index_rows([row])[0], "records", row) for row in rows]
        return [each for each in made if each is not None]


class StoredVectors:
    """Vectors as they are stored, without those that are damaged.

    Args:
        connection: where they are, all of one model.

    Attributes:
        ordinals: the records that they are of.
    """

    def __init__(self, connection: SqlConnection) -> None:
        """Begin without any."""
        self._dimensions = (vector_model(connection) or ("", 0))[1]
        self._damage_log = connection.damage_log
        self._blobs = bytearray()
        self.ordinals: list[int] = []

    def add(self, rows: Sequence[Any]) -> None:
        """Add those of rows that end with an ordinal and a vector."""
        size = STORED_FLOAT.itemsize * self._dimensions
        whole = [row for row in rows if row and isinstance(row[-1], bytes) and len(row[-1]) == size]
        blobs = b"".join(row[-1] for row in whole)
        floats = np.frombuffer(blobs, STORED_FLOAT).reshape(len(whole), self._dimensions)
        # By the bits of exponents, which all are set in no finite number: this is quicker.
        finite = (floats.view(np.int16) & EXPONENT).max(axis=1, initial=0) < EXPONENT
        if np.count_nonzero(finite) < len(rows):
            why = f"a vector is no {self._dimensions} numbers"
            self._damage_log.warn("vectors", why)
            blobs, whole = floats[finite].tobytes(), [*compress(whole, finite.tolist())]
        self._blobs += blobs
        self.ordinals += [row[-2] for row in whole]

    @property
    def floats(self) -> StoredFloats:
        """All of them, in the order of ``ordinals``."""
        if not self.ordinals:
            return NO_VECTORS
        return np.frombuffer(self._blobs, STORED_FLOAT).reshape(-1, self._dimensions)


def _tokens(row: Row) -> Row:
    """Return ordinal, size and vectors of the tokens of a record; raises where it is damaged."""
    _, size, blob = row
    if size < 1 or len(blob) % size:
        message = f"{len(blob)} bytes are no tokens of {size}"
        raise ValueError(message)
    return row


def _aliases(connection: SqlConnection, where: Where, entity: int, name: str) -> tuple[str, ...]:
    rows = connection.all(
        "SELECT DISTINCT n.name FROM record_entities l "
        "JOIN records r ON r.key = l.record_key "
        "JOIN entity_names n ON n.user_key = r.user_key AND n.folded = l.folded "
        "AND n.entity_key = l.entity_key "
        "WHERE l.entity_key = :entity AND l.user_key = :user AND n.name <> :name "
        f"AND {where.sql} ORDER BY n.name",
        where.values | {"entity": entity, "name": name},
    )
    return tuple(row[0] for row in rows)
