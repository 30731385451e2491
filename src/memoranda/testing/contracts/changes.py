"""The contract of ``Store.apply``: each action on records, and all of a plan or nothing."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC
from itertools import count
from typing import Any

import pytest

from memoranda.errors import InvalidInput, MemorandaError, NotFound, StoreError
from memoranda.model import actions as do
from memoranda.model.models import Scope
from memoranda.model.ports import Store
from memoranda.model.query import Filter, RecordRelation
from memoranda.testing.contracts.base import Contract, Reopen
from memoranda.testing.contracts.samples import (
    ACTIVE,
    ALL,
    ANA,
    BEN,
    DIMENSIONS,
    EXTRACTOR,
    LATER,
    MODEL,
    PLANNER,
    SOON,
    UNREAD,
    WRITER,
    deeds,
    embed,
    entity_names,
    erase,
    everything,
    found,
    insert,
    moment,
    named,
    open_conversation,
    page,
    pending,
    prepare,
    profile,
    recalled,
    record,
    remember,
    say,
    stored,
    vector,
)


def epoch(store: Store) -> int:
    """Return the number that grows when rows a reader knows have changed."""
    return store.index_changes(ANA, UNREAD).version.epoch


def touched(times: int) -> dict[str, Any]:
    """Return what recalls just now leave on a record."""
    return {"access_count": times, "last_accessed": SOON, "strength_at": SOON}


class ApplyContract(Contract):
    """``apply`` is all or nothing, and keeps what it acknowledged."""

    def test_all_of_a_plan_is_carried_out(self, store: Store, reopen: Reopen) -> None:
        """Every action of a plan is done, in order, and outlives the store that did it."""
        plan = prepare(store)
        store.apply(ANA, plan)
        after = everything(store, ANA)
        store = reopen(store)
        assert everything(store, ANA) == after
        held = ["Zoe drinks tea", "Dan eats cake", "fading", "old", "turn", "new Zoe tea"]
        others = [text for text in page(store, ANA) if " met " not in text]
        assert others == [*held, "Kim waits"]
        assert [m.content for m in store.messages(ANA, "trip")] == ["b", "a"]
        cuts = [[part.summary for part in item.cuts] for item in store.prunings(ANA, "trip")]
        assert cuts == [[None, "b"], [None]]
        assert pending(store, ANA) == ["Dan eats cake", "Kim waits"]

    def test_a_failing_action_undoes_those_before_it(self, store: Store) -> None:
        """Wherever in a plan an action fails, nothing of the plan remains."""
        plan = prepare(store)
        before = everything(store, ANA)
        impossible = do.Close("fact_nothing", moment(1), "never")
        for place in range(len(plan) + 1):
            with pytest.raises(NotFound):
                store.apply(ANA, [*plan[:place], impossible, *plan[place:]])
            assert everything(store, ANA) == before
        assert store.verify() == []
        store.apply(ANA, plan)

    def test_a_failure_at_any_step_leaves_nothing(self, store: Store) -> None:
        """Whatever step of a transaction the storage fails at, nothing of it remains."""
        plan = prepare(store)
        before = everything(store, ANA)
        for step in count():
            with self.failing_at(store, step):
                try:
                    store.apply(ANA, plan)
                    break
                except StoreError:
                    pass
            assert everything(store, ANA) == before
            assert store.verify() == []
        assert step > 0
        assert everything(store, ANA) != before

    def test_what_fails_leaves_no_user(self, store: Store) -> None:
        """Neither an empty plan, a failed one nor a record under a wrong name makes a user."""
        tea, planned = record("tea"), record("tea", scope=PLANNER)
        store.apply(ANA, [])
        plans: list[tuple[Scope, list[do.Action]]] = [
            (ANA, [insert(tea), do.Close("fact_nothing", moment(1), "never")]),
            (BEN, [insert(tea)]),
            (WRITER, [insert(planned)]),
        ]
        for scope, plan in plans:
            with pytest.raises(MemorandaError):
                store.apply(scope, plan)
        assert store.users() == []

    def test_an_id_is_given_once(self, store: Store) -> None:
        """An id that is taken, even by another user, is refused; one that was erased is free."""
        (hers,) = remember(store, "tea")
        for scope in (ANA, BEN):
            with pytest.raises(MemorandaError):
                store.apply(scope, [insert(record("other", scope=scope, id=hers.id))])
        assert (page(store, ANA), page(store, BEN)) == (["tea"], [])
        store.apply(ANA, erase(hers))
        store.apply(BEN, [insert(record("his tea", scope=BEN, id=hers.id))])
        store.apply(BEN, [do.Erase((hers.id,), moment(2), "his wish")])
        assert [change.reason for change in store.history(ANA, hers.id)] == ["asked"]
        assert [change.reason for change in store.history(BEN, hers.id)] == ["his wish"]


class BeliefContract(Contract):
    """Records fade from their strength, and are believed as before when they are used."""

    def test_reweighing_sets_both_numbers(self, store: Store) -> None:
        """Confidence and decay rate are what the action says, and it fades from there."""
        (item,) = remember(store, "tea", confidence=0.4, decay_rate=0.1)
        store.apply(ANA, [do.Reweigh(item.id, moment(1), 0.9, 0.0, "confirmed")])
        weighed = {"confidence": 0.9, "strength": 0.9, "strength_at": moment(1)}
        assert found(store, item) == stored(item, decay_rate=0.0, **weighed)

    def test_fading_and_recalling(self, store: Store) -> None:
        """Fading leaves the strength, to which a recall restores; history is silent on both."""
        (item,) = remember(store, "tea", confidence=0.8, decay_rate=0.1)
        before = epoch(store)
        same: list[do.Action] = [do.Fade(item.id, SOON, 0.8), do.Touch((item.id, "no"), SOON)]
        store.apply(ANA, same)
        assert epoch(store) == before  # Only a change is told to readers.
        store.apply(ANA, [do.Fade(item.id, SOON, 0.5)])
        faded = epoch(store)
        assert found(store, item) == replace(stored(item), **touched(1), confidence=0.5)
        store.apply(ANA, [do.Touch((item.id, item.id), SOON)])
        assert before != faded != epoch(store)
        store.apply(ANA, [do.Fade(item.id, moment(999_999), 0.1)])  # Reckoned before the recall.
        assert found(store, item) == stored(item, **touched(2))
        assert deeds(store, item.id) == ["insert"]

    def test_recalls_into_a_conversation_are_known(self, store: Store) -> None:
        """Its records come once each, the last first, to whom they are visible."""
        one, two, other = remember(store, "one", "two", "other")
        (planned,) = remember(store, "planned", scope=PLANNER)
        both = (one.id, planned.id, "fact_nothing")
        store.apply(ANA, [do.Touch(both, moment(1), "trip"), do.Touch((other.id,), moment(2))])
        store.apply(WRITER, [do.Touch((two.id, planned.id), moment(3), "trip")])
        assert recalled(store, ANA, "trip") == [two.id, planned.id, one.id]
        assert found(store, planned).access_count == 1
        store.apply(ANA, [do.Touch((one.id,), moment(4), "trip")])
        assert recalled(store, WRITER, "trip") == [one.id, two.id]
        assert recalled(store, ANA, "other") == []
        store.apply(ANA, erase(one))
        assert recalled(store, WRITER, "trip") == [two.id]

    def test_a_credit_adds_sources(self, store: Store) -> None:
        """New sources come after those it has, and it fades anew; known ones change nothing."""
        one, two = remember(store, "one", "two")
        (item,) = remember(store, "tea", confidence=0.8, decay_rate=0.1, source_ids=(one.id,))
        store.apply(ANA, [do.Fade(item.id, SOON, 0.2), do.Reinforce(item.id, SOON, (one.id,))])
        assert found(store, item) == stored(item, confidence=0.2)
        store.apply(ANA, [do.Reinforce(item.id, SOON, (one.id, two.id, two.id, item.id))])
        credited = stored(item, strength_at=SOON, source_ids=(one.id, two.id))
        assert found(store, item) == credited
        (change,) = store.history(ANA, item.id)[1:]
        assert (change.action, change.reason) == ("credit", "said again")
        assert store.related(ANA, [two.id], RecordRelation.DERIVED) == [item.id]

    def test_what_is_superseded_stays_and_is_believed_less(self, store: Store) -> None:
        """It is valid and says what took its place; a person's correction outlasts that."""
        old, new, wrong = remember(store, "old", "new", "wrong", decay_rate=0.1)
        store.apply(ANA, [do.Supersede(old.id, new.id, SOON, 0.3, "moved")])
        weighed = {"confidence": 0.3, "strength": 0.3, "strength_at": SOON}
        assert found(store, old) == stored(old, superseded_by=new.id, **weighed)
        assert page(store, ANA, ACTIVE) == ["old", "new", "wrong"]
        change = store.history(ANA, old.id)[-1]
        assert (change.action, change.reason) == ("supersede", "moved")
        assert change.detail == {"by": new.id, "confidence": 0.3}
        store.apply(ANA, [do.Touch((old.id,), SOON)])
        assert found(store, old).confidence == weighed["confidence"]
        store.apply(ANA, [do.Close(wrong.id, moment(1), "corrected", superseded_by=new.id)])
        store.apply(ANA, [do.Supersede(wrong.id, old.id, SOON, 0.3, "moved")])
        kept = found(store, wrong)
        assert (kept.superseded_by, kept.valid_until) == (new.id, moment(1))
        for by, refused in ((new.id, InvalidInput), ("fact_nothing", NotFound)):
            with pytest.raises(refused):
                store.apply(ANA, [do.Supersede(new.id, by, SOON, 0.3, "x")])
        assert found(store, new).superseded_by is None

    def test_lineage_names_what_is_there(self, store: Store) -> None:
        """Sources and replacements that exist come in pairs, whichever agent asks."""
        one, two = remember(store, "one", "two")
        (fact,) = remember(store, "fact", source_ids=(one.id, "ep_nothing", two.id))
        (planned,) = remember(store, "planned", scope=PLANNER, source_ids=(two.id,))
        plan: list[do.Action] = [
            do.Supersede(one.id, fact.id, SOON, 0.3, "x"),
            do.Close(two.id, moment(1), "corrected", superseded_by=planned.id),
            do.Close(fact.id, moment(1), "corrected", superseded_by="fact_nothing"),
        ]
        store.apply(ANA, plan)
        kept = store.get(ANA, store.ordinals(ANA, ALL))
        ordinals = {item.id: number for number, item in kept.items()}
        first, second, drawn, other = (ordinals[it.id] for it in (one, two, fact, planned))
        lineage = store.index_changes(WRITER, UNREAD).lineage
        assert lineage is not None
        assert set(lineage.sources) == {(drawn, first), (drawn, second), (other, second)}
        assert set(lineage.replaced) == {(first, drawn), (second, other)}

    def test_retiring_ends_and_drops_what_is_derived(self, store: Store) -> None:
        """Vector and links go, for good; words find it as of before; twice is once."""
        store.reset_vectors(MODEL, DIMENSIONS)
        item, other = remember(store, "Zoe Lopez drinks tea", "Zoe sings")
        (ended,) = remember(store, "ended", valid_until=moment(5))
        embed(store, ANA, [item])
        plan = [do.Retire(each.id, SOON, "faded away") for each in (item, ended)]
        store.apply(ANA, plan)
        before = epoch(store)
        store.apply(ANA, [replace(plan[0], at=LATER)])
        assert epoch(store) == before
        assert found(store, ended) == ended
        assert found(store, item) == stored(item, valid_until=SOON)
        assert page(store, ANA, ACTIVE) == ["Zoe sings"]
        earlier = Filter(now=LATER, as_of=moment(999_999))
        assert page(store, ANA, earlier) == [item.content, other.content]
        change = store.history(ANA, item.id)[-1]
        assert (change.action, change.reason, change.at) == ("retire", "faded away", SOON)
        late = do.PutVectors(MODEL, {item.id: vector(1, 0, 0, 0)})
        store.apply(ANA, [late, do.Enrich(item.id, SOON, named("Dan", "Dan"))])
        assert pending(store, ANA) == [other.content]
        assert list(store.index_changes(ANA, UNREAD).ordinals) == []
        assert store.reset_vectors("other", DIMENSIONS) == 1
        assert store.rebuild(EXTRACTOR) == []
        zoe = profile(store, "zoe", where=ALL)
        assert (zoe.name, zoe.aliases, zoe.mention_count) == ("Zoe", (), 1)
        assert store.entities(ANA, ALL, name="Dan", limit=1) == []
        assert len(store.match_terms(ANA, ["tea"], limit=9).ordinals) == 1
        assert store.verify() == []

    def test_enriching_adds_links_and_stamps(self, store: Store) -> None:
        """New mentions are linked, known ones counted once, and a rebuild keeps both."""
        (item,) = remember(store, "Zoe met dan in oslo", attributes={"a": 1.5})
        mentions = named(item.content, "Zoe", "dan", "oslo")
        store.apply(ANA, [do.Enrich(item.id, SOON, mentions)])
        kept = found(store, item)
        stamp = SOON.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        assert dict(kept.attributes) == {"a": 1.5, "enriched_at": stamp}
        assert replace(kept, attributes=item.attributes) == item
        change = store.history(ANA, item.id)[-1]
        assert (change.action, change.detail) == ("enrich", {"links": 2})
        bare = record("Carl met eve")
        eve = do.Enrich(bare.id, SOON, named(bare.content, "eve"))
        store.apply(ANA, [do.Insert(bare), eve])
        assert store.rebuild(EXTRACTOR) != []
        assert store.rebuild(EXTRACTOR) == store.verify() == []
        assert sorted(entity_names(store)) == ["Carl", "Zoe", "dan", "eve", "oslo"]


class EraseContract(Contract):
    """After an erasure a text is nowhere; what stands on a word of its own stays (law 7)."""

    @pytest.mark.parametrize("by", [ANA, WRITER])
    def test_what_goes_along(self, store: Store, by: Scope) -> None:
        """What rests on it, what it replaced and copies go, of all agents; of others nothing."""
        first, item, new = remember(store, "first", "secret", "new")
        replacing = [(first, item), (item, new)]
        store.apply(
            ANA,
            [do.Close(old.id, moment(1), "corrected", other.id) for old, other in replacing],
        )
        (copy,) = remember(store, "secret", scope=PLANNER)
        (drawn,) = remember(store, "drawn", scope=PLANNER, source_ids=(item.id,))
        (end,) = remember(store, "end", scope=WRITER, source_ids=(drawn.id,))
        remember(store, "rests on the copy", source_ids=(copy.id,))
        remember(store, "secrets")
        remember(store, "secret", scope=BEN, source_ids=(item.id,))
        for scope in (ANA, BEN):
            open_conversation(store, "trip", scope=scope)
            say(store, "trip", "secret", scope=scope, record_id=item.id)
            say(store, "trip", "hello", scope=scope)
        assert store.related(ANA, [new.id], RecordRelation.VERSIONS) == [first.id, item.id]
        assert store.related(ANA, [item.id], RecordRelation.COPIES) == [copy.id]
        assert store.related(ANA, [item.id], RecordRelation.DERIVED) == [drawn.id, end.id]
        store.apply(by, erase(item))
        assert (page(store, ANA), page(store, BEN)) == (["new", "secrets"], ["secret"])
        assert deeds(store, end.id) == ["erase"]
        assert [message.content for message in store.messages(ANA, "trip")] == ["hello"]
        assert [message.content for message in store.messages(BEN, "trip")] == ["secret", "hello"]

    def test_nothing_of_it_is_found(self, store: Store) -> None:
        """Reads, words, vectors, entities, counts and queue are as if it had never been."""
        store.reset_vectors(MODEL, DIMENSIONS)
        empty = everything(store, ANA)
        item, waiting = remember(store, "Zoe likes secret tea", "Dan new cake", session_id="s")
        embed(store, ANA, [item])
        store.apply(ANA, erase(item, waiting))
        assert everything(store, ANA) == empty
        assert store.get(ANA, [item.id]) == {}
        assert (store.mentioning(ANA, ["Zoe", "Dan"]), store.users()) == ([], [])
        kept = remember(store, "Zoe drinks tea", session_id="s")
        store.apply(ANA, erase(*remember(store, "Zoe eats cake", session_id="s")))
        assert store.records(ANA, ALL, limit=5) == kept
        assert profile(store, "Zoe").mention_count == 1
        assert list(store.match_terms(ANA, ["zoe", "cake"], limit=5).frequencies) == [1, 0]
        store.purge()
        assert store.verify() == []

    def test_a_word_of_its_own_loses_only_the_source(self, store: Store) -> None:
        """A fact that a person stated outlives an episode that was credited to it."""
        one, two = remember(store, "one", "two")
        (own,) = remember(store, "own")
        store.apply(ANA, [do.Reinforce(own.id, SOON, (one.id, two.id))])
        (drawn,) = remember(store, "drawn", source_ids=(two.id, one.id))
        (week,) = remember(store, "week", source_ids=(drawn.id,), origin="reflection")
        assert store.related(ANA, [one.id], RecordRelation.DERIVED) == [drawn.id, week.id]
        store.apply(ANA, erase(one))
        assert page(store, ANA) == ["two", "own"]
        assert found(store, own).source_ids == (two.id,)

    def test_what_was_only_superseded_stays(self, store: Store) -> None:
        """An older word that was believed less is no former version of the one that is erased."""
        old, new = remember(store, "old", "new", origin="consolidation")
        store.apply(ANA, [do.Supersede(old.id, new.id, SOON, 0.3, "moved")])
        assert store.related(ANA, [new.id], RecordRelation.VERSIONS) == []
        store.apply(ANA, erase(new))
        kept = found(store, old)
        assert (kept.superseded_by, kept.confidence) == (None, 0.3)

    def test_nothing_rests_on_what_was_erased(self, store: Store) -> None:
        """A plan made before an erasure brings nothing of it back: refused, or passed over."""
        gone, own = remember(store, "secret", "tea")
        store.apply(ANA, erase(gone))
        with pytest.raises(NotFound, match=gone.id):
            store.apply(ANA, [insert(record("of the secret", source_ids=(gone.id,)))])
        store.apply(ANA, [do.Reinforce(own.id, moment(2), (gone.id,))])
        assert found(store, own) == own
