"""The contract of :class:`memoranda.model.ports.LifeStore`: what upkeep asks a store."""

from __future__ import annotations

from functools import partial

import pytest

from memoranda.errors import InvalidInput, NotFound
from memoranda.model import actions as do
from memoranda.model.models import Kind, Scope
from memoranda.model.ports import Store
from memoranda.model.sessions import SessionInfo
from memoranda.model.usage import StageUsage, Usage
from memoranda.testing.contracts.base import Contract, Reopen
from memoranda.testing.contracts.samples import (
    ANA,
    BEN,
    LATER,
    MANY,
    PLANNER,
    SOON,
    WRITER,
    close,
    contents,
    erase,
    insert,
    moment,
    named,
    page,
    record,
    remember,
    turns,
)


def done(session: str, through: int, *, finished: bool = True) -> do.Consolidated:
    """Return the action that says how far a session was read."""
    return do.Consolidated(session, through, SOON, finished)


def ids(sessions: list[SessionInfo]) -> list[str]:
    """Return the names of sessions."""
    return [info.id for info in sessions]


def progress(store: Store, session: str, scope: Scope = ANA) -> tuple[int, bool, int]:
    """Return how far a session is read, whether all of it, and how far it is noted."""
    info = store.session(scope, session)
    assert info is not None
    assert info in store.sessions(scope)
    assert (info.consolidated_at is None) == (info in store.sessions(scope, pending=True))
    return info.through, info.consolidated_at == SOON, info.noted


class SessionContract(Contract):
    """Sessions wait for consolidation, page by page, until all of their episodes were read."""

    def test_sessions_come_as_they_were_first_seen(self, store: Store, reopen: Reopen) -> None:
        """A session has episodes, is known since the first, and until all of them are erased."""
        assert store.sessions(ANA) == []
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
        assert store.sessions(ANA) == first
        for name in ("c", "A", "gone"):
            assert store.session(ANA, name) is None

    def test_pending_without_the_current_one(self, store: Store) -> None:
        """Only what waits is pending, and never the session that is left out."""
        for name in ("a", "b", "c"):
            turns(store, name, "hello")
        store.apply(ANA, [done("b", 0)])
        assert ids(store.sessions(ANA, pending=True)) == ["a", "c"]
        assert ids(store.sessions(ANA, pending=True, exclude="c")) == ["a"]
        assert ids(store.sessions(ANA, exclude="c")) == ["a", "b"]

    def test_progress(self, store: Store, reopen: Reopen) -> None:
        """How far a session is read and noted is kept apart; neither goes back; it may go on."""
        turns(store, "a", "one", "two", "three")
        half, back = done("a", 1, finished=False), done("a", 0, finished=False)
        plans: list[tuple[list[do.Action], tuple[int, bool, int]]] = [
            ([], (-1, False, -1)),
            ([half, do.Noted("a", 2)], (1, False, 2)),
            ([done("a", 2), back, do.Noted("a", 0)], (2, True, 2)),
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
        read = do.Consolidated("a", 1, SOON, finished=True, after=-1)
        store.apply(ANA, [insert(record("learned")), read])
        with pytest.raises(InvalidInput, match="'a'"):
            store.apply(ANA, [insert(record("again")), read])
        assert page(store, ANA) == ["one", "two", "learned"]

    def test_an_unknown_session(self, store: Store) -> None:
        """Without episodes one sees it cannot be consolidated; notes of it are passed over."""
        turns(store, "a", "hello", scope=PLANNER)
        remember(store, "fact", session_id="b")
        for scope, name in ((ANA, "b"), (ANA, "c"), (BEN, "a"), (WRITER, "a")):
            store.apply(scope, [do.Noted(name, 0), insert(record("kept", scope=scope))])
            with pytest.raises(NotFound):
                store.apply(scope, [done(name, 0)])
        assert progress(store, "a") == (-1, False, -1)

    def test_each_agent_reads_for_itself(self, store: Store) -> None:
        """For the user, a session waits for the agent that lags behind."""
        turns(store, "a", "shared")
        turns(store, "a", "planned", scope=PLANNER)
        turns(store, "a", "written", scope=WRITER)
        store.apply(WRITER, [done("a", 2), do.Noted("a", 2)])
        for scope, expected in ((WRITER, 2), (PLANNER, -1), (ANA, -1)):
            assert progress(store, "a", scope) == (expected, scope == WRITER, expected)
        store.apply(ANA, [done("a", 2), do.Noted("a", 2)])
        for scope in (WRITER, PLANNER, ANA):
            assert progress(store, "a", scope) == (2, True, 2)

    def test_nothing_is_noted_twice_for_an_agent_that_is_silent(self, store: Store) -> None:
        """Who has nothing more to tell, is new, or took it back, holds back no other."""
        turns(store, "a", "planned", scope=PLANNER)
        turns(store, "a", "written", scope=WRITER)
        store.apply(ANA, [do.Noted("a", 1)])
        (more,) = turns(store, "a", "more", scope=WRITER)
        last = more.position or 0
        store.apply(WRITER, [do.Noted("a", last)])
        assert progress(store, "a")[2] == last
        (new,) = turns(store, "a", "new", scope=Scope("ana", "new"))
        assert progress(store, "a")[2] == last
        assert store.episodes(ANA, "a", after=last, limit=MANY) == [new]
        (planned,) = turns(store, "b", "planned", scope=PLANNER)
        turns(store, "b", "written", scope=WRITER)
        store.apply(WRITER, [do.Noted("b", 1)])
        assert progress(store, "b")[2] == -1
        store.apply(ANA, close(planned))
        assert progress(store, "b")[2] == 1

    def test_what_comes_after_an_erased_end_is_new(self, store: Store) -> None:
        """An episode that comes where one that was read was erased has not been read, or told."""
        _, two = turns(store, "a", "one", "two")
        store.apply(ANA, [done("a", 1), do.Noted("a", 1), *erase(two)])
        (three,) = turns(store, "a", "three")
        read, finished, noted = progress(store, "a")
        assert not finished
        for through in (read, noted):
            assert store.episodes(ANA, "a", after=through, limit=MANY) == [three]

    def test_episodes(self, store: Store) -> None:
        """They come in order, page by page; what ended by itself too, not what was taken back."""
        one, two = turns(store, "a", "one", "two")
        expired, retired = turns(store, "a", "expired", "retired", valid_until=moment(1))
        forgotten, corrected, faded = turns(store, "a", "forgotten", "corrected", "faded")
        (planned,) = turns(store, "a", "planned", scope=PLANNER)
        remember(store, "fact", session_id="a")
        turns(store, "b", "other")
        fix = do.Close(corrected.id, SOON, "corrected", superseded_by=one.id)
        ends = [do.Retire(item.id, SOON, "faded away") for item in (retired, faded)]
        store.apply(ANA, [*ends, *close(forgotten), fix])
        assert store.episodes(ANA, "a", after=-1, limit=2) == [one, two]
        rest = store.episodes(ANA, "a", after=two.position or 0, limit=MANY)
        assert contents(rest) == ["expired", "retired", "faded", "planned"]
        assert store.episodes(ANA, "a", after=planned.position or 0, limit=2) == []
        visible = store.episodes(WRITER, "a", after=1, limit=MANY)
        assert contents(visible) == [expired.content, "retired", "faded"]


class UpkeepContract(Contract):
    """What upkeep has to look at is found, and nothing else."""

    def test_fading_are_believed_facts_with_a_rate(self, store: Store) -> None:
        """Facts that are believed and can fade come, the oldest first, also superseded ones."""
        old, new = remember(store, "old", "new", decay_rate=0.1)
        remember(store, "protected")
        remember(store, "told", kind=Kind.EPISODE, decay_rate=0.1)
        remember(store, "expired", decay_rate=0.1, valid_until=moment(1))
        gone, sure = remember(store, "retired", "confirmed", decay_rate=0.1)
        sure_now = do.Reweigh(sure.id, SOON, 1.0, 0.0, "sure")
        behind = do.Supersede(old.id, new.id, SOON, 0.3, "moved")
        store.apply(ANA, [do.Retire(gone.id, moment(1), "faded away"), sure_now, behind])
        assert contents(store.decaying(ANA, LATER)) == ["old", "new"]

    def test_lapsed_ended_by_itself(self, store: Store) -> None:
        """Records past their time come, until they are retired; those closed never do."""
        _, retired, forgotten = remember(store, "past", "x", "y", valid_until=moment(1_000))
        remember(store, "later", valid_until=SOON)
        (closed, _) = remember(store, "closed", "open")
        ended = [*close(forgotten, at=1_001), *close(closed)]
        store.apply(ANA, [do.Retire(retired.id, moment(1_001), "expired"), *ended])
        for now, lapsed in (
            (moment(999), []),
            (moment(1_000), ["past"]),
            (LATER, ["past", "later"]),
        ):
            assert contents(store.expired(ANA, now)) == lapsed

    def test_recorded_in_a_span_of_time(self, store: Store) -> None:
        """Believed records of the kind come, the oldest first; the span ends before its end."""
        one, two, three = remember(store, "one", "two", "three", kind=Kind.EPISODE)
        remember(store, "fact", created_at=moment(-1))
        gone, expired = remember(store, "gone", "expired", kind=Kind.EPISODE, created_at=moment(-1))
        store.apply(ANA, [*close(gone), do.Retire(expired.id, moment(1), "expired")])
        (early,) = remember(store, "early", kind=Kind.EPISODE, created_at=moment(-2))
        episodes = partial(store.recorded, ANA, Kind.EPISODE, now=LATER)
        assert episodes() == [early, one, two, three]
        assert episodes(before=three.created_at) == [early, one, two]
        assert episodes(before=moment(-2)) == []
        assert episodes(since=one.created_at) == [one, two, three]
        assert episodes(since=one.created_at, before=two.created_at) == [one]

    def test_unenriched_have_few_entities_and_no_stamp(self, store: Store) -> None:
        """The oldest records of the kinds come that were never enriched and have few entities."""
        remember(store, "Zoe met Dan", "nobody", "Zoe met Dan and Eve")
        looked, ended = remember(store, "seen", "ended")
        remember(store, "said", kind=Kind.EPISODE)
        remember(store, "week", kind=Kind.REFLECTION)
        store.apply(ANA, [do.Enrich(looked.id, SOON, named("Dan", "Dan")), *close(ended)])
        kinds = (Kind.FACT, Kind.EPISODE)
        for most, limit, expected in (
            (2, MANY, ["Zoe met Dan", "nobody", "said"]),
            (2, 2, ["Zoe met Dan", "nobody"]),
            (0, MANY, ["nobody", "said"]),
            (3, MANY, ["Zoe met Dan", "nobody", "Zoe met Dan and Eve", "said"]),
        ):
            items = store.unenriched(ANA, kinds=kinds, most=most, limit=limit, now=LATER)
            assert contents(items) == expected
        assert store.unenriched(ANA, kinds=(), most=9, limit=9, now=LATER) == []

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
