"""Surroundings: weights between neighbours of a thread, and nowhere else."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda.search.evidence import LexicalEvidence
from memoranda.search.index import FADE, FAINTEST, FARTHEST, QuantizedVectors, Rows, Surroundings
from memoranda.store.sql.index_reads import INDEX_ROW

TALK = st.lists(st.tuples(st.integers(0, 3), st.floats(1, 500, width=32)), min_size=1, max_size=30)


def of(talk):
    """Make surroundings of (thread, length) pairs, each in its place within the thread."""
    threads = np.array([thread for thread, _ in talk], np.int64)
    positions = np.array([threads[:n].tolist().count(t) for n, t in enumerate(threads)], np.int64)
    lengths = np.array([length for _, length in talk], np.float32)
    return threads, Surroundings.of(threads, positions, lengths)


def rows_of(surroundings, size):
    """Make rows that know nothing but what is around them."""
    none = np.empty((0, 2), np.intp)
    vectors = QuantizedVectors.zeros(size, 2)
    return Rows(np.zeros(size, INDEX_ROW), vectors, surroundings, {}, none, none)


def mean_of(rows, likeness, counts):
    """Return the mean likeness around each record, over those that count."""
    return LexicalEvidence(rows, (), counts).spread(likeness)[1]


def shared(surroundings, size):
    """Return the matrix of what each record gets from each: the rows of ``gathered``."""
    own = np.eye(size, dtype=np.float32)[:, surroundings.order]
    return surroundings.gathered(own)[:, surroundings.place]


@given(talk=TALK)
def test_weights_are_symmetric_and_stay_in_the_thread(talk):
    """What one shares with another it gets back; nothing crosses threads; itself counts 1."""
    threads, surroundings = of(talk)
    weights = shared(surroundings, len(talk))
    np.testing.assert_allclose(weights, weights.T, rtol=1e-6)
    np.testing.assert_allclose(np.diag(weights), 1)
    assert not weights[threads[:, None] != threads[None, :]].any()
    assert (weights >= 0).all()
    assert (weights <= 1).all()


@given(talk=TALK, value=st.floats(-1, 1, width=32))
def test_the_mean_of_a_constant_is_that_constant(talk, value):
    """Where all say the same, the surroundings say it too; who is left out changes no mean."""
    _, surroundings = of(talk)
    rows = rows_of(surroundings, len(talk))
    counts = np.arange(len(talk)) % 3 != 0
    for some in (np.ones(len(talk), bool), counts):
        mean = mean_of(rows, np.full(len(talk), value, np.float32), some)
        np.testing.assert_allclose(mean[some], value, atol=1e-5)
    quiet = np.where(counts, 0.5, 0).astype(np.float32)
    loud = np.where(counts, 0.5, 1_000).astype(np.float32)
    np.testing.assert_array_equal(mean_of(rows, quiet, counts), mean_of(rows, loud, counts))


def test_evidence_fades_with_the_characters_between_the_middles():
    """Weights are exp(-distance / FADE) in characters, up to ``FARTHEST`` turns."""
    weights = shared(of([(0, 100.0)] * 12)[1], 12)
    for step in range(1, 12):
        expected = np.exp(-100 * step / FADE)
        wanted = expected if expected >= FAINTEST and step <= FARTHEST else 0
        assert weights[0, step] == pytest.approx(wanted, rel=1e-5)
    np.testing.assert_array_equal(shared(of([(0, 5_000.0)] * 4)[1], 4), np.eye(4))


def test_the_order_of_recording_does_not_matter():
    """Neighbours are those in the talk, wherever their records stand."""
    positions = np.array([2, 0, 1], np.int64)
    lengths = np.array([30, 10, 20], np.float32)
    surroundings = Surroundings.of(np.zeros(3, np.int64), positions, lengths)
    weights = shared(surroundings, 3)
    assert weights[1, 2] == pytest.approx(np.exp(-15 / FADE))
    assert weights[2, 0] == pytest.approx(np.exp(-25 / FADE))
    assert weights[1, 0] == pytest.approx(np.exp(-40 / FADE))


def test_nothing_has_no_surroundings():
    """No records are no fault."""
    empty = Surroundings.of(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32))
    assert len(mean_of(rows_of(empty, 0), np.empty(0, np.float32), np.empty(0, bool))) == 0
