"""A judge that needs no model: it sees a conflict only where the words show one.

Two texts are taken apart into clauses, and each clause of the newer one is held against each of
the older one. What decides is one pair of clauses, so whole messages can be judged as well as
single facts. Where in doubt, both hold: a fact that goes on beside a newer one is found behind
it, but one retired for nothing is lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from recollect.lifecycle.claims import Relation, Statement, Verdict
from recollect.lifecycle.conflict.changes import counted, replaced, revalued, reversed_
from recollect.lifecycle.conflict.clauses import Clause, brief, clauses
from recollect.lifecycle.conflict.denials import denied
from recollect.lifecycle.deduplicate import COSINE, JACCARD, duplicate, subject

LEAST = 0.5
"""Confidence below which a rule is not heard."""
UNLIKE = 0.15
"""Likeness of vectors below which two texts have no theme in common, whatever words they share."""


@dataclass(frozen=True, slots=True)
class RuleJudge:
    """Implements :class:`recollect.lifecycle.claims.Judge` by rules for English.

    Statements in other languages are told apart from their duplicates, and no more.

    Attributes:
        threshold: least share of content words of a duplicate (seed 004: 0.75).
        cosine: least likeness of vectors of a duplicate.
        unlike: likeness of vectors below which there is no conflict; only where it is known.
        least: confidence below which a rule is not heard.
    """

    threshold: float = JACCARD
    cosine: float = COSINE
    unlike: float = UNLIKE
    least: float = LEAST

    def judge(self, old: Statement, new: Statement) -> Verdict:
        """Return the verdict; :attr:`Relation.NONE` where in doubt."""
        one, other = subject(old), subject(new)
        if one is not None and other is not None and one != other:
            return Verdict(Relation.NONE, 1.0, "they are about different subjects")
        same = duplicate(old, new, threshold=self.threshold, cosine=self.cosine)
        if same:
            return Verdict(Relation.DUPLICATE, same, "they say the same")
        if new.likeness is not None and new.likeness < self.unlike:
            return Verdict(Relation.NONE, 0.9, "they have no theme in common")
        short = brief(old.text) and brief(new.text)
        about = one is not None and one == other
        found = max(
            _findings(old, new, short=short, about=about),
            key=lambda verdict: verdict.confidence,
            default=None,
        )
        if found is None or found.confidence < self.least:
            return Verdict(Relation.NONE, 0.5, "nothing shows that one excludes the other")
        return found


def _findings(old: Statement, new: Statement, *, short: bool, about: bool) -> Iterator[Verdict]:
    for later in clauses(new.text):
        for earlier in clauses(old.text):
            yield from _pair(earlier, later, short=short, about=about)


def _pair(old: Clause, new: Clause, *, short: bool, about: bool) -> Iterator[Verdict]:
    yield from denied(old, new, short=short)
    if short:
        yield from revalued(old, new, about=about)
        yield from reversed_(old, new, about=about)
        yield from replaced(old, new, about=about)
    yield from counted(old, new, short=short)
