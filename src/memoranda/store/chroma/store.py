"""The Chroma store: the ports of core over the collections of one place (seed 001)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from functools import partial

from memoranda.errors import StoreClosed
from memoranda.model.actions import Action, PutVectors
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
from memoranda.model.vectors import Vector
from memoranda.store.chroma import (
    actions,
    derivation,
    jobs,
    life,
    notes,
    queue,
    reading,
    search,
    transcripts,
    upkeep,
)
from memoranda.store.chroma.actions.transaction import Transaction
from memoranda.store.chroma.engine import Engine
from memoranda.store.chroma.lexical import Postings, match_terms
from memoranda.store.chroma.place import Place
from memoranda.store.chroma.rows import NOBODY, Facts
from memoranda.store.chroma.state import State


class ChromaStore:
    """Implements :class:`memoranda.model.ports.Store` on Chroma.

    A folder is used by one process at a time; a server by any number. Each process holds the
    rows of the users it serves in memory, their vectors apart, which Chroma is asked for.

    Args:
        place: the folder or the server.
        analyzer: makes the terms by which texts are found.
        names: decides which names are one entity.

    Raises:
        StoreBusy: another process has the folder.
        StoreError: the place cannot be used; it is left as it was.
    """

    def __init__(self, place: Place, *, analyzer: Analyzer, names: NameMatcher) -> None:
        """Open the place."""
        self._place = place
        self._analyzer = analyzer
        self._names = names
        self._opened: Engine | None = Engine.opened(place, names)
        try:
            self._engine.settle_dimensions()
            upkeep.follow_analyzer(self._engine, analyzer)
        except BaseException:
            self.close()
            raise

    @property
    def _engine(self) -> Engine:
        if self._opened is None:
            message = "this store is closed; open the memory again"
            raise StoreClosed(message)
        return self._opened

    def _reading(self, scope: Scope) -> AbstractContextManager[State]:
        return self._engine.reading(scope.user)

    @property
    def location(self) -> str:
        """The location as it is given to ``Memory``, without a token."""
        return str(self._place)

    # Writing

    def apply(self, scope: Scope, plan: Sequence[Action]) -> None:
        """Carry out the actions of ``plan`` in one transaction."""
        if not plan:
            return
        # Only for vectors it matters which model the store has.
        asked = any(isinstance(action, PutVectors) for action in plan)
        facts = self._engine.facts if asked else Facts()

        def work(state: State) -> dict[str, Vector]:
            tx = Transaction(state, scope, self._names, self._analyzer, facts)
            actions.apply(tx, plan)
            return tx.vectors

        self._engine.change(scope.user, work)

    def lease(self, name: str, holder: str, *, now: datetime, until: datetime) -> bool:
        """Take or renew a lease."""
        taken = False

        def work(state: State) -> dict[str, Vector]:
            nonlocal taken
            row = jobs.lease(state, name, holder, now=now, until=until)
            taken = row is not None
            if row is not None:
                state.put(row)
            return {}

        self._engine.change(NOBODY, work)
        return taken

    # Records

    def get(self, scope: Scope, id: str) -> Record | None:
        """Return the record, or ``None``."""
        found = self.get_many(scope, [id])
        return found[0] if found else None

    def get_many(self, scope: Scope, ids: Sequence[str]) -> list[Record]:
        """Return the records that exist, in the order of ``ids``."""
        with self._reading(scope) as state:
            return reading.by_ids(state, scope, ids)

    def page(self, scope: Scope, where: Filter, *, limit: int, after: str | None) -> list[Record]:
        """Return a page of matching records in the order they were recorded."""
        with self._reading(scope) as state:
            return reading.page(state, scope, where, limit=limit, after=after)

    def latest(self, scope: Scope, where: Filter) -> Record | None:
        """Return the matching record that was recorded last."""
        with self._reading(scope) as state:
            return reading.latest(state, scope, where)

    def versions(self, scope: Scope, ids: Sequence[str]) -> list[str]:
        """Return the records that one of ``ids`` replaced."""
        with self._reading(scope) as state:
            return derivation.versions(state, scope, ids)

    def copies(self, scope: Scope, ids: Sequence[str]) -> list[str]:
        """Return the other records with the very text of one of ``ids``."""
        with self._reading(scope) as state:
            return derivation.copies(state, scope, ids)

    def derived(self, scope: Scope, ids: Sequence[str]) -> list[str]:
        """Return what was derived from ``ids``."""
        with self._reading(scope) as state:
            return derivation.derived(state, scope, ids)

    def resting(self, scope: Scope, ids: Sequence[str]) -> list[Record]:
        """Return the records that name one of ``ids`` as a source."""
        with self._reading(scope) as state:
            return reading.by_ids(state, scope, derivation.resting(state, scope, ids))

    def history(self, scope: Scope, id: str) -> list[Change]:
        """Return what was done to a record."""
        with self._reading(scope) as state:
            return reading.history(state, scope, id)

    def count(self, scope: Scope, where: Filter) -> dict[Kind, int]:
        """Return how many records match, by kind."""
        with self._reading(scope) as state:
            return reading.count(state, scope, where)

    def newest(self, scope: Scope) -> datetime | None:
        """Return when the newest record was recorded."""
        with self._reading(scope) as state:
            return reading.newest(state, scope)

    def with_hashes(self, scope: Scope, hashes: Sequence[str], *, now: datetime) -> list[Record]:
        """Return the believed records with one of these hashes, oldest first."""
        with self._reading(scope) as state:
            return life.with_hashes(state, scope, hashes, now)

    # The life of a memory

    def sessions(
        self, scope: Scope, *, pending: bool = False, exclude: str | None = None
    ) -> list[SessionInfo]:
        """Return the sessions with episodes, the first seen first."""
        with self._reading(scope) as state:
            return life.sessions(state, scope, pending=pending, exclude=exclude)

    def session(self, scope: Scope, id: str) -> SessionInfo | None:
        """Return one session with episodes, or ``None``."""
        with self._reading(scope) as state:
            return life.progress(state, scope, id)

    def episodes(self, scope: Scope, session: str, *, after: int, limit: int) -> list[Record]:
        """Return the first episodes of a session beyond position ``after``."""
        with self._reading(scope) as state:
            return life.episodes(state, scope, session, after=after, limit=limit)

    def recalled(self, scope: Scope, session: str) -> list[str]:
        """Return the records that were recalled into a conversation."""
        with self._reading(scope) as state:
            return life.recalled(state, scope, session)

    def fading(self, scope: Scope, now: datetime) -> list[Record]:
        """Return the believed facts that have a decay rate."""
        with self._reading(scope) as state:
            return life.fading(state, scope, now)

    def lapsed(self, scope: Scope, now: datetime) -> list[Record]:
        """Return the records whose validity ended by itself and that were not retired."""
        with self._reading(scope) as state:
            return life.lapsed(state, scope, now)

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
        with self._reading(scope) as state:
            return life.recorded(state, scope, kind, now=now, since=since, before=before)

    def unenriched(
        self, scope: Scope, *, kinds: Sequence[Kind], most: int, limit: int, now: datetime
    ) -> list[Record]:
        """Return the oldest believed records never enriched, with at most ``most`` entities."""
        with self._reading(scope) as state:
            return life.unenriched(state, scope, kinds=kinds, most=most, limit=limit, now=now)

    def usage(self, scope: Scope) -> list[StageUsage]:
        """Return what stages have used of language models."""
        with self._reading(scope) as state:
            return life.usage(state, scope)

    # Notes

    def notes_base(self, scope: Scope, folder: str) -> NotesBase | None:
        """Return what was kept for exactly this scope and folder, or ``None``."""
        with self._reading(scope) as state:
            return notes.base(state, scope, folder)

    def notes_kept(self, scope: Scope) -> list[tuple[Scope, str]]:
        """Return the scopes and folders for which something was kept."""
        with self._reading(scope) as state:
            return notes.kept(state, scope)

    def standing(self, scope: Scope, *, now: datetime, limit: int) -> list[Record]:
        """Return the facts that are worth a line in MEMORY.md, the most worth first."""
        with self._reading(scope) as state:
            return notes.standing(state, scope, now, limit)

    def standing_version(self, scope: Scope, *, now: datetime) -> str:
        """Return a text that is another whenever other facts are standing."""
        with self._reading(scope) as state:
            return notes.version(state, scope, now)

    # Jobs

    def claim(
        self, job: str, holder: str, *, due: datetime, now: datetime, until: datetime
    ) -> bool:
        """Take or renew the run of a job."""
        taken = False

        def work(state: State) -> dict[str, Vector]:
            nonlocal taken
            row = jobs.claim(state, job, holder, due=due, now=now, until=until)
            taken = row is not None
            if row is not None:
                state.put(row)
            return {}

        self._engine.change(NOBODY, work)
        return taken

    def complete(self, job: str, holder: str, *, due: datetime, at: datetime) -> None:
        """Say that a run is done."""

        def work(state: State) -> dict[str, Vector]:
            row = jobs.complete(state, job, holder, due=due, at=at)
            if row is not None:
                state.put(row)
            return {}

        self._engine.change(NOBODY, work)

    def job_runs(self) -> list[JobRun]:
        """Return the last finished run of each job."""
        with self._engine.reading(NOBODY) as state:
            return jobs.runs(state)

    # Search

    def index_changes(self, scope: Scope, since: IndexVersion) -> IndexChanges:
        """Return what came after ``since``."""
        engine = self._engine
        with engine.moment(), self._reading(scope) as state:
            generation = engine.facts.generation
            return search.changes(
                state, since, generation=generation, vectors=partial(engine.vectors, scope.user)
            )

    def match_terms(self, scope: Scope, terms: Sequence[str], *, limit: int) -> TermMatches:
        """Return which records hold which terms."""
        with self._reading(scope) as state:
            name = self._analyzer.name
            known = state.made.get(name)
            if not isinstance(known, Postings):
                known = state.made[name] = Postings(state, self._analyzer)
            return match_terms(known, terms, limit=limit)

    def passing(self, scope: Scope, where: Filter) -> list[int]:
        """Return the ordinals of the matching records."""
        with self._reading(scope) as state:
            return reading.passing(state, scope, where)

    def mentioning(self, scope: Scope, names: Sequence[str]) -> list[tuple[int, int]]:
        """Return ordinals of the records that mention entities with these names."""
        folded = [self._names.fold(name) for name in names]
        with self._reading(scope) as state:
            return reading.mentioning(state, scope, folded)

    def by_ordinals(self, scope: Scope, ordinals: Sequence[int]) -> dict[int, Record]:
        """Return the records with these ordinals."""
        with self._reading(scope) as state:
            return reading.by_ordinals(state, scope, ordinals)

    def lineage(self, scope: Scope) -> Lineage:
        """Return what rests on what, and what took whose place."""
        with self._reading(scope) as state:
            return life.lineage(state, scope)

    # Vectors still to be made

    def pending(self, scope: Scope | None, *, limit: int) -> list[Record]:
        """Return the oldest records without vectors."""
        if scope is None:
            return upkeep.waiting(self._engine, limit)
        with self._engine.moment(), self._reading(scope) as state:
            return queue.pending(state, scope, self._engine.facts.generation, limit=limit)

    def pending_count(self, scope: Scope | None) -> int:
        """Return how many records wait for their vectors."""
        if scope is None:
            return upkeep.waiting_count(self._engine)
        with self._engine.moment(), self._reading(scope) as state:
            return queue.pending_count(state, scope, self._engine.facts.generation)

    def vector_model(self) -> tuple[str, int] | None:
        """Return name and dimensions of the stored vectors' model."""
        facts = self._engine.facts
        return None if facts.model is None else (facts.model, facts.dimensions)

    def reset_vectors(self, model: str, dimensions: int) -> int:
        """Drop all vectors and mark every record pending for ``model``."""
        return upkeep.reset_vectors(self._engine, model, dimensions)

    # Entities

    def entity(self, scope: Scope, name: str, where: Filter) -> Entity | None:
        """Return the entity with this name or alias."""
        with self._reading(scope) as state:
            return reading.profile(state, scope, self._names.fold(name), where)

    def entities(
        self, scope: Scope, where: Filter, *, type: str | None, limit: int
    ) -> list[Entity]:
        """Return the entities of matching records, most mentioned first."""
        with self._reading(scope) as state:
            return reading.ranked(state, scope, where, type=type, limit=limit)

    def decisions(self, scope: Scope) -> dict[str, str]:
        """Return what persons decided on names."""
        with self._reading(scope) as state:
            return reading.decisions(state, scope)

    # Transcripts

    def conversation(self, scope: Scope, id: str) -> ConversationInfo | None:
        """Return the conversation, or ``None``."""
        with self._reading(scope) as state:
            return transcripts.conversation(state, scope, id)

    def conversations(self, scope: Scope) -> list[ConversationInfo]:
        """Return all conversations, the newest first."""
        with self._reading(scope) as state:
            return transcripts.conversations(state, scope)

    def quoting(self, scope: Scope, records: Sequence[str]) -> int:
        """Return how many messages hold the text of these records."""
        with self._reading(scope) as state:
            return transcripts.quoting(state, scope, records)

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
        with self._reading(scope) as state:
            return transcripts.messages(
                state, scope, conversation, last=last, after=after, cleared=cleared, pinned=pinned
            )

    def prunings(self, scope: Scope, conversation: str) -> list[Pruning]:
        """Return the receipts of all prunings of a conversation, oldest first."""
        with self._reading(scope) as state:
            return transcripts.prunings(state, scope, conversation)

    # Upkeep

    def capabilities(self) -> tuple[Capability, ...]:
        """Return what Chroma does by itself, and what stands in for what it does not."""
        return upkeep.capabilities(self._engine)

    def users(self) -> list[str]:
        """Return every user."""
        return upkeep.users(self._engine)

    def verify(self) -> list[str]:
        """Return a line for each difference between what is derived and what is canonical."""
        return upkeep.verify(self._engine, analyzer=self._analyzer)

    def rebuild(self, extractor: EntityExtractor) -> list[str]:
        """Derive links, metadata and the vector queue anew; return what was different."""
        return upkeep.rebuild(self._engine, extractor, analyzer=self._analyzer, names=self._names)

    def purge(self) -> bool:
        """Overwrite the remains of erased text; not on a server, whose files are its own."""
        return upkeep.purge(self._engine)

    def backup(self, path: str) -> None:
        """Write a consistent copy to the new folder ``path``."""
        upkeep.backup(self._engine, path)

    def size(self) -> int:
        """Return the bytes of the folder, or of what the server holds of this store."""
        return upkeep.size(self._engine)

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Let all reads of this thread inside the block see one moment."""
        with self._engine.moment():
            yield

    def close(self) -> None:
        """Release the place. Closing twice is harmless."""
        engine, self._opened = self._opened, None
        if engine is not None:
            engine.close()
