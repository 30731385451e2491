"""The intermediate values of ranking: the parsed query and the scored records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from memoranda.model.query import TermMatches
from memoranda.search.fuse import Fused
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
