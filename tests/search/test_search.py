"""The retriever: arms alone, what is skipped, and a failing model."""

from datetime import UTC, datetime

import numpy as np
import pytest

from memoranda import Memory, Settings
from memoranda.derivations import DerivationWorker
from memoranda.errors import EmbeddingError
from memoranda.model.models import Scope
from memoranda.model.query import Filter
from memoranda.providers.embedding.cache import CachedEmbedder
from memoranda.search.evidence import Weights
from memoranda.search.search import Ranking, Retriever
from memoranda.testing.embedders import HashEmbedder

SCOPE = Scope("ana")
NOW = datetime(2100, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def memory():
    """Twelve records about tea, with vectors."""
    with Memory(
        ":memory:", user="ana", embedder=HashEmbedder(), settings=Settings(timezone="UTC")
    ) as made:
        made.remember_many([f"Ana drinks tea number {n} {'and more ' * n}" for n in range(12)])
        made.embed_pending()
        yield made


@pytest.fixture
def retriever(memory):
    """Make a retriever with a ranking of the test's own."""
    parts = memory._services

    def make(derivations=parts.derivations, **ranking):
        return Retriever(
            store=parts.store,
            analyzer=parts.retriever.analyzer,
            extractor=parts.extractor,
            derivations=derivations,
            zone=UTC,
            ranking=Ranking(**ranking),
        )

    return make


def found(retriever, query="tea", limit=100, **arguments):
    """Search everything."""
    return retriever.search(SCOPE, query, Filter(now=NOW), limit=limit, **arguments)


@pytest.mark.parametrize("fusion", ["blend", "rrf"])
@pytest.mark.parametrize("arm", ["lexical", "vector"])
def test_an_arm_can_be_asked_alone(retriever, fusion, arm):
    """``only`` leaves one arm, whose share is the whole score."""
    for hit in found(retriever(fusion=fusion, only=frozenset({arm})), "tea number 7"):
        assert set(hit.why.arms) == {arm}
        assert hit.score == pytest.approx(
            hit.why.arms[arm].share * hit.why.recency * hit.why.confidence, abs=1e-6
        )


@pytest.mark.parametrize("fusion", ["blend", "rrf"])
def test_an_arm_alone_that_has_nothing_to_say_finds_nothing(retriever, fusion):
    """A query without names, asked of the entity arm alone, has no answer and no error."""
    assert found(retriever(fusion=fusion, only=frozenset({"entity"})), "tea") == []


def test_an_arm_of_no_weight_is_not_heard(retriever):
    """A weight of zero takes an arm out of score and reasons."""
    hits = found(retriever(weights=Weights(vector=0, context=0)))
    assert hits
    assert all("vector" not in hit.why.arms for hit in hits)


def test_what_is_skipped_makes_room_for_the_next(retriever):
    """Records that are not wanted take no place in the list."""
    whole = found(retriever())
    skip = frozenset(hit.record.id for hit in whole[:3])
    assert [h.record.id for h in found(retriever(), limit=4, skip=skip)] == [
        h.record.id for h in whole[3:7]
    ]


def test_ranks_are_places_in_the_arm(retriever):
    """The best of an arm has rank 1, and ranks grow as its scores fall."""
    hits = found(retriever())
    for arm in ("lexical", "vector"):
        told = sorted((h.why.arms[arm].rank, -h.why.arms[arm].score) for h in hits)
        assert told[0][0] == 1
        assert [score for _, score in told] == sorted(score for _, score in told)


def test_a_failing_model_leaves_the_words(memory, retriever, caplog):
    """Law 8: without vectors the other arms go on, and the log says so."""

    class Failing(HashEmbedder):
        def embed(self, texts):
            raise EmbeddingError(texts[0])

    parts = memory._services
    failing = DerivationWorker(
        parts.store,
        CachedEmbedder(Failing()),
        parts.extractor,
        background=False,
        now=parts.clock.now,
    )
    hits = found(retriever(derivations=failing))
    assert len(hits) == 12
    assert all("vector" not in hit.why.arms for hit in hits)
    assert "searching without vectors: tea" in caplog.text


def test_age_takes_from_facts_alone_and_only_a_little(retriever):
    """The factor for age is within the share that a very old fact may lose."""
    recency = [hit.why.recency for hit in found(retriever(recency=0.2, recency_days=1))]
    np.testing.assert_allclose(recency, 0.8, atol=1e-3)
    assert [hit.why.recency for hit in found(retriever(recency=0))] == [1.0] * 12


def test_forgetting_the_index_changes_no_answer(retriever):
    """What is held in memory is only a copy."""
    one = retriever()
    before = found(one)
    one.forget()
    assert found(one) == before
