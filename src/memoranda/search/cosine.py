"""Search by meaning alone (requirement S1.15): the score is the cosine of query and record, 0 to 1.

Cosine is 1 minus cosine distance, as vectors have unit length. What is not like the query at
all, at a right angle or beyond, scores 0 and is no answer. Neither age, nor how far a record is
believed, nor what stands around it counts, so the same two texts always score the same.
"""

from __future__ import annotations

import numpy as np

from memoranda.search import fuse, lineage
from memoranda.search.evidence import Mask
from memoranda.search.fuse import Scored
from memoranda.search.index import Floats, Rows

NAME = "cosine"
"""The value of ``retrieval.fusion`` that asks for it."""


def scored(arm: str, evidence: Floats) -> Scored:
    """Return scores that are one arm's evidence and nothing else.

    Args:
        arm: ``vector``; or ``lexical``, where there are no vectors now and the share of the
            query's words that a record holds stands in for its likeness. ``why`` names it, so
            that nobody takes the one for the other.
        evidence: what it says of each record, 0 to 1; float32, shape (records,).
    """
    score: Floats = np.clip(evidence, 0, 1).astype(np.float32)
    same = np.ones(len(score), np.float32)
    return Scored({arm: score}, fuse.Fused(score, {arm: score}), same, same, same, score)


def current(rows: Rows, found: Mask, visible: Mask) -> Mask:
    """Return ``found`` without the facts whose replacements are active."""
    current: Mask = found.copy()
    current[lineage.superseded(rows, visible)] = False
    return current
