"""The plan of a consolidation: which facts a page of claims adds, credits or supersedes.

A claim that was known credits the fact that says it; a new one becomes a fact; one that
excludes an older one takes its place. What was said later decides, not what is read later: a
session that is consolidated late adds to the past and never retires what came after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from memoranda.facts.reader import FactStatement
from memoranda.facts.requests import INSTRUCTIONS, is_about, points_back
from memoranda.facts.values import value_key
from memoranda.learning.claims import ASKED, ORIGIN, Category, Claim, Relation
from memoranda.learning.judge import judge_fact, judge_text
from memoranda.learning.known_facts import KnownFact, is_quotation
from memoranda.learning.llm.claim_checking import says_no_more
from memoranda.model.changes import Close, Insert, RecordChange, Reinforce, Reweigh, Supersede
from memoranda.model.models import Kind, Record, Trust, is_active
from memoranda.records.drafts import Draft, parse_trust
from memoranda.text.dates.statements import without_dates
from memoranda.text.sentences import is_concrete

CREDITED = "said again"
# Confidence of a fact that another one took the place of.
SUPERSEDED = 0.3
_RANK = {Trust.EXTERNAL: 0, Trust.AGENT: 1, Trust.PERSON: 2}


@dataclass(slots=True, kw_only=True)
class ConsolidationPlan:
    """The changes that a page of claims makes. Planning stores nothing.

    Attributes:
        session: the session that was read.
        claims: what was drawn from its episodes, in the order it was said.
        candidates: for each claim the facts that may have to do with it, best first, those
            that were superseded among them.
        agent: the agent that alone was there, if one was: what it learned retires nothing that
            other agents go by, who would not see what took its place.
        write: makes the action that stores a draft, with a fresh id: ``RecordPlanner.plan`` for a
            scope.
        propose: makes the action that stores a claim's draft until a person keeps it. Then what
            nobody asked for takes the place of nothing; ``None`` where nothing waits.
        now: the present.
        threshold: least share of telling words of a repetition.
        only: the one relation that counts; all, if not given.
        decay_rate: of new facts, per day.
        actions: inserts, credits and supersessions in the order of the claims. Planned again
            after it was applied, a page adds and retires nothing.
    """

    session: str
    claims: Sequence[Claim]
    candidates: Sequence[Sequence[KnownFact]]
    write: Callable[[Draft], Insert]
    propose: Callable[[Draft, FactStatement | None], Insert] | None = None
    now: datetime
    threshold: float
    agent: str | None = None
    only: Relation | None = None
    decay_rate: float
    actions: list[RecordChange] = field(default_factory=list)
    inserted: list[KnownFact] = field(default_factory=list)
    stored: dict[str, KnownFact] = field(init=False)

    def __post_init__(self) -> None:
        """Take in the facts that have not ended."""
        known = (each for some in self.candidates for each in some)
        self.stored = {each.record.id: each for each in known if is_active(each.record, self.now)}

    def make(self) -> list[RecordChange]:
        """Plan what all the claims change."""
        for index, claim in enumerate(self.claims):
            fact = claim.fact
            if fact is None or not fact.needs_known or self._ends_known(index, fact):
                self._take(index, claim)
            elif claim.content != fact.content or claim.category in ASKED:
                # What it points at is not known: what was said is a plain statement.
                self._take(index, replace(claim, fact=None))
        return self.actions

    def _take(self, index: int, claim: Claim) -> None:
        """Plan what one claim changes."""
        if not _may_be_fact(claim):
            return
        propose = None if claim.asked else self.propose
        if claim.fact is not None and claim.fact.takes_back and propose is None:
            self._revoke(index, claim)
            return
        clashes = [*self._clashes(index, claim)]
        same = self._same(claim, [each for each, how in clashes if how is Relation.DUPLICATE])
        excluded = [each for each, how in clashes if how is Relation.UPDATE]
        if claim.fact is not None and claim.fact.value and claim.fact.ended == "":
            # With a new job goes the boss of another one, if not named in one breath with it.
            own = [each for each in excluded if each.record.attribute == claim.fact.attribute]
            excluded = own and [x for x in excluded if x in own or x.said < claim.said_at]
        if same is None and propose is not None:
            draft = _draft(claim, self.session, self.decay_rate, ())
            self.actions.append(propose(draft, claim.fact))
        elif same is None:
            self._insert(claim, excluded)
        elif fresh := tuple(each for each in claim.sources if each not in same.sources):
            self._credit(claim, same, fresh)

    def _credit(self, claim: Claim, same: KnownFact, fresh: tuple[str, ...]) -> None:
        """Plan that a fact was said again; what is asked to be remembered stays from now on."""
        same.sources |= set(fresh)
        same.said = max(same.said, claim.said_at)
        self.actions.append(Reinforce(same.record.id, self.now, fresh, CREDITED))
        if claim.category is Category.REMEMBER and same.record.decay_rate > 0:
            kept = Reweigh(same.record.id, self.now, claim.confidence, 0.0, "asked to remember")
            self.actions.append(kept)

    # Taking back

    def _revoke(self, index: int, claim: Claim) -> None:
        """End the instructions that a claim takes back; keep it where it says what to stop."""
        if claim.fact is None or not claim.person:
            return
        revoked = claim.fact.ended or ""
        given = [
            each
            for each in self._known(index)
            if each.record.attribute in INSTRUCTIONS and each.said <= claim.said_at
            if each.sources.isdisjoint(claim.sources)
        ]
        meant = [each for each in given if is_about(revoked, each.record.content)]
        nameless = points_back(revoked)
        if not meant and nameless and not claim.fact.content:
            meant = sorted(given, key=lambda each: each.said)[-1:]
        for known in meant:
            if not known.over and self._is_own(known.record):
                known.over = True
                self.actions.append(Close(known.record.id, self.now, "taken back"))
        former = (each.record for each in self.candidates[index])
        instructions = (each.content for each in former if each.attribute in INSTRUCTIONS)
        ended = any(is_about(revoked, each) for each in instructions)
        if claim.fact.content and not meant and not ended and not nameless:
            kept = replace(claim.fact, value=claim.content, ended=None)
            self._take(index, replace(claim, fact=kept))

    # Comparing

    def _ends_known(self, index: int, fact: FactStatement) -> bool:
        """Return whether a statement has to do with a fact that holds."""
        holding = (each.record for each in self._known(index) if not each.over)
        return any(judge_fact(each, fact) not in {None, Relation.NONE} for each in holding)

    def _known(self, index: int) -> list[KnownFact]:
        """Return the facts that a claim is compared with."""
        held = [each for each in self.candidates[index] if each.record.id in self.stored]
        return held + self.inserted

    def _clashes(self, index: int, claim: Claim) -> Iterator[tuple[KnownFact, Relation]]:
        """Yield what has to do with a claim, and how the claim stands to it."""
        for known in self._known(index):
            relation = self._judge(claim, known)
            if relation is not Relation.NONE and self.only in {None, relation}:
                yield known, relation

    def _judge(self, claim: Claim, known: KnownFact) -> Relation:
        """Return how a claim stands to a fact: by attributes, or by words."""
        record = known.record
        if claim.fact is not None:
            known_times, told = ((each.event_time, each.event_until) for each in (record, claim))
            same_time = None if None in (*known_times, *told) else known_times == told
            relation = judge_fact(record, claim.fact, same_time=same_time)
            if relation is not None:
                return relation
        if not _may_share_subject(claim, record):
            return Relation.NONE
        return judge_text(record.content, claim.content, threshold=self.threshold)

    def _same(self, claim: Claim, repeated: Sequence[KnownFact]) -> KnownFact | None:
        """Return the fact that says what a claim says, if there is one that still may."""
        shared = (each for each in repeated if each.record.agent in {None, self.agent})
        same = [each for each in shared if not _says_more(claim, each.record)]
        cited = [known for known in same if known.sources.issuperset(claim.sources)]
        # Said again after something else had taken its place, it is so anew.
        holding = [each for each in same if not each.over or claim.said_at < each.said]
        return next(iter([*cited, *holding]), None)

    # Changing

    def _insert(self, claim: Claim, excluded: Sequence[KnownFact]) -> None:
        """Plan a new fact, what it ends, and the later one that had taken its place already."""
        ends = [known for known in excluded if self._retires(claim, known)]
        insert = self.write(_draft(claim, self.session, self.decay_rate, ends))
        made = KnownFact(insert.record, claim.said_at, set(claim.sources))
        heir = self._heir(claim, excluded)
        self.inserted.append(made)
        self.actions.append(insert)
        for known in ends:
            self._supersede(known, insert.record)
        if heir is not None:
            self._supersede(made, heir.record)

    def _heir(self, claim: Claim, excluded: Sequence[KnownFact]) -> KnownFact | None:
        """Return the latest of the facts that a claim excludes and that were said after it."""
        rank = _RANK[_trust(claim)]
        later = [
            known
            for known in excluded
            if not known.over and claim.said_at < known.said
            if known.record.agent in {None, self.agent} and _RANK[known.record.trust] >= rank
        ]
        return max(later, key=lambda each: each.said, default=None)

    def _retires(self, claim: Claim, known: KnownFact) -> bool:
        """Return whether a claim takes the place of a fact that it excludes."""
        # "Metric only. No pounds." is two instructions, of one topic.
        beside = claim.category is Category.INSTRUCTION and known.sources & {*claim.sources}
        later = claim.said_at >= known.said and not (known.over or beside)
        return later and self._is_own(known.record) and _may_retire(claim, known.record)

    def _is_own(self, record: Record) -> bool:
        """Return whether a page may retire a fact: not what other agents go by, unseen by them."""
        return self.agent in {None, record.agent}

    def _supersede(self, known: KnownFact, by: Record) -> None:
        """Plan that another fact takes the place of one, and of the sentence that states it."""
        for each in (known, *self._sentences_of(known)):
            each.over = True
            confidence = min(SUPERSEDED, each.record.confidence)
            reason = "a later statement took its place"
            self.actions.append(Supersede(each.record.id, by.id, self.now, confidence, reason))

    def _sentences_of(self, known: KnownFact) -> list[KnownFact]:
        """Return the sentences, kept as they were said, that hold the value of a fact."""
        value = value_key(known.record.value or "")
        return [
            each
            for each in (*self.stored.values(), *self.inserted)
            if value and not each.over and is_quotation(each.record.content)
            if not each.sources.isdisjoint(known.sources)
            if value <= value_key(each.record.content)
        ]


def _says_more(claim: Claim, known: Record) -> bool:
    """Return whether a sentence tells more than its attribute, which a fact has, and the fact."""
    told = claim.fact is not None and without_dates(claim.content) != claim.fact.content
    return told and not says_no_more(claim.content, known.content)


def _may_be_fact(claim: Claim) -> bool:
    """Return whether a claim says something, on evidence; of the user only the user's word is."""
    own = _subject(claim.subject) != "user" or _trust(claim) is Trust.PERSON
    return bool(claim.content.strip() and claim.sources and own)


def _subject(name: object) -> str:
    """Return whom a statement is about, in the form that is compared; empty if unknown."""
    who = str(name or "").casefold().replace("\u2019", "'").removeprefix("the ").removesuffix("'s")
    return "user" if who in {"user", "i", "me"} else who


def _may_share_subject(claim: Claim, known: Record) -> bool:
    """Return whether a claim and a fact may be about the same, as far as that is known."""
    one, other = _subject(claim.subject), _subject(known.metadata.get("subject"))
    return not one or not other or one == other


def _trust(claim: Claim) -> Trust:
    if claim.person:
        return Trust.PERSON
    # Who is not a person by their trust is none by their name.
    return min(parse_trust(None, claim.speaker), Trust.AGENT, key=_RANK.__getitem__)


def _may_retire(claim: Claim, old: Record) -> bool:
    """Return whether a claim has the standing to take the place of a fact.

    Agents and tools never retire what a person said. What someone asked to remember, or
    confirmed, gives way only to a person's word.
    """
    trust = _trust(claim)
    protected = old.decay_rate <= 0 and trust is not Trust.PERSON
    return _RANK[trust] >= _RANK[old.trust] and not protected


def _draft(claim: Claim, session: str, decay_rate: float, ends: Sequence[KnownFact]) -> Draft:
    """Return the draft of the fact that a claim becomes, which takes the place of others."""
    fact = claim.fact
    return Draft(
        content=claim.content,
        kind=Kind.FACT,
        tags=(str(claim.category),),
        metadata={
            "subject": claim.subject,
            "category": str(claim.category),
            "said_at": claim.said_at.isoformat(),
        },
        event_time=claim.event_time,
        event_until=claim.event_until,
        session=session,
        role=claim.speaker,
        trust=_trust(claim),
        confidence=claim.confidence,
        # A newer value ends an attribute; what somebody asked to remember stays.
        decay_rate=0.0 if _lasts(claim) else decay_rate,
        source_ids=tuple(dict.fromkeys(claim.sources)),
        supersedes=ends[0].record.id if ends else None,
        origin=ORIGIN,
        subject=None if fact is None else fact.subject,
        attribute=None if fact is None else fact.attribute,
        value=None if fact is None else fact.value,
    )


def _lasts(claim: Claim) -> bool:
    """Return whether a fact never fades: a newer value ends it, it was asked for, or it names.

    A statement that holds a name or a number can be asked for months later, if it is of no day.
    """
    if claim.category is Category.STATEMENT:
        said = without_dates(claim.content).rpartition("\u201d")[0]
        return claim.event_until is None and is_concrete(said[2:])
    return claim.fact is not None or claim.category in ASKED
