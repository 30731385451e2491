"""The Chroma store: the shared statements over the replicas of one place (requirement S1.01)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from memoranda.errors import StoreClosed
from memoranda.model.actions import Action
from memoranda.model.capabilities import Capability
from memoranda.model.models import Record, Scope
from memoranda.model.ports import ENTITIES, VECTORS, Analyzer, EntityExtractor, NameMatcher
from memoranda.model.query import TermMatches
from memoranda.store.chroma import upkeep
from memoranda.store.chroma.place import Place
from memoranda.store.chroma.replicas import STORE_ITSELF, Replicas
from memoranda.store.sql.dialect import SqlConnection
from memoranda.store.sql.store import SqlStore


class ChromaStore(SqlStore):
    """Implements :class:`memoranda.model.ports.Store` on Chroma.

    A folder is used by one process at a time; a server by any number. Each process holds the
    rows of the users it serves in memory.

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
        self._opened: Replicas | None = Replicas.opened(place, analyzer=analyzer, names=names)

    @property
    def _replicas(self) -> Replicas:
        if self._opened is None:
            message = "this store is closed; open the memory again"
            raise StoreClosed(message)
        return self._opened

    @contextmanager
    def _reading(self, scope: Scope) -> Iterator[tuple[SqlConnection, int]]:
        with (
            self._replicas.reading(scope.user) as replica,
            replica.store.reading_user(scope) as found,
        ):
            yield found

    @contextmanager
    def _store_wide(self) -> Iterator[SqlConnection]:
        with self._replicas.reading(STORE_ITSELF) as replica, replica.store.reading() as found:
            yield found

    @property
    def location(self) -> str:
        """The location as it is given to ``Memory``, without a token."""
        return str(self._place)

    def apply(self, scope: Scope, plan: Sequence[Action]) -> None:
        """Carry out the actions of ``plan`` in one transaction."""
        if plan:
            self._replicas.change(scope.user, lambda store: store.apply(scope, plan))

    def lease(self, name: str, holder: str, *, now: datetime, until: datetime) -> bool:
        """Take or renew a lease."""
        return self._replicas.change(
            STORE_ITSELF, lambda store: store.lease(name, holder, now=now, until=until)
        )

    def claim(
        self, job: str, holder: str, *, due: datetime, now: datetime, until: datetime
    ) -> bool:
        """Take or renew the run of a job."""
        return self._replicas.change(
            STORE_ITSELF, lambda store: store.claim(job, holder, due=due, now=now, until=until)
        )

    def complete(self, job: str, holder: str, *, due: datetime, at: datetime) -> None:
        """Say that a run is done."""
        self._replicas.change(
            STORE_ITSELF, lambda store: store.complete(job, holder, due=due, at=at)
        )

    def match_terms(self, scope: Scope, terms: Sequence[str], *, limit: int) -> TermMatches:
        """Return which records hold which terms."""
        with self._replicas.reading(scope.user) as replica:
            return replica.store.match_terms(scope, terms, limit=limit)

    def pending(self, scope: Scope | None, work: str = VECTORS, *, limit: int) -> list[Record]:
        """Return the oldest records that wait for a kind of work."""
        if scope is not None:
            with self._replicas.reading(scope.user) as replica:
                return replica.store.pending(scope, work, limit=limit)
        replicas, found = self._replicas, list[Record]()
        with replicas.lock:
            replicas.settle()
            for user in replicas.mirror.owners(self._waiting(work), limit=limit):
                found += self.pending(Scope(user), work, limit=limit)
        return sorted(found, key=lambda item: (item.created_at, item.id))[:limit]

    def pending_count(self, scope: Scope | None, work: str = VECTORS) -> int:
        """Return how many records wait for a kind of work."""
        if scope is None:
            with self._replicas.lock:
                self._replicas.settle()
                return self._replicas.mirror.count(self._waiting(work))
        with self._replicas.reading(scope.user) as replica:
            return replica.store.pending_count(scope, work)

    def _waiting(self, work: str) -> dict[str, Any]:
        """Return the condition of Chroma for records that wait for a kind of work."""
        if work == ENTITIES:
            return {"unlinked": True}
        generation = self._replicas.model.generation
        return {"$and": [{"indexed": True}, {"generation": {"$ne": generation}}]}

    def reset_vectors(self, model: str, dimensions: int) -> int:
        """Drop all vectors and mark every record pending for ``model``."""
        self._replicas.name_model(model, dimensions)
        return self.pending_count(None)

    # Upkeep

    def capabilities(self) -> tuple[Capability, ...]:
        """Return what Chroma does by itself, and what stands in for what it does not."""
        return upkeep.capabilities(shared=self._replicas.connection.shared)

    def users(self) -> list[str]:
        """Return every user with a record or a conversation, in order."""
        replicas, found = self._replicas, list[str]()
        with replicas.lock:
            replicas.settle()
            for user in replicas.journal.users():
                if user == STORE_ITSELF:
                    continue
                if replicas.mirror.has(user):  # So that few of them are loaded for this alone.
                    found.append(user)
                    continue
                with replicas.reading(user) as replica:
                    found += replica.store.users()
        return found

    def verify(self) -> list[str]:
        """Return a line for each difference between what is derived and what is canonical."""
        return upkeep.verify(self._replicas)

    def rebuild(self, extractor: EntityExtractor) -> list[str]:
        """Derive links, metadata and the queue anew; return what was different."""
        return upkeep.rebuild(self._replicas, extractor)

    def purge(self) -> bool:
        """Overwrite the remains of erased text; not on a server, whose files are its own."""
        return upkeep.purge(self._replicas)

    def backup(self, path: str) -> None:
        """Write a consistent copy to the new folder ``path``."""
        upkeep.backup(self._replicas, path)

    def size(self) -> int:
        """Return the bytes of the folder, or of what the server holds of this store."""
        return upkeep.size(self._replicas)

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Let all reads of this thread inside the block see one moment."""
        with self._replicas.moment():
            yield

    def close(self) -> None:
        """Release the place. Closing twice is harmless."""
        replicas, self._opened = self._opened, None
        if replicas is not None:
            replicas.close()
