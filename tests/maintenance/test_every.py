"""A job at an interval: so long after its last run, whoever made it (seed 001)."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda.maintenance.schedule import NAP, Job, JobResult, Schedule, due, following
from memoranda.maintenance.triggers import Interval

START = datetime(2026, 1, 1, 12, tzinfo=UTC)
SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)
SPANS = st.timedeltas(SECOND, timedelta(days=400))


@given(span=SPANS, passed=st.timedeltas(timedelta(0), timedelta(days=4_000)))
def test_a_run_is_due_whole_spans_after_the_last(span, passed):
    """Never early, never twice for one moment; runs that were missed are one."""
    job, now = Job("expire", Interval(span), print), START + passed
    moment = due(job, START, now)
    assert (moment is None) == (passed < span)
    if moment is not None:
        assert now - span < moment <= now
        assert (moment - START) % span == timedelta()
        assert due(job, moment, now) is None
    assert following(job, START, START) == START + span


def test_the_first_run_is_due_at_once():
    """A job that never ran has missed one, whatever its times are."""
    assert due(Job("expire", Interval(HOUR), print), None, START) == START


def test_a_span_longer_than_the_calendar_is_once():
    """What would be due after the last day that there is comes never."""
    job = Job("expire", Interval(timedelta(days=9_000_000 // 2)), print)
    assert due(job, START, START + HOUR) is None
    assert following(job, START, START) is None


def test_it_runs_at_start_and_each_span_after_that(runs, clock):
    """Also where the hour is not full: what counts is the last run, in whichever process."""
    clock.set(START + timedelta(minutes=17))
    made = []
    jobs = [Job("expire", Interval(HOUR), made.append, at_start=True)]
    schedule = Schedule(jobs, runs, clock=clock)
    began = clock.now()
    assert schedule.step(began) == [JobResult("expire", began)]
    assert schedule.step(clock.advance(HOUR - SECOND)) == []
    assert schedule.step(clock.advance(SECOND)) == [JobResult("expire", began + HOUR)]
    clock.advance(20 * MINUTE)
    other = Schedule(jobs, runs, clock=clock, holder="another process")
    assert other.step(clock.now()) == [JobResult("expire", began + HOUR + 20 * MINUTE)]
    assert schedule.step(clock.advance(40 * MINUTE)) == []
    assert schedule.next_runs(clock.now())[0].at == began + 2 * HOUR + 20 * MINUTE
    assert runs.refused == 0


@pytest.mark.parametrize(("span", "waits"), [(20 * SECOND, 20 * SECOND), (HOUR, NAP)])
def test_the_loop_sleeps_until_the_next_run(runs, clock, span, waits):
    """No longer than until then, and never longer than a minute."""
    schedule = Schedule([Job("expire", Interval(span), print)], runs, clock=clock)
    assert schedule.step(clock.now())
    assert schedule.step(clock.now()) == []  # As the loop does before it sleeps.
    assert schedule.pause(clock.now()) == waits
    assert schedule.pause(clock.advance(15 * SECOND)) == min(NAP, span - 15 * SECOND)
