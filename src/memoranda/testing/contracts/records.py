"""The contract of :class:`memoranda.model.ports.RecordStore`."""

from __future__ import annotations

from datetime import timedelta
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda.errors import NotFound
from memoranda.model.actions import Close, Erase, Reinforce, Reweigh
from memoranda.model.models import Kind, Scope, Trust
from memoranda.model.ports import Store
from memoranda.testing.contracts.base import ONE_STORE, Contract, Reopen
from memoranda.testing.contracts.samples import (
    ACTIVE,
    ALL,
    ANA,
    BEN,
    LATER,
    contents,
    insert,
    moment,
    new_id,
    page,
    record,
    remember,
    stored,
)

TEXT = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1
).filter(str.strip)


class RecordContract(Contract):
    """Records come back as they were stored, in the order in which they were stored."""

    def test_a_record_comes_back_as_it_was(self, store: Store, reopen: Reopen) -> None:
        """Every field survives the store and its closing; only the position is the store's."""
        item = record(
            "Ana moved to Łódź 🏡",
            kind=Kind.EPISODE,
            scope=Scope("ana", "planner"),
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
        store.apply(Scope("ana", "planner"), [insert(item)])
        assert reopen(store).get(ANA, item.id) == stored(item, position=0)

    def test_the_smallest_record(self, store: Store) -> None:
        """What was left out comes back as the defaults of the model."""
        item = record("tea", confidence=0.5)
        store.apply(ANA, [insert(item)])
        found = store.get(ANA, item.id)
        assert found == stored(item)
        assert found is not None
        assert (found.strength, found.strength_at) == (0.5, item.created_at)

    @given(text=TEXT)
    @ONE_STORE
    def test_any_text_comes_back_the_same(self, store: Store, text: str) -> None:
        """Any Unicode goes in and comes out unchanged, as content, tag, session and value."""
        item = record(text, tags=(text,), session_id=text, attributes={text: text})
        store.apply(ANA, [insert(item)])
        found = store.get(ANA, item.id)
        assert found is not None
        assert (found.content, found.tags, found.session_id) == (text, (text,), text)
        assert found.attributes == {text: text}

    def test_ten_megabytes(self, store: Store) -> None:
        """A text of ten megabytes is stored and found."""
        text = "walrus " * 1_500_000
        (item,) = remember(store, text)
        found = store.get(ANA, item.id)
        assert found is not None
        assert found.content == text
        assert list(store.match_terms(ANA, ["walrus"], limit=5).lengths) == [1_500_000]

    def test_unknown_ids_are_none(self, store: Store) -> None:
        """An id that is not there gives None, before anything was stored and after."""
        assert store.get(ANA, "fact_nothing") is None
        remember(store, "tea")
        assert store.get(ANA, "fact_nothing") is None

    def test_get_finds_what_is_retired(self, store: Store) -> None:
        """A closed record is still there for whoever knows its id."""
        (item,) = remember(store, "tea")
        store.apply(ANA, [Close(item.id, moment(1), "corrected", superseded_by="fact_new")])
        found = store.get(ANA, item.id)
        assert found == stored(item, valid_until=moment(1), superseded_by="fact_new")

    def test_get_many_keeps_the_order_of_the_ids(self, store: Store) -> None:
        """Records come in the order of the ids; those that are not there are left out."""
        one, two, three = remember(store, "one", "two", "three")
        wanted = [three.id, "fact_nothing", one.id, two.id]
        assert store.get_many(ANA, wanted) == [three, one, two]
        assert store.get_many(ANA, []) == []

    def test_pages_follow_the_order_of_recording(self, store: Store) -> None:
        """Pages of any size, one after the other, are all records once, as they were recorded."""
        texts = [f"text {number}" for number in range(7)]
        remember(store, *texts[:4], event_time=moment(999))
        remember(store, "not hers", scope=BEN)
        remember(store, *texts[4:], event_time=moment(-999))
        for limit in range(1, 9):
            found: list[str] = []
            after = None
            while part := store.page(ANA, ALL, limit=limit, after=after):
                assert len(part) <= limit
                found += contents(part)
                after = part[-1].id
            assert found == texts

    def test_a_page_may_start_after_a_record_that_no_longer_matches(self, store: Store) -> None:
        """Paging goes on after a record that was closed meanwhile."""
        one, two = remember(store, "one", "two")
        store.apply(ANA, [Close(one.id, moment(1), "forgotten")])
        assert store.page(ANA, ACTIVE, limit=5, after=one.id) == [two]

    def test_a_page_after_an_unknown_record_is_an_error(self, store: Store) -> None:
        """``after`` must be a record of the scope: not unknown, not another's, not erased."""
        with pytest.raises(NotFound):
            store.page(ANA, ALL, limit=1, after="fact_nothing")
        (hers,) = remember(store, "one")
        (his,) = remember(store, "two", scope=BEN)
        (planned,) = remember(store, "three", scope=Scope("ana", "planner"))
        store.apply(ANA, [Erase((hers.id,), moment(1), "asked")])
        for unknown in ("fact_nothing", his.id, hers.id):
            with pytest.raises(NotFound):
                store.page(ANA, ALL, limit=1, after=unknown)
        with pytest.raises(NotFound):
            store.page(Scope("ana", "writer"), ALL, limit=1, after=planned.id)

    def test_latest_is_the_one_recorded_last(self, store: Store) -> None:
        """The latest match is the last recorded one, not the last to have happened."""
        assert store.latest(ANA, ALL) is None
        remember(store, "old news", event_time=moment(9_999))
        (last,) = remember(store, "history", event_time=moment(-9_999))
        assert store.latest(ANA, ALL) == last
        store.apply(ANA, [Close(last.id, moment(1), "forgotten")])
        found = store.latest(ANA, ACTIVE)
        assert found is not None
        assert found.content == "old news"

    def test_counts_are_by_kind(self, store: Store) -> None:
        """Matches are counted by kind; kinds without any are left out."""
        assert store.count(ANA, ALL) == {}
        remember(store, "a", "b", kind=Kind.FACT)
        (closed,) = remember(store, "c", kind=Kind.REFLECTION)
        store.apply(ANA, [Close(closed.id, moment(1), "forgotten")])
        assert store.count(ANA, ALL) == {Kind.FACT: 2, Kind.REFLECTION: 1}
        assert store.count(ANA, ACTIVE) == {Kind.FACT: 2}

    def test_newest_is_the_last_moment_of_recording(self, store: Store) -> None:
        """The newest moment is that of recording, not of happening."""
        assert store.newest(ANA) is None
        remember(store, "late", created_at=moment(50), event_time=moment(0))
        remember(store, "early", created_at=moment(20), event_time=moment(900))
        assert store.newest(ANA) == moment(50)
        assert store.newest(BEN) is None

    def test_milliseconds_are_kept(self, store: Store) -> None:
        """Times keep whole milliseconds, in the years 1 and 9999, too."""
        for year in (1, 1969, 9999):
            happened = moment(0).replace(year=year) + timedelta(milliseconds=7)
            (item,) = remember(store, "tea", event_time=happened)
            assert item.event_time == happened

    def test_derived_follows_sources_through_others(self, store: Store) -> None:
        """What rests on a record directly or through others is derived; it and its sources not."""
        source, other = remember(store, "source", "other")
        (middle,) = remember(store, "middle", source_ids=(other.id, source.id))
        (end,) = remember(store, "end", source_ids=(middle.id,))
        (both,) = remember(store, "both", source_ids=(end.id, source.id))
        remember(store, "stranger", source_ids=("fact_unknown",))
        assert store.derived(ANA, [source.id]) == [middle.id, end.id, both.id]
        assert store.derived(ANA, [middle.id, end.id]) == [both.id]
        assert store.derived(ANA, [both.id]) == []
        assert store.derived(ANA, []) == []

    def test_resting_is_direct_and_follows_credits(self, store: Store) -> None:
        """What names a record as a source rests on it, until the sources are other ones."""
        source, other = remember(store, "source", "other", kind=Kind.EPISODE)
        (fact,) = remember(store, "fact", source_ids=(source.id,), origin="consolidation")
        (told,) = remember(store, "told", origin="api")
        (end,) = remember(store, "end", source_ids=(fact.id,), origin="reflection")
        store.apply(ANA, [Reinforce(told.id, moment(1), (source.id,))])
        store.apply(ANA, [Reinforce(fact.id, moment(1), (other.id,))])
        assert contents(store.citing(ANA, [source.id])) == ["fact", "told"]
        assert contents(store.citing(ANA, [other.id])) == ["fact"]
        assert store.citing(ANA, [end.id]) == []
        store.apply(ANA, [Erase((other.id,), moment(2), "asked")])
        assert store.citing(ANA, [other.id]) == []

    def test_a_word_of_its_own_is_derived_from_nothing(self, store: Store) -> None:
        """What a person asked to remember is not derived from sources that said it, too."""
        (source,) = remember(store, "source")
        (own,) = remember(store, "own", source_ids=(source.id,), origin="api")
        remember(store, "through it", source_ids=(own.id,))
        assert store.derived(ANA, [source.id]) == []

    def test_with_hashes_finds_the_same_text(self, store: Store) -> None:
        """Believed records with the very texts come, oldest first, of the scope alone."""
        one, two, other = remember(store, "tea", "tea", "teas")
        (gone,) = remember(store, "tea")
        remember(store, "tea", scope=BEN)
        (planned,) = remember(store, "tea", scope=Scope("ana", "planner"))
        store.apply(ANA, [Close(gone.id, moment(1), "forgotten")])
        assert one.content_hash == two.content_hash != other.content_hash
        wanted = [one.content_hash, "0" * 32]
        assert store.with_hashes(ANA, wanted, now=LATER) == [one, two, planned]
        assert store.with_hashes(Scope("ana", "writer"), wanted, now=LATER) == [one, two]
        assert store.with_hashes(ANA, [], now=LATER) == []

    def test_derived_ends_in_a_circle(self, store: Store) -> None:
        """Records that name each other as sources do not make it go on for ever."""
        one, two = new_id("fact"), new_id("fact")
        store.apply(
            ANA,
            [
                insert(record("one", id=one, source_ids=(two,))),
                insert(record("two", id=two, source_ids=(one,))),
            ],
        )
        assert store.derived(ANA, [one]) == [two]

    def test_history_tells_what_was_done(self, store: Store) -> None:
        """Each change leaves its time, name and reason, oldest first."""
        (item,) = remember(store, "tea", created_at=moment(0))
        store.apply(ANA, [Reweigh(item.id, moment(1), 0.5, 0.1, "conflict")])
        store.apply(ANA, [Close(item.id, moment(2), "corrected", superseded_by="fact_new")])
        changes = store.history(ANA, item.id)
        assert [(change.at, change.action, change.reason) for change in changes] == [
            (moment(0), "insert", "remembered"),
            (moment(1), "reweigh", "conflict"),
            (moment(2), "close", "corrected"),
        ]
        assert changes[1].detail == {"confidence": 0.5, "decay_rate": 0.1}
        assert changes[2].detail == {"superseded_by": "fact_new"}
        assert store.history(ANA, "fact_nothing") == []

    def test_an_erased_record_leaves_only_its_erasure(self, store: Store) -> None:
        """History says that, when and why a record was erased, and nothing from before."""
        (item,) = remember(store, "tea")
        store.apply(ANA, [Close(item.id, moment(1), "forgotten")])
        store.apply(ANA, [Erase((item.id,), moment(2), "asked to")])
        (change,) = store.history(ANA, item.id)
        assert (change.at, change.action, change.reason) == (moment(2), "erase", "asked to")

    def test_positions_count_within_a_session(self, store: Store) -> None:
        """A record's position is its place in its session, of one user, in order of arrival."""
        first = remember(store, "a", "b", session_id="s")
        other = remember(store, "c", session_id="t")
        his = remember(store, "d", session_id="s", scope=BEN)
        more = remember(store, "e", session_id="s", kind=Kind.EPISODE)
        alone = remember(store, "f")
        records = [*first, *other, *his, *more, *alone]
        assert [item.position for item in records] == [0, 1, 0, 0, 2, None]

    def test_an_agent_sees_its_own_and_what_is_of_none(self, store: Store) -> None:
        """A scope with an agent sees its records and those without agent; one without, all."""
        planner, writer = Scope("ana", "planner"), Scope("ana", "writer")
        remember(store, "shared")
        (planned,) = remember(store, "planned", scope=planner)
        (written,) = remember(store, "written", scope=writer, source_ids=(planned.id,))
        assert page(store, ANA) == ["shared", "planned", "written"]
        assert page(store, planner) == ["shared", "planned"]
        assert page(store, writer) == ["shared", "written"]
        assert store.count(writer, ALL) == {Kind.FACT: 2}
        assert store.get(planner, written.id) is None
        assert store.get_many(planner, [written.id, planned.id]) == [planned]
        assert store.derived(planner, [planned.id]) == []
        assert store.newest(planner) == planned.created_at
        latest = store.latest(planner, ALL)
        assert latest == planned

    def test_an_agent_sees_the_history_of_what_it_sees(self, store: Store) -> None:
        """History belongs to a record, whoever of the user's agents changed it."""
        planner, writer = Scope("ana", "planner"), Scope("ana", "writer")
        (shared,) = remember(store, "shared")
        (planned,) = remember(store, "planned", scope=planner)
        store.apply(writer, [Close(shared.id, moment(1), "forgotten")])
        store.apply(ANA, [Close(planned.id, moment(1), "forgotten")])
        assert [c.action for c in store.history(planner, shared.id)] == ["insert", "close"]
        assert [c.action for c in store.history(planner, planned.id)] == ["insert", "close"]
        assert store.history(writer, planned.id) == []
