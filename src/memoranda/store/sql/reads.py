"""The reads of a store, written once for all databases."""

from __future__ import annotations

import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple, Unpack

from memoranda.errors import NotFound
from memoranda.model import models
from memoranda.model.checks import from_ms, to_ms
from memoranda.model.erasure import KeptText
from memoranda.model.models import ConversationInfo, Entity, Kind, Record, Scope
from memoranda.model.notes import NotesBase
from memoranda.model.ports import Key, NameMatcher
from memoranda.model.query import (
    ORDERED,
    Filter,
    MessageRange,
    Order,
    RecordRelation,
    metadata_conditions,
)
from memoranda.model.sessions import SessionInfo
from memoranda.model.usage import StageUsage, Usage
from memoranda.store.sql import rows
from memoranda.store.sql.database import FOLDER, UserConnection
from memoranda.store.sql.rows import Row, dump, first_value

BELOW = "r.namespace >= :namespace AND r.namespace < :beyond_namespace"
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
                AND coalesce(r.agent, '') = n.agent)), max(c.noted)) END
FROM sessions c WHERE c.user_key = :user
    AND (CAST(:agent AS text) IS NULL OR c.agent IN ('', :agent)) {chosen}
    AND NOT EXISTS (SELECT 1 FROM conversations d
        WHERE d.user_key = :user AND d.id = c.session_id AND d.deleted_at IS NOT NULL)
GROUP BY c.session_id {pending} ORDER BY min(c.first_seen_at), c.session_id
"""
# Of which the episodes of some agent were not all read.
PENDING = "HAVING count(*) > count(c.consolidated_at)"
READ_USAGE = f"""
SELECT stage, model, {", ".join(rows.USAGE.names)} FROM model_usage
WHERE user_key = :user AND (CAST(:agent AS text) IS NULL OR agent IN ('', :agent))
ORDER BY stage, model, agent
"""
DECIDED = """
SELECT d.folded, d.target FROM entity_decisions d
WHERE d.user_key = :user AND (CAST(:agent AS text) IS NULL OR (
    SELECT count(DISTINCT l.folded) FROM record_entities l JOIN records r ON r.key = l.record_key
    WHERE r.user_key = :user AND l.user_key = :user AND (r.agent IS NULL OR r.agent = :agent)
        AND l.folded IN (d.folded, d.target)) = 2)
ORDER BY d.folded
"""
OTHERS = """
SELECT r.id FROM records r
WHERE r.id IN ({related}) AND r.id NOT IN (@texts(:ids)) AND {mine} ORDER BY r.key
"""
LAST_SAID = """
SELECT r.id, max(s.event_time) FROM records r
JOIN record_sources j ON j.user_key = :user AND j.record_key = r.key
JOIN records s ON s.user_key = :user AND s.id = j.source_id
WHERE r.user_key = :user AND r.id IN (@texts(:ids)) AND {mine} GROUP BY r.id
"""
CONVERSATIONS = f"""
SELECT {rows.CONVERSATION} FROM conversations c
WHERE c.deleted_at IS NULL AND {{mine}}{{chosen}} ORDER BY c.created_at DESC, c.key DESC
"""
TITLES = """
SELECT c.id, m.task FROM conversations c JOIN messages m ON m.conversation_key = c.key
WHERE c.deleted_at IS NULL AND {mine} AND m.user_key = :user AND m.task IS NOT NULL
    AND m.position = (SELECT min(n.position) FROM messages n
        WHERE n.user_key = :user AND n.conversation_key = c.key AND n.position >= 0)
"""
MESSAGES = f"""
SELECT {rows.MESSAGE} FROM messages m JOIN conversations c ON c.key = m.conversation_key
WHERE c.deleted_at IS NULL AND {{mine}} AND m.user_key = :user AND c.id = :id AND {{chosen}}
ORDER BY m.position DESC LIMIT :last
"""
# Whether the user is known is looked up with it, and apart only where there is nothing.
ITEM = f"""
SELECT {rows.RECORD} FROM users u JOIN records r ON r.user_key = u.key
WHERE u.name = :name AND u.deletions = coalesce(CAST(:deletions AS bigint), u.deletions)
    AND (CAST(:agent AS text) IS NULL OR r.agent IS NULL OR r.agent = :agent)
    AND r.kind = 'item' AND r.namespace = :namespace AND r.item_key = :key AND {VALID}
"""
PAGE = f"""
SELECT (SELECT name FROM users WHERE key = r.user_key), {rows.RECORD} FROM {{records}}
WHERE {{mine}} {{beyond}} ORDER BY {{order}} LIMIT :limit OFFSET :offset
"""
IDS = """
SELECT r.id FROM records r WHERE {mine}
    AND substr(r.id, 1, length(CAST(:beginning AS text))) = :beginning ORDER BY r.id LIMIT :limit
"""
AFTER = "AND r.key > (SELECT key FROM records WHERE user_key = :user AND id = :after)"
# Records that are read at once, where all are read.
AT_ONCE = 1_000
# More than any position or number of rows.
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
# Of all agents, also of conversations that were deleted without being erased.
KEPT_TEXTS = f"""
SELECT '{models.PlaceKind.RECORD}', id, NULL, content || ' | ' || tags || ' | ' || metadata, NULL
FROM records WHERE user_key = :user
UNION ALL SELECT '{models.PlaceKind.SYSTEM}', id, id, system, model FROM conversations
WHERE user_key = :user AND system IS NOT NULL
UNION ALL SELECT '{models.PlaceKind.SUMMARY}', p.id, c.id, p.spans, c.model
FROM prunings p JOIN conversations c ON c.key = p.conversation_key
WHERE c.user_key = :user AND p.user_key = :user
"""
KEPT_MESSAGES = f"""
SELECT c.id, c.model, EXISTS (SELECT 1 FROM records r WHERE r.user_key = :user
    AND r.id = m.record_id AND r.closed_at IS NOT NULL AND r.superseded_by IS NULL), {rows.MESSAGE}
FROM messages m JOIN conversations c ON c.key = m.conversation_key
WHERE c.user_key = :user AND m.user_key = :user ORDER BY m.key
"""
READ_PRUNINGS = f"""
SELECT {rows.PRUNING} FROM prunings p JOIN conversations c ON c.key = p.conversation_key
WHERE c.deleted_at IS NULL AND {{mine}} AND p.user_key = :user AND c.id = :id
ORDER BY p.at, p.key
"""
# Also of those that were removed.
MESSAGE_IDS = """
SELECT m.id FROM conversations c
JOIN messages m ON m.user_key = :user AND m.conversation_key = c.key
WHERE {mine} AND c.id = :id AND c.deleted_at IS NULL
"""
NOTES = """
SELECT agent, folder, lines FROM notes_bases WHERE user_key = :user
    AND (CAST(:agent AS text) IS NULL OR agent = :agent) ORDER BY agent, folder
"""
ENTITIES = """
SELECT e.id, e.name, e.type, n.name, @numbers(l.record_key) FROM entities e
JOIN record_entities l ON e.user_key = :user AND l.user_key = :user AND l.entity_key = e.key
JOIN entity_names n ON n.user_key = :user AND n.folded = l.folded AND n.entity_key = e.key
JOIN records r ON r.key = l.record_key
WHERE {mine} AND {chosen} GROUP BY e.key, e.id, e.name, e.type, n.name ORDER BY e.key, n.name
"""
NAMED = """
e.key IN (SELECT entity_key FROM entity_names WHERE user_key = :user AND folded = :folded)
"""
# Dates are only given where they are asked for.
OF_TYPE = "(e.type = :type OR (CAST(:type AS text) IS NULL AND e.type <> 'date'))"


class SqlConditions(NamedTuple):
    """Conditions joined by AND, with the values of their parameters by name.

    Attributes:
        sql: the conditions.
        values: their parameters.
        source: the tables that they are about, ``records AS r`` among them.
    """

    sql: str
    values: dict[str, Any]
    source: str = "records r"


def owned(scope: Scope | None, user: int, table: str = "r") -> SqlConditions:
    """Limit to what the scope may see; ``None`` sees what all users have."""
    if scope is None:
        return SqlConditions("TRUE", {})
    sql = f"{table}.user_key = :user"
    if scope.agent is not None:
        sql += f" AND ({table}.agent IS NULL OR {table}.agent = :agent)"
    return SqlConditions(sql, {"user": user, "agent": scope.agent})


def matching(scope: Scope | None, user: int, where: Filter) -> SqlConditions:
    """Limit to what the scope may see and the filter lets through."""
    base = owned(scope, user)
    sql, values = [base.sql], base.values | {"now": to_ms(where.as_of or where.now)}
    if where.as_of is not None:
        sql.append("r.created_at <= :now")
    if where.as_of is not None or not where.retired:
        sql.append(VALID)
    if where.kinds and len(set(where.kinds)) < len(Kind):
        # In these words, for the index of rarer kinds.
        sql.append("({})".format(" OR ".join(f"r.kind = '{kind.value}'" for kind in where.kinds)))
    if where.namespace is not None:
        # What begins with a text is before that text with a next character in the last place.
        start = rows.encode_namespace(where.namespace)
        values |= {"namespace": start, "beyond_namespace": f"{start[:-1]}-"}
        sql += ["r.kind = 'item'", BELOW if where.key is None else "r.namespace = :namespace"]
    elif not where.kinds:
        sql.append("r.kind <> 'item'")
    if where.subset is not None:
        sql.append(FILTERS["subsets"][where.subset])
    for name, condition in FILTERS["conditions"].items():
        value = getattr(where, name)
        if value is not None and value != ():
            sql.append(condition)
            values[name] = _bound(value)
    for number, one in enumerate(metadata_conditions(where.metadata) if where.metadata else ()):
        meets, values[f"attribute{number}"] = _comparison(*one, f"attribute{number}")
        sql.append(meets)
    # What waits is few: SQLite takes the tables of a CROSS JOIN in their order.
    source = "records r" if where.waiting is None else "derivations w CROSS JOIN records r"
    return SqlConditions(" AND ".join(sql), values, source)


def _comparison(name: str, operator: str, wanted: Any, parameter: str) -> tuple[str, str]:
    """Return a condition on metadata as SQL over ``parameter``, and the value of that."""
    if operator == "in":
        some = f"SELECT 1 FROM (@texts(:{parameter})) one WHERE @compared(r.metadata, one.value, =)"
        return f"EXISTS ({some})", dump([dump({name: value}) for value in wanted])
    sql = f"@compared(r.metadata, :{parameter}, {ORDERED.get(operator, '=')})"
    return f"NOT {sql}" if operator == "ne" else sql, dump({name: wanted})


def _bound(value: datetime | Sequence[str] | str | int) -> str | int:
    """Return a value of a filter as a parameter: a moment in milliseconds, a list as JSON."""
    if isinstance(value, datetime):
        return to_ms(value)
    return value if isinstance(value, str | int) else dump(value)


class SqlReads:
    """What a store reads, over connections that are lent by whoever has them."""

    names: NameMatcher

    def _reading(self, scope: Scope | None) -> AbstractContextManager[UserConnection]:
        """Lend a connection with the rows of a user; with those of all users for ``None``."""
        raise NotImplementedError(scope)

    def snapshot(self) -> AbstractContextManager[None]:
        """Let all reads of this thread inside the block see one moment."""
        raise NotImplementedError

    def _made(
        self,
        scope: Scope | None,
        sql: str,
        make: Callable[[Row], Any] = tuple,
        *,
        owner: str = "r",
        where: Filter | None = None,
        **values: Any,
    ) -> list[Any]:
        """Return what ``make`` makes of the rows of a statement.

        Args:
            scope: whose rows; ``None`` is those of all users.
            sql: a query that knows a user, an agent and ``values``. ``{mine}`` in it limits the
                table of the name ``owner`` to what the scope may see and ``where`` lets through.
            make: makes a value of a row, or raises one of ``DAMAGE``.
            owner: the name of a table in the query.
            where: which records count.
            **values: parameters of the query.
        """
        with self._reading(scope) as (connection, state):
            user = state.key
            mine = owned(scope, user, owner) if where is None else matching(scope, user, where)
            sql = sql.replace("{records}", mine.source).replace("{mine}", mine.sql)
            return connection.made(make, sql, mine.values | values)

    # Records

    def get(self, scope: Scope, keys: Sequence[Key]) -> dict[Key, Record]:
        """Return the records with these ids or ordinals, as far as they exist, in that order."""
        by_id = bool(keys) and isinstance(keys[0], str)
        column, listed = ("r.id", "@texts(:keys)") if by_id else ("r.key", "@ints(:keys)")
        chosen = f"{column} IN ({listed}) AND {{mine}}"
        sql = f"SELECT {column}, {rows.RECORD} FROM records r WHERE {chosen}"

        def make(row: Row) -> tuple[Key, Record]:
            return row[0], rows.record(scope.user, row[1:])

        found = dict(self._made(scope, sql, make, keys=dump(list(keys))))
        return {key: found[key] for key in keys if key in found}

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
            message = f"after={after!r} is not a record of this user; pass the last id you got"
            raise NotFound(message)
        beyond = AFTER.replace(">", "<") if order is Order.LATEST else AFTER
        sql = PAGE.replace("{order}", FILTERS["orders"][order])
        sql = sql.replace("{beyond}", "" if after is None else beyond)
        if where.waiting is not None:  # In this order SQLite finds the first without all others.
            sql = sql.replace("ORDER BY r.key", "ORDER BY w.record_key")
        page: dict[str, Any] = {"limit": BEYOND if limit is None else limit, "offset": offset}
        return self._made(scope, sql, rows.owned_record, where=where, after=after, **page)

    def pages(
        self, scope: Scope, where: Filter, order: Order = Order.RECORDED
    ) -> Iterator[list[Record]]:
        """Yield the matching records, as many at once as are read at once."""
        after = None
        while page := self.records(scope, where, order=order, limit=AT_ONCE, after=after):
            after = page[-1].id
            yield page

    def item(
        self, scope: Scope, namespace: Sequence[str], key: str, *, now: datetime
    ) -> Record | None:
        """Return the item at an address; an agent's own comes before one of no agent."""
        whose = {"name": scope.user, "deletions": scope.deletions, "agent": scope.agent}
        where = {"namespace": rows.encode_namespace(namespace), "key": key, "now": to_ms(now)}
        with self._reading(None) as (connection, _):
            found = connection.made(partial(rows.record, scope.user), ITEM, whose | where)
        if not found:
            with self._reading(scope):  # Refuses a user who was deleted.
                return None
        return max(found, key=lambda item: item.agent == scope.agent)

    def ids(self, scope: Scope, beginning: str, *, limit: int) -> list[str]:
        """Return the ids, in order, of records that begin with a text, active or not."""
        return self._made(scope, IDS, first_value, beginning=beginning, limit=limit)

    def count(self, scope: Scope | None, where: Filter) -> dict[Kind, int]:
        """Return how many records match, by kind."""
        sql = "SELECT r.kind, count(*) FROM {records} WHERE {mine} GROUP BY r.kind"
        return dict(self._made(scope, sql, lambda row: (Kind(row[0]), row[1]), where=where))

    def namespaces(self, scope: Scope, where: Filter) -> list[tuple[str, ...]]:
        """Return the namespaces of the matching items, each once."""
        sql = "SELECT DISTINCT r.namespace FROM {records} WHERE {mine}"
        return self._made(scope, sql, lambda row: rows.decode_namespace(row[0]), where=where)

    def ordinals(self, scope: Scope, where: Filter) -> list[int]:
        """Return the ordinals of the matching records."""
        sql = "SELECT r.key FROM {records} WHERE {mine}"
        return self._made(scope, sql, first_value, where=where)

    def related(self, scope: Scope, ids: Sequence[str], relation: RecordRelation) -> list[str]:
        """Return the other records that stand in a relation to ``ids``, oldest first."""
        sql = OTHERS.replace("{related}", FILTERS["relations"][relation])
        return self._made(scope, sql, first_value, ids=dump(ids))

    def last_said(self, scope: Scope, ids: Sequence[str]) -> dict[str, datetime]:
        """Return when the latest source of each of some records happened, where it has any."""
        wanted: dict[str, Any] = {"owner": "s", "ids": dump(ids)}
        return dict(self._made(scope, LAST_SAID, lambda row: (row[0], from_ms(row[1])), **wanted))

    def learned_from(self, scope: Scope, ids: Sequence[str]) -> list[str]:
        """Return the records that were derived from ``ids`` alone, oldest first.

        A fact, if all its sources are among them; anything else, as a weekly insight, if one of
        them is.
        """
        derived = self.get(scope, self.related(scope, ids, RecordRelation.DERIVED))
        gone = set(ids)
        for each in derived.values():  # Oldest first: what a record rests on comes before it.
            rests = gone.issuperset if each.kind is Kind.FACT else gone.intersection
            if rests(each.source_ids):
                gone.add(each.id)
        return [id_ for id_ in derived if id_ in gone]

    def history(self, scope: Scope, id: str) -> list[models.Change]:
        """Return what was done to a record, oldest first."""
        return self._made(scope, HISTORY, rows.CHANGES.make, ids=dump([id]))

    # Upkeep

    def sessions(
        self, scope: Scope, *, id: str | None = None, pending: bool = False
    ) -> dict[str, SessionInfo]:
        """Return the sessions of which the scope sees episodes, the first seen first.

        Where agents read their own episodes of one session, it waits until all are done; it is
        told as far as it is of the agent that has something to tell and told least.
        """
        sql = SESSIONS_OF_SCOPE.replace("{chosen}", "" if id is None else "AND c.session_id = :id")
        sql = sql.replace("{pending}", PENDING if pending else "")
        return {each.id: each for each in self._made(scope, sql, rows.SESSIONS.make, id=id)}

    def usage(self, scope: Scope) -> list[StageUsage]:
        """Return what stages have used of language models, by stage and model."""
        total: defaultdict[tuple[str, str], Usage] = defaultdict(Usage)
        for stage, model, *used in self._made(scope, READ_USAGE):
            total[stage, model] += rows.USAGE.make(used)
        return [StageUsage(*key, used) for key, used in total.items()]

    # Entities

    def entities(
        self,
        scope: Scope,
        where: Filter,
        *,
        name: str | None = None,
        type: str | None = None,
        limit: int,
    ) -> list[Entity]:
        """Return the entities of matching records, most mentioned first, then by name."""
        sql = ENTITIES.replace("{chosen}", OF_TYPE if name is None else NAMED)
        asked: dict[str, Any] = {"type": type, "folded": self.names.fold(name or "")}
        found: dict[str, Entity] = {}
        records: defaultdict[str, set[str]] = defaultdict(set)
        for id_, known, kind, spelling, keys in self._made(scope, sql, where=where, **asked):
            records[id_].update(keys.split(","))
            others = found[id_].aliases if id_ in found else ()
            others += (spelling,) if spelling != known else ()
            times = len(records[id_])
            found[id_] = Entity(id=id_, name=known, type=kind, aliases=others, mention_count=times)
        most = sorted(found.values(), key=lambda each: (-each.mention_count, each.name))
        return most[:limit]

    def decisions(self, scope: Scope) -> dict[str, str]:
        """Return to which names' entities persons gave names."""
        return dict(self._made(scope, DECIDED))

    # Conversations

    def conversations(self, scope: Scope, id: str | None = None) -> dict[str, ConversationInfo]:
        """Return the conversations that the scope sees, or the one of that id; newest first."""
        sql = CONVERSATIONS.replace("{chosen}", "" if id is None else " AND c.id = :id")
        found = self._made(scope, sql, rows.conversation, owner="c", id=id)
        return {each.id: each for each in found}

    def titles(self, scope: Scope) -> dict[str, str]:
        """Return the titles of conversations that have one: the task that they begin with."""
        return dict(self._made(scope, TITLES, owner="c"))

    def messages(
        self, scope: Scope, id: str, *, now: datetime | None = None, **which: Unpack[MessageRange]
    ) -> list[models.Message]:
        """Return messages of a conversation in order; without a ``now`` none has expired."""
        has_expired = now is not None and self.expired_through(scope, id, now=now) >= 0
        conditions = {
            # With an end, a server that plans for any beginning takes them for a few of all.
            "m.position > :after AND m.position < :beyond": True,
            "m.position > c.cleared_through": not which.get("cleared", False),
            f"NOT {EXPIRED}": has_expired,
            "m.pinned = 1": which.get("pinned", False),
        }
        chosen = " AND ".join(sql for sql, applies in conditions.items() if applies)
        found = self._made(
            scope,
            MESSAGES.replace("{chosen}", chosen),
            rows.MESSAGES.make,
            owner="c",
            id=id,
            after=which.get("after", -1),
            beyond=BEYOND,
            last=which.get("last", BEYOND),
            now=rows.optional_ms(now),
        )
        return found[::-1]

    def expired_through(self, scope: Scope, id: str, *, now: datetime) -> int:
        """Return the position of the message that expired last; -1, if none has."""
        found = self._made(scope, EXPIRED_THROUGH, owner="c", id=id, now=to_ms(now))
        return found[0][0] if found else -1

    def prunings(self, scope: Scope, id: str) -> list[models.Pruning]:
        """Return the receipts of all prunings of a conversation, oldest first."""
        return self._made(scope, READ_PRUNINGS, rows.PRUNINGS.make, owner="c", id=id)

    def message_ids(self, scope: Scope, id: str) -> set[str]:
        """Return the ids of the messages that a conversation has, or that were removed from it."""
        return {*self._made(scope, MESSAGE_IDS, first_value, owner="c", id=id)}

    def kept_texts(self, scope: Scope) -> list[KeptText]:
        """Return every text of the user, in records and beside them."""

        def text_of(row: Row) -> KeptText:
            place = models.TextPlace(models.PlaceKind(row[0]), row[1], row[2])
            return KeptText(place, row[3], model=row[4])

        def message_of(row: Row) -> KeptText:
            conversation, model, is_forgotten, *columns = row
            kept = rows.MESSAGES.make(columns)
            place = models.TextPlace(models.PlaceKind.MESSAGE, kept.id, conversation)
            return KeptText(place, message=kept, model=model, is_forgotten=bool(is_forgotten))

        with self.snapshot():
            texts = self._made(scope, KEPT_TEXTS, text_of)
            return texts + self._made(scope, KEPT_MESSAGES, message_of)

    # Notes

    def notes_bases(self, scope: Scope) -> dict[tuple[Scope, str], NotesBase]:
        """Return what MEMORY.md last said, by whose it is and its folder."""

        def make(row: Row) -> tuple[tuple[Scope, str], NotesBase]:
            agent, folder, lines = row
            base = NotesBase(folder, rows.NOTED_LINES.read(lines))
            return (Scope(scope.user, agent or None), folder), base

        return dict(self._made(scope, NOTES, make))

    def fact_revision(self, scope: Scope) -> int:
        """Return the number of the user's last write that changed which facts there are.

        Facts that end by themselves change nothing that is stored, and it tells nothing of these.
        """
        found = self._made(scope, "SELECT fact_revision FROM users WHERE key = :user")
        return found[0][0] if found else 0
