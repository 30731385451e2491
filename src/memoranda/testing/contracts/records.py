"""The contract of :class:`memoranda.model.ports.RecordStore`, and of every filter."""

from __future__ import annotations

import json
from datetime import timedelta
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda.errors import NotFound
from memoranda.model import actions as do
from memoranda.model.models import Kind, Trust
from memoranda.model.ports import Store
from memoranda.model.query import Filter
from memoranda.testing.contracts.base import ONE_STORE, Contract, Reopen
from memoranda.testing.contracts.samples import (
    ACTIVE,
    ALL,
    ANA,
    BEN,
    LATER,
    PLANNER,
    WRITER,
    close,
    contents,
    erase,
    found,
    insert,
    moment,
    new_id,
    page,
    record,
    remember,
    seen,
    stored,
)

TICK = timedelta(milliseconds=1)
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"))
SCALARS: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**53), 2**53),
    st.sampled_from([0, 1, 1.0, 0.0, 0.5, "1", "true", "null", "", "None", "0.5", "[]", "{}"]),
    st.floats(allow_nan=False, allow_infinity=False),
    TEXT,
)
NESTED: st.SearchStrategy[Any] = st.sampled_from(
    [[], {}, [1], ["1"], [True], [None], {"a": 1}, {"a": "1"}, {"b": 2, "a": 1}, {"a": {"b": []}}]
)


class RecordContract(Contract):
    """Records come back as they were stored, in the order in which they were stored."""

    def test_a_record_comes_back_as_it_was(self, store: Store, reopen: Reopen) -> None:
        """Every field survives the store and its closing; only the position is the store's."""
        item = record(
            "Ana moved to Łódź 🏡",
            kind=Kind.EPISODE,
            scope=PLANNER,
            session_id="trip",
            event_time=moment(-500),
            valid_until=moment(5_000_000),
            superseded_by="fact_other",
            confidence=0.25,
            access_count=3,
            last_accessed=moment(7),
            decay_rate=0.1,
            strength=0.75,
            strength_at=moment(8),
            source_ids=("ep_1", "ep_2"),
            source_role="user",
            origin="import:test",
            trust=Trust.EXTERNAL,
            tags=("home", "Öde"),
            attributes=MappingProxyType({"n": 1, "deep": {"a": [None, True, 0.5, "ü"]}}),
        )
        bare = record("tea", confidence=0.5)
        store.apply(PLANNER, [insert(item)])
        store.apply(ANA, [insert(bare)])
        store = reopen(store)
        assert found(store, item) == stored(item, position=0)
        assert found(store, bare) == stored(bare, strength=0.5, strength_at=bare.created_at)

    @given(text=TEXT.filter(str.strip), year=st.integers(1, 9999), tick=st.integers(0, 999))
    @ONE_STORE
    def test_any_text_and_time_come_back(
        self, store: Store, text: str, year: int, tick: int
    ) -> None:
        """Any Unicode is kept as content, tag, session and value; times to the millisecond."""
        happened = moment(0).replace(year=year) + tick * TICK
        fields: dict[str, Any] = {"tags": (text,), "session_id": text, "attributes": {text: text}}
        (item,) = remember(store, text, event_time=happened, **fields)
        assert (item.content, item.event_time) == (text, happened)
        assert {name: getattr(item, name) for name in fields} == fields

    def test_ten_megabytes(self, store: Store) -> None:
        """A text of ten megabytes is stored and found."""
        text = "walrus " * 1_500_000
        (item,) = remember(store, text)
        assert item.content == text
        assert list(store.match_terms(ANA, ["walrus"], limit=5).lengths) == [1_500_000]

    def test_records_are_found_by_their_ids(self, store: Store) -> None:
        """They come in the order of the ids, retired ones too; what is not there is left out."""
        assert store.get(ANA, "fact_nothing") is None
        one, two, three = remember(store, "one", "two", "three")
        assert store.get(ANA, "fact_nothing") is None
        assert store.get_many(ANA, [three.id, "fact_no", one.id, two.id]) == [three, one, two]
        assert store.get_many(ANA, []) == []
        store.apply(ANA, [do.Close(one.id, moment(1), "corrected", superseded_by="fact_new")])
        assert found(store, one) == stored(one, valid_until=moment(1), superseded_by="fact_new")

    @given(limit=st.integers(1, 9))
    @ONE_STORE
    def test_pages_follow_the_order_of_recording(self, store: Store, limit: int) -> None:
        """Pages of any size, one after the other, are all records once, as they were recorded."""
        texts = page(store, ANA)
        texts += contents(remember(store, "late", "same", event_time=moment(999)))
        texts += contents(remember(store, "early", event_time=moment(-999)))
        paged: list[str] = []
        after = None
        while part := store.page(ANA, ALL, limit=limit, after=after):
            assert len(part) <= limit
            paged, after = paged + contents(part), part[-1].id
        assert paged == texts

    def test_a_page_begins_after_a_record(self, store: Store) -> None:
        """Which may match no longer, but neither be unknown, another's nor erased."""
        one, two, gone = remember(store, "one", "two", "gone")
        (his,), (planned,) = (remember(store, "three", scope=each) for each in (BEN, PLANNER))
        store.apply(ANA, [*close(one), *erase(gone)])
        assert store.page(WRITER, ACTIVE, limit=5, after=one.id) == [two]
        for unknown in ("fact_nothing", his.id, gone.id, planned.id):
            with pytest.raises(NotFound):
                store.page(WRITER, ALL, limit=1, after=unknown)

    def test_latest_newest_and_count(self, store: Store) -> None:
        """What was recorded last, when, and how many of each kind there are; none at first."""
        assert (store.latest(ANA, ALL), store.newest(ANA), store.count(ANA, ALL)) == (
            None,
            None,
            {},
        )
        (late,) = remember(store, "old news", created_at=moment(50), event_time=moment(0))
        week: dict[str, Any] = {
            "kind": Kind.REFLECTION,
            "created_at": moment(20),
            "event_time": moment(900),
        }
        (last,) = remember(store, "history", **week)
        assert (store.latest(ANA, ALL), store.newest(ANA)) == (last, moment(50))
        assert store.count(ANA, ALL) == {Kind.FACT: 1, Kind.REFLECTION: 1}
        store.apply(ANA, close(last))
        assert (store.latest(ANA, ACTIVE), store.count(ANA, ACTIVE)) == (late, {Kind.FACT: 1})

    def test_derived_follows_sources_through_others(self, store: Store) -> None:
        """What rests on a record is derived, also in a circle; not a word of its own."""
        source, other = remember(store, "source", "other")
        (middle,) = remember(store, "middle", source_ids=(other.id, source.id))
        (end,) = remember(store, "end", source_ids=(middle.id,))
        (both,) = remember(store, "both", source_ids=(end.id, source.id))
        (own,) = remember(store, "own", source_ids=(source.id,), origin="api")
        remember(store, "through it", source_ids=(own.id,))
        assert store.derived(ANA, [source.id]) == [middle.id, end.id, both.id]
        assert store.derived(ANA, [middle.id, end.id]) == [both.id]
        assert store.derived(ANA, [both.id]) == store.derived(ANA, []) == []
        one, two = new_id("fact"), new_id("fact")
        circle = record("1", id=one, source_ids=(two,)), record("2", id=two, source_ids=(one,))
        store.apply(ANA, [insert(item) for item in circle])
        assert store.derived(ANA, [one]) == [two]

    def test_resting_is_direct_and_follows_credits(self, store: Store) -> None:
        """What names a record as a source rests on it, until the sources are other ones."""
        source, other = remember(store, "source", "other", kind=Kind.EPISODE)
        (fact,) = remember(store, "fact", source_ids=(source.id,), origin="consolidation")
        (own,) = remember(store, "own", origin="api")
        (end,) = remember(store, "end", source_ids=(fact.id,), origin="reflection")
        store.apply(ANA, [do.Reinforce(own.id, moment(1), (source.id,))])
        store.apply(ANA, [do.Reinforce(fact.id, moment(1), (other.id,))])
        assert contents(store.citing(ANA, [source.id])) == ["fact", "own"]
        assert contents(store.citing(ANA, [other.id])) == ["fact"]
        store.apply(ANA, erase(other))
        assert store.citing(ANA, [other.id]) == store.citing(ANA, [end.id]) == []

    def test_with_hashes_finds_the_same_text(self, store: Store) -> None:
        """Believed records with the very texts come, oldest first, of the scope alone."""
        one, two, gone, other = remember(store, "tea", "tea", "tea", "teas")
        (planned,) = remember(store, "tea", scope=PLANNER)
        store.apply(ANA, close(gone))
        assert one.content_hash == two.content_hash != other.content_hash
        wanted = [one.content_hash, "0" * 32]
        assert store.with_hashes(ANA, wanted, now=LATER) == [one, two, planned]
        assert store.with_hashes(WRITER, wanted, now=LATER) == [one, two]
        assert store.with_hashes(ANA, [], now=LATER) == []

    def test_history_tells_what_was_done(self, store: Store) -> None:
        """Each change, whoever made it, leaves time, name and reason; an erasure only itself."""
        (item,) = remember(store, "tea", created_at=moment(0))
        store.apply(ANA, [do.Reweigh(item.id, moment(1), 0.5, 0.1, "conflict")])
        store.apply(PLANNER, [do.Close(item.id, moment(2), "corrected", "fact_new")])
        changes = store.history(WRITER, item.id)
        assert [(change.at, change.action, change.reason) for change in changes] == [
            (moment(0), "insert", "remembered"),
            (moment(1), "reweigh", "conflict"),
            (moment(2), "close", "corrected"),
        ]
        assert changes[1].detail == {"confidence": 0.5, "decay_rate": 0.1}
        assert changes[2].detail == {"superseded_by": "fact_new"}
        store.apply(ANA, erase(item, at=3))
        (change,) = store.history(ANA, item.id)
        assert (change.at, change.action, change.reason) == (moment(3), "erase", "asked")
        assert store.history(ANA, "fact_nothing") == []

    def test_positions_count_within_a_session(self, store: Store) -> None:
        """A record's position is its place in its session, of one user, in order of arrival."""
        records = remember(store, "a", "b", session_id="s")
        records += remember(store, "c", session_id="t")
        records += remember(store, "d", session_id="s", scope=BEN)
        records += remember(store, "e", session_id="s", kind=Kind.EPISODE)
        records += remember(store, "f")
        assert [item.position for item in records] == [0, 1, 0, 0, 2, None]


def passing(store: Store, **fields: Any) -> list[str]:
    """Return the texts a filter lets through, having seen that all methods agree on them."""
    where = Filter(**({"now": LATER} | fields))
    texts = page(store, ANA, where)
    assert seen(store, ANA, store.passing(ANA, where)) == set(texts)
    assert sum(store.count(ANA, where).values()) == len(texts)
    latest = store.latest(ANA, where)
    assert ([] if latest is None else [latest.content]) == texts[-1:]
    return texts


def same(one: Any, other: Any) -> bool:
    """Return whether two values are equal as JSON: a truth value is no number."""
    if isinstance(one, list | dict):
        return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)


class FilterContract(Contract):
    """A filter lets exactly those records through that it describes."""

    def test_validity(self, store: Store) -> None:
        """A record is believed from its recording until just before its end, then or as of then."""
        brief, old = remember(store, "brief", "old", created_at=moment(10), valid_until=moment(20))
        (late,) = remember(store, "late", created_at=moment(20))
        end = moment(20)
        assert passing(store, now=end - TICK) == ["brief", "old", "late"]
        assert passing(store, now=end) == ["late"]
        assert passing(store, now=end, retired=True) == ["brief", "old", "late"]
        for minute, believed in ((9, []), (10, ["brief", "old"]), (20, ["late"])):
            assert passing(store, as_of=moment(minute)) == believed
        assert passing(store, as_of=end - TICK, retired=True) == ["brief", "old"]
        store.apply(ANA, close(brief, late, at=30))  # Which does not change the past.
        assert passing(store, as_of=moment(25)) == ["late"]
        assert passing(store, as_of=moment(15)) == ["brief", old.content]

    @pytest.mark.parametrize(
        ("fields", "expected"),
        [
            ({}, "abcde"),
            ({"kinds": (Kind.EPISODE,)}, "ab"),
            ({"kinds": (Kind.EPISODE, Kind.CONTEXT)}, "abe"),
            ({"kinds": tuple(Kind)}, "abcde"),
            ({"session": "s"}, "ac"),
            ({"exclude_session": "s"}, "bde"),
            ({"session": "s", "exclude_session": "s"}, ""),
            *(({"session": name}, "") for name in ("nothing", "")),
            ({"tags": ("diet",)}, "abc"),
            ({"tags": ("a,b", "diet")}, "ab"),
            *(({"tags": (tag,)}, "") for tag in ("die", "Diet", "b", "%", "*", '"diet"', "")),
            ({"metadata": {}}, "abcde"),
            ({"metadata": {"city": "Łódź"}}, "abc"),
            ({"metadata": {"city": "Łódź", "n": 1.0}}, "ac"),
            ({"metadata": {"x": None}}, "c"),
            ({"metadata": {"y": None}}, ""),
            ({"since": moment(60)}, "bc"),
            ({"since": moment(60) + TICK}, "c"),
            ({"until": moment(60)}, "ade"),
            ({"until": moment(60) + TICK}, "abde"),
            ({"since": moment(0), "until": moment(60)}, "ade"),
            ({"since": moment(60), "until": moment(60)}, ""),
            (
                {"kinds": (Kind.EPISODE,), "session": "s", "tags": ("diet",), "metadata": {"n": 1}},
                "a",
            ),
        ],
    )
    def test_each_condition(self, store: Store, fields: dict[str, Any], expected: str) -> None:
        """All conditions must hold, each of them whole: kinds, session, tags, attributes, times."""
        both, city = ("diet", "a,b"), {"city": "Łódź"}
        said, noon, later = Kind.EPISODE, moment(0), moment(60)
        for text, kind, session, tags, attributes, at in (
            ("a", said, "s", both, city | {"n": 1}, noon),
            ("b", said, "S", both, city, later),
            ("c", Kind.FACT, "s", ("diet",), city | {"n": 1, "x": None}, moment(90)),
            ("d", Kind.REFLECTION, None, (), {}, noon),
            ("e", Kind.CONTEXT, None, (), {"n": "1"}, noon),
        ):
            known: dict[str, Any] = {"kind": kind, "session_id": session, "event_time": at}
            remember(store, text, tags=tags, attributes=attributes, **known)
        assert passing(store, **fields) == list(expected)

    def test_names_of_attributes_are_only_names(self, store: Store) -> None:
        """A name may hold what means something in a query language."""
        names = ("a.b", "$.a", "a'b", 'a"b', "[0]", "%", " ", "ключ", "")
        for name in names:
            remember(store, name or "empty", attributes={name: 1})
        for name in names:
            assert passing(store, metadata={name: 1}) == [name or "empty"]

    @given(kept=SCALARS | NESTED, asked=SCALARS | NESTED)
    @ONE_STORE
    def test_attributes_are_equal_as_json(self, store: Store, kept: Any, asked: Any) -> None:
        """1 equals 1.0, but neither True nor "1"; None equals None alone; structures by value."""
        (item,) = remember(store, "value", attributes={"key": kept})
        for value in (asked, kept):
            where = Filter(now=LATER, metadata={"key": value})
            ids = {one.id for one in store.page(ANA, where, limit=10_000, after=None)}
            assert (item.id in ids) == same(kept, value)
