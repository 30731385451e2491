"""The contract of :class:`memoranda.model.query.Filter`, for every method that takes one."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from memoranda.model.actions import Close
from memoranda.model.models import Kind, Scope
from memoranda.model.ports import Store
from memoranda.model.query import Filter
from memoranda.testing.contracts.base import ONE_STORE, Contract
from memoranda.testing.contracts.samples import (
    ALL,
    ANA,
    LATER,
    insert,
    moment,
    page,
    record,
    remember,
    seen,
)

TICK = timedelta(milliseconds=1)
SCALARS: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**53), 2**53),
    st.sampled_from([0, 1, 1.0, 0.0, 0.5, "1", "true", "null", "", "None", "0.5", "[]", "{}"]),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00")),
)
NESTED: st.SearchStrategy[Any] = st.sampled_from(
    [[], {}, [1], ["1"], [True], [None], {"a": 1}, {"a": "1"}, {"b": 2, "a": 1}, {"a": {"b": []}}]
)


def lets_through(store: Store, *, scope: Scope = ANA, **fields: Any) -> list[str]:
    """Return the texts a filter lets through, having seen that all methods agree on them."""
    where = Filter(**({"now": LATER} | fields))
    texts = page(store, scope, where)
    assert seen(store, scope, store.passing(scope, where)) == set(texts)
    assert sum(store.count(scope, where).values()) == len(texts)
    latest = store.latest(scope, where)
    assert ([] if latest is None else [latest.content]) == texts[-1:]
    return texts


def same(one: Any, other: Any) -> bool:
    """Return whether two values are equal as JSON: a truth value is no number."""
    if isinstance(one, list | dict):
        return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)


class FilterContract(Contract):
    """A filter lets exactly those records through that it describes."""

    def test_validity_ends_at_its_moment(self, store: Store) -> None:
        """At ``valid_until`` a record is no longer believed; just before, it is."""
        end = moment(100)
        remember(store, "brief", valid_until=end)
        remember(store, "open")
        assert lets_through(store, now=end - TICK) == ["brief", "open"]
        assert lets_through(store, now=end) == ["open"]
        assert lets_through(store, now=end, retired=True) == ["brief", "open"]

    def test_as_of_is_what_was_believed_then(self, store: Store) -> None:
        """As of a moment: what was recorded by then and had not ended by then."""
        (old,) = remember(store, "old", created_at=moment(10))
        store.apply(
            ANA,
            [
                insert(record("new", created_at=moment(20))),
                Close(old.id, moment(20), "corrected"),
            ],
        )
        for minute, believed in ((9, []), (10, ["old"]), (19.9, ["old"]), (20, ["new"])):
            assert lets_through(store, as_of=moment(minute)) == believed
        assert lets_through(store, as_of=moment(15), retired=True) == ["old"]

    def test_closing_again_does_not_change_the_past(self, store: Store) -> None:
        """What had expired by a moment stays so, although it was closed later."""
        (item,) = remember(store, "brief", created_at=moment(0), valid_until=moment(10))
        store.apply(ANA, [Close(item.id, moment(30), "forgotten")])
        assert lets_through(store, as_of=moment(20)) == []
        assert lets_through(store, as_of=moment(5)) == ["brief"]

    def test_kinds(self, store: Store) -> None:
        """Only the kinds that are named; none named is all."""
        for kind in Kind:
            remember(store, kind.value, kind=kind)
        every = [kind.value for kind in Kind]
        assert lets_through(store) == every
        for kind in Kind:
            assert lets_through(store, kinds=(kind,)) == [kind.value]
        assert lets_through(store, kinds=tuple(Kind)) == every

    def test_sessions(self, store: Store) -> None:
        """One session only, or all but one; without session is in none."""
        remember(store, "in s", session_id="s")
        remember(store, "in S", session_id="S")
        remember(store, "alone")
        assert lets_through(store, session="s") == ["in s"]
        assert lets_through(store, exclude_session="s") == ["in S", "alone"]
        assert lets_through(store, session="s", exclude_session="s") == []
        assert lets_through(store, session="nothing") == []
        assert lets_through(store, session="") == []

    def test_all_tags_are_needed(self, store: Store) -> None:
        """A record must carry every tag, whole and in the same case."""
        remember(store, "both", tags=("diet", "a,b"))
        remember(store, "one", tags=("diet",))
        remember(store, "none")
        assert lets_through(store, tags=("diet",)) == ["both", "one"]
        assert lets_through(store, tags=("a,b", "diet")) == ["both"]
        for other in ("die", "Diet", "b", "%", "*", '"diet"', ""):
            assert lets_through(store, tags=(other,)) == []

    def test_every_attribute_must_equal(self, store: Store) -> None:
        """All named attributes must be there and equal; others do not matter."""
        remember(store, "full", attributes={"city": "Łódź", "n": 1, "x": None})
        remember(store, "part", attributes={"city": "Łódź"})
        remember(store, "bare")
        assert lets_through(store, metadata={"city": "Łódź"}) == ["full", "part"]
        assert lets_through(store, metadata={"city": "Łódź", "n": 1}) == ["full"]
        assert lets_through(store, metadata={"x": None}) == ["full"]
        assert lets_through(store, metadata={"y": None}) == []
        assert lets_through(store, metadata={}) == ["full", "part", "bare"]

    def test_names_of_attributes_are_only_names(self, store: Store) -> None:
        """A name may hold what means something in a query language."""
        names = ("a.b", "$.a", "a'b", 'a"b', "[0]", "%", " ", "ключ", "")
        for name in names:
            remember(store, name or "empty", attributes={name: 1})
        for name in names:
            assert lets_through(store, metadata={name: 1}) == [name or "empty"]

    @given(kept=SCALARS | NESTED, asked=SCALARS | NESTED)
    @ONE_STORE
    def test_attributes_are_equal_as_json(self, store: Store, kept: Any, asked: Any) -> None:
        """1 equals 1.0, but neither True nor "1"; None equals None alone; structures by value."""
        item = record("value", session_id=None, attributes={"key": kept})
        store.apply(ANA, [insert(item)])
        where = Filter(now=LATER, metadata={"key": asked})
        found = {one.id for one in store.page(ANA, where, limit=10_000, after=None)}
        assert (item.id in found) == same(kept, asked)
        mine = Filter(now=LATER, metadata={"key": kept})
        assert item.id in {one.id for one in store.page(ANA, mine, limit=10_000, after=None)}

    def test_times_are_half_open(self, store: Store) -> None:
        """``since`` counts, ``until`` does not; both look at when it happened."""
        remember(store, "noon", event_time=moment(0), created_at=moment(500))
        remember(store, "one", event_time=moment(60), created_at=moment(400))
        assert lets_through(store, since=moment(0)) == ["noon", "one"]
        assert lets_through(store, since=moment(0) + TICK) == ["one"]
        assert lets_through(store, until=moment(60)) == ["noon"]
        assert lets_through(store, until=moment(60) + TICK) == ["noon", "one"]
        assert lets_through(store, since=moment(0), until=moment(60)) == ["noon"]
        assert lets_through(store, since=moment(60), until=moment(60)) == []

    def test_conditions_hold_together(self, store: Store) -> None:
        """Every condition of a filter must hold."""
        remember(store, "hit", kind=Kind.EPISODE, session_id="s", tags=("t",), attributes={"a": 1})
        remember(store, "no tag", kind=Kind.EPISODE, session_id="s", attributes={"a": 1})
        remember(store, "no fact", session_id="s", tags=("t",), attributes={"a": 1})
        remember(store, "no session", kind=Kind.EPISODE, tags=("t",), attributes={"a": 1})
        found = lets_through(
            store, kinds=(Kind.EPISODE,), session="s", tags=("t",), metadata={"a": 1.0}
        )
        assert found == ["hit"]

    def test_a_filter_is_within_the_scope(self, store: Store) -> None:
        """No filter lets anything of another user or agent through."""
        remember(store, "hers", scope=Scope("ana", "planner"), tags=("t",), session_id="s")
        where = {"tags": ("t",), "session": "s", "retired": True}
        for scope in (Scope("ben"), Scope("ana", "writer"), Scope("Ana"), Scope("planner")):
            assert lets_through(store, scope=scope, **where) == []
            assert store.page(scope, ALL, limit=5, after=None) == []
