"""Law 6: nothing of one user is found, counted, recalled or forgotten by another; nor of agents."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import ALL, LATER, User, cut, moment, new_id, on_record, pruning, whole_repr
from steps import do

from laws.base import ONE_STORE, Contract
from memoranda.errors import InvalidInput, NotFound
from memoranda.model.models import Scope
from memoranda.model.notes import NotesBase
from memoranda.model.query import Filter, RecordRelation

TRICKY = [
    *("ana", "Ana", "ana ", " ana", "an", "u1", "u2", "1", "2", "0", "%", "_", "*", "ana'", 'ana"'),
    *("ana' OR '1'='1", '" OR scope : u1 OR "', "NULL", "None", "a\u0301na", "\u00e1na"),
    *("\u202eana", "ana\u200b", "\u0410\u041d\u0410", "日本", "😀"),
]
NAMES = st.sampled_from(TRICKY) | st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=20
)
# What fills a store for each example, and reads all of it several times.
FEW = settings(ONE_STORE, max_examples=max(1, settings().max_examples // 6))
PAIRS = st.tuples(NAMES, NAMES).filter(lambda pair: pair[0] != pair[1])


class IsolationContract(Contract):
    """Two users with any names do not know of each other, nor do two agents of one."""

    @given(pair=PAIRS)
    @FEW
    def test_no_action_of_one_changes_what_another_sees(self, store, pair):
        """Whatever one user does, every read of another gives the same as before."""
        one, other = (User(store, Scope(name)) for name in pair)
        one.remember("tea of one", session_id="s", tags=("t",))
        before, revision = one.everything(), one.fact_revision()
        other.apply(*other.prepare())
        assert one.everything() == before
        assert one.fact_revision() == revision
        after = other.everything()
        one.remember("more tea Zoe", session_id="s")
        assert other.everything() == after
        assert set(pair) <= set(store.users())

    def test_no_action_of_an_agent_changes_what_another_sees(self, ana):
        """What an agent has is as if it were not there for others; the user sees all of it."""
        ana.remember("shared tea")
        ana.writer.remember("Zoe dances", session_id="w", decay_rate=0.1)
        ana.writer.turns("w", "written")
        ana.writer.open_conversation("w")
        before = ana.writer.visible()
        plan = ana.planner.prepare()
        assert ana.writer.visible() == before
        ana.planner.apply(*plan)
        assert ana.writer.visible() == before
        own = ana.writer.page()
        assert own == ["shared tea", "Zoe dances", "written"]
        planned = ana.planner.page()
        assert set(own) & set(planned) == {"shared tea"}
        assert set(ana.page()) == {*own, *planned}
        for scope, texts in ((Scope("planner"), []), (Scope("ana", "ana"), ["shared tea"])):
            assert User(ana.store, scope).page() == texts

    @given(pair=PAIRS)
    @FEW
    def test_ids_of_others_do_not_exist(self, store, pair):
        """With the id of another's record nothing can be read, changed or found out."""
        one, other = (User(store, Scope(name)) for name in pair)
        self._check_ids(one, other)

    def test_ids_of_other_agents_do_not_exist(self, ana):
        """Nor with that of another agent's, or of nobody's; only the name of a talk is taken."""
        self._check_ids(ana.planner, ana.writer, "fact_nothing")
        ana.planner.open_conversation("plan", system="hers")
        with pytest.raises(InvalidInput):
            ana.writer.open_conversation("plan")
        assert ana.planner.conversations("plan")["plan"].system == "hers"

    def _check_ids(self, one, other, *unknown):
        talk = new_id("talk")
        (item,) = one.turns(talk, f"Zoe on tea in {talk}")
        (mine,) = other.remember("Dan")
        hers = one.entity_id("zoe")
        one.open_conversation(item.id)
        (message,) = one.say(item.id, "tea", record_id=item.id)
        one.prune(item.id, cut(0, 0))
        other.open_conversation("mine")
        before = one.everything()[3:]
        conditions = [
            {"citing": [item.id]},
            {"hashes": [item.content_hash]},
            {"session": talk},
            {"entity": hers},
        ]
        by_id = [
            other.get([item.id]),
            [it for it in other.get(range(1, 1_000)).values() if it.id == item.id],
            other.history(item.id),
            other.trails([item.id]),
            other.sessions(id=talk),
            other.conversations(item.id),
            other.messages(item.id, cleared=True),
            other.prunings(item.id),
            *(other.related([item.id], relation) for relation in RecordRelation),
            other.learned_from([item.id]),
            other.last_said([item.id]),
            *(other.records(Filter.at_any_time(**each)) for each in conditions),
        ]
        assert not any(by_id)
        assert talk not in whole_repr(other.visible())
        passed_over = [
            do.RecordAccess((item.id,), moment(1), talk),
            do.advance_notes(talk, 9),
            do.keep_notes_base(NotesBase("/notes")),
            do.set_token_counts("mine", {message.id: 99}),
        ]
        other.apply(*passed_over)
        refused = [
            do.advance_session(talk, through=9, at=moment(1), finished=True),
            do.pin_message("mine", message.id, pinned=True),
        ]
        for target in (item.id, *unknown):
            refused += [
                *on_record(target, mine.id),
                do.append_messages(target, [replace(message, id=new_id("msg"))]),
                do.pin_message(target, message.id, pinned=True),
                do.add_pruning(target, pruning(cut(0, 0))),
                do.set_token_counts(target, {message.id: 1}),
                do.update_conversation(target, ended_at=moment(1)),
                do.delete_conversation(target, at=moment(1), erase=True),
                do.delete_conversation(target, at=moment(1), erase=False),
            ]
        for action in refused:
            with pytest.raises(NotFound):
                other.apply(action)
        assert one.everything()[3:] == before

    @given(pair=PAIRS, word=NAMES)
    @ONE_STORE
    def test_no_filter_or_query_crosses_over(self, store, pair, word):
        """Sessions, tags, values, terms and names that another uses find nothing of theirs."""
        one, other = (User(store, Scope(name)) for name in pair)
        fields = {"session_id": word, "tags": (word,), "metadata": {word: word}}
        one.remember(word, **fields)
        for where in (
            Filter(now=LATER, session=word),
            Filter(now=LATER, tags=(word,)),
            Filter(now=LATER, metadata={word: word}),
            ALL,
        ):
            records = other.records(where)
            assert {item.user for item in records} <= {pair[1]}
        matches = {row for each in other.holders(word, "tea") for row in each}
        named = {number for number, _ in other.mentioning([word])}
        assert set(other.get([*matches, *named])) == matches | named
