"""The contract of :class:`memoranda.model.ports.LifeStore`: what upkeep asks a store."""

from __future__ import annotations

from functools import partial

import pytest

from memoranda.errors import InvalidInput, NotFound
from memoranda.model.actions import (
    Close,
    Consolidated,
    Enrich,
    Erase,
    Insert,
    Noted,
    Retire,
    Reweigh,
    Spend,
    Supersede,
)
from memoranda.model.models import Kind
from memoranda.model.ports import Store
from memoranda.model.sessions import SessionInfo
from memoranda.model.usage import StageUsage, Usage
from memoranda.testing.contracts.base import Contract, Reopen
from memoranda.testing.contracts.samples import (
    ALL,
    ANA,
    BEN,
    LATER,
    PLANNER,
    WRITER,
    contents,
    moment,
    named,
    of_agents,
    record,
    remember,
    turns,
)

SOON = moment(1_000_000)
FEW = 100


def done(session: str, through: int, *, finished: bool = True) -> Consolidated:
    """Return the action that says how far a session was read."""
    return Consolidated(session, through, SOON, finished)


def ids(sessions: list[SessionInfo]) -> list[str]:
    """Return the names of sessions."""
    return [info.id for info in sessions]


class SessionContract(Contract):
    """Sessions wait for consolidation, page by page, until all of their episodes were read."""

    def test_sessions_come_as_they_were_first_seen(self, store: Store, reopen: Reopen) -> None:
        """A session is one that has episodes; it is known since its first one."""
        assert store.sessions(ANA) == []
        (one,) = turns(store, "b", "hello")
        (two,) = turns(store, "a", "hi")
        turns(store, "b", "again")
        remember(store, "fact", session_id="c")
        assert reopen(store).sessions(ANA) == [
            SessionInfo(id="b", first_seen_at=one.created_at),
            SessionInfo(id="a", first_seen_at=two.created_at),
        ]

    def test_one_session_is_found_by_its_name(self, store: Store) -> None:
        """One session is told as it is among all; without episodes that are seen, it is none."""
        turns(store, "a", "hello")
        turns(store, "b", "planned", scope=PLANNER)
        remember(store, "fact", session_id="c")
        store.apply(ANA, [done("a", 0)])
        assert [store.session(ANA, info.id) for info in store.sessions(ANA)] == store.sessions(ANA)
        assert store.session(PLANNER, "b") == store.session(ANA, "b")
        for scope, name in ((ANA, "c"), (ANA, "A"), (BEN, "a"), (WRITER, "b")):
            assert store.session(scope, name) is None

    def test_pending_without_the_current_one(self, store: Store) -> None:
        """Only what waits is pending, and never the session that is left out."""
        for name in ("a", "b", "c"):
            turns(store, name, "hello")
        store.apply(ANA, [done("b", 0)])
        assert ids(store.sessions(ANA, pending=True)) == ["a", "c"]
        assert ids(store.sessions(ANA, pending=True, exclude="c")) == ["a"]
        assert ids(store.sessions(ANA, exclude="c")) == ["a", "b"]

    def test_progress_is_kept(self, store: Store) -> None:
        """A session read in part waits, from where the reader stopped; it never goes back."""
        turns(store, "a", "one", "two", "three")
        store.apply(ANA, [done("a", 1, finished=False)])
        (info,) = store.sessions(ANA, pending=True)
        assert (info.through, info.consolidated_at) == (1, None)
        store.apply(ANA, [done("a", 2), done("a", 0, finished=False)])
        (info,) = store.sessions(ANA)
        assert (info.through, info.consolidated_at) == (2, SOON)

    def test_a_session_that_goes_on_waits_again(self, store: Store) -> None:
        """An episode that comes makes it pending from there, also while it is being finished."""
        turns(store, "a", "one")
        store.apply(ANA, [done("a", 0)])
        turns(store, "a", "two", "three")
        (info,) = store.sessions(ANA, pending=True)
        assert info.through == 0
        store.apply(ANA, [done("a", 1)])
        (info,) = store.sessions(ANA, pending=True)
        assert (info.through, info.consolidated_at) == (1, None)

    def test_what_nobody_can_read_is_not_waited_for(self, store: Store) -> None:
        """A session is finished where all that comes later was taken back, or is no episode."""
        _, two = turns(store, "a", "one", "two")
        remember(store, "fact", session_id="a")
        store.apply(ANA, [Close(two.id, moment(1), "forgotten"), done("a", 0)])
        assert store.sessions(ANA, pending=True) == []

    def test_nothing_is_learned_twice(self, store: Store) -> None:
        """What was planned from where another has read on since is refused, with all its plan."""
        turns(store, "a", "one", "two")
        read = Consolidated("a", 1, SOON, finished=True, after=-1)
        store.apply(ANA, [Insert(record("learned")), read])
        with pytest.raises(InvalidInput, match="'a'"):
            store.apply(ANA, [Insert(record("again")), read])
        assert len(store.page(ANA, ALL, limit=FEW, after=None)) == len(["one", "two", "learned"])

    def test_an_unknown_session_is_not_found(self, store: Store) -> None:
        """A session without episodes, another user's or another agent's, is not there."""
        turns(store, "a", "hello", scope=PLANNER)
        remember(store, "fact", session_id="b")
        for scope, name in ((ANA, "b"), (BEN, "a"), (WRITER, "a")):
            with pytest.raises(NotFound):
                store.apply(scope, [done(name, 0)])
        assert ids(store.sessions(ANA, pending=True)) == ["a"]

    def test_users_and_agents_have_sessions_of_their_own(self, store: Store) -> None:
        """A session is read by each agent for itself; for the user it waits for them all."""
        turns(store, "a", "shared")
        turns(store, "a", "planned", scope=PLANNER)
        turns(store, "b", "written", scope=WRITER)
        turns(store, "a", "his", scope=BEN)
        assert ids(store.sessions(PLANNER)) == ["a"]
        assert ids(store.sessions(WRITER)) == ["a", "b"]
        store.apply(WRITER, [done("a", 1)])
        assert ids(store.sessions(WRITER, pending=True)) == ["b"]
        (info,) = store.sessions(PLANNER, pending=True)
        assert (info.id, info.through) == ("a", -1)
        assert ids(store.sessions(ANA, pending=True)) == ["a", "b"]
        assert ids(store.sessions(BEN, pending=True)) == ["a"]
        store.apply(ANA, [done("a", 1)])
        assert ids(store.sessions(PLANNER, pending=True)) == []

    def test_an_erased_session_is_gone(self, store: Store) -> None:
        """A session of which all episodes were erased is not known any more; others stay."""
        (one,) = turns(store, "a", "one")
        two, _ = turns(store, "b", "two", "three")
        store.apply(ANA, [Erase((one.id, two.id), moment(1), "asked")])
        assert ids(store.sessions(ANA)) == ["b"]

    def test_what_comes_after_an_erased_end_is_new(self, store: Store) -> None:
        """An episode that comes where one that was read was erased has not been read, or told."""
        _, two = turns(store, "a", "one", "two")
        store.apply(ANA, [done("a", 1), Noted("a", 1)])
        store.apply(ANA, [Erase((two.id,), moment(1), "asked")])
        (three,) = turns(store, "a", "three")
        (info,) = store.sessions(ANA, pending=True)
        for read in (info.through, info.noted):
            assert store.episodes(ANA, "a", after=read, limit=FEW) == [three]

    def test_episodes_in_order_page_by_page(self, store: Store) -> None:
        """The episodes beyond a position come in order, without facts and other sessions."""
        one, two, three = turns(store, "a", "one", "two", "three")
        remember(store, "fact", session_id="a")
        turns(store, "b", "other")
        assert store.episodes(ANA, "a", after=-1, limit=2) == [one, two]
        assert store.episodes(ANA, "a", after=two.position or 0, limit=2) == [three]
        assert store.episodes(ANA, "a", after=three.position or 0, limit=2) == []
        assert store.episodes(BEN, "a", after=-1, limit=2) == []

    def test_episodes_that_expired_are_read_and_those_taken_back_are_not(
        self, store: Store
    ) -> None:
        """What ended by itself, retired or not, was said; what was forgotten was not."""
        expired, retired = turns(store, "a", "expired", "retired", valid_until=moment(1))
        forgotten, corrected, faded = turns(store, "a", "forgotten", "corrected", "faded")
        store.apply(
            ANA,
            [
                Retire(retired.id, SOON, "expired"),
                Retire(faded.id, SOON, "faded away"),
                Close(forgotten.id, SOON, "forgotten"),
                Close(corrected.id, SOON, "corrected", superseded_by=expired.id),
            ],
        )
        found = store.episodes(ANA, "a", after=-1, limit=FEW)
        assert contents(found) == ["expired", "retired", "faded"]

    def test_an_agent_reads_the_episodes_it_sees(self, store: Store) -> None:
        """Episodes of another agent are as if they had not been said."""
        of_agents(store, "shared", "planned", "written", kind=Kind.EPISODE, session_id="a")
        found = store.episodes(WRITER, "a", after=-1, limit=FEW)
        assert contents(found) == ["shared", "written"]


class WorkContract(Contract):
    """What upkeep has to look at is found, and nothing else."""

    def test_fading_are_believed_facts_with_a_rate(self, store: Store) -> None:
        """Facts that are believed and can fade come, the oldest first."""
        one, two = remember(store, "one", "two", decay_rate=0.1)
        remember(store, "protected")
        remember(store, "told", kind=Kind.EPISODE, decay_rate=0.1)
        remember(store, "expired", decay_rate=0.1, valid_until=moment(1))
        gone, sure = remember(store, "retired", "confirmed", decay_rate=0.1)
        store.apply(
            ANA,
            [Retire(gone.id, moment(1), "faded away"), Reweigh(sure.id, SOON, 1.0, 0.0, "sure")],
        )
        remember(store, "his", scope=BEN, decay_rate=0.1)
        assert store.decaying(ANA, LATER) == [one, two]

    def test_what_was_superseded_goes_on_fading(self, store: Store) -> None:
        """A fact that another took the place of is believed, and fades."""
        old, new = remember(store, "old", "new", decay_rate=0.1)
        store.apply(ANA, [Supersede(old.id, new.id, SOON, 0.3, "moved")])
        assert contents(store.decaying(ANA, LATER)) == ["old", "new"]

    def test_lapsed_ended_by_itself(self, store: Store) -> None:
        """Records past their time come, until they are retired; those closed never do."""
        past = remember(store, "past", "retired", "forgotten", valid_until=moment(1_000))
        remember(store, "later", valid_until=SOON)
        remember(store, "open")
        (closed,) = remember(store, "closed")
        store.apply(
            ANA,
            [
                Retire(past[1].id, moment(1_001), "expired"),
                Close(past[2].id, moment(1_001), "forgotten"),
                Close(closed.id, moment(1), "forgotten"),
            ],
        )
        assert store.expired(ANA, moment(999)) == []
        assert contents(store.expired(ANA, moment(1_000))) == ["past"]
        assert contents(store.expired(ANA, LATER)) == ["past", "later"]
        assert store.expired(BEN, LATER) == []

    def test_recorded_in_a_span_of_time(self, store: Store) -> None:
        """Believed records of the kind come, the oldest first; the span ends before its end."""
        one, two, three = remember(store, "one", "two", "three", kind=Kind.EPISODE)
        remember(store, "fact", created_at=moment(-1))
        remember(store, "his", scope=BEN, kind=Kind.EPISODE, created_at=moment(-1))
        gone, expired = remember(store, "gone", "expired", kind=Kind.EPISODE, created_at=moment(-1))
        store.apply(
            ANA, [Close(gone.id, moment(1), "forgotten"), Retire(expired.id, moment(1), "expired")]
        )
        (early,) = remember(store, "early", kind=Kind.EPISODE, created_at=moment(-2))
        episodes = partial(store.recorded, ANA, Kind.EPISODE, now=LATER)
        assert episodes() == [early, one, two, three]
        assert episodes(before=three.created_at) == [early, one, two]
        assert episodes(before=moment(-2)) == []
        assert episodes(since=one.created_at) == [one, two, three]
        assert episodes(since=one.created_at, before=two.created_at) == [one]

    def test_unenriched_have_few_entities_and_no_stamp(self, store: Store) -> None:
        """The oldest records of the kinds come that were never enriched and have few entities."""
        two, none = remember(store, "Zoe met Dan", "nobody")
        many, seen = remember(store, "Zoe met Dan and Eve", "seen")
        (said,) = remember(store, "said", kind=Kind.EPISODE)
        (ended,) = remember(store, "ended")
        remember(store, "week", kind=Kind.REFLECTION)
        remember(store, "his", scope=BEN)
        store.apply(
            ANA, [Enrich(seen.id, SOON, named("Dan", "Dan")), Close(ended.id, moment(1), "x")]
        )

        def found(most: int, limit: int = FEW) -> list[str]:
            kinds = (Kind.FACT, Kind.EPISODE)
            items = store.unenriched(ANA, kinds=kinds, most=most, limit=limit, now=LATER)
            return [item.id for item in items]

        assert found(2) == [two.id, none.id, said.id]
        assert found(2, limit=2) == [two.id, none.id]
        assert found(0) == [none.id, said.id]
        assert found(3) == [two.id, none.id, many.id, said.id]
        assert store.unenriched(ANA, kinds=(), most=9, limit=9, now=LATER) == []

    def test_an_agent_works_on_what_it_sees(self, store: Store) -> None:
        """Each of these looks leaves out what another agent has."""
        of_agents(store, "shared", "planned", "written", decay_rate=0.1, valid_until=SOON)
        before, mine = moment(999_999), ["shared", "written"]
        assert contents(store.decaying(WRITER, before)) == mine
        assert contents(store.expired(WRITER, LATER)) == mine
        assert contents(store.recorded(WRITER, Kind.FACT, now=before, before=LATER)) == mine
        found = store.unenriched(WRITER, kinds=[Kind.FACT], most=2, limit=FEW, now=before)
        assert contents(found) == mine


class UsageContract(Contract):
    """What stages use of language models adds up."""

    def test_usage_adds_up(self, store: Store, reopen: Reopen) -> None:
        """Calls of one stage to one model are summed; a price that is not known adds nothing."""
        first = Usage(requests=1, input_tokens=100, output_tokens=10, cost=0.25, seconds=1.5)
        second = Usage(requests=2, failures=1, input_tokens=50, seconds=0.5)
        assert store.usage(ANA) == []
        store.apply(ANA, [Spend("reflect", "m", first, SOON)])
        store.apply(ANA, [Spend("reflect", "m", second, SOON), Spend("enrich", "m", second, SOON)])
        store.apply(ANA, [Spend("reflect", "a", second, SOON), Spend("reflect", "a", first, SOON)])
        assert reopen(store).usage(ANA) == [
            StageUsage("enrich", "m", second),
            StageUsage("reflect", "a", second + first),
            StageUsage("reflect", "m", first + second),
        ]

    def test_usage_is_of_a_user_and_an_agent(self, store: Store) -> None:
        """Users see their own; an agent its own and nobody's; the user all of it."""
        one = Usage(requests=1)
        for scope in (ANA, PLANNER, WRITER, BEN):
            store.apply(scope, [Spend("reflect", "m", one, SOON)])
        assert store.usage(ANA) == [StageUsage("reflect", "m", one + one + one)]
        assert store.usage(WRITER) == [StageUsage("reflect", "m", one + one)]
        assert store.usage(BEN) == [StageUsage("reflect", "m", one)]
