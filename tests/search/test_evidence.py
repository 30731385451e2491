"""Evidence: what each arm says of each record, in units that need no other record."""

from datetime import UTC, datetime

import numpy as np
import pytest

from memoranda import Memory, Settings
from memoranda.model.checks import to_ms
from memoranda.model.models import Scope
from memoranda.search import evidence
from memoranda.search.index import UserIndex

SCOPE = Scope("ana")


@pytest.fixture(scope="module")
def memory():
    """Four records: two of one session, one long, one old."""
    chosen = Settings(timezone="UTC", embedding={"model": "none"})
    with Memory(":memory:", user="ana", settings=chosen) as made:
        made.remember("green tea", kind="episode", session="s", role="user")
        made.remember("and milk", kind="episode", session="s", role="assistant")
        made.remember("word " * 60)
        made.remember("tea tea tea", event_time=datetime(2023, 6, 5, tzinfo=UTC))
        yield made


@pytest.fixture
def rows(memory):
    """Their rows."""
    return UserIndex().rows(memory._services.store, SCOPE)


def asked(memory, rows, *terms, visible=None):
    """Return the lexical evidence for these terms."""
    found = memory._services.store.postings(SCOPE, terms)
    held = [rows.placed(found[term]) for term in terms]
    everywhere = np.ones(len(rows), bool)
    return evidence.LexicalEvidence(rows, held, everywhere if visible is None else visible)


def around(words):
    """Return the coverage of each record with its neighbours."""
    return words.spread(np.zeros(len(words.coverage), np.float32))[0]


def test_coverage_is_the_share_of_the_query(memory, rows):
    """All words of the query in a record are 1, none and nothing around are 0."""
    coverage = around(asked(memory, rows, "green", "tea"))
    assert coverage[0] == pytest.approx(1)
    assert 0 < coverage[1] < 1, "the neighbour of a match has a share in it"
    assert coverage[2] == 0
    assert 0 < coverage[3] < 1
    assert (coverage <= 1 + 1e-6).all()


def test_bm25_is_by_the_book(memory, rows):
    """Robertson's formula with Lucene's inverse document frequency, computed by hand."""
    bm25 = asked(memory, rows, "tea").bm25()
    idf = np.log(1 + (4 - 2 + 0.5) / (2 + 0.5))
    mean = rows.table["terms"].mean()
    for row, count, length in ((0, 1, 2), (3, 3, 3)):
        norm = 1.2 * (1 - 0.75 + 0.75 * length / mean)
        assert bm25[row] == pytest.approx(idf * 2.2 * count / (count + norm), rel=1e-5)
    assert bm25[1] == bm25[2] == 0


def test_what_nobody_used_or_may_see_says_nothing(memory, rows):
    """An unknown word lowers no coverage; a hidden record has none, and shares none."""
    alone, with_unknown = asked(memory, rows, "tea"), asked(memory, rows, "tea", "zebra")
    np.testing.assert_allclose(around(alone), around(with_unknown), atol=1e-6)
    assert not asked(memory, rows).bm25().any()
    hidden = asked(memory, rows, "green", visible=np.array([False, True, True, True]))
    for found in (asked(memory, rows, "zebra"), hidden):
        assert not around(found).any()
        assert not found.bm25().any()
    assert not evidence.likeness(rows, None).any()


def test_priors_and_times_are_shares(rows):
    """A person or nobody known is 1, and times fade."""
    assert rows.from_person.tolist() == [1, 0, 1, 1]
    june = [to_ms(datetime(2023, month, 1, tzinfo=UTC)) for month in (6, 7)]
    assert evidence.temporal(rows, *june).tolist() == [0, 0, 0, 1]
    moment = to_ms(datetime(2023, 6, 5, tzinfo=UTC))
    near = evidence.temporal(rows, moment - evidence.FADE_MS - 1, moment - evidence.FADE_MS)
    np.testing.assert_allclose(near, [0, 0, 0, np.exp(-1)], rtol=1e-3)
    assert not evidence.temporal(rows, 0, moment).any()
    assert evidence.temporal(rows, moment, moment + 1)[3] == 1


def test_entities_are_the_share_of_the_names_asked_for(rows):
    """Half of the names are 0.5; more mentions than names are 1; unknown rows are passed over."""
    ordinals = rows.table["ordinal"].tolist()
    matches = [(ordinals[0], 1), (ordinals[2], 5), (99_999, 2)]
    assert evidence.entities(rows, matches, 2).tolist() == [0.5, 0, 1, 0]
    assert not evidence.entities(rows, [], 2).any()
