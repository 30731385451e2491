"""Filters of search, records and count, and changes in place."""

from datetime import timedelta

import pytest
from tables import each_row

from memoranda import UNSET, errors

YEARS = {"one": {"year": 1990, "by": "Ana"}, "two": {"year": 2000.5}, "three": {"year": "2000"}}


@pytest.fixture
def stored(opened, wordless):
    """Ana's memory without vectors."""
    return opened(":memory:", embedder=None, settings=wordless)


@each_row(
    ("metadata", "expected"),
    [
        ({"year": {"gt": 1990}}, ["two"]),
        ({"year": {"gte": 1990, "lt": 2000.5}}, ["one"]),
        ({"year": {"lte": "2000"}}, ["three"]),
        ({"year": {"in": [1990, "2000"]}}, ["one", "three"]),
        ({"by": {"ne": "Ana"}}, ["two", "three"]),
        ({"by": "Ana", "year": {"ne": 3}}, ["one"]),
        ({"by": {"in": []}}, []),
    ],
)
def test_operators_filter_every_read(stored, metadata, expected):
    """Search, records and count let the same records through."""
    stored.remember_many(
        {"content": f"tale {text}", "metadata": held} for text, held in YEARS.items()
    )
    texts = [f"tale {text}" for text in expected]
    assert [record.content for record in stored.records(metadata=metadata)] == texts
    assert sorted(hit.record.content for hit in stored.search("tale", metadata=metadata)) == sorted(
        texts
    )
    assert stored.count(metadata=metadata) == len(texts)


@each_row(
    ("condition", "remedy"),
    [
        ({"$gte": 1}, "operators are gt, gte, lt, lte, ne, in"),
        ({"$eq": 1}, "an object to be equal to is written {'in': [{…}]}"),
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


def test_pages_go_either_way(stored):
    """The newest first, from an offset or behind a record; tags narrow each page."""
    every = stored.remember_many({"content": f"tale {n}", "tags": ["x"]} for n in range(5))
    stored.remember("untagged tale")
    assert stored.records(tags=["x"], newest_first=True, limit=2) == every[:2:-1]
    assert stored.records(tags=["x"], newest_first=True, limit=2, offset=2) == every[2:0:-1]
    assert stored.records(newest_first=True, after=every[2].id) == every[1::-1]
    assert stored.records(limit=2, offset=3) == every[3:]
    assert (stored.count(tags=["x"]), stored.count(kind="fact"), stored.count(session="s")) == (
        5,
        6,
        0,
    )
    found = stored.search("tale", limit=6)
    assert [hit.record for hit in stored.search("tale", limit=2, offset=3)] == [
        hit.record for hit in found[3:5]
    ]
    with pytest.raises(errors.InvalidInput, match="offset=-1"):
        stored.records(offset=-1)


def test_what_is_not_given_to_update_stays(stored):
    """The record keeps its id; ``None`` clears; the filters and the history see each change."""
    record = stored.remember("tale", tags=["a"], metadata={"n": 1})
    assert (repr(UNSET), stored.update(record.id)) == ("UNSET", record)
    assert stored.update(record.id, metadata={"n": 5}).tags == ("a",)
    assert stored.count(metadata={"n": {"gt": 4}}) == 1
    assert dict(stored.update(record.id, tags=["b"]).metadata) == {"n": 5}
    assert [hit.record.id for hit in stored.search("tale", tags=["b"])] == [record.id]
    cleared = stored.update(record.id, metadata=None, tags=None)
    assert (dict(cleared.metadata), cleared.tags, cleared.id) == ({}, (), record.id)
    assert [change.action for change in stored.history(record.id)] == ["insert", *3 * ["update"]]
    assert stored.verify() == []


def test_an_end_can_be_set_and_cleared(stored):
    """What was found until then is not found after it; what has ended is not changed."""
    record = stored.remember("tale", valid_until=stored.remember("other").created_at)
    assert stored.search("tale") == []
    with pytest.raises(errors.InvalidInput, match="no longer believed"):
        stored.update(record.id, valid_until=None)
    lasting = stored.remember("long tale")
    tomorrow = lasting.created_at + timedelta(days=1)
    assert stored.update(lasting.id, valid_until=tomorrow).valid_until == tomorrow
    assert stored.update(lasting.id, valid_until=None).valid_until is None
    assert stored.update(lasting.id, valid_until=lasting.created_at).id == lasting.id
    assert stored.search("tale") == []
    with pytest.raises(errors.NotFound):
        stored.as_user("ben").update(lasting.id, tags=["x"])


def test_many_are_forgotten_in_one_transaction(stored, monkeypatch):
    """By their ids, session, namespace or metadata; all filters must hold; the rest stays."""
    records = stored.remember_many(
        {"content": f"tale {n}", "metadata": {"n": n}, "session": "s" if n % 2 else "t"}
        for n in range(12)
    )
    stored.remember("value", kind="item", namespace=("app", "a"), key="k", metadata={"n": 0})
    other = stored.as_user("ben").remember("tale 1", metadata={"n": 1}, session="s")
    written = []
    write = stored._services.store.write

    def count(scope, **how):
        written.append(scope)
        return write(scope, **how)

    monkeypatch.setattr(stored._services.store, "write", count)
    receipt = stored.forget_many(metadata={"n": {"gte": 9}})
    assert (receipt.id, receipt.records, receipt.erased) == (records[9].id, 3, False)
    assert len(written) == 1
    assert stored.forget_many(session="s", metadata={"n": {"lt": 4}}).records == 2
    assert stored.forget_many(ids=[records[0].id, records[0].id], session="s").records == 0
    assert stored.forget_many(ids=[records[0].id, records[2].id]).records == 2
    assert stored.forget_many(namespace=("app",)).records == 1
    assert [r.metadata["n"] for r in stored.records()] == [4, 5, 6, 7, 8]
    assert stored.as_user("ben").records() == [other]


def test_all_or_none_are_forgotten(stored):
    """An id that is not there, or no filter at all, and nothing is forgotten."""
    record = stored.remember("tale")
    with pytest.raises(errors.NotFound, match="fact_nothing"):
        stored.forget_many(ids=[record.id, "fact_nothing"])
    for given in ({}, {"namespace": ()}, {"metadata": {}}, {"erase": True}):
        with pytest.raises(errors.InvalidInput, match="needs a filter"):
            stored.forget_many(**given)
    with pytest.raises(errors.InvalidInput, match="operators are gt"):
        stored.forget_many(metadata={"n": {"$gt": 1}})
    assert stored.forget_many(ids=[]).records == 0
    assert stored.records() == [record]
