"""The plan of a consolidation: what a page of claims changes in what is believed (seed 004).

A claim that was known credits the fact that says it; a new one becomes a fact; one that
excludes an older one takes its place. What was said later decides, not what is read later: a
session that is consolidated late adds to the past and never retires what came after it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any

from memoranda.learning.claims import Category, Claim, Judge, Relation, Statement, Verdict
from memoranda.learning.deduplication import duplicate, says_more, subject
from memoranda.model.actions import Action, Consolidated, Credit, Insert, Supersede
from memoranda.model.life import believed
from memoranda.model.models import Kind, Record, Trust
from memoranda.records.drafts import TRUST, Draft

ORIGIN = "consolidation"
CREDITED = "said again"
DECAY_RATE = 0.1
"""Per day, of facts that consolidation drew (seed 004)."""
SUPERSEDED = 0.3
"""Confidence of a fact that another one took the place of (seed 004)."""
LEAST = 0.6
"""Confidence of a verdict from which it counts."""
CLEAR = 0.8
"""Confidence of a verdict from which it also counts against a protected fact."""
ROUGHLY = timedelta(days=31)
"""How far what is said of the past may be off: "last week", "in May"."""
LIKELY = 0.5
"""Likeness of vectors from which a pair that no rule decides is worth a model's look."""
Overrides = Mapping[tuple[int, str], Verdict]
"""(index of the claim, id of the record) → a verdict that counts instead of the judge's."""
NO_OVERRIDES: Overrides = MappingProxyType({})
NO_LIKENESS: Mapping[tuple[int, int], float] = MappingProxyType({})
_RANK = {Trust.EXTERNAL: 0, Trust.AGENT: 1, Trust.PERSON: 2}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A fact that may have to do with a claim.

    Attributes:
        record: the fact, as it is stored.
        likeness: cosine of its vector and the claim's; ``None`` where there are none.
        said_last: when the last of its sources was said, where that is known: what was
            confirmed since is not ended by a claim from between.
    """

    record: Record
    likeness: float | None = None
    said_last: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What one step of a consolidation works with.

    Attributes:
        session: the session that was read.
        through: position of its last episode that was read.
        finished: whether that was its last one.
        claims: what was drawn from these episodes, in the order it was said.
        candidates: for each claim the facts that may have to do with it, best first, those
            that were superseded among them.
        between: (index, index) of two claims, the smaller first → cosine of their vectors.
        agent: the agent that alone heard it, if one did: what it heard retires nothing that
            other agents go by, who would not see what took its place.
    """

    session: str
    through: int
    finished: bool
    claims: Sequence[Claim]
    candidates: Sequence[Sequence[Candidate]]
    between: Mapping[tuple[int, int], float] = field(default_factory=lambda: NO_LIKENESS)
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """What a plan does, in figures.

    Attributes:
        added: claims that become facts.
        credited: claims that add a source to a fact.
        known: claims that change nothing, as they were read before.
        superseded: facts that are believed less from now on.
        withheld: conflicts in which both stay, as the newer one has not the standing to retire
            the other.
        dropped: why claims were left out → how many.
    """

    added: int = 0
    credited: int = 0
    known: int = 0
    superseded: int = 0
    withheld: int = 0
    dropped: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class Plan:
    """The actions of one step, to be applied in one transaction, and what they amount to."""

    actions: tuple[Action, ...]
    report: Report


@dataclass(frozen=True, slots=True)
class Question:
    """A pair that rules do not decide, for a model to judge.

    Attributes:
        claim: index of the claim.
        record: id of the fact.
        old: the one that was so first; this may be the claim.
        new: the other one.
    """

    claim: int
    record: str
    old: Statement
    new: Statement


@dataclass(frozen=True, slots=True)
class Moment:
    """When something was said, the last time, and from when it holds: no later than that."""

    said: datetime
    holds: datetime

    def counts_after(self, other: Moment) -> bool:
        """Return whether this is the later word on what both speak of.

        That is what was said later, unless it tells of times long before the other's: "we
        lived in Oslo then". Times near each other are not told apart, as most are told roughly.
        """
        if self.said >= other.said:
            return self.holds + ROUGHLY >= other.holds
        return other.holds + ROUGHLY < self.holds

    def confirmed(self, again: Moment) -> Moment:
        """Return when it was said, and held, as it was said again."""
        return Moment(max(self.said, again.said), max(self.holds, again.holds))


@dataclass(slots=True)
class _Belief:
    """A fact while a plan is made: stored already, or inserted by the plan.

    Attributes:
        moment: when it was said and from when it holds.
        over: whether another one took its place.
    """

    record: Record
    moment: Moment
    sources: set[str]
    claim: int | None = None
    over: bool = False


@dataclass(frozen=True, slots=True)
class _Clash:
    belief: _Belief
    verdict: Verdict
    likeness: float | None


def plan(
    page: Page,
    *,
    write: Callable[[Draft], Insert],
    judge: Judge,
    now: datetime,
    overrides: Overrides = NO_OVERRIDES,
    decay_rate: float = DECAY_RATE,
    least: float = LEAST,
) -> Plan:
    """Plan what a page of claims changes. Nothing is stored by planning.

    Args:
        page: the claims, and the facts that may have to do with them.
        write: makes the action that stores a draft, with a fresh id: ``RecordPlanner.plan`` for a
            scope.
        judge: says how a later statement stands to an earlier one.
        now: the present.
        overrides: verdicts, such as a model's, that count instead of the judge's.
        decay_rate: of new facts, per day.
        least: confidence below which a verdict does not count.

    Returns:
        Inserts, credits and supersessions in the order of the claims, then how far the
        session was read. Planned again after it was applied, a page adds and retires nothing.
    """
    work = _Work(page, _Means(write, judge, now, overrides, decay_rate, least))
    for index in range(len(page.claims)):
        work.take(index)
    done = Consolidated(page.session, page.through, now, page.finished)
    return Plan((*work.actions, done), work.report())


def unclear(
    page: Page, *, judge: Judge, now: datetime, likely: float = LIKELY, clear: float = CLEAR
) -> list[Question]:
    """Return the pairs of ``page`` that a model should judge, where there is one.

    These are conflicts of which the judge is not sure, and pairs about the same subject that
    it sees no conflict in although their vectors are alike.

    Args:
        page: the claims, and the facts that may have to do with them.
        judge: the judge whose word counts without a model.
        now: the present; what has ended by then is not asked about.
        likely: likeness of vectors from which two are alike.
        clear: confidence from which the judge's word is enough.
    """
    questions = []
    for index, (claim, candidates) in enumerate(zip(page.claims, page.candidates, strict=True)):
        for candidate in candidates:
            belief = _belief(candidate)
            if not _counts(candidate.record, now) or not _related(claim, candidate.record):
                continue
            old, new = _ordered(claim, belief, candidate.likeness)
            verdict = judge.judge(old, new)
            if verdict.relation is Relation.DUPLICATE:
                continue
            alike = (candidate.likeness or 0.0) >= likely
            if alike if verdict.relation is Relation.NONE else verdict.confidence < clear:
                questions.append(Question(index, candidate.record.id, old, new))
    return questions


@dataclass(frozen=True, slots=True)
class _Means:
    """What a plan is made with; as the arguments of :func:`plan`."""

    write: Callable[[Draft], Insert]
    judge: Judge
    now: datetime
    overrides: Overrides
    decay_rate: float
    least: float


class _Work:
    """A plan in the making."""

    def __init__(self, page: Page, means: _Means) -> None:
        self._page = page
        self._means = means
        self._stored = {
            candidate.record.id: _belief(candidate)
            for candidates in page.candidates
            for candidate in candidates
            if _counts(candidate.record, means.now)
        }
        self._fresh: list[_Belief] = []
        self._counts: Counter[str] = Counter()
        self._dropped: Counter[str] = Counter()
        self.actions: list[Action] = []

    def report(self) -> Report:
        """Return the figures."""
        return Report(**self._counts, dropped=MappingProxyType(dict(self._dropped)))

    def take(self, index: int) -> None:
        """Plan one claim."""
        claim = self._page.claims[index]
        why = _unfit(claim)
        if why is not None:
            self._dropped[why] += 1
            return
        clashes = list(self._clashes(index))
        same = self._same(claim, clashes)
        if same is None:
            self._insert(index, [each for each in clashes if _excludes(each.verdict)])
        elif fresh := tuple(each for each in claim.sources if each not in same.sources):
            same.sources |= set(fresh)
            same.moment = same.moment.confirmed(_moment(claim))
            self.actions.append(Credit(same.record.id, self._means.now, fresh, CREDITED))
            self._counts["credited"] += 1
        else:
            self._counts["known"] += 1

    def _clashes(self, index: int) -> Iterator[_Clash]:
        """Yield what has to do with a claim, by a verdict that counts."""
        claim = self._page.claims[index]
        for belief, likeness in self._pairs(index):
            if not _related(claim, belief.record):
                continue
            verdict = self._means.overrides.get((index, belief.record.id))
            if verdict is None:
                verdict = self._means.judge.judge(*_ordered(claim, belief, likeness))
            elif verdict.relation is Relation.DUPLICATE and not _may_be_one(claim, belief):
                continue
            if verdict.relation is not Relation.NONE and verdict.confidence >= self._means.least:
                yield _Clash(belief, verdict, likeness)

    def _pairs(self, index: int) -> Iterator[tuple[_Belief, float | None]]:
        for candidate in self._page.candidates[index]:
            if candidate.record.id in self._stored:
                yield self._stored[candidate.record.id], candidate.likeness
        for belief in self._fresh:
            yield belief, self._page.between.get((belief.claim or 0, index))

    def _same(self, claim: Claim, clashes: Sequence[_Clash]) -> _Belief | None:
        """Return the fact that says what a claim says, if there is one that still may."""
        same = [
            each
            for each in clashes
            if each.verdict.relation is Relation.DUPLICATE and self._shared(each.belief.record)
        ]
        for each in same:
            if set(claim.sources) <= each.belief.sources:
                return each.belief
        # What says more than the fact would be lost with a mere credit: both stay.
        same = [each for each in same if not says_more(claim.content, each.belief.record.content)]
        for each in sorted(same, key=lambda clash: -clash.verdict.confidence):
            # Said again after something else had taken its place, it is so anew.
            if not each.belief.over or not _moment(claim).counts_after(each.belief.moment):
                return each.belief
        return None

    def _insert(self, index: int, clashes: Sequence[_Clash]) -> None:
        claim = self._page.claims[index]
        ends: list[_Belief] = []
        heir: _Belief | None = None
        for clash in sorted(clashes, key=lambda each: -each.verdict.confidence):
            belief = clash.belief
            if belief.over:
                continue
            if _moment(claim).counts_after(belief.moment):
                if self._own(belief.record) and _may_retire(claim, belief.record, clash.verdict):
                    ends.append(belief)
                else:
                    self._counts["withheld"] += 1
            elif self._shared(belief.record) and _outranks(belief.record.trust, _trust(claim)):
                heir = belief if heir is None or heir.moment.said < belief.moment.said else heir
        insert = self._means.write(_draft(claim, self._page.session, self._means.decay_rate, ends))
        made = _Belief(insert.record, _moment(claim), set(claim.sources), index, heir is not None)
        self._fresh.append(made)
        self.actions.append(insert)
        self._counts["added"] += 1
        for belief in ends:
            self._supersede(belief, insert.record)
        if heir is not None:
            self._supersede(made, heir.record)

    def _shared(self, record: Record) -> bool:
        """Return whether all see a fact who see what this page brings."""
        return record.agent in {None, self._page.agent}

    def _own(self, record: Record) -> bool:
        """Return whether nobody sees a fact who does not see what this page brings."""
        return self._page.agent in {None, record.agent}

    def _supersede(self, belief: _Belief, by: Record) -> None:
        belief.over = True
        confidence = min(SUPERSEDED, belief.record.confidence)
        reason = "a later statement took its place"
        self.actions.append(Supersede(belief.record.id, by.id, self._means.now, confidence, reason))
        self._counts["superseded"] += 1


def _belief(candidate: Candidate) -> _Belief:
    record = candidate.record
    over = record.superseded_by is not None
    return _Belief(record, _held(candidate), set(record.source_ids), over=over)


def _counts(record: Record, now: datetime) -> bool:
    """Return whether a record is a fact that has not ended."""
    return record.kind is Kind.FACT and believed(record, now)


def _unfit(claim: Claim) -> str | None:
    """Return why a claim cannot become a fact, if it cannot."""
    if not claim.content.strip():
        return "it says nothing"
    if not claim.sources:
        return "it has no source"
    about = subject(_said(claim, None))
    if about == "user" and _trust(claim) is not Trust.PERSON:
        return "it is about the user without the user's word"
    return None


def _trust(claim: Claim) -> Trust:
    return TRUST.get(claim.speaker, Trust.PERSON)


def _outranks(by: Trust, other: Trust) -> bool:
    return _RANK[by] >= _RANK[other]


def _may_retire(claim: Claim, old: Record, verdict: Verdict) -> bool:
    """Return whether a claim has the standing to take the place of a fact.

    Agents and tools never retire what a person said. What someone asked to remember, or
    confirmed, gives way only to a person's correction or clear update.
    """
    if not _outranks(_trust(claim), old.trust):
        return False
    if old.decay_rate > 0:
        return True
    clear = claim.category is Category.CORRECTION or verdict.confidence >= CLEAR
    return _trust(claim) is Trust.PERSON and clear


def _excludes(verdict: Verdict) -> bool:
    return verdict.relation in {Relation.UPDATE, Relation.CONTRADICTION}


def _moment(claim: Claim) -> Moment:
    return Moment(claim.said_at, min(claim.said_at, claim.event_time))


def _held(candidate: Candidate) -> Moment:
    record = candidate.record
    told = record.attributes.get("said_at")
    try:
        said = datetime.fromisoformat(told) if isinstance(told, str) else None
    except ValueError:
        said = None
    if said is None or said.tzinfo is None:
        # Nobody says when it was said: then it counts from when it happened, or was stored.
        said = min(record.event_time, record.created_at)
    first, last = Moment(said, min(record.event_time, said)), candidate.said_last
    return first if last is None or last <= said else first.confirmed(Moment(last, last))


def _said(claim: Claim, likeness: float | None) -> Statement:
    return Statement(claim.content, claim.event_time, claim.subject, claim.category, likeness)


def _known(record: Record, likeness: float | None) -> Statement:
    about, category = record.attributes.get("subject"), record.attributes.get("category")
    return Statement(
        text=record.content,
        at=record.event_time,
        subject=about if isinstance(about, str) and about else None,
        category=category if isinstance(category, str) else None,
        likeness=likeness,
    )


def _ordered(claim: Claim, belief: _Belief, likeness: float | None) -> tuple[Statement, Statement]:
    """Return claim and fact, the one that was so first in front; of equals, the fact."""
    if _moment(claim).counts_after(belief.moment):
        return _known(belief.record, None), _said(claim, likeness)
    return _said(claim, None), _known(belief.record, likeness)


def _related(claim: Claim, record: Record) -> bool:
    """Return whether both may be about the same subject: nothing else ever retires a fact."""
    one, other = subject(_said(claim, None)), subject(_known(record, None))
    return one is None or other is None or one == other


def _may_be_one(claim: Claim, belief: _Belief) -> bool:
    """Return whether a model may call two the same: no number, name or negation differs."""
    likeness = 1.0
    return duplicate(_known(belief.record, likeness), _said(claim, likeness)) > 0


def _draft(claim: Claim, session: str, decay_rate: float, ends: Sequence[_Belief]) -> Draft:
    metadata: dict[str, Any] = {
        "subject": claim.subject,
        "category": str(claim.category),
        "said_at": claim.said_at.isoformat(),
    }
    if ends:
        metadata["supersedes"] = ends[0].record.id
    return Draft(
        content=claim.content,
        kind=Kind.FACT,
        tags=(str(claim.category),),
        metadata=metadata,
        event_time=claim.event_time,
        session=session,
        role=claim.speaker,
        confidence=claim.confidence,
        # What somebody asked to remember does not fade, whether a program or a person asked.
        decay_rate=0.0 if claim.category is Category.REMEMBER else decay_rate,
        source_ids=tuple(dict.fromkeys(claim.sources)),
        origin=ORIGIN,
    )
