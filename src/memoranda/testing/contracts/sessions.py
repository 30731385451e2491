"""The contract of sessions, of the usage of models, and of what MEMORY.md last said."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda.errors import InvalidInput, NotFound
from memoranda.model import actions as do
from memoranda.model.models import Kind, Scope, Trust
from memoranda.model.notes import NotesBase
from memoranda.model.ports import Store
from memoranda.model.sessions import SessionInfo
from memoranda.model.usage import StageUsage, Usage
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
    episodes,
    erase,
    insert,
    moment,
    new_id,
    noted,
    noteworthy,
    on_record,
    page,
    record,
    remember,
    turns,
)


def done(session: str, through: int, *, finished: bool = True) -> do.AdvanceSession:
    """Return the action that says how far a session was read."""
    return do.AdvanceSession(session, through, SOON, finished)


def progress(store: Store, session: str, scope: Scope = ANA) -> tuple[int, bool, int]:
    """Return how far a session is read, whether all of it, and how far it is noted."""
    info = store.sessions(scope)[session]
    assert store.sessions(scope, id=session) == {session: info}
    assert (info.consolidated_at is None) == (session in store.sessions(scope, pending=True))
    return info.through, info.consolidated_at == SOON, info.noted


class SessionContract(Contract):
    """Sessions wait for consolidation, page by page, until all of their episodes were read."""

    def test_sessions_come_as_they_were_first_seen(self, store: Store, reopen: Reopen) -> None:
        """A session has episodes, is known since the first, and until all of them are erased."""
        assert store.sessions(ANA) == {}
        one, *_ = turns(store, "b", "hello")
        two, *_ = turns(store, "a", "hi", "ho")
        turns(store, "b", "again")
        (gone,) = turns(store, "gone", "gone")
        remember(store, "fact", session_id="c")
        store.apply(ANA, erase(gone, two))
        first = [
            SessionInfo(id=it.session_id or "", first_seen_at=it.created_at) for it in (one, two)
        ]
        store = reopen(store)
        assert list(store.sessions(ANA).values()) == first
        for name in ("c", "A", "gone"):
            assert store.sessions(ANA, id=name) == {}

    def test_pending_without_the_current_one(self, store: Store) -> None:
        """Only what waits is pending, and never the session that is left out."""
        for name in ("a", "b", "c"):
            turns(store, name, "hello")
        store.apply(ANA, [done("b", 0)])
        assert list(store.sessions(ANA, pending=True)) == ["a", "c"]
        assert list(store.sessions(ANA, pending=True, exclude="c")) == ["a"]
        assert list(store.sessions(ANA, exclude="c")) == ["a", "b"]

    def test_progress(self, store: Store, reopen: Reopen) -> None:
        """How far a session is read and noted is kept apart; neither goes back; it may go on."""
        turns(store, "a", "one", "two", "three")
        half, back = done("a", 1, finished=False), done("a", 0, finished=False)
        plans: list[tuple[list[do.Action], tuple[int, bool, int]]] = [
            ([], (-1, False, -1)),
            ([half, do.AdvanceNotes("a", 2)], (1, False, 2)),
            ([done("a", 2), back, do.AdvanceNotes("a", 0)], (2, True, 2)),
        ]
        for actions, expected in plans:
            store.apply(ANA, actions)
            assert progress(store, "a") == expected
        store = reopen(store)
        _, five = turns(store, "a", "four", "five")
        assert progress(store, "a") == (2, False, 2)
        store.apply(ANA, [done("a", 3)])  # While the last one came.
        assert progress(store, "a") == (3, False, 2)
        remember(store, "fact", session_id="a")
        store.apply(ANA, [*close(five), done("a", 3)])  # Nobody can read what was taken back.
        assert progress(store, "a") == (3, True, 2)

    def test_nothing_is_learned_twice(self, store: Store) -> None:
        """What was planned from where another has read on since is refused, with all its plan."""
        turns(store, "a", "one", "two")
        read = do.AdvanceSession("a", 1, SOON, finished=True, after=-1)
        store.apply(ANA, [insert(record("learned")), read])
        with pytest.raises(InvalidInput, match="'a'"):
            store.apply(ANA, [insert(record("again")), read])
        assert page(store, ANA) == ["one", "two", "learned"]

    def test_an_unknown_session(self, store: Store) -> None:
        """Without episodes one sees it cannot be consolidated; notes of it are passed over."""
        turns(store, "a", "hello", scope=PLANNER)
        remember(store, "fact", session_id="b")
        for scope, name in ((ANA, "b"), (ANA, "c"), (BEN, "a"), (WRITER, "a")):
            store.apply(scope, [do.AdvanceNotes(name, 0), insert(record("kept", scope=scope))])
            with pytest.raises(NotFound):
                store.apply(scope, [done(name, 0)])
        assert progress(store, "a") == (-1, False, -1)

    def test_each_agent_reads_for_itself(self, store: Store) -> None:
        """For the user, a session waits for the agent that lags behind."""
        turns(store, "a", "shared")
        turns(store, "a", "planned", scope=PLANNER)
        turns(store, "a", "written", scope=WRITER)
        store.apply(WRITER, [done("a", 2), do.AdvanceNotes("a", 2)])
        for scope, expected in ((WRITER, 2), (PLANNER, -1), (ANA, -1)):
            assert progress(store, "a", scope) == (expected, scope == WRITER, expected)
        store.apply(ANA, [done("a", 2), do.AdvanceNotes("a", 2)])
        for scope in (WRITER, PLANNER, ANA):
            assert progress(store, "a", scope) == (2, True, 2)

    def test_nothing_is_noted_twice_for_an_agent_that_is_silent(self, store: Store) -> None:
        """Who has nothing more to tell, is new, or took it back, holds back no other."""
        turns(store, "a", "planned", scope=PLANNER)
        turns(store, "a", "written", scope=WRITER)
        store.apply(ANA, [do.AdvanceNotes("a", 1)])
        (more,) = turns(store, "a", "more", scope=WRITER)
        last = more.position or 0
        store.apply(WRITER, [do.AdvanceNotes("a", last)])
        assert progress(store, "a")[2] == last
        (new,) = turns(store, "a", "new", scope=Scope("ana", "new"))
        assert progress(store, "a")[2] == last
        assert episodes(store, ANA, "a", after=last, limit=MANY) == [new]
        (planned,) = turns(store, "b", "planned", scope=PLANNER)
        turns(store, "b", "written", scope=WRITER)
        store.apply(WRITER, [do.AdvanceNotes("b", 1)])
        assert progress(store, "b")[2] == -1
        store.apply(ANA, close(planned))
        assert progress(store, "b")[2] == 1

    def test_what_comes_after_an_erased_end_is_new(self, store: Store) -> None:
        """An episode that comes where one that was read was erased has not been read, or told."""
        _, two = turns(store, "a", "one", "two")
        store.apply(ANA, [done("a", 1), do.AdvanceNotes("a", 1), *erase(two)])
        (three,) = turns(store, "a", "three")
        read, finished, noted = progress(store, "a")
        assert not finished
        for through in (read, noted):
            assert episodes(store, ANA, "a", after=through, limit=MANY) == [three]

    def test_usage_adds_up(self, store: Store, reopen: Reopen) -> None:
        """Calls of a stage to a model are summed: of the user all, of an agent its and nobody's."""
        first = Usage(requests=1, input_tokens=100, output_tokens=10, cost=0.25, seconds=1.5)
        second = Usage(requests=2, failures=1, input_tokens=50, seconds=0.5)
        assert store.usage(ANA) == []
        for scope, stage, model, usage in (
            (ANA, "reflect", "m", first),
            (PLANNER, "reflect", "m", second),
            (WRITER, "reflect", "m", first),
            (ANA, "enrich", "m", second),
            (ANA, "reflect", "a", second),
        ):
            store.apply(scope, [do.Spend(stage, model, usage, SOON)])
        others = [StageUsage("enrich", "m", second), StageUsage("reflect", "a", second)]
        store = reopen(store)
        assert store.usage(ANA) == [*others, StageUsage("reflect", "m", first + second + first)]
        assert store.usage(WRITER) == [*others, StageUsage("reflect", "m", first + first)]


class NotesBaseContract(Contract):
    """What MEMORY.md last said is kept as it was given."""

    def test_a_base_takes_the_place_of_the_one_before(self, store: Store, reopen: Reopen) -> None:
        """Before the first there is none; nothing of an old one stays; it may have no lines."""
        one, two = remember(store, "one", "two")
        assert store.notes_bases(ANA) == {}
        base = noted(two, one, two)
        base = replace(base, lines=(replace(base.lines[0], batch=7), *base.lines[1:]))
        for each in (noted(one, two), NotesBase(NOTES), base):
            store.apply(ANA, [do.KeepNotes(each)])
            assert store.notes_bases(ANA) == {(ANA, NOTES): each}
        store = reopen(store)
        assert store.notes_bases(ANA) == {(ANA, NOTES): base}

    def test_each_scope_and_folder_has_its_own(self, store: Store) -> None:
        """A user is told who of the agents has notes, an agent of itself; nobody of a user."""
        kept: dict[tuple[Scope, str], NotesBase] = {}
        for scope in (ANA, PLANNER, WRITER, BEN, Scope("ben", "planner")):
            for folder in ("/a", "/A"):
                base = noted(record(f"{scope} {folder}", scope=scope), folder=folder)
                store.apply(scope, [do.KeepNotes(base)])
                kept[scope, folder] = base
        for scope, owners in (
            (ANA, {ANA, PLANNER, WRITER}),
            (PLANNER, {PLANNER}),
            (Scope("nobody"), set()),
        ):
            expected = {pair: base for pair, base in kept.items() if pair[0] in owners}
            assert store.notes_bases(scope) == expected

    def test_an_erased_line_is_known_until_the_file_is_cleaned(self, store: Store) -> None:
        """An erasure leaves the base, or the line would count as a new one; ``verify`` tells."""
        gone, kept = remember(store, "secret", "tea")
        store.apply(ANA, [do.KeepNotes(noted(gone, kept))])
        assert store.verify() == []
        store.apply(ANA, erase(gone))
        store.purge()
        assert store.notes_bases(ANA) == {(ANA, NOTES): noted(gone, kept)}
        assert any(NOTES in line for line in store.verify())
        store.apply(ANA, [do.KeepNotes(noted(kept))])
        store.purge()
        assert store.verify() == []


DEEDS = ["add", "add", "correct", "restore", *map(str, range(len(on_record("", ""))))]
Step = tuple[str, int, int, int]
STEPS = st.lists(
    st.tuples(st.sampled_from(DEEDS), *[st.integers(0, 30)] * 3), min_size=5, max_size=20
)
TRUSTS = (Trust.PERSON, Trust.AGENT, Trust.EXTERNAL)


def plan_of(store: Store, user: Scope, step: Step) -> list[do.Action]:
    """Return what a drawn step does to what the user has by now: adding, correcting, restoring.

    Or one action on a record. Every third fact is none that stands; texts come again.
    """
    deed, first, second, minute = step
    records, at = store.records(user, ALL), moment(minute)
    if deed == "add" or not records:
        scope = Scope(user.user, (None, "planner")[first % 2])
        kind, ends = (Kind.FACT, Kind.EPISODE)[second % 7 == 0], None if minute % 3 == 0 else at
        text, trust = f"text {second}", TRUSTS[second % 3]
        return [do.Insert(record(text, scope=scope, kind=kind, trust=trust, valid_until=ends))]
    one, other = (records[number % len(records)] for number in (first, second))
    new = record(f"not {one.content}", scope=Scope(one.user, one.agent))
    if deed == "correct":
        return [do.Insert(new), do.Close(one.id, at, "corrected", superseded_by=new.id)]
    if (
        deed == "restore"
    ):  # As an import of an archive does: inserted with its fate, and ended by it.
        kept = replace(new, superseded_by=one.id)
        return [do.Insert(kept, reason="imported"), do.Retire(kept.id, at, "imported")]
    return [] if one == other else [on_record(one.id, other.id, at)[int(deed)]]


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
                    ids = {item.id for item in noteworthy(store, scope, now=now)}
                    assert known.setdefault((scope, version), ids) == ids

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
        store.apply(ANA, [do.AdvanceNotes("a", 0), do.Touch((said.id,), moment(1)), notes])
        assert reopen(store).noteworthy_version(ANA, now=LATER) == before
