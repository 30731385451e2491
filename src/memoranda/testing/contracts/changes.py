"""The contract of ``Store.apply``: each action, and all of them together or none."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from itertools import count

import pytest

from memoranda.errors import MemorandaError, NotFound, StoreError
from memoranda.model.actions import (
    Action,
    Append,
    Calibrate,
    Close,
    Consolidated,
    Decide,
    EndConversation,
    Enrich,
    Erase,
    Fade,
    KeepNotes,
    MergeEntities,
    Noted,
    OpenConversation,
    Pin,
    Prune,
    PutVectors,
    Recount,
    Reinforce,
    Retire,
    Reweigh,
    Spend,
    SplitEntity,
    Summarize,
    Supersede,
    Touch,
)
from memoranda.model.models import Calibration, Kind, Mention, Scope
from memoranda.model.notes import NotedLine, NotesBase
from memoranda.model.ports import Store
from memoranda.model.query import IndexVersion
from memoranda.model.usage import Usage
from memoranda.testing.contracts.base import Contract, Reopen
from memoranda.testing.contracts.samples import (
    ACTIVE,
    ALL,
    ANA,
    BEN,
    DIMENSIONS,
    LATER,
    MODEL,
    contents,
    cut,
    embed,
    entity_id,
    insert,
    moment,
    named,
    open_conversation,
    page,
    prune,
    pruning,
    record,
    remember,
    say,
    stored,
    turns,
    vector,
)

SOON = LATER - timedelta(days=1)
NOTES = "/home/ana/notes"
NUMBERS = count(1)
TERMS = ("tea", "cake", "secret", "new", "his", "zoe", "dan")


def everything(store: Store, scope: Scope) -> list[object]:
    """Return all that the reads of a store tell about a user."""
    changes = store.index_changes(scope, IndexVersion())
    records = store.page(scope, ALL, limit=10_000, after=None)
    conversations = store.conversations(scope)
    terms = store.match_terms(scope, TERMS, limit=10_000)
    entities = store.entities(scope, ACTIVE, type=None, limit=10_000)
    lineage = store.lineage(scope)
    return [
        records,
        [store.history(scope, item.id) for item in records],
        store.derived(scope, [item.id for item in records[:1]]),
        store.citing(scope, [item.id for item in records]),
        store.count(scope, ALL),
        store.newest(scope),
        sorted(store.passing(scope, ALL)),
        (list(changes.rows), list(changes.ordinals), changes.vectors.tolist()),
        sorted(zip(terms.ordinals, map(bytes, terms.counts), terms.lengths, strict=True)),
        list(terms.frequencies),
        [store.entity(scope, entity.name, ACTIVE) for entity in entities],
        store.mentioning(scope, [entity.name for entity in entities]),
        (contents(store.pending(scope, limit=10_000)), store.pending_count(scope)),
        conversations,
        [store.messages(scope, info.id, cleared=True) for info in conversations],
        [store.prunings(scope, info.id) for info in conversations],
        store.quoting(scope, [item.id for item in records]),
        *life(store, scope),
        (list(lineage.sources), list(lineage.replaced)),
        dict(store.decisions(scope)),
    ]


def life(store: Store, scope: Scope) -> list[object]:
    """Return what upkeep reads of a user."""
    sessions = store.sessions(scope)
    hashes = [item.content_hash for item in store.page(scope, ALL, limit=10_000, after=None)]
    return [
        sessions,
        store.sessions(scope, pending=True, exclude="talk"),
        [store.session(scope, info.id) for info in sessions],
        [store.episodes(scope, info.id, after=-1, limit=10_000) for info in sessions],
        [store.recalled(scope, name) for name in ("s", "talk", "trip")],
        store.decaying(scope, LATER),
        store.expired(scope, LATER),
        [store.recorded(scope, kind, now=LATER) for kind in Kind],
        store.unenriched(scope, kinds=list(Kind), most=9, limit=10_000, now=LATER),
        store.usage(scope),
        store.with_hashes(scope, hashes, now=LATER),
        store.noteworthy(scope, now=LATER, limit=10_000),
        store.notes_base(scope, NOTES),
    ]


def prepare(store: Store, scope: Scope = ANA) -> list[Action]:
    """Fill ``store`` and return a plan with one action of each kind on what is in it."""
    if store.vector_model() is None:
        store.reset_vectors(MODEL, DIMENSIONS)
    one, two, three = remember(store, "Zoe drinks tea", "Dan eats cake", "secret", scope=scope)
    remember(store, "from secret", scope=scope, source_ids=(three.id,))
    embed(store, scope, [one, three])
    info = open_conversation(store, "trip", scope=scope)
    messages = say(store, "trip", "a", "secret", scope=scope, record_id=three.id)
    (message,) = say(store, "trip", "b", scope=scope)
    start, end = (store.messages(scope, "trip")[place].position or 0 for place in (-3, -1))
    held = prune(store, "trip", cut(start, start + 1, summary="secret"), cut(end, end), scope=scope)
    new = record("new Zoe tea", scope=scope, session_id="s")
    return [
        insert(new),
        Close(one.id, moment(50), "corrected", superseded_by=new.id),
        Reweigh(two.id, moment(50), 0.5, 0.1, "conflict"),
        Touch((one.id, two.id), moment(50)),
        PutVectors(MODEL, {new.id: vector(1, 0, 0, 0), one.id: vector(0, 1, 0, 0)}),
        Append("trip", replace(messages[0], id=f"{message.id}x", record_id=new.id)),
        Pin("trip", message.id, pinned=True),
        OpenConversation(replace(info, system="new")),
        Recount("trip", {message.id: 77}),
        Calibrate("trip", Calibration(1.5, 20)),
        Prune("trip", pruning(cut(end, end + 1))),
        Summarize("trip", held.id, {end: "b"}),
        EndConversation("trip", moment(50)),
        Reinforce(two.id, SOON, (one.id, three.id)),
        *nightly(store, scope, new.id),
        KeepNotes(NotesBase(NOTES, tuple(NotedLine(it.id, it.content_hash) for it in (new, two)))),
        Erase((three.id,), moment(50), "asked"),
    ]


def nightly(store: Store, scope: Scope, by: str) -> list[Action]:
    """Store what upkeep and persons work on, and return what they do, where ``by`` is new."""
    names = [f"{name}{next(NUMBERS)}" for name in ("Bea", "Cid", "Eve")]
    meeting = "{} met {} and {}".format(*names)
    met, faded, old = remember(store, meeting, "fading", "old", scope=scope, decay_rate=0.1)
    (turn,) = turns(store, "talk", "turn", scope=scope)
    embed(store, scope, [met, faded, old, turn])
    bea, cid, eve = (entity_id(store, name, scope) for name in names)
    return [
        Touch((met.id, faded.id), SOON, "talk"),
        Fade(faded.id, SOON, 0.4),
        Supersede(faded.id, by, SOON, 0.3, "moved on"),
        Retire(old.id, SOON, "faded away"),
        Enrich(met.id, SOON, named("Zoe", "Zoe")),
        MergeEntities(bea, cid),
        MergeEntities(bea, eve),
        SplitEntity(bea, names[1]),
        Decide("old name", names[2]),
        Consolidated("talk", turn.position or 0, SOON, finished=True),
        Noted("talk", turn.position or 0),
        Spend("reflect", "m", Usage(requests=1, cost=0.5), SOON),
    ]


def on_record(id: str, own: str) -> list[Action]:
    """Return an action of each kind on the record ``id`` by who has the record ``own``."""
    return [
        Close(id, moment(1), "forgotten"),
        Reweigh(id, moment(1), 0.0, 9.0, "hidden"),
        Fade(id, moment(1), 0.0),
        Retire(id, moment(1), "hidden"),
        Reinforce(id, moment(1), (own,)),
        Supersede(id, own, moment(1), 0.0, "hidden"),
        Supersede(own, id, moment(1), 0.0, "hidden"),
        Enrich(id, moment(1), (Mention("Zoe", "other", 0, 3),)),
        Erase((id,), moment(1), "asked"),
    ]


class ApplyContract(Contract):
    """``apply`` is all or nothing, and keeps what it acknowledged."""

    def test_all_of_a_plan_is_carried_out(self, store: Store, reopen: Reopen) -> None:
        """Every action of a plan is done, in order, and outlives the store that did it."""
        plan = prepare(store)
        store.apply(ANA, plan)
        store = reopen(store)
        held = ["Zoe drinks tea", "Dan eats cake", "fading", "old", "turn", "new Zoe tea"]
        assert [text for text in page(store, ANA) if " met " not in text] == held
        assert [m.content for m in store.messages(ANA, "trip")] == ["b", "a"]
        told = [[part.summary for part in item.cuts] for item in store.prunings(ANA, "trip")]
        assert told == [[None, "b"], [None]]
        assert contents(store.pending(ANA, limit=5)) == ["Dan eats cake"]

    def test_an_empty_plan_does_nothing(self, store: Store) -> None:
        """Nothing to do is no error and makes no user."""
        store.apply(ANA, [])
        assert store.users() == []

    def test_a_failing_action_undoes_those_before_it(self, store: Store) -> None:
        """Wherever in a plan an action fails, nothing of the plan remains."""
        plan = prepare(store)
        before = everything(store, ANA)
        impossible = Close("fact_nothing", moment(1), "never")
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

    def test_a_new_user_of_a_failed_plan_is_unknown(self, store: Store) -> None:
        """A plan that fails does not even leave the name of its user."""
        with pytest.raises(NotFound):
            store.apply(ANA, [insert(record("tea")), Close("fact_nothing", moment(1), "never")])
        assert store.users() == []

    def test_an_id_is_given_once(self, store: Store) -> None:
        """A record with an id that is taken, even by another user, is refused."""
        (hers,) = remember(store, "tea")
        for scope in (ANA, BEN):
            with pytest.raises(MemorandaError):
                store.apply(scope, [insert(record("other", scope=scope, id=hers.id))])
        assert page(store, ANA) == ["tea"]
        assert page(store, BEN) == []

    def test_a_record_goes_to_its_own_user(self, store: Store) -> None:
        """A record of one user or agent cannot be stored under the name of another."""
        with pytest.raises(MemorandaError):
            store.apply(BEN, [insert(record("tea"))])
        with pytest.raises(MemorandaError):
            store.apply(
                Scope("ana", "writer"), [insert(record("tea", scope=Scope("ana", "planner")))]
            )
        assert store.users() == []

    def test_reweigh_sets_both_numbers(self, store: Store) -> None:
        """Confidence and decay rate are what the action says, and it fades from there."""
        (item,) = remember(store, "tea", confidence=0.4, decay_rate=0.1)
        store.apply(ANA, [Reweigh(item.id, moment(1), 0.9, 0.0, "confirmed")])
        weighed = {"confidence": 0.9, "strength": 0.9, "strength_at": moment(1)}
        assert store.get(ANA, item.id) == stored(item, decay_rate=0.0, **weighed)

    def test_touch_counts_a_recall(self, store: Store) -> None:
        """Each touched record counts one recall and its moment, without history."""
        one, two = remember(store, "one", "two")
        (his,) = remember(store, "his", scope=BEN)
        store.apply(ANA, [Touch((one.id, one.id, his.id, "fact_nothing"), moment(1))])
        store.apply(ANA, [Touch((one.id,), moment(2))])
        touched = stored(one, access_count=2, last_accessed=moment(2), strength_at=moment(2))
        assert store.get_many(ANA, [one.id, two.id]) == [touched, two]
        assert store.get(BEN, his.id) == his
        assert [change.action for change in store.history(ANA, one.id)] == ["insert"]

    @pytest.mark.parametrize("who", [BEN, Scope("ana", "writer")])
    def test_no_one_acts_on_the_records_of_others(self, store: Store, who: Scope) -> None:
        """Actions on an id of another user or agent raise, as on one that is not there."""
        planner = Scope("ana", "planner")
        (hers,) = remember(store, "tea", scope=planner)
        (mine,) = remember(store, "mine", scope=who)
        for target in (hers.id, "fact_nothing"):
            for action in on_record(target, mine.id):
                with pytest.raises(NotFound):
                    store.apply(who, [action])
        assert store.get(ANA, hers.id) == hers
        assert [change.action for change in store.history(ANA, hers.id)] == ["insert"]


class EraseContract(Contract):
    """After an erasure, a text is nowhere."""

    def test_derived_records_go_along(self, store: Store) -> None:
        """What rests on an erased record goes with it, through others and of other agents."""
        (source,) = remember(store, "source")
        (planned,) = remember(
            store, "planned", scope=Scope("ana", "planner"), source_ids=(source.id,)
        )
        remember(store, "end", scope=Scope("ana", "writer"), source_ids=(planned.id,))
        remember(store, "other")
        remember(store, "his", scope=BEN, source_ids=(source.id,))
        store.apply(Scope("ana", "writer"), [Erase((source.id,), moment(1), "asked")])
        assert page(store, ANA) == ["other"]
        assert page(store, BEN) == ["his"]
        assert [change.action for change in store.history(ANA, planned.id)] == ["erase"]

    def test_former_versions_go_along(self, store: Store) -> None:
        """What an erased record had replaced goes, step by step; what replaced it stays."""
        first, second, third = remember(store, "one", "two", "three")
        store.apply(
            ANA,
            [
                Close(first.id, moment(1), "corrected", superseded_by=second.id),
                Close(second.id, moment(2), "corrected", superseded_by=third.id),
            ],
        )
        assert store.versions(ANA, [third.id]) == [first.id, second.id]
        store.apply(ANA, [Erase((second.id,), moment(3), "asked")])
        assert page(store, ANA) == ["three"]

    def test_copies_of_the_text_go_along(self, store: Store) -> None:
        """Records with the very same text go, too, with what rests on them; others stay."""
        first, other = remember(store, "secret", "secrets")
        (copy,) = remember(store, "secret", scope=Scope("ana", "planner"))
        remember(store, "rests on the copy", source_ids=(copy.id,))
        remember(store, "secret", scope=BEN)
        assert store.copies(ANA, [first.id]) == [copy.id]
        store.apply(ANA, [Erase((first.id,), moment(1), "asked")])
        assert page(store, ANA) == [other.content]
        assert page(store, BEN) == ["secret"]

    def test_messages_that_hold_the_text_go_along(self, store: Store) -> None:
        """Messages of an erased record go; those of another user that name its id do not."""
        (item,) = remember(store, "secret")
        for scope in (ANA, BEN):
            open_conversation(store, "trip", scope=scope)
            say(store, "trip", "secret", scope=scope, record_id=item.id)
            say(store, "trip", "hello", scope=scope)
        store.apply(ANA, [Erase((item.id,), moment(1), "asked")])
        assert [message.content for message in store.messages(ANA, "trip")] == ["hello"]
        assert [message.content for message in store.messages(BEN, "trip")] == ["secret", "hello"]

    def test_nothing_of_it_is_found(self, store: Store) -> None:
        """Neither words, vectors, entities, counts nor the queue remember an erased record."""
        store.reset_vectors(MODEL, DIMENSIONS)
        empty = everything(store, ANA)
        item, waiting = remember(store, "Zoe likes secret tea", "Dan new cake", session_id="s")
        embed(store, ANA, [item])
        store.apply(ANA, [Erase((item.id, waiting.id), moment(1), "asked")])
        assert everything(store, ANA) == empty
        assert store.get(ANA, item.id) is None
        assert store.mentioning(ANA, ["Zoe", "Dan"]) == []
        assert store.users() == []
        store.purge()
        assert store.verify() == []

    def test_the_rest_stays_sound(self, store: Store) -> None:
        """What is left after an erasure is as if the erased had never been there."""
        kept = remember(store, "Zoe drinks tea", session_id="s")
        gone = remember(store, "Zoe eats cake", session_id="s")
        store.apply(ANA, [Erase((gone[0].id,), moment(1), "asked")])
        assert store.page(ANA, ALL, limit=5, after=None) == kept
        (entity,) = store.entities(ANA, ACTIVE, type=None, limit=5)
        assert entity.mention_count == 1
        assert list(store.match_terms(ANA, ["zoe", "cake"], limit=5).frequencies) == [1, 0]

    def test_an_erased_id_may_come_back(self, store: Store) -> None:
        """A record can be imported again after it was erased, and by whom one likes."""
        (item,) = remember(store, "tea")
        store.apply(ANA, [Erase((item.id,), moment(1), "asked")])
        store.apply(BEN, [insert(record("his tea", scope=BEN, id=item.id))])
        store.apply(BEN, [Erase((item.id,), moment(2), "his wish")])
        assert [change.reason for change in store.history(ANA, item.id)] == ["asked"]
        assert [change.reason for change in store.history(BEN, item.id)] == ["his wish"]
