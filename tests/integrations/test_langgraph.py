"""The store for LangGraph answers as LangGraph's own in memory does."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from memoranda import Memory, Settings

pytest.importorskip("langgraph.store", reason="not installed: pip install 'memoranda[langgraph]'")

from langgraph.store.base import BaseStore, GetOp, InvalidNamespaceError, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

from memoranda.integrations.langgraph import MemorandaStore
from memoranda.testing.clocks import FrozenClock

WORDLESS = Settings(embedding={"model": "none"}, timezone="UTC")
FRUIT = {"name": "pear", "n": 3, "deep": {"a": [1, None]}, "empty": None}


@pytest.fixture
def stores():
    """Ours and theirs."""
    with Memory(":memory:", settings=WORDLESS) as memory:
        yield MemorandaStore(memory), InMemoryStore()


def test_it_answers_as_theirs_does(stores):
    """Values, filters, pages and namespaces are the same, by every call of the base class."""
    told = []
    for store in stores:
        assert isinstance(store, BaseStore)
        answers = []
        for number, place in enumerate([("a", "b"), ("a", "c", "d"), ("e", "b")]):
            store.put(place, "k", FRUIT | {"n": number})
            store.put(place, "other", {"name": "plum", "n": 2.5})
        store.put(("a", "b"), "k", FRUIT)
        store.put(("e", "b"), "other", None)
        store.delete(("e", "b"), "never there")
        answers += [store.get(("a", "b"), key) for key in ("k", "none")]
        for wanted in (
            {"name": "plum"},
            {"n": {"$gte": 2, "$lt": 3}},
            {"n": {"$gt": 2.5}},
            {"name": {"$ne": "plum"}},
            {"name": {"$eq": "pear"}, "n": 3},
            {"n": {"$eq": 3, "$gt": 3}},
            {"empty": None, "n": 2},
            {"deep": {"a": [1, None]}},
        ):
            for prefix in ((), ("a",), ("a", "b"), ("x",)):
                answers.append(store.search(prefix, filter=wanted))
        pages = [store.search(("a",), limit=2, offset=start) for start in (0, 2, 4)]
        answers.append([item for page in pages for item in page])
        for given in (
            {},
            {"prefix": ("a",)},
            {"suffix": ("b",)},
            {"prefix": ("*", "b")},
            {"max_depth": 1},
            {"max_depth": 2, "limit": 1, "offset": 1},
        ):
            answers.append(store.list_namespaces(**given))
        told.append([plain(answer) for answer in answers])
    assert told[0] == told[1]


@pytest.mark.parametrize(("name", "condition"), [("foo", {"$foo": 1}), ("lt", {"$gt": 1, "lt": 5})])
def test_an_operator_that_is_unknown_is_refused(stores, name, condition):
    """By both; ours says which there are."""
    for store, there in zip(stores, ("use one of $eq, $ne, $gt, $gte, $lt, $lte", ""), strict=True):
        store.put(("a",), "k", FRUIT)
        with pytest.raises(ValueError, match=name) as refused:
            store.search(("a",), filter={"n": condition})
        assert there in str(refused.value)


def test_a_query_finds_by_words(stores):
    """Below a namespace, with a score; without waiting for the event loop."""
    store, _ = stores
    store.put(("notes",), "1", {"text": "The cat is called Schnurri"})
    store.put(("notes", "more"), "2", {"text": "Buy oat milk"})
    found = asyncio.run(store.abatch([SearchOp(("notes",), query="what is the cat called?")]))
    assert [(item.key, item.score > 0) for item in found[0][:1]] == [("1", True)]
    assert store.search(("notes", "more"), query="cat") == []


def test_what_has_a_time_to_live_ends():
    """So long after it was last read or written; the settings of the store say what is usual."""
    clock = FrozenClock(datetime(2030, 5, 1, 12, tzinfo=UTC))
    with Memory(":memory:", settings=WORDLESS, clock=clock) as memory:
        store = MemorandaStore(memory, ttl={"default_ttl": 10, "refresh_on_read": True})
        store.put(("a",), "usual", FRUIT)
        store.put(("a",), "short", FRUIT, ttl=5)
        store.put(("a",), "forever", FRUIT, ttl=None)
        for minutes, kept in (
            (4, ["forever", "short", "usual"]),
            (4, ["forever", "short", "usual"]),
            (6, ["forever", "usual"]),
            (11, ["forever"]),
        ):
            clock.advance(timedelta(minutes=minutes))
            found = store.search(("a",), filter={"n": 3})
            assert sorted(item.key for item in found) == kept
            assert (store.get(("a",), "short") is None) == ("short" not in kept)
        store.put(("a",), "unread", FRUIT, ttl=5)
        clock.advance(timedelta(minutes=4))
        assert store.get(("a",), "unread", refresh_ttl=False).value == FRUIT
        clock.advance(timedelta(minutes=4))
        assert store.get(("a",), "unread") is None


def test_a_query_looks_through_the_fields_that_are_indexed(stores):
    """Those of the store, or those that a value was put with; or none."""
    store = MemorandaStore(stores[0].memory, fields=["text", "chapters[*].title"])
    store.put(("a",), "1", {"text": "cats", "note": "dogs", "chapters": [{"title": "lions"}]})
    store.put(("a",), "2", {"text": "cats", "note": "dogs"}, index=["note"])
    store.put(("a",), "3", {"text": "cats", "note": "dogs"}, index=False)
    store.put(("a",), "4", {})
    for query, keys in (("cats", ["1"]), ("dogs", ["2"]), ("lions", ["1"]), ("tigers", [])):
        assert [item.key for item in store.search(("a",), query=query)] == keys
    assert len(store.search(("a",))) == 4


def test_a_batch_reads_before_it_writes(stores):
    """And of several values under one key the last one counts."""
    for store in stores:
        answers = store.batch(
            [
                PutOp(("a",), "k", {"n": 1}),
                PutOp(("a",), "gone", {"n": 1}),
                GetOp(("a",), "k"),
                PutOp(("a",), "k", {"n": 2}),
                PutOp(("a",), "gone", None),
            ]
        )
        assert answers == [None] * 5
        assert store.get(("a",), "k").value == {"n": 2}
        assert store.get(("a",), "gone") is None
    with pytest.raises(InvalidNamespaceError):
        stores[0].batch([PutOp(("a.b",), "k", {"n": 3})])


def plain(answer: object) -> object:
    """Return an answer of a store without its times, searches in the order of their keys."""
    if isinstance(answer, list) and answer and not isinstance(answer[0], tuple):
        return sorted((item.namespace, item.key, repr(plain(item))) for item in answer)
    if hasattr(answer, "value"):
        return answer.namespace, answer.key, sorted(answer.value.items(), key=repr)
    return answer
