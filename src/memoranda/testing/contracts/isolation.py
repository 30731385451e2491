"""Law 6: nothing of one user is found, counted, recalled or forgotten by another; nor of agents."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda.errors import NotFound
from memoranda.model import actions as do
from memoranda.model.models import Scope
from memoranda.model.notes import NotesBase
from memoranda.model.ports import Store
from memoranda.model.query import Filter, RecordRelation
from memoranda.testing.contracts.base import ONE_STORE, Contract
from memoranda.testing.contracts.samples import (
    ALL,
    ANA,
    LATER,
    MANY,
    NOTES,
    PLANNER,
    WRITER,
    cut,
    entity_id,
    everything,
    moment,
    new_id,
    on_record,
    open_conversation,
    page,
    prepare,
    prune,
    pruning,
    remember,
    say,
    turns,
    visible,
)

TRICKY = [
    *("ana", "Ana", "ana ", " ana", "an", "u1", "u2", "1", "2", "0", "%", "_", "*", "ana'", 'ana"'),
    *("ana' OR '1'='1", '" OR scope : u1 OR "', "NULL", "None", "a\u0301na", "\u00e1na"),
    *("\u202eana", "ana\u200b", "\u0410\u041d\u0410", "日本", "😀"),
]
NAMES = st.sampled_from(TRICKY) | st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=20
)
PAIRS = st.tuples(NAMES, NAMES).filter(lambda pair: pair[0] != pair[1])


class IsolationContract(Contract):
    """Two users with any names do not know of each other, nor do two agents of one."""

    @given(pair=PAIRS)
    @ONE_STORE
    def test_no_action_of_one_changes_what_another_sees(
        self, store: Store, pair: tuple[str, str]
    ) -> None:
        """Whatever one user does, every read of another gives the same as before."""
        one, other = map(Scope, pair)
        remember(store, "tea of one", scope=one, session_id="s", tags=("t",))
        before, version = everything(store, one), store.noteworthy_version(one, now=LATER)
        plan = prepare(store, other)
        store.apply(other, plan)
        assert everything(store, one) == before
        assert store.noteworthy_version(one, now=LATER) == version
        after = everything(store, other)
        remember(store, "more tea Zoe", scope=one, session_id="s")
        assert everything(store, other) == after
        assert {one.user, other.user} <= set(store.users())

    def test_no_action_of_an_agent_changes_what_another_sees(self, store: Store) -> None:
        """What an agent has is as if it were not there for others; the user sees all of it."""
        remember(store, "shared tea")
        remember(store, "Zoe dances", scope=WRITER, session_id="w", decay_rate=0.1)
        turns(store, "w", "written", scope=WRITER)
        open_conversation(store, "w", scope=WRITER)
        before, version = visible(store, WRITER), store.noteworthy_version(WRITER, now=LATER)
        plan = prepare(store, PLANNER)
        assert visible(store, WRITER) == before
        store.apply(PLANNER, plan)
        assert visible(store, WRITER) == before
        assert store.noteworthy_version(WRITER, now=LATER) == version
        own = page(store, WRITER)
        assert own == ["shared tea", "Zoe dances", "written"]
        planned = page(store, PLANNER)
        assert set(own) & set(planned) == {"shared tea"}
        assert set(page(store, ANA)) == {*own, *planned}
        for scope, texts in ((Scope("planner"), []), (Scope("ana", "ana"), ["shared tea"])):
            assert page(store, scope) == texts

    @given(pair=PAIRS)
    @ONE_STORE
    def test_ids_of_others_do_not_exist(self, store: Store, pair: tuple[str, str]) -> None:
        """With the id of another's record nothing can be read, changed or found out."""
        self._check_ids(store, Scope(pair[0]), Scope(pair[1]))

    def test_ids_of_other_agents_do_not_exist(self, store: Store) -> None:
        """Nor with that of another agent's."""
        self._check_ids(store, PLANNER, WRITER)

    def _check_ids(self, store: Store, one: Scope, other: Scope) -> None:
        talk = new_id("talk")
        (item,) = turns(store, talk, f"Zoe on tea in {talk}", scope=one)
        (mine,) = remember(store, "Dan", scope=other)
        hers, own = entity_id(store, "zoe", one), entity_id(store, "dan", other)
        open_conversation(store, item.id, scope=one)
        (message,) = say(store, item.id, "tea", scope=one, record_id=item.id)
        receipt = prune(store, item.id, cut(0, 0), scope=one)
        open_conversation(store, "mine", scope=other)
        before = everything(store, one)[3:]
        conditions: list[dict[str, Any]] = [
            {"citing": [item.id]},
            {"hashes": [item.content_hash]},
            {"session": talk},
            {"entity": hers},
        ]
        by_id = [
            store.get(other, [item.id]),
            [it for it in store.get(other, range(1, 1_000)).values() if it.id == item.id],
            store.history(other, item.id),
            store.sessions(other, id=talk),
            store.conversations(other, item.id),
            store.messages(other, item.id, cleared=True),
            store.messages(other, records=[item.id], cleared=True),
            store.prunings(other, item.id),
            *(store.related(other, [item.id], relation) for relation in RecordRelation),
            *(store.records(other, Filter.at_any_time(**each)) for each in conditions),
        ]
        assert not any(by_id)
        assert talk not in repr(visible(store, other))
        passed_over: list[do.Action] = [
            do.Touch((item.id,), moment(1), talk),
            do.AdvanceNotes(talk, 9),
            do.KeepNotes(NotesBase(NOTES)),
            do.Recount("mine", {message.id: 99}),
            do.Summarize("mine", receipt.id, {0: "hidden"}),
        ]
        store.apply(other, passed_over)
        for target in (item.id, "fact_nothing"):
            for action in (
                *on_record(target, mine.id),
                do.AdvanceSession(talk, 9, moment(1), finished=True),
                do.MergeEntities(own, hers),
                do.MergeEntities(hers, own),
                do.SplitEntity(hers, "Zoe"),
                do.Pin("mine", message.id, pinned=True),
                do.Prune(target, pruning(cut(0, 0))),
            ):
                with pytest.raises(NotFound):
                    store.apply(other, [action])
        assert everything(store, one)[3:] == before

    @given(pair=PAIRS, word=NAMES)
    @ONE_STORE
    def test_no_filter_or_query_crosses_over(
        self, store: Store, pair: tuple[str, str], word: str
    ) -> None:
        """Sessions, tags, values, terms and names that another uses find nothing of theirs."""
        one, other = map(Scope, pair)
        fields = {"session_id": word, "tags": (word,), "attributes": {word: word}}
        remember(store, word, scope=one, **fields)
        for where in (
            Filter(now=LATER, session=word),
            Filter(now=LATER, tags=(word,)),
            Filter(now=LATER, metadata={word: word}),
            ALL,
        ):
            records = store.records(other, where, limit=MANY)
            assert {item.user for item in records} <= {other.user}
        matches = set(store.match_terms(other, [word, "tea"], limit=MANY).ordinals)
        named = {number for number, _ in store.mentioning(other, [word])}
        assert set(store.get(other, [*matches, *named])) == matches | named
