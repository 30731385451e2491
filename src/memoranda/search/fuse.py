"""Fusion: the evidence of all arms as one score, with each arm's share in it.

``blend`` adds the arms up by fixed weights. ``rrf`` is reciprocal rank fusion (Cormack,
Clarke and Büttcher 2009; requirement S4.60), which looks at ranks alone.

The parsed query and the scored records stand here too: the intermediate values of ranking.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from memoranda.model.query import TermMatches
from memoranda.search.index import Floats, Places

LENT = 0.5  # of what a fact scores above a turn, how much it lends it


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """A query as the arms take it.

    Attributes:
        text: as it was given.
        terms: its distinct terms.
        matches: which records hold them.
        named: the half-open stretch of time that it names, in milliseconds since 1970.
        now: the moment of asking, in milliseconds since 1970.
    """

    text: str
    terms: Sequence[str]
    matches: TermMatches
    named: tuple[int, int] | None
    now: int

    @property
    def long_ago(self) -> bool:
        """Whether it names a time that is over: what is true now is no answer to that."""
        return self.named is not None and self.named[1] <= self.now


@dataclass(frozen=True, slots=True)
class Scored:
    """Every record of a user against one query: evidence by arm, factors and score."""

    evidence: Mapping[str, Floats]
    fused: Fused
    recency: Floats
    confidence: Floats
    precedence: Floats
    score: Floats

    def moved(self, score: Mapping[int, float]) -> Scored:
        """Return the same with other scores of some records, for what is true now."""
        if not score:
            return self
        rows = list(score)
        new, factor = self.score.copy(), self.precedence.copy()
        new[rows] = list(score.values())
        factor[rows] *= new[rows] / self.score[rows]
        return replace(self, precedence=factor, score=new)

    def lowered(self, rows: Places, factor: float) -> Scored:
        """Return the same with the scores of some records times ``factor``."""
        if not len(rows):
            return self
        return self.moved({row: factor * float(self.score[row]) for row in rows.tolist()})

    def lent(self, name: str, evidence: Floats) -> Scored:
        """Return the same where each record scores at least its ``evidence`` of a new arm."""
        factors = self.recency * self.confidence * self.precedence
        lacking = LENT * np.maximum(evidence - self.score, 0) / np.maximum(factors, 1e-9)
        share: Floats = lacking.astype(np.float32)
        fused = Fused(self.fused.score + share, {**self.fused.shares, name: share})
        score: Floats = self.score + LENT * np.maximum(evidence - self.score, 0)
        return replace(self, evidence={**self.evidence, name: evidence}, fused=fused, score=score)


LONGEST_LIST = 1_000  # a rank below this adds next to nothing


@dataclass(frozen=True, slots=True)
class Weights:
    """What full evidence of each arm adds to a score before it is divided by their sum.

    Measured on LoCoMo (turns) and BEAM (rounds) at once: see docs/retrieval.md.
    """

    lexical: float = 0.9
    vector: float = 1.0
    context: float = 1.0
    entity: float = 0.0
    temporal: float = 0.3
    length: float = 0.2
    user: float = 0.1


@dataclass(frozen=True, slots=True)
class Fused:
    """The fused scores of all records, and the share of each arm in them."""

    score: Floats
    shares: Mapping[str, Floats]


def blend(evidence: Mapping[str, Floats], weights: Weights) -> Fused:
    """Return the weighted sum of ``evidence``, divided by the sum of the weights in use.

    The score is 1 for a record with full evidence of every arm that was asked.
    """
    used: dict[str, float] = {name: getattr(weights, name) for name in evidence}
    whole = sum(used.values()) or 1.0
    shares = {
        name: (evidence[name] * (weight / whole)).astype(np.float32)
        for name, weight in used.items()
        if weight
    }
    return Fused(_total(shares), shares)


def rrf(evidence: Mapping[str, Floats], wanted: npt.NDArray[np.bool_], k: int) -> Fused:
    """Return the sum of ``1 / (k + rank)`` over the arms in which a record was found.

    A record without evidence in an arm, or one that is not ``wanted``, has no rank there.
    """
    shares = {name: _reciprocal(values, wanted, k) for name, values in evidence.items()}
    return Fused(_total(shares), shares)


def _total(shares: Mapping[str, Floats]) -> Floats:
    total: Floats = np.stack(list(shares.values())).sum(axis=0).astype(np.float32)
    return total


def _reciprocal(values: Floats, wanted: npt.NDArray[np.bool_], k: int) -> Floats:
    share = np.zeros(len(values), np.float32)
    found = np.flatnonzero((values > 0) & wanted)
    order = found[np.argsort(-values[found], kind="stable")][:LONGEST_LIST]
    share[order] = 1 / (k + np.arange(1, len(order) + 1))
    return share
