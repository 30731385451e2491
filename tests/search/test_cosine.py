"""Search by meaning alone: the score is the cosine, and nothing else counts (seed 001)."""

import logging
from contextlib import closing
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda import Memory, Settings, errors
from memoranda.errors import EmbeddingError
from memoranda.testing.clocks import FrozenClock
from memoranda.testing.embedders import HashEmbedder

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
DAY = timedelta(days=1)
HALF = 1e-3
"""How near a cosine is where vectors are stored with half precision."""
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


def opened(embedder=None, clock=None, *, location=":memory:", **sections):
    """Return Ana's memory that searches by meaning alone; the caller closes it."""
    chosen = Settings(
        timezone="UTC",
        retrieval={"fusion": "cosine"} | sections.pop("retrieval", {}),
        consolidation={"automatic": False},
        **sections,
    )
    return Memory(
        location,
        user="ana",
        settings=chosen,
        embedder=embedder or HashEmbedder(),
        clock=clock or FrozenClock(START),
    )


@pytest.fixture(scope="module")
def memory():
    """Seven texts, one of them said long ago and hardly believed."""
    with closing(opened()) as made:
        for text in TEXTS[1:]:
            made.remember(text)
        made.remember(TEXTS[0], event_time=START - 900 * DAY, confidence=0.1)
        yield made


def cosines(query, texts=TEXTS):
    """Return 1 minus the cosine distance of each text to a query, by definition."""
    vectors = HashEmbedder().embed([query, *texts]).astype(np.float64)
    return dict(zip(texts, vectors[1:] @ vectors[0], strict=True))


@given(query=WORDS, least=st.floats(0, 1), limit=st.integers(1, 9))
def test_the_score_is_one_minus_the_cosine_distance(memory, query, least, limit):
    """S1.15: of every record, whatever the query; the best first, and none below the least."""
    likeness = cosines(query)
    hits = memory.search(query, limit=limit, min_score=least)
    for hit in hits:
        assert hit.score == pytest.approx(likeness[hit.record.content], abs=HALF)
        assert 0 < hit.score <= 1
        assert hit.score >= np.float32(least)
        assert (hit.why.recency, hit.why.confidence, hit.why.precedence) == (1, 1, 1)
        assert hit.why.arms.keys() == {"vector"}
        assert hit.why.arms["vector"].share == hit.score
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    sure = [text for text, score in likeness.items() if score > max(least, 0) + HALF]
    assert len(hits) >= min(limit, len(sure))
    if len(sure) <= limit:
        assert {hit.record.content for hit in hits} >= set(sure)


def test_words_age_and_belief_do_not_count(memory):
    """The same text has the same score, however old it is and however little believed."""
    (old,) = memory.search(TEXTS[0], limit=1)
    assert (old.record.content, old.record.confidence) == (TEXTS[0], 0.1)
    assert old.score == pytest.approx(1, abs=HALF)
    assert old.score <= 1


def test_what_is_not_like_the_query_at_all_is_no_answer(memory):
    """At a right angle and beyond the score is 0, and what scores 0 is not shown."""
    for query in ("xylophone", "Köln", "no"):
        unlike = {text for text, score in cosines(query).items() if score < -HALF}
        assert unlike
        assert unlike.isdisjoint(hit.record.content for hit in memory.search(query, limit=50))


def test_the_setting_is_the_least_score_of_a_search():
    """S1.13: 0.3 of the seed where the caller says nothing; 0 is all that is alike."""
    with closing(opened(retrieval={"min_score": 0.3})) as memory:
        memory.remember_many(TEXTS)
        query = "what does Ana drink in the morning?"
        usual, every = memory.search(query, limit=50), memory.search(query, limit=50, min_score=0)
        assert 0 < len(usual) < len(every)
        assert all(hit.score >= 0.3 for hit in usual)
        assert [hit.record.id for hit in every[: len(usual)]] == [hit.record.id for hit in usual]
        assert min(hit.score for hit in every) < 0.3


def test_filters_and_users_bound_it_as_any_search():
    """Kind, metadata, tags, session and user; never a record of another's."""
    with closing(opened()) as memory:
        memory.remember("tea for Ana", kind="conversation", session="s", tags=["drink"])
        fact = memory.remember("tea for Ana", metadata={"category": "user_profile", "n": 1})
        memory.as_user("bo").remember("tea for Ana")
        assert len(memory.search("tea for Ana")) == 2
        assert [hit.record for hit in memory.search("tea", kind="fact")] == [fact]
        assert [hit.record for hit in memory.search("tea", metadata={"n": 1})] == [fact]
        assert memory.search("tea", metadata={"n": True}) == []
        assert [hit.record.session_id for hit in memory.search("tea", tags=["drink"])] == ["s"]
        assert [hit.record.kind for hit in memory.search("tea", session="s")] == ["episode"]


def test_what_is_believed_no_longer_is_not_found():
    """Forgotten, corrected, superseded and expired memories stay out; ``as_of`` has them."""
    clock = FrozenClock(START)
    with closing(opened(clock=clock, retention={"episode": "30d"})) as memory:
        gone = memory.remember("Ana likes green tea")
        wrong = memory.remember("Ana likes black tea")
        memory.remember("Ana said that she likes tea", kind="conversation")
        clock.advance(DAY)
        memory.forget(gone.id)
        right = memory.correct(wrong.id, "Ana likes white tea")
        clock.advance(30 * DAY)
        assert [hit.record for hit in memory.search("Ana likes tea")] == [right]
        assert len(memory.search("Ana likes tea", as_of=START + DAY / 2)) == 3


def test_a_fact_that_another_took_the_place_of_is_not_found():
    """A superseded fact stays behind the newer one where evidence is weighed; here it is out."""
    clock = FrozenClock(START)
    with closing(opened(clock=clock)) as memory:
        for session, text in (("a", "I live in Porto."), ("b", "I live in Rome.")):
            memory.conversation(session).add("user", text)
            memory.consolidate()
            clock.advance(DAY)
        known = [fact.superseded_by for fact in memory.records(kind="fact")]
        assert [each is None for each in known] == [False, True]
        hits = memory.search("Where does the user live?", kind="fact")
        assert [hit.record.content for hit in hits] == ["The user lives in Rome."]


def test_while_the_model_is_away_the_words_stand_in_and_why_says_so(caplog):
    """Law 8: the arm is named, a line is logged, stats tell why; then the cosine is back."""
    model = Failing()
    with closing(opened(model)) as memory:
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


def test_vectors_of_another_model_are_never_compared(tmp_path):
    """Until all are made anew the words answer, and stats name the remedy."""
    path = tmp_path / "m.db"
    with closing(opened(location=path)) as memory:
        memory.remember_many(TEXTS)
        memory.embed_pending()
    with closing(opened(HashEmbedder(name="other"), location=path)) as memory:
        (hit, *_) = memory.search("green tea")
        assert hit.why.arms.keys() == {"lexical"}
        assert "memoranda doctor --reembed" in memory.stats().vectors
        memory.reembed()
        (hit, *_) = memory.search("green tea")
        assert hit.why.arms.keys() == {"vector"}


def test_without_any_model_it_cannot_be_asked_for():
    """Said when the memory is opened, with why there is no model."""
    chosen = Settings(retrieval={"fusion": "cosine"}, embedding={"model": "none"})
    with pytest.raises(errors.ConfigError, match="there is no embedding model: switched off"):
        Memory(":memory:", settings=chosen)
