"""The contract of :class:`memoranda.model.notes.NotesStore`, and of how far sessions are told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda.model.actions import (
    Action,
    Close,
    Consolidated,
    Erase,
    Fade,
    Insert,
    KeepNotes,
    Noted,
    Reinforce,
    Retire,
    Reweigh,
    Supersede,
    Touch,
)
from memoranda.model.models import Kind, Record, Scope, Trust
from memoranda.model.notes import NotedLine, NotesBase
from memoranda.model.ports import Store
from memoranda.testing.contracts.base import ONE_STORE, Contract, Reopen
from memoranda.testing.contracts.samples import (
    ALL,
    ANA,
    BEN,
    LATER,
    PLANNER,
    WRITER,
    contents,
    moment,
    new_id,
    of_agents,
    record,
    remember,
    turns,
)

FOLDER = "/home/ana/Notizen – 日本"
MANY = 10_000
SOON = moment(1_000_000)
Plan = list[Action]


def noted(*items: Record, folder: str = FOLDER) -> NotesBase:
    """Return a base whose lines tell ``items``."""
    return NotesBase(folder, tuple(NotedLine(item.id, item.content_hash) for item in items))


def told(store: Store, scope: Scope, session: str) -> int:
    """Return how far a session is told, of which ``scope`` sees episodes."""
    info = store.session(scope, session)
    assert info is not None
    assert info in store.sessions(scope)
    return info.noted


class ToldContract(Contract):
    """How far a session is told in the history is kept, and nothing is left out."""

    def test_nothing_is_told_at_first(self, store: Store, reopen: Reopen) -> None:
        """A session is told through -1, then as far as was said last; it never goes back."""
        _, two, three = turns(store, "a", "one", "two", "three")
        assert told(store, ANA, "a") == -1
        store.apply(ANA, [Noted("a", two.position or 0)])
        assert told(store, ANA, "a") == two.position
        store.apply(ANA, [Noted("a", three.position or 0), Noted("a", 0)])
        assert told(reopen(store), ANA, "a") == three.position

    def test_told_is_not_read(self, store: Store) -> None:
        """Telling a session neither consolidates it nor hinders that, nor the other way round."""
        turns(store, "a", "one", "two")
        store.apply(ANA, [Noted("a", 1)])
        (info,) = store.sessions(ANA, pending=True)
        assert (info.through, info.consolidated_at, info.noted) == (-1, None, 1)
        turns(store, "a", "three")
        store.apply(ANA, [Consolidated("a", 2, SOON, finished=True)])
        (info,) = store.sessions(ANA)
        assert (info.through, info.consolidated_at, info.noted) == (2, SOON, 1)

    def test_an_unknown_session_is_passed_over(self, store: Store) -> None:
        """A session that is not there, or another's, is no error, and is left as it is."""
        turns(store, "a", "planned", scope=PLANNER)
        turns(store, "b", "his", scope=BEN)
        remember(store, "fact", session_id="c")
        for scope, name in ((WRITER, "a"), (BEN, "a"), (ANA, "b"), (ANA, "c"), (ANA, "d")):
            store.apply(scope, [Noted(name, 0), Insert(record("kept", scope=scope))])
        assert told(store, PLANNER, "a") == told(store, BEN, "b") == -1
        assert store.session(ANA, "c") is store.session(ANA, "d") is None

    def test_an_agent_tells_what_it_sees(self, store: Store) -> None:
        """For the user, a session is told as far as it is of the agent that lags behind."""
        turns(store, "a", "shared")
        turns(store, "a", "planned", scope=PLANNER)
        turns(store, "a", "written", scope=WRITER)
        store.apply(WRITER, [Noted("a", 2)])
        assert [told(store, scope, "a") for scope in (WRITER, PLANNER, ANA)] == [2, -1, -1]
        store.apply(ANA, [Noted("a", 2)])
        assert [told(store, scope, "a") for scope in (WRITER, PLANNER, ANA)] == [2, 2, 2]

    def test_nothing_is_told_twice_for_an_agent_that_is_silent(self, store: Store) -> None:
        """An agent that has nothing more to tell, or is new, holds back nothing of the others."""
        turns(store, "a", "planned", scope=PLANNER)
        turns(store, "a", "written", scope=WRITER)
        store.apply(ANA, [Noted("a", 1)])
        (more,) = turns(store, "a", "more", scope=WRITER)
        last = more.position or 0
        store.apply(WRITER, [Noted("a", last)])
        assert told(store, ANA, "a") == last
        (new,) = turns(store, "a", "new", scope=Scope("ana", "new"))
        assert told(store, ANA, "a") == last
        assert store.episodes(ANA, "a", after=last, limit=MANY) == [new]

    def test_what_was_taken_back_is_not_waited_for(self, store: Store) -> None:
        """An agent whose episodes were all forgotten has nothing to tell."""
        (planned,) = turns(store, "a", "planned", scope=PLANNER)
        turns(store, "a", "written", scope=WRITER)
        store.apply(WRITER, [Noted("a", 1)])
        assert told(store, ANA, "a") == -1
        store.apply(ANA, [Close(planned.id, moment(1), "forgotten")])
        assert told(store, ANA, "a") == 1


class BaseContract(Contract):
    """What MEMORY.md last said is kept as it was given."""

    def test_a_base_is_kept(self, store: Store, reopen: Reopen) -> None:
        """Before the first there is none; then it is what was kept, line by line in order."""
        two, one = remember(store, "two", "one")
        assert store.notes_base(ANA, FOLDER) is None
        base = noted(one, two, one)
        base = replace(base, lines=(replace(base.lines[0], batch=7), *base.lines[1:]))
        store.apply(ANA, [KeepNotes(base)])
        store = reopen(store)
        assert store.notes_base(ANA, FOLDER) == base
        assert store.notes_base(ANA, f"{FOLDER}/") is None

    def test_a_base_takes_the_place_of_the_one_before(self, store: Store) -> None:
        """Nothing of the old one stays; one without lines is kept, too."""
        one, two, three = remember(store, "one", "two", "three")
        for base in (noted(one, two), noted(three), noted(), noted(two)):
            store.apply(ANA, [KeepNotes(base)])
            assert store.notes_base(ANA, FOLDER) == base

    def test_each_folder_has_its_own(self, store: Store) -> None:
        """Folders do not know of each other."""
        one, two = remember(store, "one", "two")
        first, second = noted(one, folder="/a"), noted(two, folder="/A")
        store.apply(ANA, [KeepNotes(first), KeepNotes(second)])
        assert store.notes_base(ANA, "/a") == first
        assert store.notes_base(ANA, "/A") == second

    def test_each_scope_has_its_own(self, store: Store) -> None:
        """A user, each of the agents, and another user: none sees or changes another's base."""
        scopes = (ANA, PLANNER, WRITER, BEN, Scope("ben", "planner"))
        bases = [noted(record(str(scope), scope=scope)) for scope in scopes]
        for place, (scope, base) in enumerate(zip(scopes, bases, strict=True)):
            assert store.notes_base(scope, FOLDER) is None
            store.apply(scope, [KeepNotes(base)])
            kept = [store.notes_base(each, FOLDER) for each in scopes[: place + 1]]
            assert kept == bases[: place + 1]

    def test_who_has_notes_is_known_to_whom_it_concerns(self, store: Store) -> None:
        """A user is told of all agents, an agent of itself, and nobody of another user."""
        for scope in (ANA, PLANNER, WRITER, BEN):
            store.apply(scope, [KeepNotes(NotesBase(f"/{scope.user}/{scope.agent}"))])
        mine = [(each, f"/{each.user}/{each.agent}") for each in (ANA, PLANNER, WRITER)]
        assert sorted(store.notes_kept(ANA), key=str) == sorted(mine, key=str)
        assert store.notes_kept(PLANNER) == [mine[1]]
        assert store.notes_kept(Scope("nobody")) == []

    def test_an_erased_line_is_known_until_the_file_is_cleaned(self, store: Store) -> None:
        """An erasure leaves the base, or the line would count as a new one; ``verify`` tells."""
        gone, kept = remember(store, "secret", "tea")
        store.apply(ANA, [KeepNotes(noted(gone, kept))])
        assert store.verify() == []
        store.apply(ANA, [Erase((gone.id,), moment(1), "asked")])
        store.purge()
        assert store.notes_base(ANA, FOLDER) == noted(gone, kept)
        assert any(FOLDER in line for line in store.verify())
        store.apply(ANA, [KeepNotes(noted(kept))])
        store.purge()
        assert store.verify() == []


class StandingContract(Contract):
    """The facts that are worth a line in MEMORY.md come, and the most worth come first."""

    def test_what_stands(self, store: Store) -> None:
        """Facts come that are believed, that nothing replaced, and that are not external."""
        remember(store, "agent's", trust=Trust.AGENT)
        remember(store, "external", trust=Trust.EXTERNAL)
        for kind in (Kind.EPISODE, Kind.CONTEXT, Kind.REFLECTION):
            remember(store, kind.value, kind=kind)
        remember(store, "expired", valid_until=moment(1))
        remember(store, "for now", valid_until=SOON)
        closed, retired, old, wrong, new = remember(
            store, "closed", "retired", "old", "wrong", "new"
        )
        store.apply(
            ANA,
            [
                Close(closed.id, moment(1), "forgotten"),
                Retire(retired.id, moment(1), "faded away"),
                Supersede(old.id, new.id, moment(1), 0.3, "moved on"),
                Close(wrong.id, moment(1), "corrected", superseded_by=new.id),
            ],
        )
        found = store.noteworthy(ANA, now=LATER, limit=MANY)
        assert contents(found) == ["new", "agent's"]
        assert found == [store.get(ANA, item.id) for item in found]
        before = store.noteworthy(ANA, now=moment(999_999), limit=MANY)
        assert contents(before) == ["new", "for now", "agent's"]

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
        found = contents(store.noteworthy(ANA, now=LATER, limit=MANY))
        assert found == list("12345678")
        assert contents(store.noteworthy(ANA, now=LATER, limit=3)) == found[:3]
        assert store.noteworthy(ANA, now=LATER, limit=0) == []

    def test_what_replaced_it_was_erased(self, store: Store) -> None:
        """A fact stands again when what took its place is gone for good."""
        old, new = remember(store, "old", "new")
        store.apply(ANA, [Supersede(old.id, new.id, moment(1), 0.3, "moved on")])
        store.apply(ANA, [Erase((new.id,), moment(2), "asked")])
        assert contents(store.noteworthy(ANA, now=LATER, limit=MANY)) == ["old"]

    def test_users_and_agents_have_their_own(self, store: Store) -> None:
        """A user sees all of it, an agent its own and nobody's, and no one another user's."""
        of_agents(store, "shared", "planned", "written")
        remember(store, "his", scope=BEN)
        for scope, seen in (
            (ANA, ["written", "planned", "shared"]),
            (WRITER, ["written", "shared"]),
            (BEN, ["his"]),
            (Scope("ben", "writer"), ["his"]),
            (Scope("eve"), []),
        ):
            assert contents(store.noteworthy(scope, now=LATER, limit=MANY)) == seen


def _told(scope: Scope, text: int, until: int) -> Plan:
    # Every third fact is none that stands; texts come again, so that there are copies.
    trust = (Trust.PERSON, Trust.AGENT, Trust.EXTERNAL)[text % 3]
    ends = None if until % 3 == 0 else moment(until)
    kind = Kind.FACT if text % 7 else Kind.EPISODE
    item = record(f"text {text}", scope=scope, trust=trust, valid_until=ends, kind=kind)
    return [Insert(item)]


def _corrected(old: Record, at: datetime) -> Plan:
    new = record(f"not {old.content}", scope=Scope(old.user, old.agent))
    return [Insert(new), Close(old.id, at, "corrected", superseded_by=new.id)]


def _restored(old: Record, at: datetime) -> Plan:
    # As an import of an archive does: inserted with its fate, and then ended by it.
    scope = Scope(old.user, old.agent)
    kept = record(f"restored {old.content}", scope=scope, superseded_by=old.id)
    return [Insert(kept, reason="imported"), Retire(kept.id, at, "imported")]


DEEDS: dict[str, Callable[[Record, Record, datetime], Plan]] = {
    "close": lambda one, _, at: [Close(one.id, at, "forgotten")],
    "retire": lambda one, _, at: [Retire(one.id, at, "faded away")],
    "erase": lambda one, _, at: [Erase((one.id,), at, "asked")],
    "weigh": lambda one, two, at: [
        Fade(one.id, at, 0.3),
        Touch((two.id,), at),
        Reweigh(one.id, at, 0.5, 0.0, "confirmed"),
        Reinforce(two.id, at, (one.id,)),
    ],
    "correct": lambda one, _, at: _corrected(one, at),
    "restore": lambda one, _, at: _restored(one, at),
    "supersede": lambda one, two, at: (
        [] if one == two else [Supersede(one.id, two.id, at, 0.3, "moved on")]
    ),
}
MINUTES = st.integers(0, 30)
STEPS = st.lists(
    st.tuples(st.just("tell"), st.integers(0, 1), st.integers(0, 20), MINUTES)
    | st.tuples(st.sampled_from(sorted(DEEDS)), st.integers(0, 30), st.integers(0, 30), MINUTES),
    min_size=5,
    max_size=20,
)


def plan_of(store: Store, user: Scope, step: tuple[str, int, int, int]) -> Plan:
    """Return what a drawn step does to what the user has by now."""
    deed, first, second, minute = step
    if deed == "tell":
        return _told(Scope(user.user, (None, "planner")[first]), second, minute)
    records = store.page(user, ALL, limit=MANY, after=None)
    if not records:
        return []
    one, other = (records[number % len(records)] for number in (first, second))
    return DEEDS[deed](one, other, moment(minute))


class VersionContract(Contract):
    """Whether other facts are standing is told by a text."""

    @given(steps=STEPS)
    @ONE_STORE
    def test_other_facts_have_another_version(
        self, store: Store, steps: list[tuple[str, int, int, int]]
    ) -> None:
        """Whatever is done, and however time goes, one version never means two sets of facts."""
        user = Scope(new_id("user"))
        scopes = [user, Scope(user.user, "planner")]
        known: dict[tuple[Scope, str], set[str]] = {}
        for step in steps:
            store.apply(user, plan_of(store, user, step))
            for scope in scopes:
                for minute in (0, 15, 40):
                    now = moment(minute)
                    version = store.noteworthy_version(scope, now=now)
                    found = {item.id for item in store.noteworthy(scope, now=now, limit=MANY)}
                    assert known.setdefault((scope, version), found) == found

    @pytest.mark.parametrize("scope", [ANA, WRITER])
    @pytest.mark.parametrize("deed", sorted({*DEEDS} - {"weigh", "restore"}))
    def test_each_deed_changes_it(self, store: Store, scope: Scope, deed: str) -> None:
        """What adds a fact, ends it, takes its place or erases it leaves another version."""
        for owner in (ANA, scope):
            one, two = remember(store, "one", "two", scope=owner)
            before = store.noteworthy_version(scope, now=LATER)
            store.apply(owner, DEEDS[deed](one, two, moment(1)))
            after = store.noteworthy(scope, now=LATER, limit=MANY)
            assert one.id not in {item.id for item in after}
            assert store.noteworthy_version(scope, now=LATER) != before

    def test_time_alone_changes_it(self, store: Store) -> None:
        """A fact that ends by itself leaves another version behind, at the moment when it ends."""
        remember(store, "early", "early, too", valid_until=moment(10))
        remember(store, "late", valid_until=moment(20))
        for scope in (ANA, WRITER):
            versions = [
                store.noteworthy_version(scope, now=moment(at))
                for at in (0, 9.99, 10, 19.99, 20, 99)
            ]
            assert versions[0::2] == versions[1::2]
            assert len(set(versions)) == len(versions[0::2])

    def test_it_stays_where_nothing_is_done(self, store: Store, reopen: Reopen) -> None:
        """Asked again, also after other kinds were stored, the version is the same."""
        remember(store, "tea")
        before = store.noteworthy_version(ANA, now=LATER)
        (said,) = turns(store, "a", "said")
        store.apply(ANA, [Noted("a", 0), Touch((said.id,), moment(1)), KeepNotes(noted())])
        assert reopen(store).noteworthy_version(ANA, now=LATER) == before

    @pytest.mark.parametrize("other", [BEN, PLANNER])
    def test_what_others_do_is_not_told(self, store: Store, other: Scope) -> None:
        """Neither another user nor another agent is to be noticed by the version."""
        remember(store, "tea", valid_until=SOON)
        before = store.noteworthy_version(WRITER, now=moment(0))
        one, two = remember(store, "one", "two", scope=other, valid_until=moment(100))
        store.apply(other, [Close(one.id, moment(1), "x"), Erase((two.id,), moment(1), "asked")])
        remember(store, "three", scope=other, valid_until=moment(100))
        assert store.noteworthy_version(WRITER, now=moment(0)) == before
