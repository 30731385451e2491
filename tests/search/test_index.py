"""The index in memory: kept in step with the store, and no larger than allowed."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from memoranda import Memory, Settings
from memoranda.model.models import Scope
from memoranda.search.index import IndexCache, QuantizedVectors, UserIndex
from memoranda.store import sqlite
from memoranda.testing.clocks import FrozenClock
from memoranda.testing.embedders import HashEmbedder

SCOPE = Scope("ana")


@pytest.fixture
def memory():
    """Ana's memory, whose vectors are made on request."""
    chosen = Settings(timezone="UTC", embedding={"background": False})
    with Memory(":memory:", user="ana", embedder=HashEmbedder(16), settings=chosen) as made:
        yield made


@pytest.fixture
def store(memory):
    """The store below it."""
    return memory._services.store


def test_rows_handed_out_stay_what_they_were(memory, store):
    """A search that goes on with older rows is not disturbed by newer ones."""
    index = UserIndex()
    memory.remember("one")
    before = index.rows(store, SCOPE)
    memory.remember_many([f"more {n}" for n in range(200)])
    after = index.rows(store, SCOPE)
    assert (len(before), len(after)) == (1, 201)
    assert index.rows(store, SCOPE) is after
    assert before.table["ordinal"][0] == after.table["ordinal"][0]


def test_a_name_keeps_its_number_when_records_come(memory, store):
    """In each column, also where another name is the first to come then."""
    index = UserIndex()
    memory.remember("one", session="a", role="ann", kind="episode")
    before = index.rows(store, SCOPE)
    memory.remember("two", session="b", role="bob", kind="episode")
    memory.remember("three", session="a", role="bob", kind="episode")
    rows = index.rows(store, SCOPE)
    assert rows.named("session", "a").tolist() == [True, False, True]
    assert rows.named("speaker", "bob").tolist() == [False, True, True]
    assert before.names["session"] == {"a": 0}, "what was handed out stays"


def test_vectors_come_when_they_are_made_and_go_with_their_record(memory, store):
    """A row without a vector has zeros; after an erasure neither row nor vector is left."""
    index = UserIndex()
    first = memory.remember("one")
    assert not index.rows(store, SCOPE).vectors.codes.any()
    memory.embed_pending()
    vectors = index.rows(store, SCOPE).vectors
    assert vectors.codes.shape == (1, 16)
    second = memory.remember("two")
    assert index.rows(store, SCOPE).vectors.codes.any(axis=1).tolist() == [True, False]
    memory.forget(first.id, erase=True)
    rows = index.rows(store, SCOPE)
    found = store.get(SCOPE, rows.table["ordinal"].tolist())
    assert [record.id for record in found.values()] == [second.id]
    assert (len(rows.vectors.codes), rows.vectors.codes.any()) == (1, False)


@settings(max_examples=examples(10), deadline=None)
@given(
    stored=arrays(
        np.float16, st.tuples(st.integers(0, 40), st.just(9)), elements=st.floats(-1, 1, width=16)
    ),
    asked=arrays(np.float32, 9, elements=st.floats(-1, 1, width=32, allow_subnormal=False)),
)
def test_a_packed_vector_is_nearly_what_it_was(stored, asked):
    """No number moves by more than half a step, and so no product by more than their sum."""
    packed, vectors = QuantizedVectors.zeros(len(stored), 9), stored.astype(np.float32)
    packed.put(np.arange(len(stored)), stored)
    for row, vector in enumerate(vectors):
        half = np.abs(vector).max() / 253 + 1e-9
        np.testing.assert_allclose(packed.codes[row] * packed.scales[row], vector, atol=half)
    error = np.abs(vectors).max(axis=1, initial=0) / 253 * np.abs(asked).sum() + 1e-5
    assert (np.abs(packed.dot(asked) - vectors @ asked) <= error).all()


def test_a_damaged_vector_is_none():
    """What has a number that is not finite is as if it had no vector; the others have theirs."""
    packed = QuantizedVectors.zeros(3, 2)
    packed.put(np.arange(3), np.array([[np.nan, 1], [0, -np.inf], [0.5, -0.25]], np.float16))
    assert packed.dot(np.ones(2, np.float32)).tolist() == pytest.approx([0, 0, 0.25], abs=1e-2)
    assert not packed.scales.all()


def test_episodes_without_a_session_are_one_talk_while_little_time_passes():
    """Each stands beside the one recorded before it, unless half an hour lies between."""
    clock = FrozenClock(datetime(2026, 1, 5, 9, tzinfo=UTC))
    chosen = Settings(timezone="UTC", embedding={"model": "none"})
    with Memory(":memory:", user="ana", settings=chosen, clock=clock) as memory:
        memory.remember_many([{"content": f"turn {n}", "kind": "episode"} for n in range(2)])
        memory.remember("a fact")
        index, store = UserIndex(), memory._services.store
        index.rows(store, SCOPE)
        clock.advance(timedelta(minutes=20))
        memory.remember("turn 2", kind="episode")
        clock.advance(timedelta(minutes=40))
        memory.remember("turn 3", kind="episode")
        for rows in (index.rows(store, SCOPE), UserIndex().rows(store, SCOPE)):
            assert rows.beside[:, 1].tolist() == [1, 3, -1, -1, -1]


def test_an_older_snapshot_takes_nothing_from_newer_readers(tmp_path, monkeypatch):
    """Who reads an older moment may learn what came later, and others lose nothing for it."""
    monkeypatch.setattr(sqlite, "PATIENCE", 0.05)  # Erasing waits no longer for readers.
    chosen = Settings(timezone="UTC", embedding={"model": "none"})
    with (
        Memory(str(tmp_path / "m.db"), user="ana", settings=chosen) as memory,
        ThreadPoolExecutor(1) as other,
    ):
        index, store = UserIndex(), memory._services.store
        first, _ = memory.remember_many(["one", "two"])

        def change_and_read(change):
            change()
            return len(index.rows(store, SCOPE))

        with store.snapshot():
            assert len(index.rows(store, SCOPE)) == 2
            added = other.submit(change_and_read, lambda: memory.remember("three"))
            assert added.result() == 3
            assert len(index.rows(store, SCOPE)) == 3
        assert len(index.rows(store, SCOPE)) == 3
        with store.snapshot():
            assert len(index.rows(store, SCOPE)) == 3
            erased = other.submit(change_and_read, lambda: memory.forget(first.id, erase=True))
            assert erased.result() == 2
            assert len(index.rows(store, SCOPE)) == 2
        assert len(index.rows(store, SCOPE)) == 2


def test_each_user_has_an_index_and_the_cache_keeps_those_asked_last(memory, store):
    """Law 6: the rows of a user are the user's. Beyond its limit the least recently asked goes."""
    for user, number in (("ana", 1), ("bob", 2), ("eve", 3)):
        memory.as_user(user).remember_many([f"thing {each}" for each in range(number)])
    large, small = IndexCache(), IndexCache(megabytes=0)
    for user, number in (("ana", 1), ("bob", 2), ("eve", 3), ("zoe", 0)):
        assert len(large.of(user).rows(store, Scope(user))) == number
        assert large.of(user) is large.of(user)
    first = small.of("ana")
    first.rows(store, SCOPE)
    small.of("bob").rows(store, Scope("bob"))
    small.of("eve")
    assert small.of("ana") is not first
    small.clear()
    assert len(small.of("eve").rows(store, Scope("eve"))) == 3


def test_threads_may_read_while_records_come(memory, store):
    """Rows grow and never shrink or mix while others write."""
    index, stop = UserIndex(), threading.Event()

    def read():
        last = 0
        while not stop.is_set():
            rows = index.rows(store, SCOPE)
            assert len(rows) >= last
            assert len(rows.table) == len(rows.vectors.codes) == len(rows.surroundings.order)
            last = len(rows)
        return last

    with ThreadPoolExecutor(3) as pool:
        readers = [pool.submit(read) for _ in range(3)]
        for n in range(40):
            memory.remember(f"record {n}")
        memory.embed_pending()
        stop.set()
        assert all(reader.result(30) <= 40 for reader in readers)
    assert len(index.rows(store, SCOPE)) == 40
