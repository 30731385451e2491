"""Filters of search, records and count, and changes in place."""

from datetime import UTC, datetime, timedelta

import pytest
from noting import noting
from tables import each_row

from memoranda import UNSET, errors
from memoranda.model.models import MEMORY_KINDS
from memoranda.testing.clocks import FrozenClock


@each_row(
    ("condition", "remedy"),
    [
        ({"$gte": 1}, "operators are gt, gte, lt, lte, ne, in"),
        ({"$eq": 1}, "an object to be equal to is written {'in': [{…}]}"),
        ({"eq": 1}, "unknown operator 'eq' (the operators are gt, gte, lt, lte, ne, in"),
        ({"nin": [1]}, "unknown operator 'nin'"),
        ({"gt": 1, "less": 2}, "operators are gt, gte, lt, lte, ne, in"),
        ({"in": "a"}, "must be a list"),
        ({"lt": None}, "must be a number or a text"),
        ({"lt": True}, "must be a number or a text"),
    ],
)
def test_what_is_no_operator_is_refused(memory, condition, remedy):
    """By every verb that filters, which says what the operators are."""
    for verb in (memory.records, memory.count, lambda **given: memory.search("x", **given)):
        with pytest.raises(errors.InvalidInput, match=r"metadata\['year'\]") as refused:
            verb(metadata={"year": condition})
        assert remedy in str(refused.value)


def test_a_filter_has_an_end(memory):
    """One of more conditions than anybody asks for is refused, before the database does it."""
    with pytest.raises(errors.InvalidInput, match="more than 200 conditions"):
        memory.count(metadata={f"key{number}": 1 for number in range(201)})


def test_pages_go_either_way(plain):
    """The newest first, from an offset or behind a record; tags narrow each page."""
    every = plain.remember_many({"content": f"tale {n}", "tags": ["x"]} for n in range(5))
    plain.remember("untagged tale")
    assert plain.records(tags=["x"], newest_first=True, limit=2, offset=2) == every[2:0:-1]
    assert plain.records(newest_first=True, after=every[2].id) == every[1::-1]
    assert (plain.count(tags=["x"]), plain.count(session="s")) == (5, 0)
    found = [hit.record for hit in plain.search("tale", limit=6)]
    assert [hit.record for hit in plain.search("tale", limit=2, offset=3)] == found[3:5]
    with pytest.raises(errors.InvalidInput, match="offset=-1"):
        plain.records(offset=-1)


def test_what_is_not_given_to_update_stays(plain):
    """The record keeps its id, ``None`` clears, and what has ended is not changed."""
    record = plain.remember("tale", tags=["a"], metadata={"n": 1})
    assert (repr(UNSET), plain.update(record.id)) == ("UNSET", record)
    assert plain.update(record.id, metadata={"n": 5}).tags == ("a",)
    assert dict(plain.update(record.id, tags=["b"]).metadata) == {"n": 5}
    assert [hit.record.id for hit in plain.search("tale", tags=["b"])] == [record.id]
    cleared = plain.update(record.id, metadata=None, tags=None)
    assert (dict(cleared.metadata), cleared.tags, cleared.id) == ({}, (), record.id)
    tomorrow = record.created_at + timedelta(days=1)
    assert plain.update(record.id, valid_until=tomorrow).valid_until == tomorrow
    assert plain.update(record.id, valid_until=None).valid_until is None
    with pytest.raises(errors.NotFound):
        plain.as_user("ben").update(record.id, tags=["x"])
    plain.update(record.id, valid_until=record.created_at)
    assert plain.search("tale") == []
    with pytest.raises(errors.InvalidInput, match="no longer believed"):
        plain.update(record.id, valid_until=None)


def test_many_are_forgotten_by_their_filters(plain):
    """By their ids, session, namespace or metadata; all filters must hold; the rest stays."""
    records = plain.remember_many(
        {"content": f"tale {n}", "metadata": {"n": n}, "session": "s" if n % 2 else "t"}
        for n in range(12)
    )
    plain.remember("value", kind="item", namespace=("app", "a"), key="k", metadata={"n": 0})
    receipt = plain.forget_many(metadata={"n": {"gte": 9}})
    assert (receipt.id, receipt.records, receipt.erased) == (records[9].id, 3, False)
    assert plain.forget_many(session="s", metadata={"n": {"lt": 4}}).records == 2
    assert plain.forget_many(ids=[records[0].id, records[0].id], session="s").records == 0
    assert plain.forget_many(ids=[records[0].id, records[2].id]).records == 2
    assert plain.forget_many(namespace=("app",)).records == 1
    assert [r.metadata["n"] for r in plain.records()] == [4, 5, 6, 7, 8]


def test_all_or_none_are_forgotten(plain):
    """An id that is not there, or no filter at all, and nothing is forgotten."""
    record = plain.remember("tale")
    with pytest.raises(errors.NotFound, match="fact_nothing"):
        plain.forget_many(ids=[record.id, "fact_nothing"])
    for given in ({}, {"namespace": ()}, {"metadata": {}}, {"erase": True}):
        with pytest.raises(errors.InvalidInput, match="needs a filter"):
            plain.forget_many(**given)
    with pytest.raises(errors.InvalidInput, match="operators are gt"):
        plain.forget_many(metadata={"n": {"$gt": 1}})
    assert plain.forget_many(ids=[]).records == 0
    assert plain.records() == [record]


# Items: an application's own values under a namespace and a key, and no memories


START = datetime(2026, 3, 1, 12, tzinfo=UTC)
# What a person could say of themselves, were it said and not kept by an application.
FACTS = ("Ana lives in Lisbon.", "Ana likes green tea.", "My dog is called Rex.")


def put(memory, content, *namespace, key="k", **more):
    """Write an item."""
    return memory.remember(content, kind="item", namespace=namespace, key=key, **more)


def test_no_item_is_learned_from(tmp_path):
    """Neither notes nor consolidation, decay, enrichment, reflection or audit know of any."""
    clock = FrozenClock(START)
    with noting(tmp_path / "memory.db", clock=clock) as memory:
        for number, text in enumerate(FACTS * 3):
            put(memory, text, "app", key=f"k{number}")
        before = memory.records()
        memory.notes.sync()
        clock.advance(timedelta(days=400))
        memory.maintain()
        assert memory.records() == before
        assert all(memory.count(kind=kind.value) == 0 for kind in MEMORY_KINDS)
        assert not any(text in memory.notes.read_memory() for text in FACTS)
        assert memory.audit().entries == 0


@each_row(
    ("arguments", "message"),
    [
        ({"namespace": ("a",)}, "an item needs a key"),
        ({"kind": "fact", "key": "k"}, "key='k' is only for items; add kind='item'"),
        ({"key": "k", "namespace": "a/b"}, "namespace='a/b' must be a tuple of texts"),
        ({"key": "k", "namespace": ("a", 7)}, "a part of namespace must be text, got int: 7"),
        ({"key": "k", "namespace": ("a", "")}, "a part of namespace is empty"),
        ({"key": 7}, "key must be text, got int: 7"),
        ({"key": "k" * 3_000}, "take 3,000 bytes; they may take 2,000"),
        ({"key": "k", "session": "s"}, "session='s' is only for memories"),
        ({"key": "k", "role": "user"}, "role='user' is only for memories"),
        ({"key": "k", "confidence": 0.5}, r"confidence=0\.5 is only for memories"),
        ({"key": "k", "event_time": START}, "event_time=.* is only for memories"),
    ],
)
def test_what_cannot_be_an_item_is_refused(memory, arguments, message):
    """The message names the value and what to write instead; nothing is stored."""
    with pytest.raises(errors.InvalidInput, match=message):
        memory.remember(**{"content": "x", "kind": "item"} | arguments)
    assert memory.count() == 0


def test_what_is_asked_wrongly_is_refused(memory):
    """A record has an id, an item a key; nobody corrects or confirms an item."""
    item = put(memory, "value", "a")
    for wrong in (
        memory.get,
        lambda: memory.get(item.id, key="k"),
        lambda: memory.get(namespace=("a",)),
        memory.forget,
        lambda: memory.namespaces("a"),
        lambda: memory.namespaces(depth=0),
        lambda: memory.correct(item.id, "other"),
        lambda: memory.confirm(item.id),
    ):
        with pytest.raises(errors.InvalidInput):
            wrong()
    assert memory.get(item.id) == item
