"""The contract of sessions, of the usage of models, and of what MEMORY.md last said."""

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import ALL, NOTES, SOON, User, moment, noted, on_record, record
from steps import do

from laws.base import ONE_STORE, Contract
from memoranda.errors import Conflict, NotFound
from memoranda.model.models import Kind, Scope, Trust
from memoranda.model.notes import NotesBase
from memoranda.model.sessions import SessionInfo
from memoranda.model.usage import StageUsage, Usage


def done(session, through, *, finished=True):
    """Return the step that says how far a session was read."""
    return do.advance_session(session, through=through, at=SOON, finished=finished)


def progress(user, session):
    """Return how far a session is read, whether all of it, and how far it is noted."""
    info = user.sessions()[session]
    assert user.sessions(id=session) == {session: info}
    assert (info.consolidated_at is None) == (session in user.sessions(pending=True))
    return info.through, info.consolidated_at == SOON, info.noted


class SessionContract(Contract):
    """Sessions wait for consolidation, page by page, until all of their episodes were read."""

    def test_sessions_come_as_they_were_first_seen(self, ana, reopen):
        """A session has episodes, is known since the first, and until all of them are erased.

        Only what waits is pending, and never the session that is left out.
        """
        assert ana.sessions() == {}
        one, *_ = ana.turns("b", "hello")
        two, *_ = ana.turns("a", "hi", "ho")
        ana.turns("b", "again")
        (gone,) = ana.turns("gone", "gone")
        ana.remember("fact", session_id="c")
        ana.erase(gone, two)
        first = [
            SessionInfo(id=it.session_id or "", first_seen_at=it.created_at) for it in (one, two)
        ]
        ana.store = reopen(ana.store)
        assert list(ana.sessions().values()) == first
        for name in ("c", "A", "gone"):
            assert ana.sessions(id=name) == {}
        ana.turns("c", "now")
        ana.apply(done("b", 1))
        assert list(ana.sessions(pending=True)) == ["a", "c"]

    def test_progress(self, ana, reopen):
        """How far a session is read and noted is kept apart; neither goes back; it may go on."""
        ana.turns("a", "one", "two", "three")
        half, back = done("a", 1, finished=False), done("a", 0, finished=False)
        plans = [
            ([], (-1, False, -1)),
            ([half, do.advance_notes("a", 2)], (1, False, 2)),
            ([done("a", 2), back, do.advance_notes("a", 0)], (2, True, 2)),
        ]
        for actions, expected in plans:
            ana.apply(*actions)
            assert progress(ana, "a") == expected
        ana.store = reopen(ana.store)
        _, five = ana.turns("a", "four", "five")
        assert progress(ana, "a") == (2, False, 2)
        ana.apply(done("a", 3))  # While the last one came.
        assert progress(ana, "a") == (3, False, 2)
        ana.remember("fact", session_id="a")
        ana.apply(
            do.Close(five.id, SOON, "forgotten"), done("a", 3)
        )  # Nobody can read what was taken back.
        assert progress(ana, "a") == (3, True, 2)

    def test_nothing_is_learned_twice(self, ana):
        """What was planned from where another has read on since is refused, with all its plan."""
        ana.turns("a", "one", "two")
        read = do.advance_session("a", through=1, at=SOON, finished=True, after=-1)
        ana.apply(ana.insertion("learned"), read)
        with pytest.raises(Conflict, match="'a'"):
            ana.apply(ana.insertion("again"), read)
        assert ana.page() == ["one", "two", "learned"]

    def test_an_unknown_session(self, ana, ben):
        """Without episodes one sees it cannot be consolidated; notes of it are passed over."""
        ana.planner.turns("a", "hello")
        ana.remember("fact", session_id="b")
        for user, name in ((ana, "b"), (ana, "c"), (ben, "a"), (ana.writer, "a")):
            user.apply(do.advance_notes(name, 0), user.insertion("kept"))
            with pytest.raises(NotFound):
                user.apply(done(name, 0))
        assert progress(ana, "a") == (-1, False, -1)

    def test_each_agent_reads_for_itself(self, ana):
        """For the user, a session waits for the agent that lags behind, from its first episode."""
        ana.turns("a", "shared")
        ana.planner.turns("a", "planned")
        ana.writer.turns("a", "written")
        ana.writer.apply(done("a", 2), do.advance_notes("a", 2))
        for user, expected in ((ana.writer, 2), (ana.planner, 0), (ana, 0)):
            assert progress(user, "a") == (expected, user.scope == ana.writer.scope, expected)
        ana.apply(done("a", 2), do.advance_notes("a", 2))
        for user in (ana.writer, ana.planner, ana):
            assert progress(user, "a") == (2, True, 2)

    def test_nothing_is_noted_twice_for_an_agent_that_is_silent(self, ana):
        """Who has nothing more to tell, is new, or took it back, holds back no other."""
        ana.planner.turns("a", "planned")
        ana.writer.turns("a", "written")
        ana.apply(do.advance_notes("a", 1))
        (more,) = ana.writer.turns("a", "more")
        last = more.position or 0
        ana.writer.apply(do.advance_notes("a", last))
        assert progress(ana, "a")[2] == last
        (new,) = User(ana.store, Scope("ana", "new")).turns("a", "new")
        assert progress(ana, "a")[2] == last
        assert ana.episodes("a", after=last) == [new]
        (planned,) = ana.planner.turns("b", "planned")
        ana.writer.turns("b", "written")
        ana.writer.apply(do.advance_notes("b", 1))
        assert progress(ana, "b")[2] == -1
        ana.close(planned)
        assert progress(ana, "b")[2] == 1

    def test_what_comes_after_an_erased_end_is_new(self, ana):
        """An episode that comes where one that was read was erased has not been read, or told."""
        _, two = ana.turns("a", "one", "two")
        ana.apply(done("a", 1), do.advance_notes("a", 1))
        ana.erase(two)
        (three,) = ana.turns("a", "three")
        read, finished, noted = progress(ana, "a")
        assert not finished
        for through in (read, noted):
            assert ana.episodes("a", after=through) == [three]

    def test_usage_adds_up(self, ana, reopen):
        """Calls of a stage to a model are summed: of the user all, of an agent its and nobody's."""
        first = Usage(requests=1, input_tokens=100, output_tokens=10, cost=0.25, seconds=1.5)
        second = Usage(requests=2, failures=1, input_tokens=50, seconds=0.5)
        assert ana.usage() == []
        for user, stage, model, usage in (
            (ana, "reflect", "m", first),
            (ana.planner, "reflect", "m", second),
            (ana.writer, "reflect", "m", first),
            (ana, "enrich", "m", second),
            (ana, "reflect", "a", second),
        ):
            user.apply(do.add_usage(stage, model, usage))
        others = [StageUsage("enrich", "m", second), StageUsage("reflect", "a", second)]
        ana.store = reopen(ana.store)
        assert ana.usage() == [*others, StageUsage("reflect", "m", first + second + first)]
        assert ana.writer.usage() == [*others, StageUsage("reflect", "m", first + first)]


class NotesBaseContract(Contract):
    """What MEMORY.md last said is kept as it was given."""

    def test_a_base_takes_the_place_of_the_one_before(self, ana, reopen):
        """Before the first there is none; nothing of an old one stays; it may have no lines."""
        one, two = ana.remember("one", "two")
        assert ana.notes_bases() == {}
        base = noted(two, one, two)
        for each in (noted(one, two), NotesBase(NOTES), base):
            ana.apply(do.keep_notes_base(each))
            assert ana.notes_bases() == {(ana.scope, NOTES): each}
        ana.store = reopen(ana.store)
        assert ana.notes_bases() == {(ana.scope, NOTES): base}

    def test_each_scope_and_folder_has_its_own(self, ana, ben):
        """A user is told who of the agents has notes, an agent of itself; nobody of a user."""
        kept = {}
        for user in (ana, ana.planner, ana.writer, ben, ben.planner):
            bases = [noted(record(f"{user.scope}"), folder=folder) for folder in ("/a", "/A")]
            user.apply(*map(do.keep_notes_base, bases))
            kept[user.scope] = {(user.scope, base.folder): base for base in bases}
        assert (
            ana.notes_bases() == kept[ana.scope] | kept[ana.planner.scope] | kept[ana.writer.scope]
        )
        assert ana.planner.notes_bases() == kept[ana.planner.scope]
        assert User(ana.store, Scope("nobody")).notes_bases() == {}

    def test_an_erased_line_is_known_until_the_file_is_cleaned(self, ana):
        """An erasure leaves the base, or the line would count as a new one."""
        gone, kept = ana.remember("secret", "tea")
        ana.apply(do.keep_notes_base(noted(gone, kept)))
        ana.erase(gone)
        assert ana.notes_bases() == {(ana.scope, NOTES): noted(gone, kept)}
        ana.store.rebuild()
        assert ana.notes_bases() == {(ana.scope, NOTES): noted(gone, kept)}


DEEDS = ["add", "add", "correct", "restore", *map(str, range(len(on_record("", ""))))]
STEPS = st.lists(
    st.tuples(st.sampled_from(DEEDS), *[st.integers(0, 30)] * 3), min_size=5, max_size=20
)
TRUSTS = (Trust.PERSON, Trust.AGENT, Trust.EXTERNAL)


def plan_of(user, step):
    """Return what a drawn step does to what the user has by now: adding, correcting, restoring.

    Or one action on a record. Every third fact is none that stands; texts come again.
    """
    deed, first, second, minute = step
    records, at = user.records(ALL), moment(minute)
    if deed == "add" or not records:
        scope = Scope(user.scope.user, (None, "planner")[first % 2])
        kind, ends = (Kind.FACT, Kind.EPISODE)[second % 7 == 0], None if minute % 3 == 0 else at
        text, trust = f"text {second}", TRUSTS[second % 3]
        return [do.Insert(record(text, scope=scope, kind=kind, trust=trust, valid_until=ends))]
    one, other = (records[number % len(records)] for number in (first, second))
    new = record(f"not {one.content}", scope=Scope(one.user, one.agent))
    if deed == "correct":
        return [do.Insert(new), do.Close(one.id, at, "corrected", superseded_by=new.id)]
    if deed == "restore":
        # As an import of an archive does: inserted with its fate, and ended by it.
        kept = replace(new, superseded_by=one.id)
        return [do.Insert(kept, reason="imported"), do.Retire(kept.id, at, "imported")]
    return [] if one == other else [on_record(one.id, other.id, at)[int(deed)]]


class FactRevisionContract(Contract):
    """Whether other facts are active is told by a number."""

    @given(steps=STEPS)
    @ONE_STORE
    def test_other_facts_have_another_revision(self, store, steps):
        """Whatever is done, at one moment one number never means two sets of facts."""
        user = User(store, Scope(f"user {len(store.users())}"))
        known = {}
        for step in steps:
            user.apply(*plan_of(user, step))
            for each, minute in product((user, user.planner), (0, 15, 40)):
                ids = {item.id for item in each.noteworthy(now=moment(minute))}
                revision = each.fact_revision()
                assert known.setdefault((each.scope, revision, minute), ids) == ids

    def test_what_is_done_to_others_leaves_it(self, ana, reopen):
        """Episodes, notes and recalls change no fact, as another process sees, too."""
        ana.remember("early", valid_until=moment(10))
        before = ana.fact_revision()
        (said,) = ana.turns("a", "said")
        notes = do.keep_notes_base(NotesBase(NOTES))
        ana.apply(do.advance_notes("a", 0), do.RecordAccess((said.id,), moment(1)), notes)
        again = reopen(ana.store)
        assert again.fact_revision(ana.scope) == before > again.fact_revision(Scope("nobody"))
