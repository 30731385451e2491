"""What a claim means beside what is known: of what an ending is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from memoranda.facts.reader import OVER, FactStatement, as_over
from memoranda.learning.claims import Category, Claim, Relation
from memoranda.learning.judge import judge_fact
from memoranda.learning.known_facts import KnownFact
from memoranda.model.models import Record

# What was asked for, and is kept whatever it ends.
ASKED = frozenset({Category.REMEMBER, Category.INSTRUCTION})


class ResolvedClaim(NamedTuple):
    """A claim as it is understood beside what is known.

    Attributes:
        claim: with the sentence and the attribute under which it is stored.
        compared: the statement that known facts are held against, if it has an attribute.
    """

    claim: Claim
    compared: FactStatement | None = None


def resolve_claim(claim: Claim, known: Sequence[KnownFact]) -> ResolvedClaim | None:
    """Return a claim as it is understood beside known facts, best first; ``None`` if it is not.

    What counts only as it ends something known gets the attribute of that; where nothing is
    known of what it points at it is a plain statement, if it is one without.
    """
    fact = claim.fact
    if fact is None or not fact.needs_known:
        return ResolvedClaim(claim, fact)
    ended = _ended_by(fact, known)
    if not ended and fact.value is None and (over := as_over(fact, claim.subject)) is not None:
        # "I quit FitX" may be a gym, where it is no employer.
        fact, ended = over, _ended_by(over, known)
        claim = claim if claim.stands_alone else replace(claim, content=over.content)
    if not ended:
        plain = claim.stands_alone or claim.category in ASKED
        return ResolvedClaim(replace(claim, fact=None)) if plain else None
    stored, last = fact, ended[-1]
    if fact.attribute == OVER:
        stored = replace(fact, subject=last.subject or "", attribute=last.attribute or "")
    return ResolvedClaim(replace(claim, fact=stored), fact)


def _ended_by(fact: FactStatement, known: Iterable[KnownFact]) -> list[Record]:
    """Return the facts that hold and that a statement has to do with."""
    holding = (each.record for each in known if not each.over)
    return [each for each in holding if judge_fact(each, fact) not in {None, Relation.NONE}]
