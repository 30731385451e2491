"""Upkeep of a whole store: the jobs at their times, for all users, once among processes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from threading import Event, Thread

import pytest
from learning_talks import (
    DAY,
    PATIENCE,
    START,
    by_hand,
    clock_of,
    contents,
    facts,
    remembering,
    tables,
    talk,
)
from steps import carry_out, do

from memoranda.errors import InvalidInput
from memoranda.learning.llm.claim_checking import ClaimAnswer
from memoranda.learning.llm.model_stages import ClaimsAnswer
from memoranda.maintenance.service import STAGES
from memoranda.model.usage import Usage
from memoranda.testing.clocks import FrozenClock
from memoranda.testing.models import ScriptedLLM

HOUR = timedelta(hours=1)
SUNDAY = datetime(2026, 3, 8, tzinfo=UTC)
NIGHT = [("enrich", 2), ("consolidate", 3), ("decay", 4)]


@pytest.fixture
def memory():
    """Ana's memory, which learns only when it is told to, or by the nightly jobs."""
    with closing(remembering()) as made:
        made.set_context("task", "water the plants")
        yield made


def ran(maintenance):
    """Run what is due; return the stages that were run."""
    reports = maintenance.step()
    assert not any(report.failed for report in reports), reports
    return [report.stage for report in reports]


def begun(memory):
    """Return the upkeep of a memory after what it runs when it starts."""
    maintenance = memory.schedule()
    maintenance.step()
    return maintenance


def test_the_jobs_of_s4_are_run_at_their_times(memory):
    """02:00, 03:00, 04:00 each night, Sunday 03:00, and each hour: hour by hour, for a week."""
    maintenance = begun(memory)
    found = []
    for _ in range(7 * 24):
        clock_of(memory).advance(HOUR)
        found += [(stage, clock_of(memory).now()) for stage in ran(maintenance)]
    expected = [("expire", START + hour * HOUR) for hour in range(1, 7 * 24 + 1)]
    midnights = [START.replace(hour=0) + day * DAY for day in range(1, 8)]
    expected += [(job, day + hour * HOUR) for day in midnights for job, hour in NIGHT]
    expected.append(("reflect", SUNDAY + 3 * HOUR))
    assert sorted(found) == sorted(expected)


def test_the_jobs_do_their_work_for_all_users(memory):
    """Every user of the store is served, and learns only what is theirs."""
    bo = memory.as_user("bo")
    maintenance = begun(memory)
    talk(memory, "s", "I used to sail with old friends.")
    talk(bo, "s", "I used to sail with cousins.")
    clock_of(memory).advance(DAY)
    told = []
    watching = memory.schedule(lambda user, report: told.append((user, report.stage)))
    watching.step()
    assert contents(memory) == ["The user used to sail with old friends."]
    assert contents(bo) == ["The user used to sail with cousins."]
    assert ("ana", "consolidate") in told
    assert ("bo", "consolidate") in told
    clock_of(memory).advance(60 * DAY)
    watching.step()
    assert facts(memory) == facts(bo) == []
    assert ran(maintenance) == []


def test_expiry_runs_when_a_process_starts(tmp_path):
    """Seed 001: at start-up, whatever the hour, and then each hour."""
    clock = FrozenClock(START + timedelta(minutes=20))
    chosen = by_hand(retention={"episode": "1d"})
    with closing(remembering(tmp_path / "m.db", settings=chosen, clock=clock)) as memory:
        memory.remember("Hello.", kind="episode")
        memory.schedule().step()
        clock.advance(DAY + timedelta(minutes=5))
        assert "expire" in ran(memory.schedule())
        assert memory.records(kind="episode") == []


def test_times_are_the_users(tmp_path):
    """Three at night in Lisbon, on the nights of the clock changes, too: once each."""
    chosen = by_hand(timezone="Europe/Lisbon", schedule={"expire": "off"})
    clock = FrozenClock(datetime(2026, 3, 27, 12, tzinfo=UTC))
    with closing(remembering(tmp_path / "m.db", settings=chosen, clock=clock)) as memory:
        memory.set_context("task", "water the plants")
        maintenance = begun(memory)
        found = []
        for _ in range(24 * 4):
            clock.advance(HOUR)
            found += [clock.now() for stage in ran(maintenance) if stage == "consolidate"]
        assert found == [
            datetime(2026, 3, 28, 3, tzinfo=UTC),
            datetime(2026, 3, 29, 2, tzinfo=UTC),
            datetime(2026, 3, 30, 2, tzinfo=UTC),
            datetime(2026, 3, 31, 2, tzinfo=UTC),
        ]


def test_of_two_processes_one_runs_each_job(tmp_path):
    """Whoever comes first takes the run; the other one finds it done. Nothing is done twice."""
    path, clock = tmp_path / "m.db", FrozenClock(START)
    with (
        closing(remembering(path, clock=clock)) as one,
        closing(remembering(path, clock=clock)) as other,
    ):
        both = [begun(one), begun(other)]
        one.remember_many(["Bea lives in Rome.", "Tom is Bea's cat.", "Bea eats no pork."])
        clock.set(SUNDAY - HOUR)
        for each in both:
            each.step()
        talk(one, "s", "I live in Porto.", "I have a dog named Rex.", "I'm allergic to peanuts.")
        before = len(facts(one))
        clock.set(SUNDAY + 5 * HOUR)
        with ThreadPoolExecutor(2) as pool:
            runs = [run for found in pool.map(lambda each: each.step(), both) for run in found]
        assert sorted(run.stage for run in runs if run.stage != "expire") == [
            "consolidate",
            "decay",
            "enrich",
            "reflect",
        ]
        assert len([run for run in runs if run.stage == "expire"]) == 1
        learned = facts(one)[before:]
        assert len(learned) == 3
        assert all(len(item.source_ids) == 1 for item in learned)
        assert len(one.records(kind="reflection")) == 1
        assert [ran(each) for each in both] == [[], []]
        assert one.verify() == []


def test_the_weekly_insight_comes_with_the_night(memory):
    """Sunday at three: the week's talks are facts by then or not, and the insight is written."""
    maintenance = begun(memory)
    talk(memory, "s", "I live in Porto.", "My sister Marta lives in Berlin.", "I'm vegetarian.")
    memory.consolidate()
    clock_of(memory).set(SUNDAY + 3 * HOUR)
    ran(maintenance)
    (insight,) = memory.records(kind="reflection")
    assert "Marta" in insight.content


def test_a_thread_keeps_it_up_until_it_is_closed(memory):
    """In the process that serves: what is due at the start is run, and closing ends it."""
    done = Event()
    memory.remember("Something that fades.", decay_rate=0.1)
    clock_of(memory).advance(60 * DAY)
    maintenance = memory.schedule(lambda _user, report: report.stage == "decay" and done.set())
    thread = Thread(target=maintenance.run)
    thread.start()
    assert done.wait(PATIENCE)
    assert facts(memory) == []
    memory.close()
    thread.join(PATIENCE)
    assert not thread.is_alive()


@pytest.fixture
def full(tmp_path):
    """Return a file in which every stage but enrichment has something to do, and its memory."""
    path = tmp_path / "memory.db"
    chosen = by_hand(retention={"context": "1d"})
    with closing(remembering(path, settings=chosen)) as memory:
        memory.remember("Busy today.", kind="context")
        memory.remember("Something that fades away.", decay_rate=0.4)
        memory.remember("Something that fades a little.", decay_rate=0.01)
        clock_of(memory).advance(10 * DAY)
        talk(memory, "done", "I live in Porto.", "I'm vegetarian.", "My sister Marta is a nurse.")
        memory.consolidate()
        talk(memory, "open", "I live in Lisbon.", "I'm vegetarian.", "I have a dog named Rex.")
        memory.embed_pending()
        memory.entities()  # What waits is linked now, and not in the background meanwhile.
        yield path, memory


@pytest.mark.parametrize("stage", [*STAGES, "all"])
def test_a_dry_run_changes_nothing_and_tells_what_would_be_done(full, stage):
    """Not one byte of any table; then the run itself does just that."""
    path, memory = full
    wanted = STAGES if stage == "all" else [stage]
    before = tables(path)
    plan = memory.maintain(wanted, dry_run=True)
    assert tables(path) == before
    assert all(each.dry_run for each in plan.stages)
    assert [each.stage for each in plan.stages] == list(wanted)
    if stage in {"all", "enrich"}:
        return
    report = memory.maintain(wanted)
    assert plan.count == report.count > 0
    assert dict(plan.stages[0].counts) == dict(report.stages[0].counts)
    assert tables(path) != before


def test_a_dry_run_with_a_model_writes_down_only_what_it_cost(tmp_path):
    """Calls that were paid for are figures of ``stats``, also where nothing else is kept."""
    path = tmp_path / "memory.db"
    model = ScriptedLLM([ClaimsAnswer([ClaimAnswer("The user lives in Porto.", ["t1"])])])
    with closing(remembering(path, llm=model)) as memory:
        talk(memory, "s", "I live in Porto.")
        memory.derive()
        before = tables(path, but=("model_usage", "users"))
        assert memory.consolidate(dry_run=True).count == 1
        assert tables(path, but=("model_usage", "users")) == before
        assert memory.stats().usage[0].usage.requests == 1


@pytest.mark.parametrize("stages", [["nonsense"], ["decay", "nonsense"], ["Decay"], "decay", [5]])
def test_a_stage_that_does_not_exist_is_an_error(memory, stages):
    """The message names the value and the stages; nothing is run."""
    memory.remember("Something that fades.", decay_rate=0.1)
    clock_of(memory).advance(60 * DAY)
    with pytest.raises(InvalidInput, match="expire, enrich, consolidate, decay, reflect"):
        memory.maintain(stages)
    assert len(facts(memory)) == 1


def test_stages_are_run_in_the_order_of_a_night(memory):
    """Whatever the order in which they are named; each once."""
    report = memory.maintain(["reflect", "decay", "expire", "decay"])
    assert [each.stage for each in report.stages] == ["expire", "decay", "reflect"]
    assert [each.stage for each in memory.maintain().stages] == list(STAGES)
    assert memory.maintain([]).stages == ()
    assert str(report).splitlines()[0] == "expire: nothing to do"


def test_upkeep_twice_changes_nothing(full):
    """All stages again, at once and an hour later: every table is as the first left it."""
    path, memory = full
    memory.maintain()
    memory.embed_pending()
    memory.entities()
    memory.maintain()  # What was derived of the first is no change of the second.
    before = tables(path, but=("leases",))
    memory.maintain()
    assert tables(path, but=("leases",)) == before
    assert memory.verify() == []


def test_usage_of_a_stage_adds_up(memory):
    """Costs that are not known are not made up; those that are, add up."""
    for cost in (None, 0.25, 0.5):
        usage = Usage(requests=1, cost=cost)
        spend = do.add_usage("consolidate", "m", usage)
        carry_out(memory._services.store, memory._scope, [spend])
    (used,) = memory.usage()
    assert (used.usage.requests, used.usage.cost) == (3, 0.75)
