"""A whole memory in one SQL database: reads and writes by statements that every dialect takes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from itertools import groupby
from typing import Any

from memoranda.errors import InvalidInput
from memoranda.model import actions as act
from memoranda.model.actions import Action
from memoranda.model.capabilities import Capability
from memoranda.model.checks import from_ms, to_ms
from memoranda.model.models import (
    Change,
    ConversationInfo,
    Entity,
    Kind,
    Message,
    Pruning,
    Record,
    Scope,
)
from memoranda.model.notes import NotesBase
from memoranda.model.ports import VECTORS, Analyzer, EntityExtractor, NameMatcher
from memoranda.model.query import Filter, IndexChanges, IndexVersion, Lineage, TermMatches
from memoranda.model.sessions import JobRun, SessionInfo
from memoranda.model.usage import StageUsage
from memoranda.store.sql import conversation_actions, health, reads, record_actions
from memoranda.store.sql.dialect import Database, SqlConnection
from memoranda.store.sql.erasing import erase
from memoranda.store.sql.filters import VALID, Where, matching, owned
from memoranda.store.sql.rows import PRUNING, RECORD, dump, optional_time, pruning, record
from memoranda.store.sql.transaction import Transaction

CARRY_OUT: dict[type[Action], Callable[[Transaction, Any], None]] = {
    act.Append: conversation_actions.append,
    act.Calibrate: conversation_actions.calibrate,
    act.ClearView: conversation_actions.clear_view,
    act.EndConversation: conversation_actions.end_conversation,
    act.OpenConversation: conversation_actions.open_conversation,
    act.Pin: conversation_actions.pin,
    act.Prune: conversation_actions.prune,
    act.Recount: conversation_actions.recount,
    act.Summarize: conversation_actions.summarize,
    act.Close: record_actions.close,
    act.Consolidated: record_actions.consolidated,
    act.Reinforce: record_actions.reinforce,
    act.Decide: record_actions.decide,
    act.Enrich: record_actions.enrich,
    act.Fade: record_actions.fade,
    act.KeepNotes: record_actions.keep_notes,
    act.LinkEntities: record_actions.link_entities,
    act.MergeEntities: record_actions.merge_entities,
    act.Noted: record_actions.note_session,
    act.PutVectors: record_actions.put_vectors,
    act.Retire: record_actions.retire,
    act.Reweigh: record_actions.reweigh,
    act.Spend: record_actions.spend,
    act.SplitEntity: record_actions.split_entity,
    act.Supersede: record_actions.supersede,
    act.Touch: record_actions.touch,
    act.Erase: erase,
}
USERS = """
SELECT name FROM users u WHERE EXISTS (SELECT 1 FROM records WHERE user_key = u.key)
    OR EXISTS (SELECT 1 FROM conversations WHERE user_key = u.key) ORDER BY name
"""
LEASE = """
INSERT INTO leases (name, holder, expires_at) VALUES (:name, :holder, :until)
ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at
WHERE leases.holder = excluded.holder OR leases.expires_at <= :now
"""
CLAIM = """
INSERT INTO leases (name, holder, expires_at, claimed_due) VALUES (:name, :holder, :until, :due)
ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at,
    claimed_due = excluded.claimed_due
WHERE (leases.done_due IS NULL OR leases.done_due < excluded.claimed_due)
    AND (leases.holder IS NULL OR leases.holder = excluded.holder OR leases.expires_at <= :now)
"""
COMPLETE = """
UPDATE leases SET done_due = claimed_due, done_at = :at, holder = NULL, claimed_due = NULL,
    expires_at = NULL
WHERE name = :name AND holder = :holder AND claimed_due = :due
"""
JOB = "job:"
"""The start of the names of jobs among the leases."""
FEW_ENTITIES = """
(SELECT count(DISTINCT l.entity_key) FROM record_entities l WHERE l.record_key = r.key) <= :most
"""
SET_META = """
INSERT INTO meta (name, value) VALUES (:name, :value)
ON CONFLICT (name) DO UPDATE SET value = excluded.value
"""
NOBODY = 0
"""The key of a user who has nothing."""
QUEUE_ALL = """
INSERT INTO derivations (work, record_key, user_key)
SELECT CAST(:work AS text), key, user_key FROM records WHERE indexed = 1
ON CONFLICT (work, record_key) DO NOTHING
"""


class SqlStore:
    """Implements :class:`memoranda.model.ports.Store` on a database of any dialect.

    Args:
        database: its connections, and what only its kind can do.
        analyzer: makes the terms of the full-text index.
        names: decides which names are one entity.
    """

    def __init__(self, database: Database, *, analyzer: Analyzer, names: NameMatcher) -> None:
        """Index everything anew, where another analyzer made the index."""
        self._database = database
        self._analyzer = analyzer
        self._names = names
        health.follow_analyzer(database, analyzer)

    @property
    def location(self) -> str:
        """Where the database is, without secrets."""
        return self._database.location

    @contextmanager
    def _reading(self, scope: Scope) -> Iterator[tuple[SqlConnection, int]]:
        """Lend a connection with the rows of a user, and the key of that user."""
        with self._database.read() as connection:
            yield connection, user_key(connection, scope)

    @contextmanager
    def _store_wide(self) -> Iterator[SqlConnection]:
        """Lend a connection with what is not of one user, for reading."""
        with self._database.read() as connection:
            yield connection

    # Writing

    def apply(self, scope: Scope, actions: Sequence[Action]) -> None:
        """Carry out ``actions`` in one transaction."""
        if not actions:
            return
        with self._database.write() as connection:
            self._carry_out(connection, scope, actions)

    def _carry_out(
        self, connection: SqlConnection, scope: Scope, actions: Sequence[Action]
    ) -> None:
        tx = Transaction(
            connection,
            scope,
            _register_user(connection, scope),
            self._analyzer,
            self._names,
            self._database.full_text,
        )
        for kind, group in groupby(actions, type):
            alike: Any = list(group)
            if kind is act.Insert:
                record_actions.insert(tx, alike)
                continue
            if kind not in CARRY_OUT:
                message = f"not an action: {alike[0]!r}"
                raise InvalidInput(message)
            for action in alike:
                CARRY_OUT[kind](tx, action)

    def lease(self, name: str, holder: str, *, now: datetime, until: datetime) -> bool:
        """Take or renew a lease."""
        values = {"name": name, "holder": holder, "now": to_ms(now), "until": to_ms(until)}
        with self._database.write() as connection:
            return connection.run(LEASE, values) > 0

    def claim(
        self, job: str, holder: str, *, due: datetime, now: datetime, until: datetime
    ) -> bool:
        """Take or renew the run of a job."""
        values = {
            "name": JOB + job,
            "holder": holder,
            "due": to_ms(due),
            "now": to_ms(now),
            "until": to_ms(until),
        }
        with self._database.write() as connection:
            return connection.run(CLAIM, values) > 0

    def complete(self, job: str, holder: str, *, due: datetime, at: datetime) -> None:
        """Say that a run is done, where the claim on it is still the holder's."""
        values = {"name": JOB + job, "holder": holder, "due": to_ms(due), "at": to_ms(at)}
        with self._database.write() as connection:
            connection.run(COMPLETE, values)

    def job_runs(self) -> list[JobRun]:
        """Return the last finished run of each job, by name."""
        with self._store_wide() as connection:
            rows = connection.all(
                "SELECT name, done_due, done_at FROM leases "
                "WHERE done_due IS NOT NULL ORDER BY name"
            )
        return [JobRun(row[0].removeprefix(JOB), from_ms(row[1]), from_ms(row[2])) for row in rows]

    def reset_vectors(self, model: str, dimensions: int) -> int:
        """Drop all vectors, name the model and queue every record; return how many."""
        with self._database.write() as connection:
            connection.run("DELETE FROM vectors")
            connection.run("UPDATE users SET index_epoch = index_epoch + 1, vector_seq = 0")
            for name, value in ((reads.MODEL, model), (reads.DIMENSIONS, str(dimensions))):
                connection.run(SET_META, {"name": name, "value": value})
            connection.run(QUEUE_ALL, {"work": VECTORS})
            return reads.pending_count(connection, None, VECTORS)

    # Records

    def get(self, scope: Scope, id: str) -> Record | None:
        """Return the record, or ``None``."""
        found = self.get_many(scope, [id])
        return found[0] if found else None

    def get_many(self, scope: Scope, ids: Sequence[str]) -> list[Record]:
        """Return the records that exist, in the order of ``ids``."""
        with self._reading(scope) as (connection, user):
            return reads.by_ids(connection, scope, user, ids)

    def page(self, scope: Scope, where: Filter, *, limit: int, after: str | None) -> list[Record]:
        """Return a page of matching records in the order they were recorded."""
        with self._reading(scope) as (connection, user):
            return reads.page(connection, scope, user, where, limit=limit, after=after)

    def latest(self, scope: Scope, where: Filter) -> Record | None:
        """Return the matching record that was recorded last."""
        with self._reading(scope) as (connection, user):
            return reads.latest(connection, scope, user, where)

    def versions(self, scope: Scope, ids: Sequence[str]) -> list[str]:
        """Return the records that one of ``ids`` replaced."""
        with self._reading(scope) as (connection, user):
            return reads.versions(connection, scope, user, ids)

    def copies(self, scope: Scope, ids: Sequence[str]) -> list[str]:
        """Return the other records with the very text of one of ``ids``."""
        with self._reading(scope) as (connection, user):
            return reads.copies(connection, scope, user, ids)

    def derived(self, scope: Scope, ids: Sequence[str]) -> list[str]:
        """Return what was derived from ``ids``."""
        with self._reading(scope) as (connection, user):
            return reads.derived(connection, scope, user, ids)

    def citing(self, scope: Scope, ids: Sequence[str]) -> list[Record]:
        """Return the records that name one of ``ids`` as a source."""
        with self.snapshot(), self._reading(scope) as (connection, user):
            found = reads.citing(connection, scope, user, ids)
            return reads.by_ids(connection, scope, user, found)

    def history(self, scope: Scope, id: str) -> list[Change]:
        """Return what was done to a record, oldest first."""
        with self._reading(scope) as (connection, user):
            rows = connection.all(
                "SELECT at, action, reason, detail FROM history "
                "WHERE user_key = :user AND record_id = :id "
                "AND (CAST(:agent AS text) IS NULL OR agent IS NULL OR agent = :agent) "
                "ORDER BY key",
                {"user": user, "id": id, "agent": scope.agent},
            )
        return [Change(from_ms(row[0]), row[1], row[2], json.loads(row[3])) for row in rows]

    def count(self, scope: Scope, where: Filter) -> dict[Kind, int]:
        """Return how many records match, by kind."""
        with self._reading(scope) as (connection, user):
            clause = matching(scope, user, where)
            rows = connection.all(
                f"SELECT r.kind, count(*) FROM records r WHERE {clause.sql} GROUP BY r.kind",
                clause.values,
            )
        return {Kind(row[0]): row[1] for row in rows}

    def newest(self, scope: Scope) -> datetime | None:
        """Return when the newest record was recorded."""
        with self._reading(scope) as (connection, user):
            where = owned(scope, user)
            return optional_time(
                connection.value(
                    f"SELECT max(r.created_at) FROM records r WHERE {where.sql}", where.values
                )
            )

    def with_hashes(self, scope: Scope, hashes: Sequence[str], *, now: datetime) -> list[Record]:
        """Return the active records with one of these hashes, oldest first."""
        where = Where(
            f"r.content_hash IN (@texts(:hashes)) AND {VALID}",
            {"hashes": dump(list(hashes)), "now": to_ms(now)},
        )
        return self._select(scope, where)

    def _select(self, scope: Scope, where: Where, end: str = "ORDER BY r.key") -> list[Record]:
        with self._reading(scope) as (connection, user):
            return reads.select_records(connection, scope, user, where, end)

    # Sessions and upkeep

    def sessions(
        self, scope: Scope, *, pending: bool = False, exclude: str | None = None
    ) -> list[SessionInfo]:
        """Return the sessions with episodes, the first seen first."""
        with self._reading(scope) as (connection, user):
            return reads.sessions(connection, scope, user, pending=pending, exclude=exclude)

    def session(self, scope: Scope, id: str) -> SessionInfo | None:
        """Return one session with episodes, or ``None``."""
        with self._reading(scope) as (connection, user):
            found = reads.sessions(connection, scope, user, only=id)
        return found[0] if found else None

    def episodes(self, scope: Scope, session: str, *, after: int, limit: int) -> list[Record]:
        """Return the first episodes of a session beyond position ``after``."""
        where = Where(
            "r.session_id = :session AND r.position > :after AND r.kind = 'episode' "
            "AND r.closed_at IS NULL",
            {"session": session, "after": after, "limit": limit},
        )
        return self._select(scope, where, "ORDER BY r.position LIMIT :limit")

    def recalled(self, scope: Scope, session: str) -> list[str]:
        """Return the records that were recalled into a conversation, the last one first."""
        with self._reading(scope) as (connection, user):
            where = owned(scope, user)
            rows = connection.all(
                "SELECT r.id FROM recalls c JOIN records r ON r.key = c.record_key "
                f"WHERE c.user_key = :user AND c.session_id = :session AND {where.sql} "
                "ORDER BY c.at DESC, r.key DESC",
                where.values | {"session": session},
            )
        return [row[0] for row in rows]

    def decaying(self, scope: Scope, now: datetime) -> list[Record]:
        """Return the active facts that have a decay rate."""
        condition = f"r.kind = 'fact' AND r.decay_rate > 0 AND r.indexed = 1 AND {VALID}"
        return self._select(scope, Where(condition, {"now": to_ms(now)}))

    def expired(self, scope: Scope, now: datetime) -> list[Record]:
        """Return the records whose validity ended by itself and that were not retired."""
        condition = (
            "r.valid_until IS NOT NULL AND r.valid_until <= :now AND r.closed_at IS NULL "
            "AND r.indexed = 1"
        )
        return self._select(scope, Where(condition, {"now": to_ms(now)}))

    def recorded(
        self,
        scope: Scope,
        kind: Kind,
        *,
        now: datetime,
        since: datetime | None = None,
        before: datetime | None = None,
    ) -> list[Record]:
        """Return the active records of a kind recorded in a span of time."""
        with self._reading(scope) as (connection, user):
            return reads.recorded_between(
                connection, scope, user, kind, now=now, since=since, before=before
            )

    def unenriched(
        self, scope: Scope, *, kinds: Sequence[Kind], most: int, limit: int, now: datetime
    ) -> list[Record]:
        """Return the oldest active records never enriched, with at most ``most`` entities."""
        where = Where(
            "r.enriched = 0 AND r.indexed = 1 AND r.kind IN (@texts(:kinds)) "
            f"AND {VALID} AND {FEW_ENTITIES}",
            {
                "kinds": dump([kind.value for kind in kinds]),
                "now": to_ms(now),
                "most": most,
                "limit": limit,
            },
        )
        return self._select(scope, where, "ORDER BY r.key LIMIT :limit")

    def usage(self, scope: Scope) -> list[StageUsage]:
        """Return what stages have used of language models."""
        with self._reading(scope) as (connection, user):
            return reads.usage(connection, scope, user)

    # Notes

    def notes_base(self, scope: Scope, folder: str) -> NotesBase | None:
        """Return what was kept for exactly this scope and folder, or ``None``."""
        with self._reading(scope) as (connection, user):
            return reads.notes_base(connection, scope, user, folder)

    def notes_kept(self, scope: Scope) -> list[tuple[Scope, str]]:
        """Return the scopes and folders for which something was kept."""
        with self._reading(scope) as (connection, user):
            rows = connection.all(
                "SELECT agent, folder FROM notes_bases WHERE user_key = :user "
                "AND (CAST(:agent AS text) IS NULL OR agent = :agent) ORDER BY agent, folder",
                {"user": user, "agent": scope.agent},
            )
        return [(Scope(scope.user, agent or None), folder) for agent, folder in rows]

    def noteworthy(self, scope: Scope, *, now: datetime, limit: int) -> list[Record]:
        """Return the facts that are worth a line in MEMORY.md, the most worth first."""
        where = Where(f"{reads.NOTEWORTHY} AND {VALID}", {"now": to_ms(now), "limit": limit})
        return self._select(scope, where, f"{reads.NOTEWORTHY_ORDER} LIMIT :limit")

    def noteworthy_version(self, scope: Scope, *, now: datetime) -> str:
        """Return a text that is another whenever other facts are noteworthy."""
        with self.snapshot(), self._reading(scope) as (connection, user):
            return reads.noteworthy_version(connection, scope, user, now)

    # Search

    def index_changes(self, scope: Scope, since: IndexVersion) -> IndexChanges:
        """Return what came after ``since``."""
        with self.snapshot(), self._reading(scope) as (connection, user):
            return reads.index_changes(connection, user, since)

    def match_terms(self, scope: Scope, terms: Sequence[str], *, limit: int) -> TermMatches:
        """Return which records hold which terms."""
        with self.snapshot(), self._reading(scope) as (connection, user):
            return self._database.full_text.match(connection, user, terms, limit=limit)

    def passing(self, scope: Scope, where: Filter) -> list[int]:
        """Return the ordinals of the matching records."""
        with self._reading(scope) as (connection, user):
            clause = matching(scope, user, where)
            rows = connection.all(f"SELECT r.key FROM records r WHERE {clause.sql}", clause.values)
        return [row[0] for row in rows]

    def mentioning(self, scope: Scope, names: Sequence[str]) -> list[tuple[int, int]]:
        """Return ordinals of the records that mention entities with these names."""
        folded = [self._names.fold(name) for name in names]
        with self._reading(scope) as (connection, user):
            return reads.mentioning(connection, scope, user, folded)

    def by_ordinals(self, scope: Scope, ordinals: Sequence[int]) -> dict[int, Record]:
        """Return the records with these ordinals."""
        with self._reading(scope) as (connection, user):
            where = owned(scope, user)
            rows = connection.all(
                f"SELECT r.key, {RECORD} FROM records r "
                f"WHERE r.key IN (@ints(:keys)) AND {where.sql}",
                where.values | {"keys": dump(list(map(int, ordinals)))},
            )
        return {row[0]: record(scope.user, row[1:]) for row in rows}

    def lineage(self, scope: Scope) -> Lineage:
        """Return what rests on what, and what took whose place."""
        with self.snapshot(), self._reading(scope) as (connection, user):
            return reads.lineage(connection, scope, user)

    # What is still to be derived

    def pending(self, scope: Scope | None, work: str = VECTORS, *, limit: int) -> list[Record]:
        """Return the oldest records that wait for a kind of work."""
        with self._store_wide() as connection:
            return reads.pending(connection, scope, work, limit)

    def pending_count(self, scope: Scope | None, work: str = VECTORS) -> int:
        """Return how many records wait for a kind of work."""
        with self._store_wide() as connection:
            return reads.pending_count(connection, scope, work)

    def vector_model(self) -> tuple[str, int] | None:
        """Return name and dimensions of the stored vectors' model."""
        with self._store_wide() as connection:
            return reads.vector_model(connection)

    # Entities

    def entity(self, scope: Scope, name: str, where: Filter) -> Entity | None:
        """Return the entity with this name or alias."""
        with self.snapshot(), self._reading(scope) as (connection, user):
            return reads.profile(connection, scope, user, self._names.fold(name), where)

    def entities(
        self, scope: Scope, where: Filter, *, type: str | None, limit: int
    ) -> list[Entity]:
        """Return the entities of matching records, most mentioned first."""
        with self.snapshot(), self._reading(scope) as (connection, user):
            return reads.entities(connection, scope, user, where, type=type, limit=limit)

    def decisions(self, scope: Scope) -> dict[str, str]:
        """Return to which names' entities persons gave names."""
        with self._reading(scope) as (connection, user):
            rows = connection.all(reads.DECIDED, {"user": user, "agent": scope.agent})
        return {row[0]: row[1] for row in rows}

    # Conversations

    def conversation(self, scope: Scope, id: str) -> ConversationInfo | None:
        """Return the conversation, or ``None``."""
        with self._reading(scope) as (connection, _):
            found = reads.conversations(connection, scope, id)
        return found[0] if found else None

    def conversations(self, scope: Scope) -> list[ConversationInfo]:
        """Return all conversations, the newest first."""
        with self._reading(scope) as (connection, _):
            return reads.conversations(connection, scope)

    def quoting(self, scope: Scope, records: Sequence[str]) -> int:
        """Return how many messages hold the text of these records."""
        with self._reading(scope) as (connection, _):
            return int(
                connection.value(
                    "SELECT count(*) FROM messages m "
                    "JOIN conversations c ON c.key = m.conversation_key "
                    f"WHERE {reads.CONVERSATION_OWNED} AND m.record_id IN (@texts(:records))",
                    {"user": scope.user, "agent": scope.agent, "records": dump(list(records))},
                )
            )

    def messages(
        self,
        scope: Scope,
        conversation: str,
        *,
        last: int | None = None,
        after: int | None = None,
        cleared: bool = False,
        pinned: bool = False,
    ) -> list[Message]:
        """Return messages of a conversation in order."""
        with self._reading(scope) as (connection, _):
            return reads.messages(
                connection,
                scope,
                conversation,
                last=last,
                after=after,
                cleared=cleared,
                pinned=pinned,
            )

    def prunings(self, scope: Scope, conversation: str) -> list[Pruning]:
        """Return the receipts of all prunings of a conversation, oldest first."""
        with self._reading(scope) as (connection, _):
            rows = connection.all(
                f"SELECT {PRUNING} FROM prunings p "
                "JOIN conversations c ON c.key = p.conversation_key "
                f"WHERE {reads.CONVERSATION_OWNED} AND c.id = :id ORDER BY p.at, p.key",
                {"user": scope.user, "agent": scope.agent, "id": conversation},
            )
        return [pruning(row) for row in rows]

    # The whole store

    def capabilities(self) -> tuple[Capability, ...]:
        """Return what the database does by itself."""
        return self._database.capabilities()

    def users(self) -> list[str]:
        """Return every user."""
        with self._store_wide() as connection:
            return [row[0] for row in connection.all(USERS)]

    def verify(self) -> list[str]:
        """Return a line for each difference between what is derived and what is canonical."""
        return health.verify(self._database, self._analyzer, self._names)

    def rebuild(self, extractor: EntityExtractor) -> list[str]:
        """Derive index, links and queues anew; return what was different."""
        return health.rebuild(self._database, self._analyzer, self._names, extractor)

    def purge(self) -> bool:
        """Overwrite the remains of erased text."""
        return self._database.purge()

    def backup(self, path: str) -> None:
        """Write a consistent copy to ``path``."""
        self._database.backup(path)

    def size(self) -> int:
        """Return the bytes that the database takes."""
        return self._database.size()

    def snapshot(self) -> AbstractContextManager[None]:
        """Let all reads of this thread inside the block see one moment."""
        return self._database.snapshot()

    def close(self) -> None:
        """Release the connections."""
        self._database.close()


def user_key(connection: SqlConnection, scope: Scope) -> int:
    """Return the number of the scope's user; ``NOBODY``, who has nothing, where there is none."""
    found = connection.value("SELECT key FROM users WHERE name = :name", {"name": scope.user})
    return NOBODY if found is None else int(found)


def _register_user(connection: SqlConnection, scope: Scope) -> int:
    """Return the key of the scope's user, giving one to a new user."""
    key = user_key(connection, scope)
    if not key:
        connection.run(
            "INSERT INTO users (name) VALUES (:name) ON CONFLICT (name) DO NOTHING",
            {"name": scope.user},
        )
        key = user_key(connection, scope)
    return key
