"""The parts that a memory works with, wired once and shared by all its faces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from threading import Event

from memoranda.conversation.context import RecallRequest
from memoranda.conversation.conversation_store import ConversationStore
from memoranda.conversation.stored_transcript import TranscriptListeners
from memoranda.derivations.vectors import VectorMaker
from memoranda.entities.names import RuleNameMatcher
from memoranda.entities.pipeline import ACCURATE, FAST, EntityPipeline
from memoranda.entities.providers import EntityProviders, open_entity_providers
from memoranda.errors import InvalidInput
from memoranda.learning.consolidation_queue import ConsolidationQueue, ConsolidationRequest
from memoranda.learning.consolidator import Consolidator
from memoranda.learning.extraction import RuleFactExtractor
from memoranda.learning.reflection_writer import ReflectionWriter
from memoranda.learning.stage_models import StageModels
from memoranda.learning.turns import TurnReader
from memoranda.model.clock import Clock, SystemClock
from memoranda.model.events import Events
from memoranda.model.ids import IdFactory
from memoranda.model.models import Recall, Record
from memoranda.model.ports import Embedder, EntityExtractor, LanguageModel, Store
from memoranda.model.scope import Scope
from memoranda.model.times import require_aware
from memoranda.notes.service import NotesService, OpenNotes
from memoranda.providers.embedding.cache import CachedEmbedder
from memoranda.providers.opening import open_embedder, open_language_model, require_model
from memoranda.records.drafts import RecordPlanner, Retention
from memoranda.records.service import NotesEraser, RecordService
from memoranda.search.search import Ranking, Retriever
from memoranda.search.service import SearchService
from memoranda.settings.sections import names
from memoranda.settings.settings import Settings
from memoranda.store.locations import open_store
from memoranda.text.dates.questions import question_range
from memoranda.text.dates.statements import DateParser
from memoranda.text.terms import TermAnalyzer
from memoranda.tokens.catalog import Catalog

LAST_MOMENTS = 2.0
"""Seconds that closing waits for sessions that are being read."""
Learn = Callable[["Parts", ConsolidationRequest, Event], object]
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
    providers: EntityProviders
    dates: DateParser
    models: StageModels
    ingest: RecordPlanner
    embedder: CachedEmbedder | None
    vectors: VectorMaker
    retriever: Retriever
    events: Events
    consolidation: ConsolidationQueue
    learn: Learn | None = None
    unfinished: Unfinished | None = None
    erase_from_notes: Callable[[Parts, Scope, Sequence[Record]], NotesEraser] | None = None
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
        language_model = open_language_model(settings.llm, llm)
        providers = open_entity_providers(settings.entities)
        model, off_because = open_embedder(settings.embedding, embedder)
        require_model(settings.retrieval, off_because)
        store = open_store(location, settings, RuleNameMatcher())
        extractor, ids = providers.fast(settings.entities), IdFactory(clock)
        vectors = VectorMaker(
            store, model, off_because=off_because, background=settings.embedding.background
        )
        return cls(
            settings=settings,
            store=store,
            clock=clock,
            ids=ids,
            catalog=Catalog.of_settings(settings.tokens),
            extractor=extractor,
            providers=providers,
            dates=DateParser(),
            models=StageModels(language_model, store, clock),
            ingest=RecordPlanner(
                extractor=extractor, ids=ids, clock=clock, retention=Retention.of_settings(settings)
            ),
            embedder=model,
            vectors=vectors,
            retriever=_retriever(store, extractor, vectors, settings),
            events=Events(),
            consolidation=ConsolidationQueue(),
        )

    @property
    def notes(self) -> NotesService:
        """What opens the notes."""
        return NotesService(self.records, self.settings, self.open_notes)

    def conversations(
        self,
        scope: Scope,
        recall: Callable[[str | None, RecallRequest], Recall] | None = None,
    ) -> ConversationStore:
        """Return what opens the stored conversations of ``scope``."""
        notes = self.notes.find(scope) if self.settings.notes.in_context else None
        return ConversationStore(
            self.store,
            scope,
            settings=self.settings.conversation,
            catalog=self.catalog,
            clock=self.clock,
            ids=self.ids,
            planner=self.ingest,
            listeners=TranscriptListeners(
                stored=self.vectors.notify,
                remembered=partial(self.events.emit, "remembered"),
                began=partial(self.session_began, scope),
                ended=partial(self.session_ended, scope),
            ),
            recall=recall,
            notes=None if notes is None else notes.context_text,
        )

    def turns(self, scope: Scope) -> TurnReader:
        """Return what reads the episodes of ``scope``."""
        return TurnReader(self.records(scope), self.searcher(scope))

    def consolidator(self, scope: Scope, stop: Event | None = None) -> Consolidator:
        """Return what turns the sessions of ``scope`` into facts, until ``stop`` is set."""
        return Consolidator(
            records=self.records(scope),
            searcher=self.searcher(scope),
            turns=self.turns(scope),
            models=self.models,
            rules=RuleFactExtractor(self.dates, self.extractor),
            dates=self.dates,
            embed=self.vectors.query,
            settings=self.settings.consolidation,
            stop=stop or Event(),
        )

    def reflection_writer(self, scope: Scope) -> ReflectionWriter:
        """Return what writes the weekly insight of ``scope``."""
        return ReflectionWriter(
            records=self.records(scope),
            models=self.models,
            names=self.extractor,
            zone=self.settings.zone,
        )

    def names(self, scope: Scope) -> EntityPipeline:
        """Return all that finds names in texts of ``scope``."""
        chosen = self.settings.entities
        return self.providers.pipeline(
            {FAST: names(chosen.fast), ACCURATE: names(chosen.accurate)},
            self.models.for_stage(scope, "enrich"),
            self.models.wait,
        )

    def now(self) -> datetime:
        """Return the present moment, to the millisecond."""
        return require_aware(self.clock.now(), "clock")

    def records(self, scope: Scope) -> RecordService:
        """Return what changes the records of ``scope``."""
        return RecordService(
            scope=scope,
            store=self.store,
            planner=self.ingest,
            clock=self.clock,
            events=self.events,
            notify_derivations=self.vectors.notify,
            start_session=self.session_began,
            erase_from_notes=self.cleaning,
            wipe=self.wipe,
        )

    def searcher(self, scope: Scope) -> SearchService:
        """Return what finds the records of ``scope``."""
        chosen = self.settings.retrieval
        return SearchService(
            scope=scope,
            store=self.store,
            retriever=self.retriever,
            derivations=self.vectors,
            counter=self.catalog.meter(None).counter,
            zone=self.settings.zone,
            min_score=chosen.min_score,
            facts_only=chosen.recall != "all",
        )

    def cleaning(self, scope: Scope, records: Sequence[Record]) -> NotesEraser:
        """Return what erases ``records`` from the notes of ``scope``."""
        if self.erase_from_notes is None:
            message = "these parts belong to no memory"
            raise InvalidInput(message)
        return self.erase_from_notes(self, scope, records)

    def session_began(self, scope: Scope, session: str | None) -> None:
        """Have the sessions before this one consolidated (seed 004), while nobody waits."""
        if self.settings.consolidation.automatic:
            self._ask(ConsolidationRequest(scope, but=session))

    def _ask(self, request: ConsolidationRequest) -> None:
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
        self._ask(ConsolidationRequest(scope, session=session, until=until))
        done = self.consolidation.wait(self.settings.consolidation.timeout)
        if not done and self.unfinished is not None:
            self.unfinished(self, scope, session, until)
        return done

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
        if self.models.model is None:
            # Rules are quick: a program that runs for a moment learns something, too.
            self.consolidation.wait(LAST_MOMENTS)
        self.consolidation.stop()
        # Nobody waits for a model any more; what it was asked is not lost.
        self.models.runner.close()
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
