"""Search by meaning alone: the score is the cosine, and nothing else counts (seed 001)."""

import logging
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memoranda import Memory, Settings, errors
from memoranda.errors import EmbeddingError
from memoranda.testing.clocks import FrozenClock
from memoranda.testing.embedders import HashEmbedder

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
DAY = timedelta(days=1)
NEAR = 5e-3
"""How near a cosine is where vectors are ranked by one byte a number."""
TEXTS = (
    "Ana drinks green tea in the morning",
    "Bo drinks coffee all day",
    "The robot charges at night",
    "Ana is interested in robotics",
    "Tea, no sugar",
    "安娜喝茶",
    "Zug nach Köln",
)
WORDS = st.lists(st.sampled_from(" ".join(TEXTS).split()), min_size=1, max_size=6).map(" ".join)


class Failing(HashEmbedder):
    """A model that can be made to fail."""

    broken = False

    def embed(self, texts):
        """Fail if broken."""
        if self.broken:
            raise EmbeddingError("the model is away")
        return super().embed(texts)


def opened(embedder=None, clock=None, **sections):
    """Return Ana's memory that searches by meaning alone; the caller closes it."""
    chosen = Settings(
        timezone="UTC",
        retrieval={"fusion": "cosine"} | sections.pop("retrieval", {}),
        consolidation={"automatic": False},
        **sections,
    )
    model, clock = embedder or HashEmbedder(), clock or FrozenClock(START)
    return Memory(":memory:", user="ana", settings=chosen, embedder=model, clock=clock)


@pytest.fixture(scope="module")
def memory():
    """Seven texts, one of them said long ago and hardly believed."""
    with opened() as made:
        for text in TEXTS[1:]:
            made.remember(text)
        made.remember(TEXTS[0], event_time=START - 900 * DAY, confidence=0.1)
        yield made


def cosines(query, texts=TEXTS):
    """Return 1 minus the cosine distance of each text to a query, by definition."""
    vectors = HashEmbedder().embed([query, *texts]).astype(np.float64)
    return dict(zip(texts, vectors[1:] @ vectors[0], strict=True))


@example(query=TEXTS[0], least=0.0, limit=9)
@given(query=WORDS, least=st.floats(0, 1), limit=st.integers(1, 9))
def test_the_score_is_one_minus_the_cosine_distance(memory, query, least, limit):
    """S1.15: of every record, however old and little believed; what is not alike is no answer."""
    likeness = cosines(query)
    hits = memory.search(query, limit=limit, min_score=least)
    for hit in hits:
        assert hit.score == pytest.approx(likeness[hit.record.content], abs=NEAR)
        assert 0 < hit.score <= 1
        assert hit.score >= np.float32(least)
        assert (hit.why.confidence, hit.why.precedence) == (1, 1)
        assert hit.why.arms.keys() == {"vector"}
        assert hit.why.arms["vector"].share == hit.score
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    sure = [text for text, score in likeness.items() if score > max(least, 0) + NEAR]
    assert len(hits) >= min(limit, len(sure))
    if len(sure) <= limit:
        assert {hit.record.content for hit in hits} >= set(sure)


def test_the_setting_is_the_least_score_of_a_search():
    """S1.13: 0.3 of the seed where the caller says nothing; 0 is all that is alike."""
    with opened(retrieval={"min_score": 0.3}) as memory:
        memory.remember_many(TEXTS)
        query = "what does Ana drink in the morning?"
        usual, every = memory.search(query, limit=50), memory.search(query, limit=50, min_score=0)
        assert 0 < len(usual) < len(every)
        assert all(hit.score >= 0.3 for hit in usual)
        assert [hit.record.id for hit in every[: len(usual)]] == [hit.record.id for hit in usual]
        assert min(hit.score for hit in every) < 0.3


def test_while_the_model_is_away_the_words_stand_in_and_why_says_so(caplog):
    """Law 8: the arm is named, a line is logged, stats tell why; then the cosine is back."""
    model = Failing()
    with opened(model) as memory:
        memory.remember_many(TEXTS)
        memory.embed_pending()
        model.broken = True
        with caplog.at_level(logging.WARNING):
            hits = memory.search("green tea by the sea")
        assert {name for hit in hits for name in hit.why.arms} == {"lexical"}
        assert hits[0].record.content == TEXTS[0]
        assert all(0 < hit.score <= 1 for hit in hits)
        assert any("searching without vectors: the model is away" in m for m in caplog.messages)
        assert memory.stats().vectors == "off: embedding failed: the model is away"
        model.broken = False
        hits = memory.search("green tea by the sea")
        assert {name for hit in hits for name in hit.why.arms} == {"vector"}


def test_without_any_model_it_cannot_be_asked_for():
    """Said when the memory is opened, with why there is no model."""
    chosen = Settings(retrieval={"fusion": "cosine"}, embedding={"model": "none"})
    with pytest.raises(errors.ConfigError, match="there is no embedding model: switched off"):
        Memory(":memory:", settings=chosen)
