"""Consolidation: sessions, page by page, become facts. Each page is one transaction.

The transaction of a page also says how far the session was read, so a crash loses a page of
work and no more, and two processes at one session learn nothing twice.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from itertools import combinations
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
from memoranda.learning.claims import (
    Claim,
    Extractor,
    Judge,
    Relation,
    Statement,
    Turn,
    Verdict,
)
from memoranda.learning.conflicts import RuleJudge
from memoranda.learning.extraction import RuleFactExtractor
from memoranda.learning.stages import asking
from memoranda.learning.turns import page, recalled
from memoranda.model.actions import Action, Consolidated, Credit, Insert, Supersede, Touch
from memoranda.model.life import SessionInfo
from memoranda.model.models import Kind, Record
from memoranda.model.query import Filter
from memoranda.model.reports import StageReport
from memoranda.model.scope import Scope
from memoranda.model.text import clean
from memoranda.parts import Parts
from memoranda.text.secrets import secret_kind

log = logging.getLogger("memoranda.consolidate")

PAGE = 30
"""Episodes that are read at once (seed 004)."""
BEFORE = 6
"""Turns before a page that help to understand it."""
CANDIDATES = 8
"""Facts that a new one is compared with."""
MOST_LINES = 200
CONSOLIDATE = "consolidate"


@dataclass(slots=True)
class Tally:
    """What was done so far."""

    facts: int = 0
    credited: int = 0
    superseded: int = 0
    sessions: int = 0
    lines: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    actions: list[Action] = field(default_factory=list)

    def add(self, actions: Sequence[Action]) -> None:
        """Count what ``actions`` do."""
        self.actions += actions
        for action in actions:
            if isinstance(action, Insert):
                self.facts += 1
                self._line(f"+ {action.record.content}")
            elif isinstance(action, Credit):
                self.credited += 1
                self._line(f"= {action.id} was said again")
            elif isinstance(action, Supersede):
                self.superseded += 1
                self._line(f"- {action.id} is superseded by {action.by}: {action.reason}")

    def _line(self, text: str) -> None:
        if len(self.lines) < MOST_LINES:
            self.lines.append(text)

    def report(self, *, dry_run: bool) -> StageReport:
        """Return it as a report."""
        return StageReport(
            stage=CONSOLIDATE,
            count=self.facts,
            counts={
                "sessions": self.sessions,
                "facts": self.facts,
                "credited": self.credited,
                "superseded": self.superseded,
            },
            lines=tuple(self.lines),
            failed=self.failed,
            dry_run=dry_run,
            actions=tuple(self.actions),
        )


class Heard(NamedTuple):
    """A turn, and the agent that alone heard it, if one did."""

    agent: str | None
    turn: Turn


def _heard(episodes: Sequence[Record], turns: Sequence[Turn]) -> list[Heard]:
    return [Heard(item.agent, turn) for item, turn in zip(episodes, turns, strict=True)]


@dataclass(frozen=True, slots=True)
class _Only:
    """A judge of whose verdicts one relation counts."""

    judge_: Judge
    relation: Relation

    def judge(self, old: Statement, new: Statement) -> Verdict:
        """Return the verdict, or that there is none."""
        verdict = self.judge_.judge(old, new)
        return verdict if verdict.relation is self.relation else Verdict(Relation.NONE, 1.0, "")


class Consolidating:
    """Consolidates the sessions of one scope."""

    def __init__(self, parts: Parts, scope: Scope, stop: Event | None = None) -> None:
        """Work with ``parts``; end early, between pages, when ``stop`` is set."""
        self._parts = parts
        self._scope = scope
        self._stop = stop or Event()
        self._judge = RuleJudge(threshold=parts.settings.consolidation.duplicate_at)

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
        tally = Tally()
        for info in self._chosen(session, but):
            if self._stop.is_set():
                break
            try:
                tally.sessions += self._session(info, tally, until, dry_run=dry_run)
            except StoreClosed:
                raise
            except LLMError as error:
                # The others would wait for the same model: they wait for its return instead.
                tally.failed[info.id] = str(error)
                break
            except MemorandaError as error:
                tally.failed[info.id] = str(error)
        return tally.report(dry_run=dry_run)

    def _chosen(self, session: str | None, but: str | None) -> list[SessionInfo]:
        if session is None:
            return self._parts.store.sessions(self._scope, pending=True, exclude=but)
        found = known_session(self._parts, self._scope, session)
        return [found] if found.consolidated_at is None else []

    def _session(
        self, info: SessionInfo, tally: Tally, until: int | None, *, dry_run: bool
    ) -> bool:
        """Consolidate one session; whether it was read to its end here."""
        after = info.through
        told = recalled(self._parts, self._scope, info.id)
        context = self._before(info, told)
        while not self._stop.is_set():
            episodes, finished = self._page(info.id, after, until)
            if not episodes and not finished:
                return False
            through = max([after, *(item.position or 0 for item in episodes)])
            read = page(self._parts, self._scope, episodes, told)
            heard = _heard(episodes, read.turns)
            actions = list(self._learned(info.id, heard, context))
            if read.used:
                actions.append(Touch(read.used, self._parts.now()))
            if not dry_run and not self._applied(
                info.id, [*actions, self._done(info.id, through, after, finished=finished)]
            ):
                return False
            tally.add(actions)
            if finished or len(episodes) < PAGE:
                return finished
            after, context = through, heard[-BEFORE:]
        return False

    def _page(self, session: str, after: int, until: int | None) -> tuple[list[Record], bool]:
        """Return the next episodes to read, and whether no more are there."""
        found = self._parts.store.episodes(self._scope, session, after=after, limit=PAGE)
        wanted = [item for item in found if until is None or (item.position or 0) <= until]
        return wanted, len(found) < PAGE and len(wanted) == len(found)

    def _before(self, info: SessionInfo, told: Mapping[str, str]) -> Sequence[Heard]:
        start = max(-1, info.through - BEFORE)
        last = self._parts.store.episodes(self._scope, info.id, after=start, limit=BEFORE)
        read = [item for item in last if (item.position or 0) <= info.through]
        return _heard(read, page(self._parts, self._scope, read, told).turns)

    def _done(self, session: str, through: int, after: int, *, finished: bool) -> Consolidated:
        return Consolidated(session, through, self._parts.now(), finished=finished, after=after)

    def _applied(self, session: str, actions: Sequence[Action]) -> bool:
        """Apply the plan of a page; false if another process has read on meanwhile."""
        try:
            self._parts.store.apply(self._scope, actions)
        except InvalidInput:
            done = actions[-1]
            now = self._parts.store.session(self._scope, session)
            if isinstance(done, Consolidated) and now and now.through != done.after:
                return False
            raise
        self._parts.records(self._scope).announce(actions)
        return True

    def _learned(
        self, session: str, heard: Sequence[Heard], context: Sequence[Heard]
    ) -> Iterator[Action]:
        # What an agent kept to itself stays its own: facts are the agent's whose talk it was,
        # and what others heard is not even told to understand it by.
        for agent in dict.fromkeys(each.agent for each in heard):
            own = Scope(self._scope.user, agent)
            before = [each.turn for each in context if each.agent in {None, agent}]
            claims = self._claims([each.turn for each in heard if each.agent == agent], before)
            # How far the session was read is said once, for the whole page.
            yield from self.plan(own, session, claims).actions[:-1]

    def _claims(self, turns: Sequence[Turn], context: Sequence[Turn]) -> list[Claim]:
        # Whoever drew it: what opens a door never becomes knowledge.
        drawn = self._drawn(turns, context)
        return [claim for claim in drawn if secret_kind(claim.content) is None]

    def _drawn(self, turns: Sequence[Turn], context: Sequence[Turn]) -> list[Claim]:
        chosen = self._parts.settings.consolidation.extractor
        if chosen != "rules":
            claims = asking.claims(self._parts, self._scope, turns, context)
            if claims is not None:
                return claims
        if chosen == "llm":
            message = "consolidation.extractor=llm needs a language model; set llm.model"
            raise ConfigError(message)
        rules: Extractor = RuleFactExtractor(self._parts.dates, self._parts.extractor)
        return rules.extract(turns, before=context)

    def plan(
        self,
        scope: Scope,
        session: str,
        claims: Sequence[Claim],
        *,
        only: Relation | None = None,
    ) -> planning.Plan:
        """Return what follows from ``claims``, given what is believed already.

        Args:
            scope: whose facts they become.
            session: the session they come from.
            claims: what was drawn from it.
            only: the one relation to known facts that counts; all, if not given.
        """
        work = planning.Page(
            session=session,
            through=0,
            finished=False,
            agent=scope.agent,
            claims=claims,
            candidates=[self._candidates(scope, claim) for claim in claims],
            between=self._between(claims),
        )
        now = self._parts.now()
        return planning.plan(
            work,
            write=partial(self._parts.ingest.plan, scope, reason="consolidated"),
            judge=self._judge if only is None else _Only(self._judge, only),
            now=now,
            overrides=(self._overrides(work, now) if only is None else planning.NO_OVERRIDES),
            decay_rate=self._parts.settings.consolidation.decay_rate,
        )

    def _candidates(self, scope: Scope, claim: Claim) -> list[planning.Candidate]:
        where = Filter(now=self._parts.now(), kinds=(Kind.FACT,))
        hits = self._parts.searcher(scope).search(claim.content, where, limit=CANDIDATES)
        said = self._said(scope, [hit.record for hit in hits])
        found = []
        for hit in hits:
            vector = hit.why.arms.get("vector")
            last = max((said[id_] for id_ in hit.record.source_ids if id_ in said), default=None)
            likeness = None if vector is None else vector.score
            found.append(planning.Candidate(hit.record, likeness, said_last=last))
        return found

    def _said(self, scope: Scope, facts: Sequence[Record]) -> dict[str, datetime]:
        """Return when each source of these facts was said."""
        ids = list(dict.fromkeys(id_ for fact in facts for id_ in fact.source_ids))
        return {item.id: item.event_time for item in self._parts.store.get_many(scope, ids)}

    def _between(self, claims: Sequence[Claim]) -> dict[tuple[int, int], float]:
        try:
            # The search for candidates has embedded them: these come from the cache.
            vectors = [self._parts.vectors.query(claim.content) for claim in claims]
        except EmbeddingError:
            return {}
        return {
            (one, other): float(first @ second)
            for (one, first), (other, second) in combinations(enumerate(vectors), 2)
            if first is not None and second is not None
        }

    def _overrides(self, work: planning.Page, now: datetime) -> planning.Overrides:
        if self._parts.language.model is None:
            return planning.NO_OVERRIDES
        questions = planning.unclear(work, judge=self._judge, now=now)
        return asking.verdicts(self._parts, self._scope, questions)


def known_session(parts: Parts, scope: Scope, id: str) -> SessionInfo:
    """Return a session of ``scope``.

    Raises:
        NotFound: there is none of that id.
    """
    found = parts.store.session(scope, clean(id, "session"))
    if found is None:
        message = f"there is no session {id!r} for user {scope.user!r}"
        raise NotFound(message)
    return found
