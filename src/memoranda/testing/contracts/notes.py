"""The contract of :class:`memoranda.model.notes.NotesStore`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda.model import actions as do
from memoranda.model.models import Kind, Record, Scope, Trust
from memoranda.model.notes import NotesBase
from memoranda.model.ports import Store
from memoranda.testing.contracts.base import ONE_STORE, Contract, Reopen
from memoranda.testing.contracts.samples import (
    ALL,
    ANA,
    BEN,
    LATER,
    MANY,
    NOTES,
    PLANNER,
    SOON,
    WRITER,
    close,
    contents,
    erase,
    moment,
    new_id,
    noted,
    record,
    remember,
    turns,
)

Plan = list[do.Action]


class NotesBaseContract(Contract):
    """What MEMORY.md last said is kept as it was given."""

    def test_a_base_takes_the_place_of_the_one_before(self, store: Store, reopen: Reopen) -> None:
        """Before the first there is none; nothing of an old one stays; it may have no lines."""
        one, two = remember(store, "one", "two")
        assert store.notes_base(ANA, NOTES) is None
        base = noted(two, one, two)
        base = replace(base, lines=(replace(base.lines[0], batch=7), *base.lines[1:]))
        for each in (noted(one, two), NotesBase(NOTES), base):
            store.apply(ANA, [do.KeepNotes(each)])
            assert store.notes_base(ANA, NOTES) == each
        store = reopen(store)
        assert store.notes_base(ANA, NOTES) == base
        assert store.notes_base(ANA, f"{NOTES}/") is None

    def test_each_scope_and_folder_has_its_own(self, store: Store) -> None:
        """A user is told who of the agents has notes, an agent of itself; nobody of a user."""
        kept: dict[tuple[Scope, str], NotesBase] = {}
        for scope in (ANA, PLANNER, WRITER, BEN, Scope("ben", "planner")):
            for folder in ("/a", "/A"):
                assert store.notes_base(scope, folder) is None
                base = noted(record(f"{scope} {folder}", scope=scope), folder=folder)
                store.apply(scope, [do.KeepNotes(base)])
                kept[scope, folder] = base
        assert {each: store.notes_base(*each) for each in kept} == kept
        for scope, owners in (
            (ANA, {ANA, PLANNER, WRITER}),
            (PLANNER, {PLANNER}),
            (Scope("nobody"), set()),
        ):
            expected = sorted((pair for pair in kept if pair[0] in owners), key=str)
            assert sorted(store.notes_kept(scope), key=str) == expected

    def test_an_erased_line_is_known_until_the_file_is_cleaned(self, store: Store) -> None:
        """An erasure leaves the base, or the line would count as a new one; ``verify`` tells."""
        gone, kept = remember(store, "secret", "tea")
        store.apply(ANA, [do.KeepNotes(noted(gone, kept))])
        assert store.verify() == []
        store.apply(ANA, erase(gone))
        store.purge()
        assert store.notes_base(ANA, NOTES) == noted(gone, kept)
        assert any(NOTES in line for line in store.verify())
        store.apply(ANA, [do.KeepNotes(noted(kept))])
        store.purge()
        assert store.verify() == []


class NoteworthyContract(Contract):
    """The facts that are worth a line in MEMORY.md come, and the most worth come first."""

    def test_what_stands(self, store: Store) -> None:
        """Facts come that are believed, not external, and replaced by nothing that is there."""
        remember(store, "agent's", trust=Trust.AGENT)
        remember(store, "external", trust=Trust.EXTERNAL)
        for kind in (Kind.EPISODE, Kind.CONTEXT, Kind.REFLECTION):
            remember(store, kind.value, kind=kind)
        remember(store, "expired", valid_until=moment(1))
        remember(store, "for now", valid_until=SOON)
        closed, retired, old, wrong, new = remember(store, "closed", "retired", "old", "x", "new")
        plan: Plan = [
            do.Retire(retired.id, moment(1), "faded away"),
            do.Supersede(old.id, new.id, moment(1), 0.3, "moved on"),
            do.Close(wrong.id, moment(1), "corrected", superseded_by=new.id),
        ]
        store.apply(ANA, [*close(closed), *plan])
        noteworthy = store.noteworthy(ANA, now=LATER, limit=MANY)
        assert contents(noteworthy) == ["new", "agent's"]
        assert noteworthy == [store.get(ANA, item.id) for item in noteworthy]
        before = store.noteworthy(ANA, now=moment(999_999), limit=MANY)
        assert contents(before) == ["new", "for now", "agent's"]
        store.apply(ANA, erase(new))
        assert contents(store.noteworthy(ANA, now=LATER, limit=MANY)) == ["old", "agent's"]

    def test_the_order(self, store: Store) -> None:
        """A person's first, then what never fades, what is believed most, and the newest."""
        at = moment(1)
        remember(store, "8", trust=Trust.AGENT, decay_rate=0.1)
        remember(store, "7", trust=Trust.AGENT, confidence=0.1)
        remember(store, "6", decay_rate=0.1, confidence=0.8)
        remember(store, "5", decay_rate=0.2, confidence=0.9, created_at=at)
        remember(store, "4", decay_rate=0.1, confidence=0.9, created_at=at)
        remember(store, "3", confidence=0.2)
        remember(store, "1", created_at=moment(3))
        remember(store, "2", created_at=moment(2))
        for limit in (MANY, 3, 0):
            noteworthy = store.noteworthy(ANA, now=LATER, limit=limit)
            assert contents(noteworthy) == list("12345678")[:limit]


def _added(scope: Scope, text: int, until: int) -> Plan:
    # Every third fact is none that stands; texts come again, so that there are copies.
    trust = (Trust.PERSON, Trust.AGENT, Trust.EXTERNAL)[text % 3]
    ends = None if until % 3 == 0 else moment(until)
    kind = Kind.FACT if text % 7 else Kind.EPISODE
    return [
        do.Insert(record(f"text {text}", scope=scope, trust=trust, valid_until=ends, kind=kind))
    ]


def _corrected(old: Record, at: datetime) -> Plan:
    new = record(f"not {old.content}", scope=Scope(old.user, old.agent))
    return [do.Insert(new), do.Close(old.id, at, "corrected", superseded_by=new.id)]


def _restored(old: Record, at: datetime) -> Plan:
    # As an import of an archive does: inserted with its fate, and then ended by it.
    scope = Scope(old.user, old.agent)
    kept = record(f"restored {old.content}", scope=scope, superseded_by=old.id)
    return [do.Insert(kept, reason="imported"), do.Retire(kept.id, at, "imported")]


def _weighed(one: Record, two: Record, at: datetime) -> Plan:
    again = do.Reweigh(one.id, at, 0.5, 0.0, "confirmed")
    return [
        do.Fade(one.id, at, 0.3),
        do.Touch((two.id,), at),
        again,
        do.Reinforce(two.id, at, (one.id,)),
    ]


def _superseded(one: Record, two: Record, at: datetime) -> Plan:
    return [] if one == two else [do.Supersede(one.id, two.id, at, 0.3, "moved on")]


CHANGES: dict[str, Callable[[Record, Record, datetime], Plan]] = {
    "close": lambda one, _, at: [do.Close(one.id, at, "forgotten")],
    "retire": lambda one, _, at: [do.Retire(one.id, at, "faded away")],
    "erase": lambda one, _, at: [do.Erase((one.id,), at, "asked")],
    "weigh": _weighed,
    "correct": lambda one, _, at: _corrected(one, at),
    "restore": lambda one, _, at: _restored(one, at),
    "supersede": _superseded,
}
Step = tuple[str, int, int, int]
PLACES, MINUTES = st.integers(0, 30), st.integers(0, 30)
STEPS = st.lists(
    st.tuples(st.just("add"), st.integers(0, 1), st.integers(0, 20), MINUTES)
    | st.tuples(st.sampled_from(sorted(CHANGES)), PLACES, PLACES, MINUTES),
    min_size=5,
    max_size=20,
)


def plan_of(store: Store, user: Scope, step: Step) -> Plan:
    """Return what a drawn step does to what the user has by now."""
    change, first, second, minute = step
    if change == "add":
        return _added(Scope(user.user, (None, "planner")[first]), second, minute)
    records = store.page(user, ALL, limit=MANY, after=None)
    if not records:
        return []
    one, other = (records[number % len(records)] for number in (first, second))
    return CHANGES[change](one, other, moment(minute))


class NoteworthyVersionContract(Contract):
    """Whether other facts are standing is told by a text."""

    @given(steps=STEPS)
    @ONE_STORE
    def test_other_facts_have_another_version(self, store: Store, steps: list[Step]) -> None:
        """Whatever is done, and however time goes, one version never means two sets of facts."""
        user = Scope(new_id("user"))
        known: dict[tuple[Scope, str], set[str]] = {}
        for step in steps:
            store.apply(user, plan_of(store, user, step))
            for scope in (user, Scope(user.user, "planner")):
                for minute in (0, 15, 40):
                    now = moment(minute)
                    version = store.noteworthy_version(scope, now=now)
                    ids = {item.id for item in store.noteworthy(scope, now=now, limit=MANY)}
                    assert known.setdefault((scope, version), ids) == ids

    @pytest.mark.parametrize("scope", [ANA, WRITER])
    @pytest.mark.parametrize("change", sorted({*CHANGES} - {"weigh", "restore"}))
    def test_each_change_is_told(self, store: Store, scope: Scope, change: str) -> None:
        """What adds a fact, ends it, takes its place or erases it leaves another version."""
        for owner in (ANA, scope):
            one, two = remember(store, "one", "two", scope=owner)
            before = store.noteworthy_version(scope, now=LATER)
            store.apply(owner, CHANGES[change](one, two, moment(1)))
            after = store.noteworthy(scope, now=LATER, limit=MANY)
            assert one.id not in {item.id for item in after}
            assert store.noteworthy_version(scope, now=LATER) != before

    def test_only_an_end_changes_it_without_a_change(self, store: Store, reopen: Reopen) -> None:
        """A fact that ends by itself leaves another version behind; other kinds leave it."""
        remember(store, "early", "early, too", valid_until=moment(10))
        remember(store, "late", valid_until=moment(20))
        for scope in (ANA, WRITER):
            times = (0, 9.99, 10, 19.99, 20, 99)
            versions = [store.noteworthy_version(scope, now=moment(at)) for at in times]
            assert versions[0::2] == versions[1::2]
            assert len(set(versions)) == len(versions[0::2])
        before = store.noteworthy_version(ANA, now=LATER)
        (said,) = turns(store, "a", "said")
        notes = do.KeepNotes(NotesBase(NOTES))
        store.apply(ANA, [do.Noted("a", 0), do.Touch((said.id,), moment(1)), notes])
        assert reopen(store).noteworthy_version(ANA, now=LATER) == before
