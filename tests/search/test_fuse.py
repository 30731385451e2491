"""Fusion: shares that add up to scores, by weights or by ranks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda.search.evidence import WEIGHTS, blend, rrf

ARMS = [*WEIGHTS]
VALUES = st.lists(st.floats(0, 1, width=32), min_size=6, max_size=6)
EVIDENCE = st.dictionaries(st.sampled_from(ARMS), VALUES, min_size=1).map(
    lambda arms: {name: np.array(values, np.float32) for name, values in arms.items()}
)


MASKS = st.lists(st.booleans(), min_size=6, max_size=6)


@given(evidence=EVIDENCE)
def test_blended_shares_are_a_score_and_full_evidence_is_one(evidence):
    """The score is the sum of the shares; full evidence of every arm that counts gives 1."""
    weights = dict.fromkeys(ARMS, 0.5)
    shares = blend(evidence, weights)
    assert (sum(shares.values()) <= 1 + 1e-6).all()
    full = blend({name: np.ones(6, np.float32) for name in evidence}, weights)  # Of those asked.
    np.testing.assert_allclose(sum(full.values()), 1, atol=1e-6)


@given(evidence=EVIDENCE)
def test_more_evidence_never_lowers_a_blend(evidence):
    """Raising what one arm says raises the score or leaves it."""
    name = next(iter(evidence))
    more = evidence | {name: evidence[name] + np.float32(0.5)}
    weights = dict.fromkeys(ARMS, 0.5)
    assert (sum(blend(more, weights).values()) >= sum(blend(evidence, weights).values())).all()


@given(evidence=EVIDENCE, k=st.integers(1, 100), wanted=MASKS)
def test_reciprocal_ranks_are_exact(evidence, k, wanted):
    """Seed 004: the score is the sum of 1 / (k + rank) over the arms that found the record."""
    mask = np.array(wanted)
    shares = rrf(evidence, mask, k)
    for row in range(6):
        expected = 0.0
        for values in evidence.values() if mask[row] else ():
            ranked = sorted(np.flatnonzero(mask), key=lambda each, found=values: -found[each])
            if values[row] > 0:
                expected += 1 / (k + 1 + ranked.index(row))
        assert sum(each[row] for each in shares.values()) == pytest.approx(expected, abs=1e-6)
