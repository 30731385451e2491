"""Consolidation: sessions, page by page, become facts. Each page is one transaction.

The transaction of a page also says how far the session was read, so a crash loses a page of
work and no more, and two processes at one session learn nothing twice.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from itertools import combinations, islice
from threading import Event
from typing import NamedTuple

from memoranda.errors import (
    ConfigError,
    EmbeddingError,
    InvalidInput,
    LLMError,
    MemorandaError,
    NotFound,
    StoreClosed,
)
from memoranda.learning import consolidation_plan as planning
from memoranda.learning.claims import Claim, Extractor, Judge, Relation, Statement, Turn, Verdict
from memoranda.learning.conflicts import RuleJudge
from memoranda.learning.extraction.exclusions import blank_exclusions
from memoranda.learning.llm.model_extractor import ModelExtractor
from memoranda.learning.llm.model_judge import ModelJudge
from memoranda.learning.stage_models import StageModels
from memoranda.learning.turns import TurnReader
from memoranda.model.actions import Action, Consolidated, Insert, Reinforce, Supersede, Touch
from memoranda.model.checks import clean
from memoranda.model.models import Kind, Record, Scope
from memoranda.model.ports import DateReader
from memoranda.model.query import Filter, Vector
from memoranda.model.reports import StageReport
from memoranda.model.sessions import SessionInfo
from memoranda.records.service import RecordService
from memoranda.search.service import SearchService
from memoranda.settings.sections import ConsolidationSettings
from memoranda.text.secrets import secret_kind

log = logging.getLogger("memoranda.consolidate")

PAGE = 30
"""Episodes that are read at once."""
BEFORE = 6
"""Turns before a page that help to understand it."""
CANDIDATES = 8
"""Facts that a new one is compared with."""
MOST_LINES = 200
"""Lines of a report."""


class AttributedTurn(NamedTuple):
    """A turn, and the agent that it belongs to, if any."""

    agent: str | None
    turn: Turn


@dataclass(slots=True)
class ConsolidationTally:
    """A running count: actions applied, sessions finished, and failures."""

    actions: list[Action] = field(default_factory=list)
    sessions: int = 0
    failed: dict[str, str] = field(default_factory=dict)

    def report(self, *, dry_run: bool) -> StageReport:
        """Return it as a report."""
        kinds = Counter(type(action) for action in self.actions)
        lines = (line for action in self.actions if (line := _describe(action)))
        return StageReport(
            stage="consolidate",
            count=kinds[Insert],
            counts={
                "sessions": self.sessions,
                "facts": kinds[Insert],
                "credited": kinds[Reinforce],
                "superseded": kinds[Supersede],
            },
            lines=tuple(islice(lines, MOST_LINES)),
            failed=self.failed,
            dry_run=dry_run,
            actions=tuple(self.actions),
        )


def _describe(action: Action) -> str | None:
    match action:
        case Insert():
            return f"+ {action.record.content}"
        case Reinforce():
            return f"= {action.id} was said again"
        case Supersede():
            return f"- {action.id} is superseded by {action.by}: {action.reason}"
    return None


@dataclass(frozen=True, slots=True)
class SingleRelationJudge:
    """A judge that passes on only verdicts of one relation."""

    inner: Judge
    relation: Relation

    def judge(self, old: Statement, new: Statement) -> Verdict:
        """Return the verdict, or that there is none."""
        verdict = self.inner.judge(old, new)
        return verdict if verdict.relation is self.relation else Verdict(Relation.NONE, 1.0, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Consolidator:
    """Turns the sessions of one scope into facts.

    Attributes:
        records: stores the facts.
        searcher: finds the facts that are known already.
        turns: reads episodes.
        models: the language model, if there is one.
        rules: draws claims without a model.
        dates: finds the times that turns speak of.
        embed: gives the vector of a text; ``None`` where vectors are switched off.
        settings: how sessions become facts.
        stop: when set, it ends early, between pages.
    """

    records: RecordService
    searcher: SearchService
    turns: TurnReader
    models: StageModels
    rules: Extractor
    dates: DateReader
    embed: Callable[[str], Vector | None]
    settings: ConsolidationSettings
    stop: Event = field(default_factory=Event)

    def run(
        self,
        session: str | None = None,
        *,
        but: str | None = None,
        until: int | None = None,
        dry_run: bool = False,
    ) -> StageReport:
        """Consolidate one session, or all that wait ``but`` for one; report what was done.

        Args:
            session: only this one.
            but: this one goes on.
            until: position of the last episode to read, where not all are to be.
            dry_run: change nothing.
        """
        tally = ConsolidationTally()
        for info in self._pending(session, but):
            if self.stop.is_set():
                break
            try:
                tally.sessions += self._consolidate(info, tally, until, dry_run=dry_run)
            except StoreClosed:
                raise
            except LLMError as error:
                # The others would wait for the same model: they wait for its return instead.
                tally.failed[info.id] = str(error)
                break
            except MemorandaError as error:
                tally.failed[info.id] = str(error)
        return tally.report(dry_run=dry_run)

    def session(self, id: str) -> SessionInfo:
        """Return a session.

        Raises:
            NotFound: there is none of that id.
        """
        found = self.records.store.session(self.records.scope, clean(id, "session"))
        if found is None:
            message = f"there is no session {id!r} for user {self.records.scope.user!r}"
            raise NotFound(message)
        return found

    def plan(
        self,
        session: str,
        claims: Sequence[Claim],
        *,
        scope: Scope | None = None,
        only: Relation | None = None,
    ) -> list[Action]:
        """Return the plan for ``claims``, given the active facts.

        Args:
            session: the session they come from.
            claims: what was drawn from it.
            scope: whose facts they become, if not this scope's.
            only: the one relation to known facts that counts; all, if not given.
        """
        scope, now = scope or self.records.scope, self.records.now()
        judge = RuleJudge(threshold=self.settings.duplicate_at)
        page = planning.ClaimPage(
            session=session,
            through=0,
            finished=False,
            agent=scope.agent,
            claims=claims,
            candidates=[self._candidates(scope, claim) for claim in claims],
            between=self._similarities(claims),
        )
        plan = planning.plan(
            page,
            write=partial(self.records.planner.plan, scope, reason="consolidated"),
            judge=judge if only is None else SingleRelationJudge(judge, only),
            now=now,
            overrides=self._model_verdicts(page, judge, now) if only is None else {},
            decay_rate=self.settings.decay_rate,
        )
        # How far the session was read is said by who reads it.
        return list(plan.actions[:-1])

    def _pending(self, session: str | None, but: str | None) -> list[SessionInfo]:
        if session is None:
            return self.records.store.sessions(self.records.scope, pending=True, exclude=but)
        found = self.session(session)
        return [found] if found.consolidated_at is None else []

    def _consolidate(
        self, info: SessionInfo, tally: ConsolidationTally, until: int | None, *, dry_run: bool
    ) -> bool:
        """Consolidate one session; whether it was read to its end here."""
        after = info.through
        recalled = self.turns.recalled(info.id)
        context = self._context(info, recalled)
        while not self.stop.is_set():
            episodes, finished = self._next_page(info.id, after, until)
            if not episodes and not finished:
                return False
            through = max([after, *(item.position or 0 for item in episodes)])
            read = self.turns.read(episodes, recalled)
            turns = _attribute(episodes, read.turns)
            actions = list(self._learn(info.id, turns, context))
            if read.used:
                actions.append(Touch(read.used, self.records.now()))
            done = Consolidated(
                info.id, through, self.records.now(), finished=finished, after=after
            )
            if not dry_run and not self._apply([*actions, done], done):
                return False
            tally.actions += actions
            if finished or len(episodes) < PAGE:
                return finished
            after, context = through, turns[-BEFORE:]
        return False

    def _next_page(self, session: str, after: int, until: int | None) -> tuple[list[Record], bool]:
        """Return the next episodes to read, and whether no more are there."""
        found = self._episodes(session, after, PAGE)
        wanted = [item for item in found if until is None or (item.position or 0) <= until]
        return wanted, len(found) < PAGE and len(wanted) == len(found)

    def _context(self, info: SessionInfo, recalled: Mapping[str, str]) -> list[AttributedTurn]:
        last = self._episodes(info.id, max(-1, info.through - BEFORE), BEFORE)
        read = [item for item in last if (item.position or 0) <= info.through]
        return _attribute(read, self.turns.read(read, recalled).turns)

    def _episodes(self, session: str, after: int, limit: int) -> list[Record]:
        store, scope = self.records.store, self.records.scope
        return store.episodes(scope, session, after=after, limit=limit)

    def _apply(self, actions: Sequence[Action], done: Consolidated) -> bool:
        """Apply the plan of a page; false if another process has read on meanwhile."""
        try:
            self.records.apply(actions)
        except InvalidInput:
            now = self.records.store.session(self.records.scope, done.session)
            if now is not None and now.through != done.after:
                return False
            raise
        return True

    def _learn(
        self, session: str, turns: Sequence[AttributedTurn], context: Sequence[AttributedTurn]
    ) -> Iterator[Action]:
        # What an agent kept to itself stays its own: facts are the agent's whose talk it was,
        # and what others heard is not even told to understand it by.
        for agent in dict.fromkeys(each.agent for each in turns):
            before = [each.turn for each in context if each.agent in {None, agent}]
            claims = self._extract([each.turn for each in turns if each.agent == agent], before)
            # Whoever drew it: what opens a door never becomes knowledge.
            claims = [claim for claim in claims if secret_kind(claim.content) is None]
            yield from self.plan(session, claims, scope=Scope(self.records.scope.user, agent))

    def _extract(self, turns: Sequence[Turn], before: Sequence[Turn]) -> list[Claim]:
        """Return what the model or the rules draw from ``turns``.

        Raises:
            ConfigError: the settings want a model, and there is none.
            LLMError: the model failed.
        """
        chosen = self.settings.extractor
        model = self.models.for_stage(self.records.scope, "consolidate")
        if chosen == "rules" or (chosen == "auto" and model is None):
            return self.rules.extract(turns, before=before)
        if model is None:
            message = "consolidation.extractor=llm needs a language model; set llm.model"
            raise ConfigError(message)
        # What was said in confidence, or taken back, is no model's business either.
        open_turns = blank_exclusions([*before, *turns])
        context, page = open_turns[: len(before)], open_turns[len(before) :]
        extractor = ModelExtractor(model, self.dates)
        return self.models.wait(extractor.extract(page, before=context))

    def _candidates(self, scope: Scope, claim: Claim) -> list[planning.CandidateFact]:
        """Return the known facts that a claim is compared with."""
        where = Filter(now=self.records.now(), kinds=(Kind.FACT,))
        hits = self.searcher.of(scope).search(claim.content, where, limit=CANDIDATES)
        ids = list(dict.fromkeys(source for hit in hits for source in hit.record.source_ids))
        sources = self.records.store.get_many(scope, ids)
        said_at = {item.id: item.event_time for item in sources}
        found = []
        for hit in hits:
            vector = hit.why.arms.get("vector")
            times = [said_at[key] for key in hit.record.source_ids if key in said_at]
            similarity = None if vector is None else vector.score
            found.append(
                planning.CandidateFact(hit.record, similarity, said_last=max(times, default=None))
            )
        return found

    def _similarities(self, claims: Sequence[Claim]) -> dict[tuple[int, int], float]:
        try:
            # The search for candidates has embedded them: these come from the cache.
            vectors = [self.embed(claim.content) for claim in claims]
        except EmbeddingError:
            return {}
        return {
            (one, other): float(first @ second)
            for (one, first), (other, second) in combinations(enumerate(vectors), 2)
            if first is not None and second is not None
        }

    def _model_verdicts(
        self, page: planning.ClaimPage, judge: Judge, now: datetime
    ) -> planning.Overrides:
        """Return what the model says of pairs that rules do not decide.

        A model that fails leaves them to the rules.
        """
        model = self.models.for_stage(self.records.scope, "conflict")
        questions = [] if model is None else planning.find_unclear_pairs(page, judge=judge, now=now)
        if model is None or not questions:
            return planning.NO_OVERRIDES
        pairs = [(question.old, question.new) for question in questions]
        try:
            verdicts = self.models.wait(ModelJudge(model).judge(pairs))
        except LLMError as error:
            log.warning("conflicts are left to rules: %s", error)
            return planning.NO_OVERRIDES
        keys = ((question.claim, question.record) for question in questions)
        return dict(zip(keys, verdicts, strict=True))


def _attribute(episodes: Sequence[Record], turns: Sequence[Turn]) -> list[AttributedTurn]:
    return [AttributedTurn(item.agent, turn) for item, turn in zip(episodes, turns, strict=True)]
