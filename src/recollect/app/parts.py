"""The parts that a memory works with, wired once and shared by all its faces."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from recollect.app import wiring
from recollect.app.checks import limited, number
from recollect.app.settings import Settings
from recollect.app.vectors import VectorMaker
from recollect.core.clock import Clock, SystemClock
from recollect.core.errors import EmbeddingError, InvalidInput
from recollect.core.events import Events
from recollect.core.ids import IdFactory
from recollect.core.models import Hit
from recollect.core.ports import Embedder, EntityExtractor, Store
from recollect.core.query import Filter
from recollect.core.scope import Scope
from recollect.core.times import require_aware
from recollect.embed.cache import CachedEmbedder
from recollect.entities.rules import RuleExtractor
from recollect.lifecycle.ingest import Ingest
from recollect.retrieve.analysis import TermAnalyzer
from recollect.retrieve.search import Ranking, Retriever
from recollect.tokens.catalog import Catalog


@dataclass(frozen=True, slots=True, kw_only=True)
class TalkParts:
    """What a conversation needs, with a memory or without."""

    clock: Clock
    catalog: Catalog
    ids: IdFactory
    settings: Settings

    @classmethod
    def usual(cls, settings: Settings | None = None) -> TalkParts:
        """Return the parts of a conversation that stands alone."""
        _check(settings, "settings", "conversation", "tokens")
        clock, settings = SystemClock(), settings or Settings()
        return cls(
            clock=clock,
            catalog=wiring.catalog(settings),
            ids=IdFactory(clock),
            settings=settings,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What a memory needs. Made by :meth:`wired`, ended by :meth:`close`."""

    settings: Settings
    store: Store
    clock: Clock
    ids: IdFactory
    catalog: Catalog
    extractor: EntityExtractor
    ingest: Ingest
    embedder: CachedEmbedder | None
    vectors: VectorMaker
    retriever: Retriever
    events: Events

    @classmethod
    def wired(
        cls,
        location: str | Path | None,
        settings: Settings | None,
        *,
        embedder: Embedder | None,
        clock: Clock | None,
    ) -> Parts:
        """Open the store at ``location`` and put everything around it."""
        _check(settings, "settings", "embedding", "retention")
        _check(embedder, "embedder", "name", "dimensions", "embed")
        _check(clock, "clock", "now")
        settings = settings or Settings()
        clock = clock or SystemClock()
        model, off_because = (
            (CachedEmbedder(embedder), None)
            if embedder is not None
            else wiring.open_embedder(settings.embedding)
        )
        store = wiring.open_store(location, settings)
        extractor, ids = RuleExtractor(), IdFactory(clock)
        vectors = VectorMaker(
            store, model, off_because=off_because, background=settings.embedding.background
        )
        return cls(
            settings=settings,
            store=store,
            clock=clock,
            ids=ids,
            catalog=wiring.catalog(settings),
            extractor=extractor,
            ingest=Ingest(
                extractor=extractor, ids=ids, clock=clock, retention=wiring.retention(settings)
            ),
            embedder=model,
            vectors=vectors,
            retriever=_retriever(store, extractor, vectors, settings),
            events=Events(),
        )

    def talk(self) -> TalkParts:
        """Return the parts of a conversation."""
        return TalkParts(
            clock=self.clock, catalog=self.catalog, ids=self.ids, settings=self.settings
        )

    def now(self) -> datetime:
        """Return the present moment, to the millisecond."""
        return require_aware(self.clock.now(), "clock")

    def found(
        self,
        scope: Scope,
        query: str,
        where: Filter,
        *,
        limit: int,
        min_score: float | None = None,
        skip: frozenset[str] = frozenset(),
    ) -> list[Hit]:
        """Search, after embedding what still waits, so that nothing just said is missed."""
        with suppress(EmbeddingError):  # The problem shows in the status of the vectors.
            self.vectors.finish(scope)
        return self.retriever.search(
            scope,
            query,
            where,
            limit=limited(limit, "limit"),
            min_score=number(min_score, "min_score"),
            skip=skip,
        )

    def vector_status(self) -> str:
        """Return the model in use, or why there is none."""
        if self.vectors.problem is not None:
            return f"off: {self.vectors.problem}"
        model = self.store.vector_model()
        return "off" if model is None else f"{model[0]} ({model[1]} dimensions)"

    def wipe(self) -> bool:
        """Remove erased text from what is in memory and from free space in the file."""
        if self.embedder is not None:
            self.embedder.clear()
        self.retriever.forget()
        return self.store.purge()

    def close(self) -> None:
        """Stop the background work and release the store."""
        self.vectors.close()
        self.store.close()


def _check(part: object | None, name: str, *wanted: str) -> None:
    missing = [attribute for attribute in wanted if not hasattr(part, attribute)]
    if part is not None and missing:
        message = f"{name}={part!r:.80} cannot be used: it has no {' and no '.join(missing)}"
        raise InvalidInput(message)


def _retriever(
    store: Store, extractor: EntityExtractor, vectors: VectorMaker, settings: Settings
) -> Retriever:
    chosen = settings.retrieval
    return Retriever(
        store,
        analyzer=TermAnalyzer(),
        extractor=extractor,
        embed=vectors.query,
        zone=settings.zone,
        ranking=Ranking(fusion=chosen.fusion, rrf_k=chosen.rrf_k),
    )
