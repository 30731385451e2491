"""The schedule: what is due runs once, what fails runs again, and nothing stops the loop."""

from datetime import UTC, datetime, timedelta
from threading import Event
from zoneinfo import ZoneInfo

import pytest

from memoranda.errors import StoreBusy, StoreClosed
from memoranda.maintenance import schedule as schedules
from memoranda.maintenance.schedule import ATTEMPTS, LEASE, Job, JobResult, NextRun, Schedule, due
from memoranda.maintenance.triggers import CronTimes, parse_times
from memoranda.testing.clocks import START, FrozenClock

HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)
NIGHT = datetime(2026, 1, 1, 4, tzinfo=UTC)
PATIENCE = 20  # seconds until a test that waits for another thread gives up


def daily(run, name="decay", **options):
    """Return a job of four o'clock."""
    return Job(name, CronTimes("0 4 * * *", UTC), run, **options)


def fail(_due):
    """Fail as a job may."""
    raise ZeroDivisionError("by nothing")


def test_missed_runs_become_one_however_long_ago_they_were():
    """The last run before now is due; of those before it none is."""
    job = daily(print)
    assert due(job, None, START) == NIGHT
    assert due(job, NIGHT - timedelta(days=400), START) == NIGHT
    assert due(job, NIGHT, START) is None
    assert due(job, NIGHT, NIGHT + timedelta(days=1)) == NIGHT + timedelta(days=1)
    assert due(job, START + HOUR, START) is None  # The clock was set back.
    assert due(Job("off", None, print), None, START) is None


def test_a_run_is_made_once(runs, clock):
    """After it was made, its time has passed; the next one comes a day later."""
    made = []
    schedule = Schedule([daily(made.append)], runs, clock=clock)
    assert schedule.step(clock.now()) == [JobResult("decay", NIGHT)]
    assert schedule.step(clock.now()) == []
    assert schedule.step(clock.advance(timedelta(hours=15))) == []
    assert len(schedule.step(clock.advance(HOUR))) == 1
    assert made == [NIGHT, NIGHT + timedelta(days=1)]


def test_a_machine_that_slept_for_weeks_runs_each_job_once(runs, clock):
    """Wakened, every job makes one run, the earlier due first."""
    made = []
    jobs = [
        Job("expire", CronTimes("0 * * * *", UTC), lambda _: made.append("expire")),
        Job("consolidate", CronTimes("0 3 * * *", UTC), lambda _: made.append("consolidate")),
        Job("enrich", CronTimes("0 2 * * *", UTC), lambda _: made.append("enrich")),
    ]
    schedule = Schedule(jobs, runs, clock=clock)
    schedule.step(clock.now())
    made.clear()
    schedule.step(clock.advance(timedelta(days=40)))
    assert made == ["enrich", "consolidate", "expire"]


def test_jobs_due_together_run_in_their_order(runs):
    """On the day when 02:00 and 03:00 are one moment, what stands first runs first."""
    zone = ZoneInfo("Europe/Berlin")
    clock = FrozenClock(datetime(2025, 3, 30, 12, tzinfo=zone))
    jobs = [
        Job("enrich", CronTimes("0 2 * * *", zone), print),
        Job("consolidate", CronTimes("0 3 * * *", zone), print),
    ]
    assert [ran.job for ran in Schedule(jobs, runs, clock=clock).step(clock.now())] == [
        "enrich",
        "consolidate",
    ]


@pytest.mark.parametrize(
    "day", [datetime(2025, 3, 30, tzinfo=UTC), datetime(2025, 10, 26, tzinfo=UTC)]
)
def test_a_night_with_another_clock_has_one_run(runs, day):
    """Stepped each quarter of an hour through a change of the clock, 02:00 runs once."""
    clock, made = FrozenClock(day - timedelta(hours=20)), []
    job = Job("enrich", CronTimes("0 2 * * *", ZoneInfo("Europe/Berlin")), made.append)
    schedule = Schedule([job], runs, clock=clock)
    schedule.step(clock.now())
    made.clear()
    for _ in range(26 * 4):
        schedule.step(clock.advance(timedelta(minutes=15)))
    assert len(made) == 1


def test_a_job_of_the_start_runs_at_once_and_then_at_its_times(runs, clock):
    """Each process that starts runs it, though its last run is done; ``off`` is off."""
    clock.set(START + timedelta(minutes=5))
    made = []
    jobs = [
        Job("expire", CronTimes("0 * * * *", UTC), made.append, at_start=True),
        Job("never", None, made.append, at_start=True),
    ]
    schedule = Schedule(jobs, runs, clock=clock)
    started = clock.now()
    assert schedule.step(started) == [JobResult("expire", started)]
    assert schedule.step(clock.advance(MINUTE)) == []
    clock.advance(HOUR)
    assert schedule.step(clock.now()) == [JobResult("expire", START + HOUR)]
    again = Schedule(jobs, runs, clock=clock, holder="next process")
    assert again.step(clock.now()) == [JobResult("expire", clock.now())]
    assert schedule.step(clock.now()) == []
    assert runs.refused == 0  # None of them asks for what it can see is done.


def test_a_failed_run_is_kept_logged_and_made_again(runs, clock, caplog):
    """It stays undone, is tried after a minute, and what it said is gone once it succeeds."""
    answers = iter([fail, fail, lambda _: "done"])

    def run(at):
        return next(answers)(at)

    schedule = Schedule([daily(run)], runs, clock=clock)
    assert schedule.step(clock.now()) == [
        JobResult("decay", NIGHT, error="ZeroDivisionError: by nothing")
    ]
    assert "decay failed" in caplog.text
    assert runs.job_runs() == []
    assert schedule.next_runs(clock.now())[0].last_error == "ZeroDivisionError: by nothing"
    assert schedule.step(clock.advance(MINUTE / 2)) == []
    assert schedule.step(clock.advance(MINUTE / 2))[0].error is not None
    assert schedule.step(clock.advance(MINUTE)) == []  # Now it waits for twice as long.
    assert schedule.step(clock.advance(MINUTE)) == [JobResult("decay", NIGHT, "done")]
    assert schedule.next_runs(clock.now())[0].last_error is None
    assert [run.due for run in runs.job_runs()] == [NIGHT]


def test_a_job_that_always_fails_does_not_stop_the_others_and_is_given_up(runs, clock, caplog):
    """Six tries a night; the others run, and the next night it is tried again."""
    jobs = [daily(fail, "broken"), daily(print, "sound")]
    schedule = Schedule(jobs, runs, clock=clock)
    tries = [
        ran
        for _ in range(20 * 60 // 5 // 2)
        for ran in schedule.step(clock.advance(timedelta(minutes=5)))
    ]
    assert [ran.job for ran in tries].count("sound") == 1
    assert [ran.job for ran in tries].count("broken") == ATTEMPTS
    clock.set(NIGHT + timedelta(days=1))
    assert {ran.job for ran in schedule.step(clock.now())} == {"sound", "broken"}
    assert len(caplog.records) == ATTEMPTS + 1


def test_a_failure_is_tried_again_after_the_clock_was_set_back(runs, clock, caplog):
    """A wait never outlasts the longest one."""
    schedule = Schedule([daily(fail)], runs, clock=clock)
    clock.set(START + timedelta(days=300))
    schedule.step(clock.now())
    clock.set(START)
    assert len(schedule.step(clock.now())) == 1
    assert len(caplog.records) == 2


def test_two_schedules_on_one_store_share_the_work(runs, clock):
    """While one runs a job the other does not, and afterwards it need not."""
    other = Schedule([daily(print)], runs, clock=clock, holder="b")
    meanwhile = []
    first = Schedule(
        [daily(lambda _: meanwhile.append(other.step(clock.now())))], runs, clock=clock, holder="a"
    )
    assert len(first.step(clock.now())) == 1
    assert meanwhile == [[]]
    assert other.step(clock.advance(2 * MINUTE)) == []


def test_a_claim_lasts_as_long_as_its_run(runs, clock):
    """It is renewed while the job works, so that a long run is not taken over."""
    lease = timedelta(milliseconds=30)
    renewed, claimed = Event(), runs.claim

    def claim(*arguments, **times):
        took = claimed(*arguments, **times)
        if len(runs.claimed) >= 3:
            renewed.set()
        return took

    runs.claim = claim
    schedule = Schedule(
        [daily(lambda _: renewed.wait(PATIENCE))], runs, clock=clock, holder="a", lease=lease
    )
    assert schedule.step(clock.now()) == [JobResult("decay", NIGHT, result=True)]
    assert {(job, holder) for job, holder, _ in runs.claimed} == {("decay", "a")}
    assert {until for _, _, until in runs.claimed} == {clock.now() + lease}


def test_a_claim_that_was_lost_is_said_and_completes_nothing(runs, clock, monkeypatch):
    """A holder that slept past its lease does not undo the claim of its successor."""
    warned, theirs = Event(), []
    later = FrozenClock(clock.now() + LEASE)
    other = Schedule([daily(lambda _: "theirs")], runs, clock=later, holder="b")
    monkeypatch.setattr(schedules.log, "warning", lambda *_: warned.set())

    def oversleep(_due):
        theirs.extend(other.step())
        clock.advance(LEASE)
        assert warned.wait(PATIENCE)

    mine = Schedule(
        [daily(oversleep)], runs, clock=clock, holder="a", lease=timedelta(milliseconds=30)
    )
    mine.step()
    assert theirs == [JobResult("decay", NIGHT, "theirs")]
    assert [run.due for run in runs.job_runs()] == [NIGHT]


def test_next_runs_say_when_and_what_was(runs, clock):
    """What is due shows the present; what is off shows nothing."""
    jobs = [daily(print), Job("reflect", parse_times("off", UTC), print)]
    schedule = Schedule(jobs, runs, clock=clock)
    assert schedule.next_runs(clock.now()) == [NextRun("decay", START), NextRun("reflect", None)]
    schedule.step(clock.now())
    assert schedule.next_runs(clock.now())[0] == NextRun("decay", NIGHT + 24 * HOUR, NIGHT)


def test_the_loop_sleeps_until_something_is_due_but_a_minute_at_most(runs, clock):
    """It looks at the clock each minute, as a machine may have slept, or its clock been set."""
    schedule = Schedule([daily(print)], runs, clock=clock)
    assert schedule.pause(START) == MINUTE
    assert schedule.pause(NIGHT - timedelta(seconds=5)) == timedelta(seconds=5)
    assert schedule.pause(NIGHT) == MINUTE


def test_the_background_runs_what_is_due_and_close_waits_for_it(runs, clock):
    """Closed in the middle of a job, it lets that finish and begins no other."""
    begun, go_on, made = Event(), Event(), []

    def slow(_due):
        begun.set()
        assert go_on.wait(PATIENCE)
        made.append("slow")

    jobs = [daily(slow, "slow"), daily(lambda _: made.append("other"), "other")]
    schedule = Schedule(jobs, runs, clock=clock)
    with schedule.background(0.001) as impatient:
        assert begun.wait(PATIENCE)
    assert impatient.is_alive()
    go_on.set()
    impatient.join(PATIENCE)
    assert made == ["slow"]
    assert [run.job for run in runs.job_runs()] == ["slow"]


def test_the_end_of_the_background_waits_for_the_job_at_hand(runs, clock):
    """Without a timeout, as long as it takes."""
    begun, made = Event(), []

    def slow(_due):
        begun.set()
        made.append("slow")

    with Schedule([daily(slow)], runs, clock=clock).background() as thread:
        assert begun.wait(PATIENCE)
    assert not thread.is_alive()
    assert made == ["slow"]


def test_the_loop_outlives_a_busy_store_and_ends_with_a_closed_one(runs, clock, caplog):
    """What the store cannot tell now is asked again; from a closed one nothing more comes."""
    stop = Event()
    errors = iter([StoreBusy("wait"), StoreClosed("over")])

    def job_runs():
        raise next(errors)

    runs.job_runs = job_runs
    schedule = Schedule([daily(print)], runs, clock=clock)
    schedule.pause = lambda _now: timedelta()
    schedule.run(stop)
    assert not stop.is_set()
    assert [record.message for record in caplog.records] == [
        "the schedule could not be read: wait; it is tried again"
    ]
