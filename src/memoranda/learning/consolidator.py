"""Consolidation: sessions, page by page, become facts. Each page is one transaction.

The transaction of a page also says how far the session was read, so a crash loses a page of
work and no more, and two processes at one session learn nothing twice.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from threading import Event
from typing import Any

from memoranda.errors import (
    ConfigError,
    Conflict,
    EmbeddingError,
    LLMError,
    MemorandaError,
    NotFound,
    StoreClosed,
    UnusableAnswer,
)
from memoranda.learning.candidates import KnownFactFinder
from memoranda.learning.claims import ASKED, Claim, Relation, Turn
from memoranda.learning.consolidation_plan import ConsolidationPlan
from memoranda.learning.consolidation_queue import ConsolidationRequest
from memoranda.learning.exclusions import blank_exclusions
from memoranda.learning.extractor import PageReading, RuleFactExtractor
from memoranda.learning.known_facts import quoted_words, when_said
from memoranda.learning.llm.model_stages import extract_claims
from memoranda.learning.proposals import plan_proposal
from memoranda.learning.speakers import USER, name_speakers
from memoranda.learning.stage_models import StageModels
from memoranda.model.changes import Close, Insert, RecordAccess, RecordChange, Reinforce, Supersede
from memoranda.model.checks import clean
from memoranda.model.models import ROLES, Kind, Record, Scope, Trust, is_active
from memoranda.model.ports import VECTORS
from memoranda.model.query import Filter, Order
from memoranda.model.reports import StageReport
from memoranda.model.sessions import SessionInfo
from memoranda.records.service import RecordService, session_episodes
from memoranda.search.recall import RecallService
from memoranda.settings.sections import ConsolidationSettings
from memoranda.text import recalled as recalled_text
from memoranda.text.secrets import has_secret

log = logging.getLogger("memoranda.consolidate")

# Episodes that are read at once.
PAGE = 30
# Turns before a page that help to understand it.
BEFORE = 6
# Facts that are found by a search.
CANDIDATES = 8
# Names of the user that are known.
MOST_NAMES = 100
# Lines of a report.
MOST_LINES = 200
# Seconds to wait for the vectors of what is known.
PATIENCE = 5.0
# How like a quotation a sentence is that speaks of a change of what it says (cosine).
ALIKE = 0.42
# What a report counts.
COUNTED = {"facts": Insert, "credited": Reinforce, "superseded": Supersede}


@dataclass(frozen=True, slots=True)
class TurnReader:
    """Reads the episodes of one scope as turns, without text that memory itself had recalled."""

    records: RecordService
    searcher: RecallService

    def read(self, session: str, episodes: Sequence[Record]) -> tuple[list[Turn], list[str]]:
        """Return episodes of a session as turns, without the lines and words of recalled memory.

        Returns:
            The turns in order, and the ids of records that were recalled and quoted in them:
            these were used, and not newly said.
        """
        turns: list[Turn] = []
        used: list[str] = []
        recalled = self._recalled(session)
        for episode in episodes:
            text = recalled_text.without_recalled(episode.content)
            # Lines in the form of recall, also those that recall had to cut, are nobody's words.
            text = recalled_text.without_lines(text, dict.fromkeys(recalled_text.lines(text)))
            text, quoted = recalled_text.without_quotes(text, recalled)
            used += quoted
            turn = Turn(
                id=episode.id,
                speaker=episode.source_role or USER,
                text=text,
                at=episode.event_time.astimezone(self.searcher.zone),
                person=episode.trust is Trust.PERSON,
                agent=episode.agent,
            )
            turns.append(turn)
        return name_speakers(turns, self._is_owner), list(dict.fromkeys(used))

    def _is_owner(self, speaker: str) -> bool:
        """Return whether a name is that of the person whose memory this is."""
        if speaker in ROLES:
            return False
        scope = self.records.scope
        where = Filter(now=self.records.now(), kinds=(Kind.FACT,), attribute="name")
        known = self.records.store.records(scope, where, limit=MOST_NAMES)
        own = [each.value for each in known if each.subject == USER and each.value]
        names = {USER, scope.user, *own, *(name.split()[0] for name in own)}
        return speaker.casefold() in {name.casefold() for name in names}

    def _recalled(self, session: str) -> dict[str, str]:
        """Return id and content of the records that were recalled into a session."""
        where = Filter.at_any_time(recalled_in=session)
        found = self.records.store.records(self.records.scope, where, order=Order.RECALLED)
        # An episode of the session is no quote of itself.
        return {record.id: record.content for record in found if record.session_id != session}


@dataclass(frozen=True, slots=True, kw_only=True)
class Consolidator:
    """Turns the sessions of one scope into facts.

    Attributes:
        records: stores the facts.
        searcher: finds the facts that are known already.
        models: the language model, if there is one.
        rules: draws claims without a model.
        settings: how sessions become facts.
        stop: when set, it ends early, between pages.
    """

    records: RecordService
    searcher: RecallService
    models: StageModels
    rules: RuleFactExtractor
    settings: ConsolidationSettings
    stop: Event = field(default_factory=Event)

    def run(self, request: ConsolidationRequest, *, dry_run: bool = False) -> StageReport:
        """Consolidate the sessions of a request, or only say what that would do."""
        if request.session is None:
            waiting = self.records.store.sessions(self.records.scope, pending=True).values()
            pending = [info for info in waiting if info.id != request.but]
        else:
            info = self.session(request.session)
            pending = [info] if info.consolidated_at is None else []
        done: list[RecordChange] = []
        failed: dict[str, str] = {}
        finished = 0
        for info in pending:
            if self.stop.is_set():
                break
            try:
                finished += self._consolidate(info, done, request.until, dry_run=dry_run)
            except StoreClosed:
                raise
            except MemorandaError as error:
                failed[info.id] = str(error)
                if isinstance(error, LLMError) and not isinstance(error, UnusableAnswer):
                    break  # The other sessions need the same model, so they wait, too.
        kinds = Counter(type(action) for action in done)
        counts = {"sessions": finished} | {name: kinds[kind] for name, kind in COUNTED.items()}
        lines = (line for action in done if (line := _describe(action)))
        return StageReport(
            stage="consolidate",
            count=kinds[Insert],
            counts=counts,
            lines=tuple(islice(lines, MOST_LINES)),
            failed=failed,
            dry_run=dry_run,
            actions=tuple(done),
        )

    def session(self, id: str) -> SessionInfo:
        """Return a session.

        Raises:
            NotFound: there is none of that id.
        """
        found = self.records.store.sessions(self.records.scope, id=clean(id, "session")).get(id)
        if found is None:
            raise NotFound(
                f"there is no session {id!r} for user {self.records.scope.user!r}; "
                "memoranda conversations lists those there are"
            )
        return found

    def plan(
        self,
        session: str,
        claims: Sequence[Claim],
        *,
        scope: Scope | None = None,
        only: Relation | None = None,
        approved: bool = False,
    ) -> list[RecordChange]:
        """Return the plan for ``claims``, given the active facts.

        Args:
            session: the session they come from.
            claims: what was drawn from it.
            scope: whose facts they become, if not this scope's.
            only: the one relation to known facts that counts; all, if not given.
            approved: whether a person stands behind all of them, and none waits for that.
        """
        scope, now = scope or self.records.scope, self.records.now()
        waits = self.settings.approve and not approved
        plan = ConsolidationPlan(
            session=session,
            claims=claims,
            candidates=KnownFactFinder(self.records.store, scope, now).find(claims),
            write=partial(self.records.planner.plan, scope, reason="consolidated"),
            propose=partial(plan_proposal, self.records.of(scope)) if waits else None,
            threshold=self.settings.duplicate_at,
            now=now,
            agent=scope.agent,
            only=only,
            decay_rate=self.settings.decay_rate,
        )
        return plan.make()

    def _end_outdated(
        self, scope: Scope, changes: Sequence[tuple[Turn, str]], ended: set[str]
    ) -> Iterator[Close]:
        """Yield the ends of quotations of which their speaker tells a change, kept or not.

        Such a sentence speaks of a change, and is much like them by its vector.

        Args:
            scope: whose facts they are.
            changes: sentences that speak of a change, each with its turn.
            ended: ids of facts that have ended already.
        """
        retriever = self.searcher.retriever
        where = Filter(now=self.records.now(), kinds=(Kind.FACT,))
        # No fact that waits for approval ends another one.
        if self.settings.approve or not (changes and retriever.derivations.has_model):
            return
        with suppress(EmbeddingError):
            # What is believed must not hang on how busy the machine is.
            retriever.derivations.finish_soon(scope, VECTORS, PATIENCE)
        for turn, text in changes:
            for hit in retriever.search(scope, text, where, limit=CANDIDATES):
                record, vector = hit.record, hit.why.arms.get("vector")
                if vector is None or vector.score < ALIKE or not _may_be_ended(record, turn, text):
                    continue
                if scope.agent in {None, record.agent} and record.id not in ended:
                    ended.add(record.id)
                    yield Close(record.id, where.now, "its speaker told a change of it")

    def _consolidate(
        self, info: SessionInfo, done: list[RecordChange], until: int | None, *, dry_run: bool
    ) -> bool:
        """Consolidate one session; whether it was read to its end here."""
        reader = TurnReader(self.records, self.searcher)
        after = info.through
        context, _ = reader.read(info.id, self._episodes_before(info.id, after + 1))
        while not self.stop.is_set():
            found = self._episodes(info.id, after, PAGE)
            episodes = [each for each in found if until is None or (each.position or 0) <= until]
            finished = len(episodes) == len(found) < PAGE
            if not episodes and not finished:
                return False
            through = max([after, *(each.position or 0 for each in episodes)])
            turns, used = reader.read(info.id, episodes)
            actions = list(self._learn(info.id, turns, context))
            now = self.records.now()
            if used:
                actions.append(RecordAccess(tuple(used), now))
            read = {"through": through, "after": after, "finished": finished}
            newest = [episode.id for episode in episodes[-1:]]
            if not dry_run and not self._apply(info.id, actions, newest, at=now, **read):
                return False
            done += actions
            if finished or len(episodes) < PAGE:
                return finished
            after, context = through, turns[-BEFORE:]
        return False

    def read_turns(self, session: str, episodes: Sequence[Record]) -> tuple[list[Turn], list[Turn]]:
        """Return the turns before some episodes of a session, and their own."""
        before = self._episodes_before(session, episodes[0].position or 0)
        reader = TurnReader(self.records, self.searcher)
        turns, _ = reader.read(session, [*before, *episodes])
        return turns[: len(before)], turns[len(before) :]

    def _episodes_before(self, session: str, place: int) -> list[Record]:
        found = self._episodes(session, max(-1, place - 1 - BEFORE), BEFORE)
        return [each for each in found if (each.position or 0) < place]

    def _episodes(self, session: str, after: int, limit: int) -> list[Record]:
        """Return episodes of a session in order; of one that was forgotten the place alone.

        "Forget that" is about the message before it, also when that is gone already.
        """
        store, scope = self.records.store, self.records.scope
        told = session_episodes(store, scope, session, after=after, limit=limit)
        where = Filter.at_any_time(kinds=(Kind.EPISODE,), session=session, beyond=after)
        gone = [
            replace(each, content="")
            for each in store.records(scope, where, order=Order.POSITION, limit=limit)
            if not each.superseded_by
        ]
        found = {each.position or 0: each for each in (*gone, *told)}
        return [found[place] for place in sorted(found)][:limit]

    def _apply(
        self, session: str, actions: Sequence[RecordChange], newest: Sequence[str], **read: Any
    ) -> bool:
        """Apply the plan of a page, and say how far the session was ``read``.

        Returns:
            Whether that was done: not where another process has read on meanwhile, or the newest
            episode was erased, as another may have its place in the session now.
        """
        try:
            with self.records.store.write(self.records.scope) as tx:
                if newest and not tx.get(self.records.scope, newest):
                    return False
                stored = tx.carry_out(actions)
                tx.advance_session(session, **read)
        except Conflict:
            return False
        self.records.announce(stored)
        return True

    def _learn(
        self, session: str, turns: Sequence[Turn], context: Sequence[Turn]
    ) -> Iterator[RecordChange]:
        # Facts belong to the agent whose talk it was. What other agents heard is not shown to the
        # model, not even as context.
        for agent in dict.fromkeys(each.agent for each in turns):
            before = [each for each in context if each.agent in {None, agent}]
            read = self._extract([each for each in turns if each.agent == agent], before)
            # Secrets never become facts, whoever drew them.
            claims = [claim for claim in read.claims if not has_secret(claim.content)]
            scope = replace(self.records.scope, agent=agent)
            actions = self.plan(session, self._without_ended(claims), scope=scope)
            yield from actions
            ended = {each.id for each in actions if isinstance(each, Supersede)}
            yield from self._end_outdated(scope, read.changes, ended)

    def _without_ended(self, claims: Sequence[Claim]) -> list[Claim]:
        """Return claims without those that were kept when they were asked for, and have ended."""
        cited = [source for each in claims if each.category in ASKED for source in each.sources]
        where = Filter.at_any_time(kinds=(Kind.FACT,), citing=cited)
        known = self.records.store.records(self.records.scope, where)
        now = self.records.now()
        ended = {each.content for each in known if not is_active(each, now)}
        return [each for each in claims if each.category not in ASKED or each.content not in ended]

    def _extract(self, turns: Sequence[Turn], before: Sequence[Turn]) -> PageReading:
        """Return what the model or the rules draw from ``turns``.

        Rules read what a model has no usable answer to, unless only a model may.

        Raises:
            ConfigError: the settings want a model, and there is none.
            LLMError: the model failed.
        """
        chosen = self.settings.extractor
        if chosen == "none":
            return PageReading([])
        model = self.models.for_stage(self.records.scope, "consolidate")
        if chosen == "rules" or (chosen == "auto" and model is None):
            return self.rules.read(turns, before=before)
        if model is None:
            raise ConfigError("consolidation.extractor=llm needs a language model; set llm.model")
        # The model is not shown what was said in confidence or taken back.
        open_turns = blank_exclusions([*before, *turns])
        context, page = open_turns[: len(before)], open_turns[len(before) :]
        # Rules read what a person asks for; the model is told what they keep.
        asked = [
            claim
            for place, turn in enumerate(turns)
            for claim in self.rules.read_requests(turn, before=[*before, *turns[:place]])[0]
        ]
        owner = self.records.scope.user
        drawn = extract_claims(model, page, before=context, kept=asked, owner=owner)
        try:
            return PageReading([*asked, *self.models.wait(drawn)])
        except UnusableAnswer as error:
            if chosen == "llm":
                raise
            # It would answer no better the next time, and rules lose nothing that they can read.
            log.warning("rules read a part of the session: %s", error)
            return self.rules.read(turns, before=before)


def _may_be_ended(record: Record, turn: Turn, text: str) -> bool:
    """Return whether a fact is a quotation of another sentence that its speaker said before."""
    before = record.source_role == turn.speaker and when_said(record) < turn.at
    return before and quoted_words(record.content) not in {record.content, text}


def _describe(action: RecordChange) -> str | None:
    match action:
        case Insert():
            waits = f" ({action.reason})" if action.is_proposal else ""
            return f"+ {action.record.content}{waits}"
        case Reinforce():
            return f"= {action.id} was said again"
        case Supersede():
            return f"- {action.id} is superseded by {action.by}: {action.reason}"
    return None
