"""Builds the services of a memory, each with only what it needs, and ends them.

This is the one place that knows them all. Nothing below it is given more than its own arguments.
What a memory does not need to open, to store and to search is imported when it is first asked for.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from copy import copy
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

from memoranda.derivations import DerivationWorker
from memoranda.entities import names as name_matcher
from memoranda.entities.pipeline import ACCURATE, FAST, EntityPipeline, open_entity_providers
from memoranda.errors import EmbeddingError
from memoranda.learning.consolidation_queue import ConsolidationQueue, ConsolidationRequest
from memoranda.learning.stage_models import StageModels
from memoranda.model.checks import require_attributes
from memoranda.model.clock import CheckedClock, Clock, IdFactory, SystemClock
from memoranda.model.events import Events
from memoranda.model.models import Hit, Kind, Record, Scope
from memoranda.model.ports import ENTITIES, AnswerScorer, Embedder, LanguageModel
from memoranda.model.processes import BackgroundThread
from memoranda.model.reports import StageReport
from memoranda.providers.opening import open_embedder, open_language_model, require_model
from memoranda.records.drafts import RecordPlanner, Retention, show_text
from memoranda.records.erasing import Eraser
from memoranda.records.service import RecordService
from memoranda.settings.parsing import names, parse_span
from memoranda.store.locations import medium, open_store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoranda.conversation.conversation_store import ConversationStore
    from memoranda.learning.consolidator import Consolidator
    from memoranda.learning.request_keeper import RequestKeeper
    from memoranda.maintenance.schedule import Schedule
    from memoranda.maintenance.service import Maintenance
    from memoranda.notes.service import NotesService, OpenNotes
    from memoranda.notes.writer import HistoryWriter, PlanClaims
    from memoranda.providers.embedding.cache import CachedEmbedder
    from memoranda.search.recall import RecallService
    from memoranda.search.search import Retriever
    from memoranda.settings.settings import Settings
    from memoranda.tokens.catalog import Catalog
    from memoranda.transfer.sources import ImportTarget

log = logging.getLogger("memoranda.consolidate")

EVENTS = ("remembered", "corrected", "forgotten")
OUT_OF_REACH = (
    "no row holds it, but the files of a server are out of reach: VACUUM (FULL), run there, writes "
    "its tables anew; its log, archives, replicas and backups are whoever's runs it"
)
# What is made on first use, and then shared by all users of a store.
SHARED = ("retriever", "catalog", "open_notes")
# Seconds that closing waits for sessions that are being read, and for a stage of upkeep at hand:
# the next process takes it up from there.
LAST_MOMENTS = 1.5
# The stages of upkeep that ask a language model.
MODEL_STAGES = ("enrich", "consolidate", "reflect")


class Services:
    """The services of one memory, from the opening of its store to :meth:`close`.

    Args:
        location, settings, embedder, llm, clock: as for :class:`memoranda.Memory`.
    """

    def __init__(
        self,
        location: str | Path | None,
        settings: Settings | None,
        *,
        embedder: Embedder | CachedEmbedder | None,
        llm: LanguageModel | str | None,
        clock: Clock | None,
    ) -> None:
        """Open the store at ``location`` and build what works on it."""
        require_attributes(embedder, "embedder", "name", "dimensions", "embed")
        require_attributes(None if isinstance(llm, str) else llm, "llm", "name", "ask")
        require_attributes(clock, "clock", "now")
        from memoranda.settings.settings import Settings  # noqa: PLC0415 - see the module

        self.settings = chosen = Settings.of(settings)
        self.zone = chosen.zone
        self.events = Events(*EVENTS)
        self.clock = CheckedClock(clock or SystemClock())
        spans = {
            Kind(kind): None if value == "day" else parse_span(value)
            for kind, value in chosen.retention.model_dump(exclude={"remove"}).items()
            if value != "forever"
        }
        self.planner = RecordPlanner(
            ids=IdFactory(self.clock), clock=self.clock, retention=Retention(chosen.zone, spans)
        )
        language_model = open_language_model(chosen.llm, llm)
        self.providers = open_entity_providers(chosen.entities)
        quick, accurate = names(chosen.entities.fast), names(chosen.entities.accurate)
        self.name_strategies = {FAST: quick, ACCURATE: accurate}
        self.extractor = EntityPipeline(self.providers, {FAST: quick})
        masks = chosen.secrets.recall == "mask"
        self.embedder, off_because = open_embedder(chosen.embedding, embedder, masks=masks)
        require_model(chosen.retrieval, off_because)
        self.store = open_store(location, chosen, name_matcher)
        self.models = StageModels(language_model, self.store, masks=masks)
        self.derivations = DerivationWorker(
            self.store,
            self.embedder,
            self.extractor,
            now=self.clock.now,
            off_because=off_because,
            tokens=chosen.retrieval.token_vectors and chosen.retrieval.fusion == "blend",
            background=chosen.embedding.background,
        )
        self.consolidation = ConsolidationQueue()
        self.upkeep = BackgroundThread("memoranda-schedule")
        self.holds_paid_work = False

    def for_other_user(self) -> Services:
        """Return the same services with subscribers of their own."""
        for name in SHARED:
            getattr(self, name)  # Made now, it is the same in the copy.
        other = copy(self)
        other.events = Events(*EVENTS)
        return other

    @cached_property
    def retriever(self) -> Retriever:
        """What ranks records."""
        from memoranda.search.index import IndexCache  # noqa: PLC0415 - see the module
        from memoranda.search.search import Ranking, Retriever  # noqa: PLC0415

        chosen = self.settings.retrieval
        return Retriever(
            store=self.store,
            extractor=self.extractor,
            derivations=self.derivations,
            zone=self.zone,
            ranking=Ranking(fusion=chosen.fusion, rrf_k=chosen.rrf_k),
            cache=IndexCache(chosen.cache_size),
            wait=chosen.wait,
        )

    @cached_property
    def catalog(self) -> Catalog:
        """The windows of models, and what counts their tokens."""
        from memoranda.tokens.catalog import Catalog  # noqa: PLC0415 - see the module

        return Catalog(**dict(self.settings.tokens))

    @cached_property
    def open_notes(self) -> OpenNotes:
        """What is known of the notes of each scope while the store is open."""
        from memoranda.notes.service import OpenNotes  # noqa: PLC0415 - see the module

        return OpenNotes()

    # Records, search and conversations

    def records(self, scope: Scope) -> RecordService:
        """Return the service that changes the records of ``scope``."""
        return RecordService(
            scope=scope,
            store=self.store,
            planner=self.planner,
            clock=self.clock,
            events=self.events,
            notify_derivations=self.derivations.notify,
            start_session=self.session_began,
            eraser_of=self.eraser,
        )

    def eraser(self, scope: Scope) -> Eraser:
        """Return the service that erases records of ``scope`` with all their copies."""
        from memoranda.conversation.formats.parse import count_message  # noqa: PLC0415 - see the module

        return Eraser(
            scope=scope,
            store=self.store,
            clock=self.clock,
            erase_history=self.notes.erase_history,
            erase_lines=self.notes.erase_lines,
            wipe=self.wipe_erased,
            count_tokens=lambda model, message: count_message(self.catalog.meter(model), message),
        )

    def searcher(self, scope: Scope) -> RecallService:
        """Return the service that finds what a model may see of the records of ``scope``."""
        from memoranda.search.recall import RecallService  # noqa: PLC0415 - see the module

        chosen = self.settings.retrieval
        return RecallService(
            scope=scope,
            retriever=self.retriever,
            counter=self.catalog.meter(None).counter,
            min_score=chosen.min_score,
            facts_only=chosen.recall != "all",
            secrets=self.settings.secrets.recall,
        )

    def conversations(self, scope: Scope) -> ConversationStore:
        """Return the service that opens the stored conversations of ``scope``."""
        from memoranda.conversation.conversation_store import ConversationStore  # noqa: PLC0415 - see the module

        notes = self.notes.find(scope) if self.settings.notes.in_context else None
        secrets = self.settings.secrets.recall
        return ConversationStore(
            records=self.records(scope),
            settings=self.settings.conversation,
            catalog=self.catalog,
            end_session=self.session_ended,
            recall=self.searcher(scope).recall,
            notes=None if notes is None else lambda: show_text(notes.context_text(), secrets),
            requests=lambda session, said: self.request_keeper(scope).keep(session, said),
        )

    def request_keeper(self, scope: Scope) -> RequestKeeper:
        """Return what carries out what messages ask of memory."""
        from memoranda.learning.request_keeper import RequestKeeper  # noqa: PLC0415 - see the module

        return RequestKeeper(self.consolidator(scope))

    def names(self, scope: Scope) -> EntityPipeline:
        """Return the pipeline that finds names in texts of ``scope``."""
        model = self.models.for_stage(scope, "enrich")
        providers = dict(self.providers)
        if model is not None:
            from memoranda.entities.model_names import ModelNames  # noqa: PLC0415 - see the module

            providers["llm"] = ModelNames(model, run=self.models.wait)
        return EntityPipeline(providers, self.name_strategies)

    def rerank(self, question: str, hits: Sequence[Hit]) -> Sequence[Hit]:
        """Return hits by how likely each answers an English question, where a model tells that."""
        from memoranda.facts.language import languages_in  # noqa: PLC0415 - see the module
        from memoranda.providers.reranking import rerank  # noqa: PLC0415

        scorer = self.embedder.inner if self.embedder else None
        with suppress(EmbeddingError):
            if isinstance(scorer, AnswerScorer) and hits and languages_in(question)[0] == "en":
                return rerank(scorer, question, hits)
        return hits

    # Learning

    def consolidator(self, scope: Scope, stop: Event | None = None) -> Consolidator:
        """Return what turns sessions of ``scope`` into facts, until ``stop`` is set."""
        from memoranda.learning.consolidator import Consolidator  # noqa: PLC0415 - see the module
        from memoranda.learning.extractor import RuleFactExtractor  # noqa: PLC0415

        return Consolidator(
            records=self.records(scope),
            searcher=self.searcher(scope),
            models=self.models,
            rules=RuleFactExtractor(),
            settings=self.settings.consolidation,
            stop=stop or Event(),
        )

    def keep_proposal(
        self, scope: Scope, held: Record, content: str | None = None, **how: Any
    ) -> Record:
        """Believe what a proposal of ``scope`` says, or ``content``; return the fact."""
        from memoranda.learning.proposals import ProposalKeeper  # noqa: PLC0415 - see the module

        keeper = ProposalKeeper(self.records(scope), self.consolidator(scope).plan)
        return keeper.keep(held, content, **how)

    def consolidate(
        self, request: ConsolidationRequest, stop: Event | None = None, *, dry_run: bool = False
    ) -> StageReport:
        """Turn the sessions of a request into facts and into entries of the history.

        Notes that cannot be written keep nothing from being learned: the session is told later.
        """
        consolidator = self.consolidator(request.scope, stop)
        report = consolidator.run(request, dry_run=dry_run)
        for session, why in report.failed.items():
            log.warning("session %r waits to be consolidated: %s", session, why)
        if dry_run or not self.settings.notes.automatic:
            return report
        writer = self.history_writer(request.scope, consolidator.plan, stop)
        for session in report.failed:
            writer.write_fallback(session, request.until)
        spared = () if request.but is None else (request.but,)
        written = writer.write(request.session, but=(*report.failed, *spared))
        return replace(report, lines=(*report.lines, *written))

    def consolidate_session(self, scope: Scope, session: str, *, until: int | None = None) -> bool:
        """Have a session consolidated after all that was asked for before; whether it is done.

        Waits as long as the settings say. After that the history gets the last messages as they
        were, and the rest goes on in the background (requirement S2.30).

        Args:
            scope: whose session it is.
            session: the session.
            until: position of the last episode that is to be read; all, if not given.
        """
        self._request(ConsolidationRequest(scope, session=session, until=until))
        done = self.consolidation.wait(self.settings.consolidation.timeout)
        if not done and self.settings.notes.automatic:
            self.history_writer(scope).write_fallback(session, until)
        return done

    def hold_paid_work(self) -> bool:
        """Leave what nobody asked for undone from now on, where a model would be paid for it.

        ``memoranda maintain`` and ``memoranda worker`` do it, which somebody starts for that.

        Returns:
            Whether calls of the model cost money.
        """
        self.holds_paid_work = getattr(self.models.model, "costs_money", False)
        return self.holds_paid_work

    def session_began(self, scope: Scope, session: str | None) -> None:
        """Have earlier sessions consolidated in the background (requirement S4.10).

        Not after :meth:`hold_paid_work`.
        """
        if self.settings.consolidation.automatic and not self.holds_paid_work:
            self._request(ConsolidationRequest(scope, but=session))

    def session_ended(self, scope: Scope, session: str) -> None:
        """Have a session consolidated, and wait as long as the settings say (requirement S2.30)."""
        if self.settings.consolidation.automatic:
            self.consolidate_session(scope, session)

    def _request(self, request: ConsolidationRequest) -> None:
        self.consolidation.ask(request, partial(self.consolidate, request))

    # Notes

    @property
    def notes(self) -> NotesService:
        """The service that opens the notes of each scope."""
        from memoranda.notes.service import NotesService  # noqa: PLC0415 - see the module

        return NotesService(self.records, self.settings, self.open_notes)

    def history_writer(
        self, scope: Scope, plan_claims: PlanClaims | None = None, stop: Event | None = None
    ) -> HistoryWriter:
        """Return the writer that adds sessions of ``scope`` to the history of its notes."""
        from memoranda.learning.consolidator import TurnReader  # noqa: PLC0415 - see the module
        from memoranda.notes.writer import STAGE, HistoryWriter  # noqa: PLC0415

        by_rules = self.settings.consolidation.extractor in {"rules", "none"}
        return HistoryWriter(
            notes=self.notes.find(scope),
            records=self.records(scope),
            reader=TurnReader(self.records(scope), self.searcher(scope)),
            language=self.models,
            model=None if by_rules else self.models.for_stage(scope, STAGE),
            plan_claims=plan_claims,
            stop=stop or Event(),
        )

    # The whole store

    def maintenance(self, scope: Scope) -> Maintenance:
        """Return the upkeep of ``scope``."""
        from memoranda.learning.reflection import ReflectionWriter  # noqa: PLC0415 - see the module
        from memoranda.maintenance.service import Maintenance  # noqa: PLC0415

        writer = ReflectionWriter(self.records(scope), self.models, self.zone)
        return Maintenance(
            scope=scope,
            store=self.store,
            now=self.clock.now,
            retention=self.planner.retention,
            remove=self.settings.retention.remove,
            wipe=partial(self.wipe_removed, scope),
            decay_threshold=self.settings.decay.threshold,
            names=partial(self.names, scope),
            link_entities=partial(self.link_entities, scope),
            consolidate=partial(self.consolidate, ConsolidationRequest(scope)),
            reflect=writer.write,
        )

    def schedule(self, **how: Any) -> Schedule:
        """Return the upkeep of all users at the times of the settings; ``how`` as it takes it."""
        from memoranda.maintenance.schedule import Schedule  # noqa: PLC0415 - see the module

        return Schedule(
            lambda user, stage: getattr(self.maintenance(self.store.scope(user)), stage)(),
            store=self.store,
            clock=self.clock,
            zone=self.zone,
            **{"times": self.settings.schedule, **how},
        )

    def run_upkeep(self) -> None:
        """Run the schedule in the background, one however many ask for it, if the settings say so.

        After :meth:`hold_paid_work` without the stages that ask a model.

        Raises:
            ConfigError: a time of the settings cannot be read.
        """
        times = self.settings.schedule
        if self.holds_paid_work:
            times = times.model_copy(update=dict.fromkeys(MODEL_STAGES, "off"))
        schedule = self.schedule(stop=self.upkeep.ending, times=times)
        if self.settings.schedule.in_background:
            self.upkeep.start(schedule.run)

    def import_target(self, scope: Scope, *, own_only: bool = False, **how: Any) -> ImportTarget:
        """Return the memory of ``scope`` for an import or export; ``how`` is for its counts."""
        from memoranda.transfer.sources import ImportCounts, ImportTarget  # noqa: PLC0415 - see the module

        return ImportTarget(
            self.records(scope),
            self.conversations,
            self.zone,
            self.notes,
            self.settings.secrets.remember,
            ImportCounts(**how),
            own_only,
        )

    def finish_import(self, scope: Scope) -> None:
        """Have derived what came in: names at once where some were merged, before any is erased."""
        if self.store.decisions(scope):
            self.link_entities(scope)
        self.derivations.notify()

    def link_entities(self, scope: Scope) -> None:
        """Link pending records to their entities, whichever agent stored them."""
        self.derivations.finish(scope.whole_user, ENTITIES)

    def wipe(self) -> str | None:
        """Remove erased text from what is in memory and from free space; say why it could not."""
        if self.embedder is not None:
            self.embedder.clear()
        if "retriever" in vars(self):
            self.retriever.cache.clear()
        return self.store.purge()

    def wipe_erased(self) -> str | None:
        """Wipe as :meth:`wipe`; of a server say that its files are out of reach."""
        return self.wipe() or (OUT_OF_REACH if medium(self.store.location) == "server" else None)

    def wipe_removed(self, scope: Scope) -> None:
        """Wipe as :meth:`wipe`, and take the lines of what was removed out of every MEMORY.md."""
        self.wipe()
        for notes in self.notes.every(scope.whole_user):
            notes.sync()

    def close(self) -> None:
        """Stop the background work and release the store."""
        self.upkeep.ending.set()
        if self.models.model is None:
            # Rules are quick: a program that runs for a moment learns something, too.
            self.consolidation.wait(LAST_MOMENTS)
        self.consolidation.stop()
        # Nobody waits for a model any more; what it was asked is not lost.
        self.models.close()
        self.derivations.stop()
        if self.embedder is not None:
            self.embedder.close()
        self.upkeep.wait(LAST_MOMENTS)
        self.consolidation.close()
        self.derivations.close()
        if "open_notes" in vars(self):
            self.open_notes.close(self.store)
        self.store.close()
