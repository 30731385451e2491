"""The SQLite store: the ports of core over one file."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import apsw

from memoranda.model.actions import Action
from memoranda.model.capabilities import Capability
from memoranda.model.life import JobRun, Lineage, SessionInfo, StageUsage
from memoranda.model.models import (
    Change,
    ConversationInfo,
    Entity,
    Kind,
    Message,
    Pruning,
    Record,
)
from memoranda.model.notes import NotesBase
from memoranda.model.ports import Analyzer, EntityExtractor, NameMatcher
from memoranda.model.query import Filter, IndexChanges, IndexVersion, TermMatches
from memoranda.model.scope import Scope
from memoranda.model.times import to_ms
from memoranda.store.sqlite import (
    actions,
    decisions,
    derivation,
    entities,
    health,
    index,
    jobs,
    lexical,
    life,
    notes,
    queue,
    reading,
    schema,
    transcripts,
)
from memoranda.store.sqlite.connections import MEMORY, Connections
from memoranda.store.sqlite.filters import matching, user_key

BUSY_TIMEOUT = 60.0


class SqliteStore:
    """Implements :class:`memoranda.model.ports.Store` on one SQLite database.

    Args:
        path: the file, created with its schema if it is not there; ``:memory:`` for none.
        analyzer: makes the terms of the full-text index.
        names: decides which names are one entity.
        busy_timeout: seconds to wait while another process writes.
        power_safe: wait at each commit until the disk has it, so that it also survives a
            power cut; without, it survives a killed process.
        vfs: name of a registered SQLite VFS.

    Raises:
        StoreError: the file cannot be used; it is left as it was.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        analyzer: Analyzer,
        names: NameMatcher,
        busy_timeout: float = BUSY_TIMEOUT,
        power_safe: bool = False,
        vfs: str | None = None,
    ) -> None:
        """Open the database."""
        self._names = names
        self._terms = health.TermFunctions(analyzer)
        self._connections = Connections(
            os.fspath(path),
            prepare=self._prepare,
            accept=schema.version_of,
            busy_timeout=busy_timeout,
            power_safe=power_safe,
            vfs=vfs,
        )
        try:
            schema.migrate(self._connections)
            health.follow_analyzer(self._connections, analyzer)
        except BaseException:
            self._connections.close()
            raise

    def _prepare(self, connection: apsw.Connection) -> None:
        self._terms.register(connection)
        entities.register(connection, self._names)
        lexical.register(connection)

    @contextmanager
    def _reading(self, scope: Scope) -> Iterator[tuple[apsw.Connection, int]]:
        with self._connections.read() as connection:
            yield connection, user_key(connection, scope)

    @property
    def location(self) -> str:
        """The path of the file, or ``:memory:``."""
        return self._connections.path

    # Writing

    def apply(self, scope: Scope, plan: Sequence[Action]) -> None:
        """Carry out the actions of ``plan`` in one transaction."""
        if not plan:
            return
        with self._connections.write() as connection:
            actions.apply(connection, scope, self._names, plan)

    def lease(self, name: str, holder: str, *, now: datetime, until: datetime) -> bool:
        """Take or renew a lease."""
        with self._connections.write() as connection:
            connection.execute(
                "INSERT INTO leases VALUES (?1, ?2, ?4) ON CONFLICT (name) DO UPDATE "
                "SET holder = ?2, expires_at = ?4 WHERE holder = ?2 OR expires_at <= ?3",
                (name, holder, to_ms(now), to_ms(until)),
            )
            return connection.changes() > 0

    # Records

    def get(self, scope: Scope, id: str) -> Record | None:
        """Return the record, or ``None``."""
        found = self.get_many(scope, [id])
        return found[0] if found else None

    def get_many(self, scope: Scope, ids: Sequence[str]) -> list[Record]:
        """Return the records that exist, in the order of ``ids``."""
        with self._reading(scope) as (connection, user):
            return reading.by_ids(connection, scope, user, ids)

    def page(self, scope: Scope, where: Filter, *, limit: int, after: str | None) -> list[Record]:
        """Return a page of matching records in the order they were recorded."""
        with self._reading(scope) as (connection, user):
            return reading.page(connection, scope, user, where, limit=limit, after=after)

    def latest(self, scope: Scope, where: Filter) -> Record | None:
        """Return the matching record that was recorded last."""
        with self._reading(scope) as (connection, user):
            return reading.latest(connection, scope, user, where)

    def versions(self, scope: Scope, ids: Sequence[str]) -> list[str]:
        """Return the records that one of ``ids`` replaced."""
        with self._reading(scope) as (connection, user):
            return derivation.versions(connection, scope, user, ids)

    def copies(self, scope: Scope, ids: Sequence[str]) -> list[str]:
        """Return the other records with the very text of one of ``ids``."""
        with self._reading(scope) as (connection, user):
            return derivation.copies(connection, scope, user, ids)

    def derived(self, scope: Scope, ids: Sequence[str]) -> list[str]:
        """Return what was derived from ``ids``."""
        with self._reading(scope) as (connection, user):
            return derivation.derived(connection, scope, user, ids)

    def resting(self, scope: Scope, ids: Sequence[str]) -> list[Record]:
        """Return the records that name one of ``ids`` as a source."""
        with self.snapshot(), self._reading(scope) as (connection, user):
            found = derivation.resting(connection, scope, user, ids)
            return reading.by_ids(connection, scope, user, found)

    def history(self, scope: Scope, id: str) -> list[Change]:
        """Return what was done to a record."""
        with self._reading(scope) as (connection, user):
            return reading.history(connection, scope, user, id)

    def count(self, scope: Scope, where: Filter) -> dict[Kind, int]:
        """Return how many records match, by kind."""
        with self._reading(scope) as (connection, user):
            return reading.count(connection, scope, user, where)

    def newest(self, scope: Scope) -> datetime | None:
        """Return when the newest record was recorded."""
        with self._reading(scope) as (connection, user):
            return reading.newest(connection, scope, user)

    def with_hashes(self, scope: Scope, hashes: Sequence[str], *, now: datetime) -> list[Record]:
        """Return the believed records with one of these hashes, oldest first."""
        with self._reading(scope) as (connection, user):
            return life.with_hashes(connection, scope, user, hashes, now)

    # The life of a memory

    def sessions(
        self, scope: Scope, *, pending: bool = False, exclude: str | None = None
    ) -> list[SessionInfo]:
        """Return the sessions with episodes, the first seen first."""
        with self._reading(scope) as (connection, user):
            return life.sessions(connection, scope, user, pending=pending, exclude=exclude)

    def session(self, scope: Scope, id: str) -> SessionInfo | None:
        """Return one session with episodes, or ``None``."""
        with self._reading(scope) as (connection, user):
            return life.progress(connection, scope, user, id)

    def episodes(self, scope: Scope, session: str, *, after: int, limit: int) -> list[Record]:
        """Return the first episodes of a session beyond position ``after``."""
        with self._reading(scope) as (connection, user):
            return life.episodes(connection, scope, user, session, after=after, limit=limit)

    def recalled(self, scope: Scope, session: str) -> list[str]:
        """Return the records that were recalled into a conversation."""
        with self._reading(scope) as (connection, user):
            return life.recalled(connection, scope, user, session)

    def fading(self, scope: Scope, now: datetime) -> list[Record]:
        """Return the believed facts that have a decay rate."""
        with self._reading(scope) as (connection, user):
            return life.fading(connection, scope, user, now)

    def lapsed(self, scope: Scope, now: datetime) -> list[Record]:
        """Return the records whose validity ended by itself and that were not retired."""
        with self._reading(scope) as (connection, user):
            return life.lapsed(connection, scope, user, now)

    def recorded(
        self,
        scope: Scope,
        kind: Kind,
        *,
        now: datetime,
        since: datetime | None = None,
        before: datetime | None = None,
    ) -> list[Record]:
        """Return the believed records of a kind recorded in a span of time."""
        with self._reading(scope) as (connection, user):
            return life.recorded(connection, scope, user, kind, now=now, since=since, before=before)

    def unenriched(
        self, scope: Scope, *, kinds: Sequence[Kind], most: int, limit: int, now: datetime
    ) -> list[Record]:
        """Return the oldest believed records never enriched, with at most ``most`` entities."""
        with self._reading(scope) as (connection, user):
            return life.unenriched(
                connection, scope, user, kinds=kinds, most=most, limit=limit, now=now
            )

    def usage(self, scope: Scope) -> list[StageUsage]:
        """Return what stages have used of language models."""
        with self._reading(scope) as (connection, user):
            return life.usage(connection, scope, user)

    # Notes

    def notes_base(self, scope: Scope, folder: str) -> NotesBase | None:
        """Return what was kept for exactly this scope and folder, or ``None``."""
        with self._reading(scope) as (connection, user):
            return notes.base(connection, scope, user, folder)

    def notes_kept(self, scope: Scope) -> list[tuple[Scope, str]]:
        """Return the scopes and folders for which something was kept."""
        with self._reading(scope) as (connection, user):
            return notes.kept(connection, scope, user)

    def standing(self, scope: Scope, *, now: datetime, limit: int) -> list[Record]:
        """Return the facts that are worth a line in MEMORY.md, the most worth first."""
        with self._reading(scope) as (connection, user):
            return notes.standing(connection, scope, user, now, limit)

    def standing_version(self, scope: Scope, *, now: datetime) -> str:
        """Return a text that is another whenever other facts are standing."""
        with self.snapshot(), self._reading(scope) as (connection, user):
            return notes.version(connection, scope, user, now)

    # Jobs

    def claim(
        self, job: str, holder: str, *, due: datetime, now: datetime, until: datetime
    ) -> bool:
        """Take or renew the run of a job."""
        with self._connections.write() as connection:
            return jobs.claim(connection, job, holder, due=due, now=now, until=until)

    def complete(self, job: str, holder: str, *, due: datetime, at: datetime) -> None:
        """Say that a run is done."""
        with self._connections.write() as connection:
            jobs.complete(connection, job, holder, due=due, at=at)

    def job_runs(self) -> list[JobRun]:
        """Return the last finished run of each job."""
        with self._connections.read() as connection:
            return jobs.runs(connection)

    # Search

    def index_changes(self, scope: Scope, since: IndexVersion) -> IndexChanges:
        """Return what came after ``since``."""
        with self.snapshot(), self._reading(scope) as (connection, user):
            return index.changes(connection, user, since)

    def match_terms(self, scope: Scope, terms: Sequence[str], *, limit: int) -> TermMatches:
        """Return which records hold which terms."""
        with self.snapshot(), self._reading(scope) as (connection, user):
            return lexical.match_terms(connection, user, terms, limit=limit)

    def passing(self, scope: Scope, where: Filter) -> list[int]:
        """Return the ordinals of the matching records."""
        with self._reading(scope) as (connection, user):
            return reading.passing(connection, scope, user, where)

    def mentioning(self, scope: Scope, names: Sequence[str]) -> list[tuple[int, int]]:
        """Return ordinals of the records that mention entities with these names."""
        folded = [self._names.fold(name) for name in names]
        with self._reading(scope) as (connection, user):
            return reading.mentioning(connection, scope, user, folded)

    def by_ordinals(self, scope: Scope, ordinals: Sequence[int]) -> dict[int, Record]:
        """Return the records with these ordinals."""
        with self._reading(scope) as (connection, user):
            return reading.by_ordinals(connection, scope, user, ordinals)

    def lineage(self, scope: Scope) -> Lineage:
        """Return what rests on what, and what took whose place."""
        with self.snapshot(), self._reading(scope) as (connection, user):
            return life.lineage(connection, scope, user)

    # Vectors still to be made

    def pending(self, scope: Scope | None, *, limit: int) -> list[Record]:
        """Return the oldest records without vectors."""
        with self._connections.read() as connection:
            return queue.pending(connection, scope, limit)

    def pending_count(self, scope: Scope | None) -> int:
        """Return how many records wait for their vectors."""
        with self._connections.read() as connection:
            return queue.count(connection, scope)

    def vector_model(self) -> tuple[str, int] | None:
        """Return name and dimensions of the stored vectors' model."""
        with self._connections.read() as connection:
            return queue.model(connection)

    def reset_vectors(self, model: str, dimensions: int) -> int:
        """Drop all vectors and mark every record pending for ``model``."""
        with self._connections.write() as connection:
            return queue.reset(connection, model, dimensions)

    # Entities

    def entity(self, scope: Scope, name: str, where: Filter) -> Entity | None:
        """Return the entity with this name or alias."""
        with self.snapshot(), self._reading(scope) as (connection, user):
            return reading.profile(connection, scope, user, self._names.fold(name), where)

    def entities(
        self, scope: Scope, where: Filter, *, type: str | None, limit: int
    ) -> list[Entity]:
        """Return the entities of matching records, most mentioned first."""
        with self.snapshot(), self._reading(scope) as (connection, user):
            return entities.ranked(connection, matching(scope, user, where), type, limit)

    def decisions(self, scope: Scope) -> dict[str, str]:
        """Return to which names' entities persons gave names."""
        with self._reading(scope) as (connection, user):
            return decisions.read(connection, scope, user)

    # Conversations

    def conversation(self, scope: Scope, id: str) -> ConversationInfo | None:
        """Return the conversation, or ``None``."""
        with self._reading(scope) as (connection, _):
            return transcripts.find(connection, scope, id)

    def conversations(self, scope: Scope) -> list[ConversationInfo]:
        """Return all conversations, the newest first."""
        with self._reading(scope) as (connection, _):
            return transcripts.every(connection, scope)

    def quoting(self, scope: Scope, records: Sequence[str]) -> int:
        """Return how many messages hold the text of these records."""
        with self._reading(scope) as (connection, _):
            return transcripts.quoting(connection, scope, records)

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
            return transcripts.messages(
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
            return transcripts.prunings(connection, scope, conversation)

    # Upkeep

    def capabilities(self) -> tuple[Capability, ...]:
        """Return what SQLite does by itself: all of it."""
        return health.CAPABILITIES

    def users(self) -> list[str]:
        """Return every user."""
        with self._connections.read() as connection:
            rows: list[Any] = connection.execute(reading.USERS).fetchall()
        return [row[0] for row in rows]

    def verify(self) -> list[str]:
        """Return a line for each difference between what is derived and what is canonical."""
        return health.verify(self._connections, self._terms)

    def rebuild(self, extractor: EntityExtractor) -> list[str]:
        """Derive index, links and the vector queue anew; return what was different."""
        return health.rebuild(self._connections, self._terms, self._names, extractor)

    def purge(self) -> bool:
        """Overwrite the remains of erased text."""
        return health.purge(self._connections)

    def backup(self, path: str) -> None:
        """Write a consistent copy to ``path``."""
        health.backup(self._connections, path)

    def size(self) -> int:
        """Return the bytes of the database and its write-ahead log."""
        path = self._connections.path
        with self._connections.read() as connection:
            if path == MEMORY:
                return int(connection.pragma("page_count")) * int(connection.pragma("page_size"))
            # While a connection is open, its files stay.
            connection.execute("SELECT 1 FROM meta").fetchone()
            return sum(Path(path + suffix).stat().st_size for suffix in ("", "-wal"))

    def snapshot(self) -> AbstractContextManager[None]:
        """Let all reads of this thread inside the block see one moment."""
        return self._connections.snapshot()

    def close(self) -> None:
        """Release the connections."""
        self._connections.close()
