"""The plan of a consolidation: which facts a page of claims adds, credits or supersedes.

A claim that was known credits the fact that says it; a new one becomes a fact; one that
excludes an older one takes its place. What was said later decides, not what is read later: a
session that is consolidated late adds to the past and never retires what came after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from memoranda.facts.questions import relation_nouns
from memoranda.facts.reader import (
    OVER,
    SAME,
    FactStatement,
    Speaker,
    as_over,
    read_written_facts,
    replace_value,
)
from memoranda.facts.requests import INSTRUCTIONS, is_about, points_back
from memoranda.facts.values import same_value
from memoranda.learning.claims import Category, Claim, Relation, Statement, Verdict
from memoranda.learning.conflicts import RuleJudge, judge_fact
from memoranda.learning.conflicts.facts import is_cancelled, is_carried, other_names
from memoranda.learning.deduplication import (
    may_share_subject,
    normalize_subject,
    says_more,
    score_duplicate,
)
from memoranda.learning.extraction.references import nouns_against
from memoranda.model.changes import Close, Insert, RecordChange, Reinforce, Reweigh, Supersede
from memoranda.model.models import Kind, Record, Trust, is_active
from memoranda.records.drafts import Draft, parse_trust
from memoranda.text.patterns import compile_pattern

ORIGIN = "consolidation"
CREDITED = "said again"
# Per day, of facts that consolidation drew.
DECAY_RATE = 0.1
# Confidence of a fact that another one took the place of.
SUPERSEDED = 0.3
# Confidence of a verdict from which it counts.
LEAST = 0.6
# Confidence from which a verdict counts against a protected fact, and no model is asked.
CLEAR = 0.8
# Confidence of a verdict on a fact whose value another one took the place of by name.
CORRECTED = 0.95
# How far what is said of the past may be off: "last week", "in May".
ROUGHLY = timedelta(days=31)
# Likeness of vectors from which a pair that no rule decides is worth a model's look.
LIKELY = 0.5
# What was asked for; and of what kinds of facts those last that hold a name or a number.
_KEPT = frozenset({Category.REMEMBER, Category.INSTRUCTION})
_OF_A_LIFE = frozenset(Category) - {Category.PLAN, Category.STATE, Category.CORRECTION}
_CONCRETE = compile_pattern(r"\d|(?<![.!?] )\b[A-Z][\w'’-]+")
# Words before the word for a kind: "on the cardiac ward".
_LEAST_BEFORE = 3
_ARTICLE = {"the", "The"}
_OWN = {"me", "us"}
_EXCLUDING = {Relation.UPDATE, Relation.CONTRADICTION}
_RANK = {Trust.EXTERNAL: 0, Trust.AGENT: 1, Trust.PERSON: 2}


@dataclass(frozen=True, slots=True)
class CandidateFact:
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


class StatementTime(NamedTuple):
    """When a statement was last made, and from when on it holds, which is no later."""

    said: datetime
    holds: datetime

    def counts_after(self, other: StatementTime) -> bool:
        """Return whether this statement counts as the later one of the two.

        That is what was said later, unless it tells of times long before the other's: "we
        lived in Oslo then". Times near each other are not told apart, as most are told roughly.
        """
        if self.said >= other.said:
            return self.holds + ROUGHLY >= other.holds
        return other.holds + ROUGHLY < self.holds

    def confirmed(self, again: StatementTime) -> StatementTime:
        """Return its times after the same statement was made again."""
        return StatementTime(max(self.said, again.said), max(self.holds, again.holds))


@dataclass(slots=True)
class _KnownFact:
    """A fact while a plan is made: stored already, or inserted by the plan.

    Attributes:
        time: when it was said and from when it holds.
        claim: the claim that it was made of, if the plan inserts it.
        over: whether another one took its place.
    """

    record: Record
    time: StatementTime
    sources: set[str]
    claim: int = 0
    over: bool = False


@dataclass(slots=True, kw_only=True)
class ConsolidationPlan:
    """The changes that a page of claims makes. Planning stores nothing.

    Attributes:
        session: the session that was read.
        claims: what was drawn from its episodes, in the order it was said.
        candidates: for each claim the facts that may have to do with it, best first, those
            that were superseded among them.
        between: (index, index) of two claims, the smaller first → cosine of their vectors.
        agent: the agent that alone was there, if one was: what it learned retires nothing that
            other agents go by, who would not see what took its place.
        write: makes the action that stores a draft, with a fresh id: ``RecordPlanner.plan`` for a
            scope.
        judge: says how a later statement stands to an earlier one.
        now: the present.
        only: the one relation that counts; all, if not given.
        decay_rate: of new facts, per day.
        overrides: verdicts, such as a model's, that count instead of the judge's.
        corrected: by index of a claim, the fact whose value it gives another one.
        named: by index of a claim, what it says to be over, as it was said.
        actions: inserts, credits and supersessions in the order of the claims. Planned again
            after it was applied, a page adds and retires nothing.
    """

    session: str
    claims: Sequence[Claim]
    candidates: Sequence[Sequence[CandidateFact]]
    write: Callable[[Draft], Insert]
    judge: RuleJudge
    now: datetime
    between: Mapping[tuple[int, int], float] = field(default_factory=dict)
    agent: str | None = None
    only: Relation | None = None
    decay_rate: float = DECAY_RATE
    overrides: Mapping[tuple[int, str], Verdict] = field(default_factory=dict)
    actions: list[RecordChange] = field(default_factory=list)
    inserted: list[_KnownFact] = field(default_factory=list)
    stored: dict[str, _KnownFact] = field(init=False)
    corrected: dict[int, _KnownFact] = field(default_factory=dict)
    named: dict[int, FactStatement] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Take in the facts that have not ended."""
        self.claims = [*self.claims]
        self.stored = {
            each.record.id: _known_fact(each)
            for listed in self.candidates
            for each in listed
            if each.record.kind is Kind.FACT and is_active(each.record, self.now)
        }

    def find_unclear_pairs(self) -> dict[tuple[int, str], tuple[Statement, Statement]]:
        """Return the pairs that a model should judge, where there is one.

        These are conflicts of which the judge is not sure, and pairs about the same subject that
        it sees no conflict in although their vectors are alike.

        Returns:
            (index of the claim, id of the fact) → what was so first, which may be the claim, and
            the other one.
        """
        unclear = {}
        for index, claim in enumerate(self.claims):
            for known, likeness in self._known(index):
                pair = _ordered(claim, known, likeness)
                verdict = self.judge.judge(*pair)
                open_ = verdict.confidence < CLEAR
                if verdict.relation is Relation.NONE:
                    open_ = (likeness or 0.0) >= LIKELY
                if open_ and verdict.relation is not Relation.DUPLICATE:
                    unclear[index, known.record.id] = pair
        return unclear

    def make(self) -> list[RecordChange]:
        """Plan what all the claims change."""
        for index in range(len(self.claims)):
            self._take(index)
        return self.actions

    def _take(self, index: int) -> None:
        """Plan what one claim changes."""
        self._find_corrected(index)
        self._find_pointed(index)
        self._find_names(index)
        self._find_ended(index)
        claim = self.claims[index]
        if not _may_be_fact(claim):
            return
        if claim.fact is not None and claim.fact.takes_back:
            self._revoke(index)
            return
        clashes = list(self._clashes(index))
        clashes += self._carried(index, clashes)
        same = self._same(claim, clashes)
        if same is None:
            self._insert(index, [each for each in clashes if each[1].relation in _EXCLUDING])
        elif fresh := tuple(each for each in claim.sources if each not in same.sources):
            same.sources |= set(fresh)
            same.time = same.time.confirmed(_time_of(claim))
            self.actions.append(Reinforce(same.record.id, self.now, fresh, CREDITED))
            if claim.category is Category.REMEMBER and same.record.decay_rate > 0:
                # Known already in passing: from now on it stays.
                kept = Reweigh(same.record.id, self.now, claim.confidence, 0.0, "asked to remember")
                self.actions.append(kept)
        elif claim.category is Category.REMEMBER:
            # Kept when it was asked for: what it excludes ends now that texts are compared.
            for known in self._retired(claim, clashes):
                if known is not same:
                    self._supersede(known, same.record)

    def _retired(
        self, claim: Claim, clashes: Sequence[tuple[_KnownFact, Verdict]]
    ) -> Iterator[_KnownFact]:
        """Yield what a claim takes the place of, of what clashes with it."""
        time = _time_of(claim)
        for known, verdict in clashes:
            excluded = verdict.relation in _EXCLUDING and not known.over
            # What other agents go by is not retired by what they do not see.
            own = self.agent in {None, known.record.agent}
            later = time.counts_after(known.time) and known.time.said < time.said
            if excluded and own and later and _may_retire(claim, known.record, verdict):
                yield known

    def _revoke(self, index: int) -> None:
        """End the instructions that a claim takes back; keep it where it says what to stop."""
        claim = self.claims[index]
        if claim.fact is None or not claim.person:
            return
        revoked, said = claim.fact.ended or "", claim.said_at
        given = [
            each
            for each, _ in self._known(index)
            if each.record.attribute in INSTRUCTIONS and each.time.said <= said
            if each.sources.isdisjoint(claim.sources)
        ]
        meant = [each for each in given if is_about(revoked, each.record.content)]
        nameless = points_back(revoked)
        if not meant and nameless and not claim.fact.content:
            meant = sorted(given, key=lambda each: each.time.said)[-1:]
        for known in meant:
            if not known.over and self.agent in {None, known.record.agent}:
                known.over = True
                self.actions.append(Close(known.record.id, self.now, "taken back"))
        former = (each.record for each in self.candidates[index])
        ended = any(
            each.attribute in INSTRUCTIONS and is_about(revoked, each.content) for each in former
        )
        if claim.fact.content and not meant and not ended and not nameless:
            kept = replace(claim.fact, value=claim.content, ended=None)
            self._put(index, replace(claim, fact=kept))
            self._take(index)

    def _put(self, index: int, claim: Claim) -> None:
        """Put a claim in the place of one that is understood only now."""
        self.claims = [*self.claims[:index], claim, *self.claims[index + 1 :]]

    def _find_corrected(self, index: int) -> None:
        """Find the fact whose value a claim gives another one, whatever it is of.

        "We switched from Slack to Mattermost" is then what was said of Slack, of Mattermost.
        """
        claim = self.claims[index]
        fact = claim.fact
        if fact is None or fact.attribute != SAME:
            return
        for known, _ in self._compared(index):
            record = known.record
            old = find_value(record, fact.ended or "", fact.value or "")
            content = replace_value(record.content, old, fact.value)
            ended = known.over or (record.attribute is not None and record.value is None)
            # What happens on a day of its own is not told anew of something else.
            ended = ended or (record.attribute is None and record.event_until is not None)
            # What the same turn says of it beside this is no older value.
            if content is None or ended or known.sources.issuperset(claim.sources):
                continue
            self.corrected[index] = known
            made = None
            if record.attribute is not None:
                made = replace(
                    fact,
                    subject=record.subject or "",
                    attribute=record.attribute,
                    value=fact.value if old == record.value else record.value,
                    content=content,
                    ended=record.value,
                )
            about = record.metadata.get("subject", claim.subject)
            self._put(index, replace(claim, content=content, subject=str(about), fact=made))
            return
        kept = claim.content if claim.stands_alone else ""
        self._put(index, replace(claim, content=kept, fact=None))

    def _find_pointed(self, index: int) -> None:
        """Give a claim whose subject is only pointed at that of the one fact which it can mean.

        "His lesson is on Sundays now" is then of the lesson that was on Saturdays before.
        """
        claim = self.claims[index]
        fact = claim.fact
        if fact is None or not fact.points:
            return
        meant = {
            known.record.subject: known.record
            for known, _ in self._known(index)
            if not known.over and may_mean(fact, known.record)
        }
        if len(meant) != 1:
            kept = claim.content if claim.category is Category.REMEMBER else ""
            self._put(index, replace(claim, content=kept, fact=None))
            return
        [record] = meant.values()
        content = name_pointed(claim.content, fact.points, record)
        subject = record.subject or ""
        made = replace(fact, subject=subject, content=content, points="", needs_known=False)
        self._put(index, replace(claim, content=content, subject=made.subject, fact=made))

    def _find_names(self, index: int) -> None:
        """Give a claim about a thing the other names by which that is known."""
        claim = self.claims[index]
        if claim.fact is None:
            return
        found = {
            name
            for known, _ in self._known(index)
            if not known.over
            for name in other_names(claim.fact, known.record)
        }
        if found:
            named = replace(claim.fact, aliases=(*claim.fact.aliases, *sorted(found)))
            self._put(index, replace(claim, fact=named))

    def _find_ended(self, index: int) -> None:
        """Find what a claim ends that names it, and write it down under the attribute of that."""
        claim = self.claims[index]
        fact = claim.fact
        if fact is None or not fact.needs_known:
            return
        ended = [known.record for known, _ in self._clashes(index) if not known.over]
        if not ended and fact.value is None and (over := as_over(fact, claim.subject)) is not None:
            # "I quit FitX" may be a gym, where it is no employer.
            fact = over
            content = claim.content if claim.stands_alone else over.content
            claim = replace(claim, content=content, fact=over)
            self._put(index, claim)
            ended = [known.record for known, _ in self._clashes(index) if not known.over]
        if not ended:
            kept = claim.content if claim.stands_alone or claim.category in _KEPT else ""
            self._put(index, replace(claim, content=kept, fact=None))
            return
        self.named[index] = fact
        for record in ended if fact.attribute == OVER else ():
            if record.attribute is not None:
                subject = record.subject or ""
                made = replace(fact, subject=subject, attribute=record.attribute)
                self._put(index, replace(claim, fact=made))

    def _clashes(self, index: int) -> Iterator[tuple[_KnownFact, Verdict]]:
        """Yield what has to do with a claim, by a verdict that counts."""
        for known, likeness in self._known(index):
            verdict = self._verdict(index, known, likeness)
            counts = verdict.relation is not Relation.NONE and verdict.confidence >= LEAST
            if counts and self.only in {None, verdict.relation}:
                yield known, verdict

    def _carried(
        self, index: int, clashes: Sequence[tuple[_KnownFact, Verdict]]
    ) -> Iterator[tuple[_KnownFact, Verdict]]:
        """Yield what rested on a value that a claim ends, and was told in an earlier session."""
        fact = self.claims[index].fact
        if fact is None or not any(
            known.record.attribute == fact.attribute
            and known.record.value
            and not known.over
            and verdict.relation in _EXCLUDING
            and not same_value(known.record.value, fact.value or "")
            for known, verdict in clashes
        ):
            return
        taken = [known for known, _ in clashes]
        for known, _ in self._known(index):
            earlier = known.record.session_id != self.session and known not in taken
            if earlier and is_carried(known.record, fact):
                yield known, Verdict(Relation.UPDATE, CORRECTED, f"it ended with {fact.attribute}")

    def _verdict(self, index: int, known: _KnownFact, likeness: float | None) -> Verdict:
        """Return how a claim stands to a fact: by attributes, else as a model or the rules say."""
        claim = self.claims[index]
        if index in self.corrected:
            relation = Relation.UPDATE if known is self.corrected[index] else Relation.NONE
            return Verdict(relation, CORRECTED, "its value was corrected")
        fact = self.named.get(index, claim.fact)
        verdict = None if fact is None else judge_fact(known.record, fact)
        if verdict is not None:
            return verdict
        given = self.overrides.get((index, known.record.id))
        if given is None:
            return self.judge.judge(*_ordered(claim, known, likeness))
        if given.relation is Relation.DUPLICATE and not _may_be_one(claim, known):
            return Verdict(Relation.NONE, given.confidence, "they cannot be one")
        return given

    def _known(self, index: int) -> list[tuple[_KnownFact, float | None]]:
        """Return the facts that may be about the subject of a claim: no others does it retire."""
        claim = self.claims[index]
        said, fact = _claim_statement(claim), self.named.get(index, claim.fact)
        named = fact is not None and (fact.attribute == OVER or is_cancelled(fact))
        return [
            (known, likeness)
            for known, likeness in self._compared(index)
            if named
            or (claim.fact is not None and known.record.attribute is not None)
            or may_share_subject(said, _fact_statement(known.record))
        ]

    def _compared(self, index: int) -> list[tuple[_KnownFact, float | None]]:
        """Return the facts that a claim is compared with, each with how alike they are."""
        found = [
            (self.stored[each.record.id], each.likeness)
            for each in self.candidates[index]
            if each.record.id in self.stored
        ]
        return found + [(each, self.between.get((each.claim, index))) for each in self.inserted]

    def _same(
        self, claim: Claim, clashes: Sequence[tuple[_KnownFact, Verdict]]
    ) -> _KnownFact | None:
        """Return the fact that says what a claim says, if there is one that still may."""
        same = [
            (known, verdict.confidence)
            for known, verdict in clashes
            if verdict.relation is Relation.DUPLICATE and self._is_shared(known.record)
        ]
        for known, _ in same:
            if set(claim.sources) <= known.sources:
                return known
        for known, _ in sorted(same, key=lambda each: -each[1]):
            # What says more than the fact would be lost with a mere credit: both stay.
            if claim.fact is None and says_more(claim.content, known.record.content):
                continue
            # Said again after something else had taken its place, it is so anew.
            if not known.over or not _time_of(claim).counts_after(known.time):
                return known
        return None

    def _insert(self, index: int, clashes: Sequence[tuple[_KnownFact, Verdict]]) -> None:
        claim = self.claims[index]
        time, trust = _time_of(claim), _trust(claim)
        ends: list[_KnownFact] = []
        heir: _KnownFact | None = None
        for known, verdict in sorted(clashes, key=lambda each: -each[1].confidence):
            record = known.record
            if known.over:
                continue
            if time.counts_after(known.time):
                # What other agents go by is not retired by what they do not see.
                own = self.agent in {None, record.agent}
                if own and _may_retire(claim, record, verdict):
                    ends.append(known)
            elif self._is_shared(record) and _RANK[record.trust] >= _RANK[trust]:
                heir = known if heir is None or heir.time.said < known.time.said else heir
        insert = self.write(_draft(claim, self.session, self.decay_rate, ends))
        made = _KnownFact(insert.record, time, set(claim.sources), index)
        self.inserted.append(made)
        self.actions.append(insert)
        for known in ends:
            self._supersede(known, insert.record)
        if heir is not None:
            self._supersede(made, heir.record)

    def _is_shared(self, record: Record) -> bool:
        """Return whether all see a fact who see what this page brings."""
        return record.agent in {None, self.agent}

    def _supersede(self, known: _KnownFact, by: Record) -> None:
        known.over = True
        confidence = min(SUPERSEDED, known.record.confidence)
        reason = "a later statement took its place"
        self.actions.append(Supersede(known.record.id, by.id, self.now, confidence, reason))


def with_attribute(record: Record) -> Record:
    """Return a fact with the attribute that its text states, where it was stored without one.

    So a fact that a person or a program wrote down, or that came from elsewhere, is ended by
    what ends one that was learned. A text that states several attributes has none: it is ended
    as a whole only by what contradicts its words.
    """
    if record.attribute is not None or record.kind is not Kind.FACT:
        return record
    named = record.user if record.user.casefold() in record.content.casefold() else ""
    found = read_written_facts(record.content, Speaker(named))
    if len(found) != 1:
        return record
    [fact] = found
    subject = "user" if named and fact.subject == named.casefold() else fact.subject
    return replace(record, subject=subject, attribute=fact.attribute, value=fact.value)


def find_value(record: Record, named: str, other: str = "") -> str | None:
    """Return the value of a fact that is named, as its sentence has it; ``None`` if it has none.

    Of a fact without attribute these are the very words of the name.

    Args:
        record: the fact.
        named: its value, or the word for what the value is: ``ward``; or the thing that has a
            number.
        other: the value that takes its place; a word that it ends with too is one for the kind.
    """
    if not named:
        return None
    thing = other[:1].isdigit() and same_value(record.subject or "", named)
    if record.value and (thing or same_value(record.value, named)):
        return record.value
    begin = record.content.lower().find(named.lower())
    end = begin + len(named)
    around = record.content[max(begin - 1, 0) : begin] + record.content[end : end + 1]
    if begin < 0 or any(map(str.isalnum, around)):
        return None
    if other.lower().endswith(f" {named.lower()}"):
        before = record.content[:begin].split()
        if len(before) < _LEAST_BEFORE or not before[-1].isalpha():
            return None
        begin = record.content[:begin].rstrip().rindex(before[-1])
    return record.content[begin:end]


def may_mean(fact: FactStatement, known: Record) -> bool:
    """Return whether what a statement only points at can be what a fact is about."""
    if known.attribute != fact.attribute or known.value is None or known.subject in {None, "user"}:
        return False
    points = fact.points.casefold()
    if not relation_nouns(known.content).keys().isdisjoint(nouns_against(points.split()[0])):
        return False
    # "I" am not moved with somebody else's lesson.
    if points in _OWN and "'s" in (known.subject or "").replace("\u2019", "'"):
        return False
    # Of "his lesson" it must be a lesson; "he" may be anybody.
    return points == fact.subject or same_value(known.subject or "", fact.subject)


def name_pointed(content: str, points: str, known: Record) -> str:
    """Return a sentence with the name of what a fact is about for the words that point at it."""
    name = known.subject or ""
    begin = known.content.casefold().find(name)
    if begin >= 0:
        before, name = known.content[:begin].split(), known.content[begin : begin + len(name)]
        if before and before[-1].casefold() in {"my", "our"}:
            name = f"the user's {name}"
        elif before and before[-1].endswith(("'s", "\u2019s")):
            name = " ".join(
                [*(each for each in before[-2:-1] if each in _ARTICLE), before[-1], name]
            )
    begin = content.casefold().find(points.casefold())
    told = f"{content[:begin]}{name}{content[begin + len(points) :]}"
    return told[:1].upper() + told[1:]


def _known_fact(candidate: CandidateFact) -> _KnownFact:
    record, last = with_attribute(candidate.record), candidate.said_last
    said = when_said(record)
    begun = said if record.attribute is not None else record.event_time
    time = StatementTime(said, min(begun, said))
    if last is not None and last > said:
        time = time.confirmed(StatementTime(last, last))
    over = record.superseded_by is not None
    return _KnownFact(record, time, set(record.source_ids), over=over)


def when_said(record: Record) -> datetime:
    """Return when the statement of a record was made, not when the fact was extracted."""
    given = record.metadata.get("said_at")
    try:
        moment = datetime.fromisoformat(given) if isinstance(given, str) else None
    except ValueError:
        moment = None
    if moment is not None and moment.tzinfo is not None:
        return moment
    # Nobody says when it was said: then it counts from when it happened, or was stored.
    return min(record.created_at, record.event_time)


def _may_be_fact(claim: Claim) -> bool:
    """Return whether a claim says something, on evidence; of the user only the user's word is."""
    about = normalize_subject(_claim_statement(claim))
    own = about != "user" or _trust(claim) is Trust.PERSON
    return bool(claim.content.strip() and claim.sources and own)


def _trust(claim: Claim) -> Trust:
    if claim.person:
        return Trust.PERSON
    # Who is not a person by their trust is none by their name.
    return min(parse_trust(None, claim.speaker), Trust.AGENT, key=_RANK.__getitem__)


def _may_retire(claim: Claim, old: Record, verdict: Verdict) -> bool:
    """Return whether a claim has the standing to take the place of a fact.

    Agents and tools never retire what a person said. What someone asked to remember, or
    confirmed, gives way only to a person's correction or clear update.
    """
    trust = _trust(claim)
    clear = claim.category is Category.CORRECTION or verdict.confidence >= CLEAR
    protected = old.decay_rate <= 0 and not (trust is Trust.PERSON and clear)
    return _RANK[trust] >= _RANK[old.trust] and not protected


def _time_of(claim: Claim) -> StatementTime:
    # A value of an attribute is so when it is said: "we moved in March" tells where we live now.
    begun = claim.said_at if claim.fact is not None else claim.event_time
    return StatementTime(claim.said_at, min(claim.said_at, begun))


def _claim_statement(claim: Claim, likeness: float | None = None) -> Statement:
    return Statement(claim.content, claim.event_time, claim.subject, claim.category, likeness)


def _fact_statement(record: Record, likeness: float | None = None) -> Statement:
    about, category = record.metadata.get("subject"), record.metadata.get("category")
    return Statement(
        text=record.content,
        at=record.event_time,
        subject=about if isinstance(about, str) and about else None,
        category=category if isinstance(category, str) else None,
        likeness=likeness,
    )


def _ordered(
    claim: Claim, known: _KnownFact, likeness: float | None
) -> tuple[Statement, Statement]:
    """Return claim and fact, the one that was so first in front; of equals, the fact."""
    if _time_of(claim).counts_after(known.time):
        return _fact_statement(known.record), _claim_statement(claim, likeness)
    return _claim_statement(claim), _fact_statement(known.record, likeness)


def _may_be_one(claim: Claim, known: _KnownFact) -> bool:
    """Return whether a model may call two the same: no number, name or negation differs."""
    return score_duplicate(_fact_statement(known.record, 1.0), _claim_statement(claim, 1.0)) > 0


def _draft(claim: Claim, session: str, decay_rate: float, ends: Sequence[_KnownFact]) -> Draft:
    fact = claim.fact
    metadata: dict[str, Any] = {
        "subject": claim.subject,
        "category": str(claim.category),
        "said_at": claim.said_at.isoformat(),
    }
    return Draft(
        content=claim.content,
        kind=Kind.FACT,
        tags=(str(claim.category),),
        metadata=metadata,
        event_time=claim.event_time,
        event_until=claim.event_until,
        session=session,
        role=claim.speaker,
        trust=_trust(claim),
        confidence=claim.confidence,
        # What somebody asked to remember does not fade, whether a program or a person asked.
        decay_rate=0.0 if _lasts(claim) else decay_rate,
        source_ids=tuple(dict.fromkeys(claim.sources)),
        supersedes=ends[0].record.id if ends else None,
        origin=ORIGIN,
        subject=None if fact is None else fact.subject,
        attribute=None if fact is None else fact.attribute,
        value=None if fact is None else fact.value,
    )


def _lasts(claim: Claim) -> bool:
    """Return whether a fact never fades: it was asked for, a newer value will end it, or it names.

    What holds a name or a number beside whom it is about can be asked for years later.
    """
    told = claim.content[1:].replace(claim.speaker, "")
    concrete = claim.category in _OF_A_LIFE and _CONCRETE.search(told) is not None
    return claim.fact is not None or claim.category in _KEPT or concrete
