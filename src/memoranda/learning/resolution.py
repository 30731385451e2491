"""What a claim means beside what is known: of what a correction is, and what an ending ends."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from memoranda.facts.reader import OVER, SAME, FactStatement, as_over, read_facts, replace_value
from memoranda.facts.values import same_value
from memoranda.learning.claims import Category, Claim, Relation
from memoranda.learning.judge import judge_fact
from memoranda.learning.known_facts import KnownFact
from memoranda.model.models import Record
from memoranda.text.dates.statements import without_dates

# What was asked for, and is kept whatever it ends.
ASKED = frozenset({Category.REMEMBER, Category.INSTRUCTION})


@dataclass(frozen=True, slots=True)
class ResolvedClaim:
    """A claim as it is understood beside what is known.

    Attributes:
        claim: with the sentence and the attribute under which it is stored.
        compared: the statement that known facts are held against, if it has an attribute.
        corrects: the one fact that it gives another value, where it is a correction.
    """

    claim: Claim
    compared: FactStatement | None = None
    corrects: KnownFact | None = None


def resolve_claim(claim: Claim, known: Sequence[KnownFact]) -> ResolvedClaim | None:
    """Return a claim as it is understood beside known facts, best first; ``None`` if it is not."""
    fact = claim.fact
    if fact is None:
        return ResolvedClaim(claim)
    if fact.attribute == SAME:
        return _resolve_correction(claim, fact, known)
    if fact.needs_known:
        return _resolve_ending(claim, fact, known)
    return ResolvedClaim(claim, fact)


def _without_attribute(claim: Claim) -> ResolvedClaim | None:
    """Return a claim as a plain statement, if it is one without what it points at."""
    if not claim.stands_alone and claim.category not in ASKED:
        return None
    return ResolvedClaim(replace(claim, fact=None))


def _resolve_correction(
    claim: Claim, fact: FactStatement, known: Iterable[KnownFact]
) -> ResolvedClaim | None:
    """Return a claim that gives a known value another one, as what was said of the old one.

    "We switched from Slack to Mattermost" is then what was said of Slack, of Mattermost.
    """
    for each in known:
        content = _corrected_content(each.record, fact)
        # What the same turn says of it beside this is no older value.
        if content is None or each.over or each.sources.issuperset(claim.sources):
            continue
        record = each.record
        made = replace(
            fact,
            subject=record.subject or "",
            attribute=record.attribute or "",
            value=_corrected_value(record, fact),
            content=content,
            ended=record.value,
        )
        about = str(record.metadata.get("subject", claim.subject))
        return ResolvedClaim(replace(claim, content=content, subject=about, fact=made), made, each)
    return _without_attribute(claim)


def _corrected_content(record: Record, fact: FactStatement) -> str | None:
    """Return the sentence of a fact with the value of a correction, if that is of this fact.

    The correction names its value, or the thing that has another number now.
    """
    if not record.value or not fact.ended or record.attribute is None:
        return None
    named = [record.value]
    if (fact.value or "")[:1].isdigit():
        named.append(record.subject or "")
    if not any(same_value(each, fact.ended, fact.language) for each in named):
        return None
    value = _corrected_value(record, fact)
    return replace_value(without_dates(record.content), record.value, value)


def _corrected_value(record: Record, fact: FactStatement) -> str | None:
    """Return the value of a correction alone: of "the meeting is on the 11th", the 11th."""
    told = (each for each in read_facts(fact.value or "") if each.attribute == record.attribute)
    return next((each.value for each in told), fact.value)


def _resolve_ending(
    claim: Claim, fact: FactStatement, known: Sequence[KnownFact]
) -> ResolvedClaim | None:
    """Return a claim that counts only as it ends something known, under the attribute of that."""
    ended = _ended_by(fact, known)
    if not ended and fact.value is None and (over := as_over(fact, claim.subject)) is not None:
        # "I quit FitX" may be a gym, where it is no employer.
        fact, ended = over, _ended_by(over, known)
        claim = claim if claim.stands_alone else replace(claim, content=over.content)
    if not ended:
        return _without_attribute(claim)
    stored = fact
    if fact.attribute == OVER:
        last = ended[-1]
        stored = replace(fact, subject=last.subject or "", attribute=last.attribute or "")
    return ResolvedClaim(replace(claim, fact=stored), fact)


def _ended_by(fact: FactStatement, known: Iterable[KnownFact]) -> list[Record]:
    """Return the facts that hold and that a statement has to do with."""
    holding = (each.record for each in known if not each.over)
    return [each for each in holding if judge_fact(each, fact) not in {None, Relation.NONE}]
