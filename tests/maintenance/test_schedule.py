"""The schedule: each run once for each user, what fails again, and nothing stops the loop."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from threading import Event

import pytest

from memoranda import Memory, Settings
from memoranda.errors import StoreBusy, StoreClosed
from memoranda.maintenance.schedule import ANYTHING, LEASE, Schedule
from memoranda.maintenance.service import STAGES
from memoranda.memory import services_of
from memoranda.model.changes import Insert
from memoranda.model.models import Scope
from memoranda.model.ports import VECTORS
from memoranda.model.reports import StageReport
from memoranda.testing.clocks import START, FrozenClock

HOUR, MINUTE, DAY = timedelta(hours=1), timedelta(minutes=1), timedelta(days=1)
NIGHT = datetime(2026, 1, 2, 4, tzinfo=UTC)  # the first after START, noon of a Thursday
USERS = ["ana", "ben", "cy"]


@pytest.fixture
def clock():
    """A clock in the hour after the first night."""
    return FrozenClock(START)


@pytest.fixture
def store(clock):
    """A store in which three users have something since noon of the day before the night."""
    settings = Settings(embedding={"model": "none"}, consolidation={"automatic": False})
    with Memory(":memory:", user="ana", settings=settings, clock=clock) as memory:
        for user in USERS:
            memory.as_user(user).remember("Something to keep up.")
        clock.set(NIGHT + MINUTE)
        yield services_of(memory).store


@pytest.fixture
def begin(store, clock):
    """Make the schedule of another process, of the stage ``decay`` alone unless told otherwise."""

    def begin(run=lambda _user: None, times=None, **options):
        def run_stage(user, stage):
            run(user)
            return StageReport(stage=stage, count=1, counts={"faded": 1})

        chosen = dict.fromkeys(STAGES, "off") | (times or {"decay": "0 4 * * *"})
        options = {"clock": clock, **options}
        return Schedule(run_stage, store=store, times=chosen.items(), zone=UTC, **options)

    return begin


def test_a_run_is_made_once_for_each_user(begin, store, clock):
    """By whichever process; the next comes a day later, and of many that were missed one."""
    made = []
    schedules = [begin(made.append), begin(made.append)]
    assert [(run.stage, run.counts) for run in schedules[0].step()] == 3 * [("decay", {"faded": 1})]
    assert made == USERS
    assert [each.step() for each in schedules] == [[], []]
    clock.set(NIGHT + 40 * DAY + HOUR)
    assert [len(each.step()) for each in schedules] == [3, 0]
    assert store.job_runs()[0].due == NIGHT + 40 * DAY
    assert begin(made.append).step() == []
    assert made == 2 * USERS


def test_a_run_that_was_due_before_a_memory_existed_was_not_missed(begin, store, clock):
    """Neither for a new store nor for a new user of an old one; from then on it is."""
    made = []
    weekly = {"reflect": "0 3 * * sun"}
    sunday = datetime(2026, 1, 4, 3, tzinfo=UTC)
    assert begin(made.append, weekly).step() == []
    clock.set(sunday)
    begin(made.append, weekly).step()
    assert made == USERS
    assert store.job_runs()[0].counts == {"faded": 3}


def test_what_is_due_at_once_is_run_in_the_order_of_a_night(begin, clock):
    """After weeks of sleep, each stage once; the week is told when its sessions are facts."""
    made = []
    times = {"reflect": "0 3 * * sun", "consolidate": "0 3 * * *", "enrich": "0 2 * * *"}
    schedule = begin(times=times, on_report=lambda _, report: made.append(report.stage))
    clock.advance(40 * DAY)
    schedule.step()
    assert list(dict.fromkeys(made)) == ["enrich", "consolidate", "reflect"]
    assert len(made) == 3 * len(USERS)


def test_expiry_runs_when_a_process_starts_and_then_at_its_times(begin, store, clock):
    """Though the run of the hour is done (requirement S1.38); a span is the same."""
    for times in ("0 * * * *", "3600s"):
        clock.advance(2 * MINUTE)
        first = begin(times={"expire": times})
        assert [len(first.step()) for _ in range(2)] == [3, 0]
        clock.advance(MINUTE)
        assert len(begin(times={"expire": times}).step()) == 3
        clock.advance(HOUR)
        assert len(first.step()) == 3
        assert store.job_runs()[0].due.minute == 0


def test_a_user_for_whom_it_fails_is_tried_again_an_hour_later(begin, store, clock, caplog):
    """By any process; the others are done once, and what went wrong is told until it is right."""
    made, broken = [], ["ben"]

    def run(user):
        made.append(user)
        if user in broken:
            raise ZeroDivisionError("by nothing")

    schedules = [begin(run), begin(run)]
    told = [run.failed for run in schedules[0].step()]
    assert told == [{}, {"decay": "ZeroDivisionError: by nothing"}, {}]
    assert "decay failed for ben" in caplog.text
    clock.advance(LEASE - MINUTE)
    assert [each.step() for each in schedules] == [[], []]
    broken.clear()
    clock.advance(MINUTE)
    assert [run.failed for each in schedules for run in each.step()] == [{}]
    assert made == [*USERS, "ben"]
    assert store.job_runs()[0].counts == {"faded": 3}


def test_the_user_of_a_killed_process_is_taken_over(begin, store, clock):
    """When its lease ends; a run that was made meanwhile is not made again."""
    claim = {"due": NIGHT, "now": clock.now(), "until": clock.now() + LEASE}
    assert store.claim("decay:ben", "killed", **claim)
    made = []
    schedule = begin(made.append)
    schedule.step()
    clock.advance(LEASE - MINUTE)
    assert schedule.step() == []
    clock.advance(MINUTE)
    assert len(schedule.step()) == 1
    assert made == ["ana", "cy", "ben"]


def test_who_is_stopped_leaves_the_rest_to_others(begin):
    """Told to stop, it finishes the user at hand; a closed store leaves that user free."""
    made, stop = [], Event()

    def run(user):
        if user == "ben":
            raise StoreClosed("over")
        made.append(user)
        stop.set()

    assert [run.count for run in begin(run, stop=stop).step()] == [1]
    with pytest.raises(StoreClosed):
        begin(run).step()
    begin(made.append).step()
    assert made == USERS


def test_the_loop_sleeps_until_something_is_due_but_a_minute_at_most(begin):
    """It looks at the clock each minute, as a machine may have slept, or its clock been set."""
    schedule = begin()
    assert schedule.pause(START) == MINUTE
    assert schedule.pause(NIGHT - timedelta(seconds=5)) == timedelta(seconds=5)


def test_the_loop_outlives_a_busy_store_and_ends_with_a_closed_one(begin, store, caplog):
    """What the store cannot tell now is asked again; from a closed one nothing more comes."""
    errors = iter([StoreBusy("wait"), StoreClosed("over")])

    def users():
        raise next(errors)

    schedule = begin()
    schedule.pause = lambda _now: timedelta()
    store.users = users
    schedule.run()
    assert "tried again" in caplog.text


def test_a_clock_that_was_ahead_delays_nothing(begin, store, clock):
    """What ran, was claimed or was stored under it is no reason not to run when it is right."""
    clock.set(NIGHT + 4_000 * DAY)
    assert len(begin().step()) == 3
    assert all(
        store.claim(f"enrich:{user}", "killed", due=NIGHT, **claimed(clock)) for user in USERS
    )
    with store.write(Scope("dan")) as tx:
        (seen,) = store.records(Scope("ana"), ANYTHING)
        new = replace(seen, id="fact_dan", user="dan", created_at=clock.now())
        tx.carry_out([Insert(new)])
    assert len(store.claim_records(VECTORS, **claimed(clock), limit=9)) == 4
    clock.set(NIGHT + DAY + MINUTE)
    assert len(store.claim_records(VECTORS, **claimed(clock), limit=9)) == 4
    both = {"decay": "0 4 * * *", "enrich": "0 4 * * *"}
    assert len(begin(times=both).step()) == 8
    assert begin(times=both).step() == []
    assert {run.due for run in store.job_runs()} == {NIGHT + DAY}


def claimed(clock):
    """Return the arguments of a claim from now on for an hour."""
    return {"now": clock.now(), "until": clock.now() + HOUR}
