"""How much of a question stands in and around records, by lists of common terms."""

from contextlib import closing

import numpy as np
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from postgres_server import connected, new_database

from memoranda import Memory, Settings
from memoranda.store.postgres_candidates import SHARED, QuestionCoverage, _with_neighbours
from memoranda.store.postgres_nearest import LargeUser
from memoranda.store.postgres_term_lists import list_terms
from memoranda.store.sql.database import Postings
from memoranda.testing.clocks import START, FrozenClock
from memoranda.testing.embedders import HashEmbedder

FEW = 20
WORDS = ("river", "castle", "violin", "meadow", "harbour")
QUESTIONS = ("Who saw the river?", "castle and violin", "the meadow by the harbour", "day 17")


@given(st.lists(st.integers(1, 60), unique=True, max_size=30), st.data())
@settings(max_examples=examples(60), deadline=None)
def test_neighbours_share_by_how_far_apart_their_keys_are(keys, data):
    """Each record gets of every other within five keys the share for that distance."""
    keys.sort()
    evidence = data.draw(st.lists(st.floats(0, 1), min_size=len(keys), max_size=len(keys)))
    expected = [
        own
        + sum(
            SHARED[abs(key - other) - 1] * theirs
            for other, theirs in zip(keys, evidence, strict=True)
            if 0 < abs(key - other) <= len(SHARED)
        )
        for key, own in zip(keys, evidence, strict=True)
    ]
    found = _with_neighbours(np.array(keys, np.int64), np.array(evidence, np.float64))
    np.testing.assert_allclose(found, expected)


def test_who_holds_all_words_covers_the_question_and_comes_first():
    """A record with every word covers it all; a word that nobody holds counts nothing."""
    postings = [
        Postings(np.array(keys, np.int64), np.ones(len(keys), np.int64))
        for keys in ([10, 100], [10, 100, 200], [])
    ]
    words = QuestionCoverage(["a", "b", "c"], postings, LargeUser(1_000, 10.0, 8, 0))
    found = words.cover(np.array([10, 100, 200, 500], np.int64))
    assert found[0] == found[1] == pytest.approx(1)
    assert 0 < found[2] < 1
    assert found[3] == 0
    assert words.best()[:2] == [10, 100]
    assert words.matches([10, 500]).ordinals == [10]
    assert words.matches([10, 500]).frequencies == [2, 3, 0]


def opened(location):
    """Open a memory whose users are too large with some twenty vectors."""
    chosen = Settings(
        timezone="UTC",
        embedding={"background": False},
        consolidation={"automatic": False},
        retrieval={"exact_up_to": FEW},
    )
    embedder, clock = HashEmbedder(), FrozenClock(START)
    return Memory(location, user="ana", settings=chosen, embedder=embedder, clock=clock)


def talk(memory, days):
    """Remember a talk of each day."""
    for day in days:
        turns = [
            f"Eva saw the {word} on day {day}, and so did {'Ben' if day % 3 else 'Ana'}."
            for word in WORDS
        ]
        memory.remember_many(
            [{"content": turn, "kind": "episode", "session": f"day {day}"} for turn in turns]
        )
    memory.embed_pending()


def require_same(large, exact):
    """Require the same answers, but for ties; how rare a word is, is counted now and then."""
    for question in QUESTIONS:
        found, expected = large.search(question), exact.search(question)
        scores = [hit.score for hit in expected]
        assert [hit.score for hit in found] == pytest.approx(scores, abs=0.01)
        better = {hit.record.content for hit in expected if hit.score > scores[-1] + 0.02}
        assert better <= {hit.record.content for hit in found}


def lists(address):
    """Return how many lists there are of each term, and how many bytes these have."""
    with connected(address) as connection:
        sql = "SELECT term, count(*), sum(length(times)) FROM common_terms GROUP BY term"
        return {term: (parts, int(size)) for term, parts, size in connection.execute(sql)}


def test_lists_are_made_as_a_whole_or_not_at_all(postgres, monkeypatch):
    """What ends the making of lists leaves those of before, and answers as they were."""
    monkeypatch.setattr("memoranda.store.postgres_term_lists.COMMON", 5)
    monkeypatch.setattr("memoranda.store.postgres_term_lists.AT_ONCE", 15)
    address = new_database(postgres)
    with closing(opened(address)) as large, closing(opened(":memory:")) as exact:
        for memory in (large, exact):
            talk(memory, range(12))
            talk(memory, [17])
        before = lists(address)
        store = large._services.store

        def list_and_fail(connection, after):
            list_terms(connection, 1, after=after)
            raise ZeroDivisionError

        with connected(address) as connection:
            listed = connection.execute("SELECT listed FROM large_users").fetchone()[0]
        for after in (None, listed):
            with pytest.raises(ZeroDivisionError):
                store.write_as(None, lambda connection, last=after: list_and_fail(connection, last))
            assert lists(address) == before
            require_same(large, exact)
        store.write_as(None, lambda connection: list_terms(connection, 1, after=listed))
        assert lists(address)["river"] == (before["river"][0] + 1, before["river"][1] + 1)
        require_same(large, exact)


def test_lists_of_common_terms_give_the_same_answers(postgres, monkeypatch):
    """Found by lists, words count as ever: those of before, continued ones, and what came since."""
    monkeypatch.setattr("memoranda.store.postgres_term_lists.COMMON", 5)
    monkeypatch.setattr("memoranda.store.postgres_term_lists.AT_ONCE", 15)
    monkeypatch.setattr("memoranda.store.postgres.COMMON", 5)
    monkeypatch.setattr("memoranda.store.postgres.UNLISTED", 4)
    address = new_database(postgres)
    with closing(opened(address)) as large, closing(opened(":memory:")) as exact:
        for memory in (large, exact):
            talk(memory, range(12))
        before = lists(address)
        assert before["river"] == (4, 12)
        assert "17" not in before
        require_same(large, exact)
        for memory in (large, exact):
            memory.remember("Eva saw the river again.", kind="episode", session="day 12")
            memory.embed_pending()
        assert lists(address) == before
        require_same(large, exact)
        for memory in (large, exact):
            talk(memory, [17])
        assert lists(address)["river"] == (5, 14)
        require_same(large, exact)
        for memory in (large, exact):
            memory.forget(memory.search("Who saw the river?")[0].record.id, erase=True)
        require_same(large, exact)
        for memory in (large, exact):
            for hit in memory.search("river", limit=40):
                if "river" in hit.record.content:
                    memory.forget(hit.record.id, erase=True)
        assert lists(address) == {}
        assert not any("river" in hit.record.content for hit in large.search("Who saw the river?"))
        large._services.store.index_large_users()
        assert "harbour" in lists(address)
        assert "river" not in lists(address)
        require_same(large, exact)
        large.admin.delete_user("ana")
        assert lists(address) == {}
