"""The contract of records: how they come back, by every filter and in every order."""

import json
import operator as op
from dataclasses import replace
from datetime import timedelta
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import ACTIVE, ALL, SOON, moment, record
from steps import do

from laws.base import ONE_STORE, Contract
from memoranda.errors import InvalidInput, NotFound, UserDeleted
from memoranda.model.checks import content_hash
from memoranda.model.models import UNSET, Kind, Mention, Trust
from memoranda.model.ports import ENTITIES, VECTORS
from memoranda.model.query import (
    ORDERED,
    IndexVersion,
    Order,
    RecordRelation,
    Subset,
    metadata_conditions,
)

TICK = timedelta(milliseconds=1)
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"))
# What means something in a query language.
AWKWARD = st.sampled_from(["a.b", "$.a", "a'b", 'a"b', "[0]", "%", "_", "*", "a,b", "ключ"])
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**53), 2**53),
    st.sampled_from([0, 1, 1.0, 0.0, 0.5, "1", "true", "null", "", "None", "0.5", "[]", "{}"]),
    st.floats(allow_nan=False, allow_infinity=False),
    TEXT,
)
ORDERABLE = st.one_of(
    st.integers(-(2**53), 2**53),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0, 1, 1.0, 0.5, "1", "", "a", "ä", "Z", "🏡", "\uffff"]),
    TEXT,
)
COMPARE = {"gt": op.gt, "gte": op.ge, "lt": op.lt, "lte": op.le}
NESTED = st.sampled_from(
    [[], {}, [1], ["1"], [True], [None], {"a": 1}, {"a": "1"}, {"b": 2, "a": 1}, {"a": {"b": []}}]
)


class RecordContract(Contract):
    """Records come back as they were stored, in the order in which they were stored."""

    def test_a_record_comes_back_as_it_was(self, ana, reopen):
        """Every field survives the store and its closing; only the position is the store's."""
        item = record(
            "Ana moved to Łódź 🏡",
            kind=Kind.EPISODE,
            scope=ana.planner.scope,
            session_id="trip",
            event_time=moment(-500),
            event_until=moment(-400),
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
            metadata=MappingProxyType({"n": 1, "deep": {"a": [None, True, 0.5, "ü"]}}),
        )
        bare = record("tea", confidence=0.5)
        ana.planner.apply(do.Insert(item))
        ana.apply(do.Insert(bare))
        ana.store = reopen(ana.store)
        assert ana.found(item) == replace(item, position=0)
        assert ana.found(bare) == replace(bare, strength=0.5, strength_at=bare.created_at)

    @given(
        text=AWKWARD | TEXT.filter(str.strip), year=st.integers(1, 9999), tick=st.integers(0, 999)
    )
    @ONE_STORE
    def test_any_text_and_time_come_back(self, ana, text, year, tick):
        """Any Unicode is kept and found as tag, session and attribute; times to the millisecond."""
        happened = moment(0).replace(year=year) + tick * TICK
        fields = {"tags": (text,), "session_id": text, "metadata": {text: text}}
        (item,) = ana.remember(text, event_time=happened, **fields)
        assert (item.content, item.event_time) == (text, happened)
        assert {name: getattr(item, name) for name in fields} == fields
        where = replace(ACTIVE, tags=(text,), session=text, metadata={text: text})
        assert item in ana.records(where)

    def test_records_are_found_by_their_ids(self, ana):
        """They come in the order of the ids, retired ones too; what is not there is left out."""
        assert ana.get(["fact_nothing"]) == {}
        one, two, three = ana.remember("one", "two", "three")
        held = ana.get([three.id, "fact_no", one.id, two.id])
        assert list(held.items()) == [(each.id, each) for each in (three, one, two)]
        assert ana.get(list[str]()) == {}
        ana.apply(do.Close(one.id, moment(1), "corrected", superseded_by="fact_new"))
        assert ana.found(one) == replace(one, valid_until=moment(1), superseded_by="fact_new")
        named = sorted([one.id, two.id, three.id])
        assert ana.ids("fact_", limit=9) == named
        assert ana.ids("fact_", limit=2) == named[:2]
        assert ana.ids(one.id[:-1] + "_", limit=9) == ana.ids("fact%", limit=9) == []
        assert ana.ids(one.id, limit=9) == [one.id]

    @given(offset=st.integers(0, 9), limit=st.integers(1, 9))
    @ONE_STORE
    def test_pages_pass_over_records(self, ana, offset, limit):
        """An offset and a record to begin behind give the same pages, in either direction.

        One after the other they are all records once, in the order of recording.
        """
        texts = ana.page()
        ana.remember("late", "same", event_time=moment(999))
        ana.remember("early", event_time=moment(-999))
        assert ana.page() == [*texts, "late", "same", "early"]
        for order in (Order.RECORDED, Order.LATEST):
            every = ana.records(ALL, order=order)
            page = ana.records(ALL, order=order, limit=limit, offset=offset)
            assert page == every[offset : offset + limit]
            for last in every[offset - 1 : offset] if offset else ():
                assert ana.records(ALL, order=order, limit=limit, after=last.id) == page

    def test_a_page_begins_after_a_record(self, ana, ben):
        """Which may match no longer, but neither be unknown, another's nor erased."""
        one, two, gone = ana.remember("one", "two", "gone")
        (his,), (planned,) = (each.remember("three") for each in (ben, ana.planner))
        ana.close(one)
        ana.erase(gone)
        assert ana.writer.records(ACTIVE, limit=5, after=one.id) == [two]
        for unknown in ("fact_nothing", his.id, gone.id, planned.id):
            with pytest.raises(NotFound):
                ana.writer.records(ALL, limit=1, after=unknown)

    def test_the_first_of_each_order(self, ana):
        """Stored last, recorded last and happened last are three things; a circle has no first."""
        assert (ana.records(ALL), ana.count(ALL)) == ([], {})
        for text, created, happened in (("a", 20, 900), ("b", 50, 0), ("c", 10, 10)):
            times = {"created_at": moment(created), "event_time": moment(happened)}
            ana.remember(text, kind=Kind.EPISODE, **times)
        for order, texts in (
            (Order.RECORDED, "abc"),
            (Order.LATEST, "cba"),
            (Order.NEWEST, "bac"),
            (Order.HAPPENED, "acb"),
        ):
            assert ana.passing(order=order, retired=True) == list(texts)
            assert ana.page(order=order, limit=1) == [texts[0]]

    def test_what_takes_days_happened_in_each_of_them(self, ana):
        """A stretch passes a filter of time that it meets, not one that begins at its end."""
        ana.remember("long", event_time=moment(0), event_until=moment(100))
        ana.remember("brief", event_time=moment(50))
        for since, until, texts in (
            (60, 90, ["long"]),
            (50, 60, ["long", "brief"]),
            (100, 200, []),
            (-50, 0, []),
            (99, 100, ["long"]),
        ):
            assert ana.passing(since=moment(since), until=moment(until)) == texts

    def test_derived_follows_sources_through_others(self, ana):
        """What rests on a record is derived, also in a circle; not a word of its own."""
        source, other = ana.remember("source", "other")
        (middle,) = ana.remember("middle", source_ids=(other.id, source.id))
        (end,) = ana.remember("end", source_ids=(middle.id,))
        (both,) = ana.remember("both", source_ids=(end.id, source.id))
        (own,) = ana.remember("own", source_ids=(source.id,), origin="api")
        ana.remember("through it", source_ids=(own.id,))
        one, two = "fact_one", "fact_two"
        circle = record("1", id=one, source_ids=(two,)), record("2", id=two, source_ids=(one,))
        ana.apply(*map(do.Insert, circle))
        for ids, derived in (
            ([source.id], [middle.id, end.id, both.id]),
            ([middle.id, end.id], [both.id]),
            ([both.id], []),
            ([], []),
            ([one], [two]),
        ):
            assert ana.related(ids, RecordRelation.DERIVED) == derived

    def test_citing_is_direct_and_follows_credits(self, ana):
        """What names a record as a source cites it, until the sources are other ones.

        It was said last when the latest of them happened.
        """
        source, other = (
            ana.remember(each, kind=Kind.EPISODE, event_time=moment(day))[0]
            for each, day in (("source", 1), ("other", 2))
        )
        (fact,) = ana.remember("fact", source_ids=(source.id,))
        (own,) = ana.remember("own", origin="api")
        (end,) = ana.remember("end", source_ids=(fact.id,))
        for item, cited in ((own, source), (fact, other)):
            ana.apply(do.Reinforce(item.id, moment(1), (cited.id,)))
        for cited, citing in ((source, ["fact", "own"]), (other, ["fact"]), (end, [])):
            assert ana.passing(citing=[cited.id]) == citing
        asked = [fact.id, own.id, source.id]
        assert ana.last_said(asked) == {fact.id: moment(2), own.id: moment(1)}
        ana.erase(other)
        assert ana.passing(citing=[other.id]) == []

    def test_history_tells_what_was_done(self, ana):
        """Each change, whoever made it, leaves time, name and reason; an erasure only itself."""
        (item,) = ana.remember("tea", created_at=moment(0))
        ana.apply(do.Reweigh(item.id, moment(1), 0.5, 0.1, "conflict"))
        ana.planner.apply(do.Close(item.id, moment(2), "corrected", "fact_new"))
        changes = ana.writer.history(item.id)
        assert [(change.at, change.action, change.reason) for change in changes] == [
            (moment(0), "insert", "remembered"),
            (moment(1), "reweigh", "conflict"),
            (moment(2), "close", "corrected"),
        ]
        assert changes[1].detail == {"confidence": 0.5, "decay_rate": 0.1}
        assert changes[2].detail == {"superseded_by": "fact_new"}
        ana.erase(item, at=3)
        (change,) = ana.history(item.id)
        assert (change.at, change.action, change.reason) == (moment(3), "erase", "asked")
        assert ana.history("fact_nothing") == []

    def test_a_record_alone_is_stored_as_one_of_several(self, ana, ben):
        """With its terms and the number of its write, unless the user knows it, or was deleted."""
        made = [ana.insertion(f"tea of {number}") for number in range(40)]
        made.append(ana.insertion("tea of 3", kind=Kind.EPISODE))
        for number, each in enumerate(made, 1):
            (stored,) = ana.store.apply(ana.scope, [each])
            assert stored == (each.record, True)
            assert ana.index_changes(IndexVersion()).version.revision == number
        assert [item.id for item in ana.records(ALL)] == [each.record.id for each in made]
        assert ana.fact_revision() == len(made) - 1
        assert len(ana.holders("tea")[0]) == len(made)
        again = replace(ana.insertion("tea of 7", tags=("known",)), unless_known=True)
        ((known, is_new),) = ana.store.apply(ana.scope, [again])
        assert (known.id, known.tags, is_new) == (made[7].record.id, ("known",), False)
        with pytest.raises(InvalidInput):
            ana.store.apply(ana.scope, [ben.insertion("another user's")])
        before = ana.opened()
        ana.delete(erase=False)
        with pytest.raises(UserDeleted):
            before.store.apply(before.scope, [ana.insertion("too late")])
        ana.store.apply(ana.scope, [ana.insertion("anew")])
        assert ana.store.users() == ["ana"]
        assert ana.store.verify() == []

    def test_any_number_is_stored_at_once(self, ana):
        """Each record of a plan is there in its place, and is found by its words."""
        for count in (1, 2, 3, 31, 99, 100, 101):
            texts = [f"cake {place} of {count}" for place in range(count)]
            made = ana.remember(*texts, session_id=f"s{count}")
            assert [(each.content, each.position) for each in made] == [
                (text, place) for place, text in enumerate(texts)
            ]
            assert len(ana.holders(str(count))[0]) >= count

    def test_positions_count_within_a_session(self, ana, ben):
        """A record's position is its place in its session, of one user, in order of arrival."""
        records = ana.remember("a", "b", session_id="s")
        records += ana.remember("c", session_id="t")
        records += ben.remember("d", session_id="s")
        records += ana.remember("e", session_id="s", kind=Kind.EPISODE)
        records += ana.remember("f")
        assert [item.position for item in records] == [0, 1, 0, 0, 2, None]
        told = ana.insertion("g", session_id="s"), ana.insertion("h")
        assert [each.record.position for each in ana.apply(*told)] == [3, None]


def same(one, other):
    """Return whether two values are equal as JSON: a truth value is no number."""
    if isinstance(one, list | dict):
        return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)


def meets(held, name, operator, wanted):
    """Return whether metadata meet a condition, as plain Python decides."""
    value = held.get(name, UNSET)
    if operator in ORDERED:
        numbers = all(type(each) in {int, float} for each in (value, wanted))
        texts = isinstance(value, str) and isinstance(wanted, str)
        return (numbers or texts) and bool(COMPARE[operator](value, wanted))
    if operator == "in":
        return value is not UNSET and any(same(value, each) for each in wanted)
    equal = value is not UNSET and same(value, wanted)
    return equal is (operator == "eq")


# What a filter says, and which of the records below it lets through.
CONDITIONS = [
    ({}, "abcde"),
    ({"kinds": (Kind.EPISODE,)}, "ab"),
    ({"kinds": (Kind.EPISODE, Kind.CONTEXT)}, "abe"),
    ({"kinds": tuple(Kind)}, "abcde"),
    ({"session": "s"}, "ac"),
    ({"exclude_session": "s"}, "bde"),
    ({"session": "s", "exclude_session": "s"}, ""),
    *(({"session": name}, "") for name in ("nothing", "")),
    ({"session": "s", "beyond": 0}, "c"),
    ({"session": "s", "beyond": 1}, ""),
    ({"tags": ("diet",)}, "abc"),
    ({"tags": ("a,b", "diet")}, "ab"),
    *(({"tags": (tag,)}, "") for tag in ("die", "Diet", "b", "%", "*", '"diet"', "")),
    ({"metadata": {}}, "abcde"),
    ({"metadata": {"city": "Łódź"}}, "abc"),
    ({"metadata": {"city": "Łódź", "n": 1.0}}, "ac"),
    ({"metadata": {"x": None}}, "c"),
    ({"metadata": {"y": None}}, ""),
    ({"metadata": {"n": {"gte": 1}, "city": {"ne": "Oslo"}}}, "ac"),
    ({"metadata": {"n": {"gt": 0, "lt": 1}}}, ""),
    *(({"metadata": {"n": {name: 1}}}, "") for name in ("gt", "lt")),
    ({"metadata": {"n": {"lte": 1}}}, "ac"),
    ({"metadata": {"n": {"lte": "1"}}}, "e"),
    ({"metadata": {"n": {"in": ["1", 2]}}}, "e"),
    ({"metadata": {"n": {"ne": 1}}}, "bde"),
    ({"since": moment(60)}, "bc"),
    ({"since": moment(60) + TICK}, "c"),
    ({"until": moment(60)}, "ade"),
    ({"until": moment(60) + TICK}, "abde"),
    ({"since": moment(0), "until": moment(60)}, "ade"),
    ({"since": moment(60), "until": moment(60)}, ""),
    ({"recorded_since": moment(3)}, "cde"),
    ({"recorded_before": moment(3)}, "ab"),
    ({"recorded_since": moment(2), "recorded_before": moment(4)}, "bc"),
    ({"hashes": [content_hash(text) for text in ("a", "e", "no")]}, "ae"),
    *(({name: []}, "") for name in ("hashes", "citing")),
    ({"recalled_in": "trip"}, "bd"),
    ({"recalled_in": "other"}, ""),
    ({"most_entities": 0}, "bde"),
    ({"most_entities": 1}, "abde"),
    ({"waiting": ENTITIES}, "e"),
    ({"waiting": VECTORS}, "abcde"),
    ({"kinds": (Kind.EPISODE,), "session": "s", "tags": ("diet",), "metadata": {"n": 1}}, "a"),
]
SUBSETS = [
    ({}, "abcdeflmn"),
    ({"subset": Subset.STANDING}, "abcdeflmn"),
    ({"subset": Subset.STANDING, "retired": True}, "abcdefghilmn"),
    ({"subset": Subset.ENDED, "retired": True}, "gh"),
    ({"subset": Subset.ENDED, "retired": True, "now": moment(1_000)}, "g"),
    ({"subset": Subset.ENDED, "retired": True, "now": moment(999)}, ""),
    ({"subset": Subset.OVER, "retired": True, "now": moment(1_000)}, "gik"),
    ({"subset": Subset.DECAYING}, "abf"),
    ({"subset": Subset.NOTEWORTHY}, "abcfm"),
    ({"subset": Subset.NOTEWORTHY, "now": moment(5_000)}, "abcfhm"),
    ({"subset": Subset.LEARNED}, "c"),
    ({"subset": Subset.UNENRICHED}, "abcdeln"),
    ({"subset": Subset.UNENRICHED, "kinds": (Kind.FACT,)}, "abcel"),
]


class FilterContract(Contract):
    """A filter lets exactly those records through that it describes."""

    def test_validity(self, ana):
        """A record is believed from its recording until just before its end, then or as of then."""
        brief, old = ana.remember("brief", "old", created_at=moment(10), valid_until=moment(20))
        (late,) = ana.remember("late", created_at=moment(20))
        end = moment(20)
        assert ana.passing(now=end - TICK) == ["brief", "old", "late"]
        assert ana.passing(now=end) == ["late"]
        assert ana.passing(now=end, retired=True) == ["brief", "old", "late"]
        for minute, believed in ((9, []), (10, ["brief", "old"]), (20, ["late"])):
            assert ana.passing(as_of=moment(minute)) == believed
        assert ana.passing(as_of=end - TICK, retired=True) == ["brief", "old"]
        ana.close(brief, late, at=30)  # Which does not change the past.
        assert ana.passing(as_of=moment(25)) == ["late"]
        assert ana.passing(as_of=moment(15)) == ["brief", old.content]

    def test_each_condition(self, ana):
        """All conditions must hold, each of them whole; what other agents have never passes.

        Metadata with a NUL character, which none gets in with any more, meet none.
        """
        both, city, said = ("diet", "a,b"), {"city": "Łódź"}, Kind.EPISODE

        rows = [
            ("a", said, "s", both, city | {"n": 1}, 0, "a"),
            ("b", said, "S", both, city, 60, ""),
            ("c", Kind.FACT, "s", ("diet",), city | {"n": 1, "x": None}, 90, "bc"),
            ("d", Kind.REFLECTION, None, (), {"\0": "a\0"}, 0, ""),
            ("e", Kind.CONTEXT, None, (), {"n": "1"}, 0, None),
        ]
        for place, (text, kind, session, tags, metadata, minute, names) in enumerate(rows, 1):
            known = {"created_at": moment(place), "event_time": moment(minute)}
            known |= {"kind": kind, "session_id": session, "tags": tags, "metadata": metadata}
            insert = do.Insert(record(text, **known))
            recalled = (
                [do.RecordAccess((insert.record.id,), moment(9), "trip")] if text in "bd" else []
            )
            ana.apply(insert, *recalled)
            if names is not None:
                found = tuple(Mention(each, "other", 0, 1) for each in names)
                ana.apply(do.link_entities({insert.record.id: found}))
        known = {"kind": said, "session_id": "s", "tags": both}
        ana.planner.remember("hers", metadata=city, **known)
        ana.store.queue_newest()
        passing = [ana.writer.passing(**fields) for fields, _ in CONDITIONS]
        assert passing == [list(expected) for _, expected in CONDITIONS]

    def test_each_subset(self, ana):
        """What a stage asks for: by how a record ended, how it is believed, and what was done."""
        for text, more in (
            ("a", {"decay_rate": 0.1, "trust": Trust.AGENT}),
            ("b", {"decay_rate": 0.1}),
            ("c", {"origin": "consolidation"}),
            ("d", {"kind": Kind.EPISODE, "decay_rate": 0.1, "origin": "consolidation"}),
            ("e", {"trust": Trust.EXTERNAL}),
            ("f", {"decay_rate": 0.1}),
            ("g", {"valid_until": moment(1_000), "kind": Kind.EPISODE}),
            ("h", {"valid_until": SOON}),
            ("i", {"valid_until": moment(1_000), "decay_rate": 0.1}),
            ("j", {"decay_rate": 0.1}),
            ("k", {"valid_until": moment(1_000), "decay_rate": 0.1}),
            ("l", {}),
            ("m", {"decay_rate": 0.1}),
            ("n", {"kind": Kind.REFLECTION}),
        ):
            ana.remember(text, **more)
        ids = {item.content: item.id for item in ana.records(ALL)}
        plan = [
            do.Enrich(ids["f"], moment(1), ()),
            do.Retire(ids["i"], moment(1_001), "expired"),
            do.Close(ids["j"], moment(2), "corrected", ids["c"]),
            do.Close(ids["k"], moment(1_001), "forgotten"),
            do.Supersede(ids["l"], ids["c"], moment(1), 0.3, "moved on"),
            do.Enrich(ids["m"], moment(1), ()),
            do.Reweigh(ids["m"], moment(1), 1.0, 0.0, "confirmed"),
        ]
        ana.apply(*plan)
        passing = [ana.passing(**fields) for fields, _ in SUBSETS]
        assert passing == [list(expected) for _, expected in SUBSETS]

    def test_the_most_noteworthy_first(self, ana):
        """A person's first, then what never fades, what is believed most, and the newest."""
        at = moment(1)
        ana.remember("8", trust=Trust.AGENT, decay_rate=0.1)
        ana.remember("7", trust=Trust.AGENT, confidence=0.1)
        ana.remember("6", decay_rate=0.1, confidence=0.8)
        ana.remember("5", decay_rate=0.2, confidence=0.9, created_at=at)
        ana.remember("4", decay_rate=0.1, confidence=0.9, created_at=at)
        ana.remember("3", confidence=0.2)
        ana.remember("1", created_at=moment(3))
        ana.remember("2", created_at=moment(2))
        for limit in (9, 3, 0):
            texts = [item.content for item in ana.noteworthy(limit=limit)]
            assert texts == list("12345678")[:limit]

    @given(kept=SCALARS | NESTED, asked=SCALARS | NESTED)
    @ONE_STORE
    def test_attributes_are_equal_as_json(self, ana, kept, asked):
        """1 equals 1.0, but neither True nor "1"; None equals None alone; structures by value."""
        (item,) = ana.remember("value", metadata={"key": kept})
        for value in (asked, kept):
            where = replace(ACTIVE, metadata={"key": value})
            ids = {one.id for one in ana.records(where)}
            assert (item.id in ids) == same(kept, value)

    @given(
        held=st.dictionaries(st.sampled_from("ab"), SCALARS | NESTED),
        conditions=st.dictionaries(
            st.sampled_from("ab"),
            st.dictionaries(st.sampled_from(list(ORDERED)), ORDERABLE, min_size=1)
            | st.fixed_dictionaries({"ne": SCALARS | NESTED})
            | st.fixed_dictionaries({"in": st.lists(SCALARS | NESTED, max_size=3)}),
        ),
    )
    @ONE_STORE
    def test_operators_are_those_of_python(self, ana, held, conditions):
        """Numbers compare as numbers, texts by characters, and nothing with what is not there."""
        (item,) = ana.remember("value", metadata=held)
        where = replace(ACTIVE, metadata=conditions)
        expected = all(meets(held, *condition) for condition in metadata_conditions(conditions))
        assert (item.id in {one.id for one in ana.records(where)}) == expected
        assert (ana.ordinals(where) != []) == bool(sum(ana.count(where).values()))
