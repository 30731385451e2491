"""The parts that a memory works with, wired once and shared by all its faces."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from threading import Event

from memoranda import wiring
from memoranda.derivations.vectors import VectorMaker
from memoranda.entities.pipeline import ACCURATE, FAST, Pipeline
from memoranda.errors import EmbeddingError, InvalidInput
from memoranda.learning.background import Consolidation, Request
from memoranda.learning.language import Language, StageModel
from memoranda.model.actions import Action, Insert
from memoranda.model.checks import limited, number
from memoranda.model.clock import Clock, SystemClock
from memoranda.model.events import Events
from memoranda.model.ids import IdFactory
from memoranda.model.life import believed
from memoranda.model.models import Hit, Kind, Record
from memoranda.model.ports import Embedder, EntityExtractor, LanguageModel, Store
from memoranda.model.query import Filter
from memoranda.model.scope import Scope
from memoranda.model.times import require_aware
from memoranda.notes.service import NotesService, OpenNotes
from memoranda.providers.embedding.cache import CachedEmbedder
from memoranda.records import revise
from memoranda.records.ingest import Draft, Ingest
from memoranda.search.search import Ranking, Retriever
from memoranda.settings.sections import names
from memoranda.settings.settings import Settings
from memoranda.text.analysis import TermAnalyzer
from memoranda.text.dates.questions import question_range
from memoranda.text.dates.reader import Dates
from memoranda.tokens.catalog import Catalog


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


LAST_MOMENTS = 2.0
"""Seconds that closing waits for sessions that are being read."""
Learn = Callable[["Parts", Request, Event], object]
"""Consolidates what is requested, for the users and subscribers of these parts."""
Unfinished = Callable[["Parts", Scope, str, int | None], object]
"""Keeps the last words of a session, up to a position, whose consolidation takes too long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What a memory needs. Made by :meth:`wired`, ended by :meth:`close`."""

    settings: Settings
    store: Store
    clock: Clock
    ids: IdFactory
    catalog: Catalog
    extractor: EntityExtractor
    providers: wiring.NameProviders
    dates: Dates
    language: Language
    ingest: Ingest
    embedder: CachedEmbedder | None
    vectors: VectorMaker
    retriever: Retriever
    events: Events
    consolidation: Consolidation
    learn: Learn | None = None
    unfinished: Unfinished | None = None
    open_notes: OpenNotes = field(default_factory=OpenNotes)

    @classmethod
    def wired(
        cls,
        location: str | Path | None,
        settings: Settings | None,
        *,
        embedder: Embedder | None,
        llm: LanguageModel | str | None,
        clock: Clock | None,
    ) -> Parts:
        """Open the store at ``location`` and put everything around it."""
        _check_given(settings, embedder, llm, clock)
        settings, clock = settings or Settings(), clock or SystemClock()
        language = Language(wiring.open_model(settings.llm, llm))
        providers = wiring.name_providers(settings.entities)
        model, off_because = wiring.open_embedder(settings.embedding, embedder)
        wiring.require_model(settings.retrieval, off_because)
        store = wiring.open_store(location, settings)
        extractor, ids = providers.fast(settings.entities), IdFactory(clock)
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
            providers=providers,
            dates=Dates(),
            language=language,
            ingest=Ingest(
                extractor=extractor, ids=ids, clock=clock, retention=wiring.retention(settings)
            ),
            embedder=model,
            vectors=vectors,
            retriever=_retriever(store, extractor, vectors, settings),
            events=Events(),
            consolidation=Consolidation(),
        )

    @property
    def notes(self) -> NotesService:
        """What opens the notes."""
        return NotesService(
            store=self.store,
            planner=self.ingest,
            clock=self.clock,
            settings=self.settings,
            open_notes=self.open_notes,
            events=self.events,
            announce=self.announce,
        )

    def talk(self) -> TalkParts:
        """Return the parts of a conversation."""
        return TalkParts(
            clock=self.clock, catalog=self.catalog, ids=self.ids, settings=self.settings
        )

    def model_for(self, scope: Scope, stage: str) -> StageModel | None:
        """Return the language model, whose use then counts for ``stage``; ``None`` without one."""
        model = self.language.model
        return None if model is None else StageModel(model, self.store, scope, stage, self.clock)

    def names(self, scope: Scope) -> Pipeline:
        """Return all that finds names in texts of ``scope``."""
        chosen = self.settings.entities
        return self.providers.pipeline(
            {FAST: names(chosen.fast), ACCURATE: names(chosen.accurate)},
            self.model_for(scope, "enrich"),
            self.language.wait,
        )

    def now(self) -> datetime:
        """Return the present moment, to the millisecond."""
        return require_aware(self.clock.now(), "clock")

    def require_believed(self, record: Record) -> Record:
        """Return ``record`` if its validity has not ended.

        Raises:
            InvalidInput: it has; the message names what took its place.
        """
        if believed(record, self.now()):
            return record
        after = f"; {record.superseded_by} took its place" if record.superseded_by else ""
        message = f"{record.id} is no longer believed{after}"
        raise InvalidInput(message)

    def corrected(self, scope: Scope, old: Record, draft: Draft) -> Record:
        """Store ``draft`` in the place of ``old``, tell the subscribers, and return the record."""
        now = self.now()
        new = self.ingest.plan(scope, draft, reason=f"corrects {old.id}")
        self.store.apply(scope, revise.correct(old, new, now))
        self.announce(scope, [new])
        self.events.emit("corrected", new.record)
        return new.record

    def stored(self, scope: Scope, plan: Sequence[Insert]) -> list[Record]:
        """Store new records in one transaction, tell the subscribers, and return them."""
        self.store.apply(scope, plan)
        return self.announce(scope, plan)

    def announce(self, scope: Scope, plan: Iterable[Action]) -> list[Record]:
        """Tell the subscribers of records that ``plan`` stored, and return these as they are."""
        self.vectors.notify()
        records = [action.record for action in plan if isinstance(action, Insert)]
        if any(record.session_id is not None for record in records):
            # Their positions were given by the store.
            ids = [record.id for record in records]
            stored = {record.id: record for record in self.store.get_many(scope, ids)}
            records = [stored.get(record.id, record) for record in records]
        for record in records:
            self.events.emit("remembered", record)
            if record.kind is Kind.EPISODE and record.position == 0:
                self.session_began(scope, record.session_id)
        return records

    def session_began(self, scope: Scope, session: str | None) -> None:
        """Have the sessions before this one consolidated (seed 004), while nobody waits."""
        if self.settings.consolidation.automatic:
            self._ask(Request(scope, but=session))

    def _ask(self, request: Request) -> None:
        if self.learn is not None:
            self.consolidation.ask(request, partial(self.learn, self, request))

    def session_ended(self, scope: Scope, session: str) -> None:
        """Have a session consolidated, and wait for it as long as the settings say (seed 002)."""
        if self.settings.consolidation.automatic:
            self.consolidated(scope, session)

    def consolidated(self, scope: Scope, session: str, *, until: int | None = None) -> bool:
        """Have a session consolidated after all that was asked for before; whether it is done.

        Waits as long as the settings say. After that the history gets the last messages as they
        were, and the rest goes on in the background (seed 002, ``consolidateWithTimeout``).

        Args:
            scope: whose session it is.
            session: the session.
            until: position of the last episode that is to be read; all, if not given.
        """
        self._ask(Request(scope, session=session, until=until))
        done = self.consolidation.wait(self.settings.consolidation.timeout)
        if not done and self.unfinished is not None:
            self.unfinished(self, scope, session, until)
        return done

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

    def least(self, min_score: float | None) -> float | None:
        """Return the least score of a search: what the caller says, else the setting."""
        return self.settings.retrieval.min_score if min_score is None else min_score

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
        if self.language.model is None:
            # Rules are quick: a program that runs for a moment learns something, too.
            self.consolidation.wait(LAST_MOMENTS)
        self.consolidation.stop()
        self.language.close()  # Nobody waits for a model any more; what it was asked is not lost.
        self.consolidation.close()
        self.vectors.close()
        if self.embedder is not None:
            self.embedder.close()
        self.open_notes.close(self.store)
        self.store.close()


def _check(part: object | None, name: str, *wanted: str) -> None:
    missing = [attribute for attribute in wanted if not hasattr(part, attribute)]
    if part is not None and missing:
        message = f"{name}={part!r:.80} cannot be used: it has no {' and no '.join(missing)}"
        raise InvalidInput(message)


def _check_given(settings: object, embedder: object, llm: object, clock: object) -> None:
    _check(settings, "settings", "embedding", "retention")
    _check(embedder, "embedder", "name", "dimensions", "embed")
    _check(None if isinstance(llm, str) else llm, "llm", "name", "ask")
    _check(clock, "clock", "now")


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
        times=question_range,
        ranking=Ranking(fusion=chosen.fusion, rrf_k=chosen.rrf_k),
    )
