"""The cache gives what the inner model gives, asks it once, and forgets when told."""

from threading import Event, Thread

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda.errors import EmbeddingError, ModelUnavailable
from memoranda.providers.circuit_breaker import CircuitBreaker
from memoranda.providers.embedding.cache import CachedEmbedder
from memoranda.providers.opening import open_embedder
from memoranda.settings.sections import EmbeddingSettings
from memoranda.testing.embedders import HashEmbedder


class Recording(HashEmbedder):
    """A hash embedder that notes what it was asked, and can wait or fail."""

    def __init__(self):
        """Start with nothing asked."""
        super().__init__(dimensions=16)
        self.calls = []
        self.started, self.go_on = Event(), Event()
        self.go_on.set()
        self.fail = False

    def embed(self, texts):
        """Note the call, wait for leave, then embed or fail."""
        self.calls.append(list(texts))
        self.started.set()
        assert self.go_on.wait(20)
        if self.fail:
            message = "out of order"
            raise EmbeddingError(message)
        return super().embed(texts)


@given(
    calls=st.lists(st.lists(st.sampled_from(["a", "b", "c", "d", "é", ""]), max_size=6), max_size=8)
)
def test_a_cached_vector_is_the_inner_one(calls):
    """Whatever is asked in whatever order, rows and order are those of the inner model."""
    inner = HashEmbedder(dimensions=16)
    cached = CachedEmbedder(inner)
    for texts in calls:
        found = [each.vector for each in cached.embed(texts)]
        assert np.array_equal(np.reshape(found, (-1, 16)), inner.embed(texts))


def test_only_new_texts_reach_the_model_each_once_in_one_call():
    """Known texts cost nothing, duplicates count once, and there is one call for the rest."""
    inner = Recording()
    cached = CachedEmbedder(inner)
    cached.embed(["a", "b", "a"])
    cached.embed(["b", "c", "d", "c"])
    cached.embed(["a", "d"])
    assert inner.calls == [["a", "b"], ["c", "d"]]
    assert (cached.name, cached.dimensions) == (inner.name, 16)


def test_what_is_kept_is_bounded_and_cleared(monkeypatch):
    """Without room for more the cache begins anew; erased text leaves it when it is cleared."""
    monkeypatch.setattr("memoranda.providers.embedding.cache.KEPT", 2)
    inner = Recording()
    cached = CachedEmbedder(inner)
    for text in ("a", "b", "a", "c", "a"):
        cached.embed([text])
    assert inner.calls == [["a"], ["b"], ["c"], ["a"]]
    cached.clear()
    cached.embed(["a"])
    assert inner.calls[-2:] == [["a"], ["a"]]


def test_a_slow_model_blocks_no_one_who_asks_for_known_text():
    """The lock is not held while the model works."""
    inner = Recording()
    cached = CachedEmbedder(inner)
    (known,) = cached.embed(["known"])
    inner.started.clear()
    inner.go_on.clear()
    thread = Thread(target=cached.embed, args=(["new"],))
    thread.start()
    assert inner.started.wait(20)
    assert cached.embed(["known"]) == [known]
    inner.go_on.set()
    thread.join()


def test_no_failure_is_kept():
    """The error passes through, and the next call asks again."""
    inner = Recording()
    cached = CachedEmbedder(inner)
    inner.fail = True
    with pytest.raises(EmbeddingError):
        cached.embed(["a"])
    inner.fail = False
    (made,) = cached.embed(["a"])
    assert np.array_equal([made.vector], inner.embed(["a"]))


def test_a_second_memory_asks_a_server_with_the_patience_of_the_first():
    """As a copy and the canaries of ``doctor`` do; what they close, the first one goes on using."""
    inner = Recording()
    first = CachedEmbedder(inner, owned=True, breaker=CircuitBreaker("the server", 0.05))
    second, _ = open_embedder(EmbeddingSettings(), first)
    inner.go_on.clear()
    with pytest.raises(ModelUnavailable, match=r"no answer from the server within 0\.05 s"):
        second.embed(["a"], hurry=True)
    second.close()
    with pytest.raises(ModelUnavailable, match="it is asked again in"):
        first.embed(["b"])
    inner.go_on.set()
    first.close()
    with pytest.raises(ModelUnavailable, match="closed"):
        first.embed(["b"])
