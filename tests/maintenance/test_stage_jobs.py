"""The stages for all users: each user's part is of one process, and done once."""

from collections import Counter
from datetime import timedelta
from itertools import pairwise
from threading import Event
from time import monotonic

import pytest
from analyzers import PlainNames, WordAnalyzer
from samples import User

from memoranda.errors import StoreClosed
from memoranda.maintenance.schedule import LEASE, Schedule
from memoranda.maintenance.service import STAGES
from memoranda.maintenance.stage_jobs import stage_jobs
from memoranda.model.clock import SystemClock
from memoranda.model.models import Scope
from memoranda.model.reports import StageReport
from memoranda.store.sqlite import SqliteStore
from memoranda.testing.clocks import START

MINUTE = timedelta(minutes=1)
USERS = ["ana", "ben", "cy", "dan"]
DECAY = dict.fromkeys(STAGES, "off") | {"decay": "0 4 * * *"}
DUE = START.replace(hour=4)
PATIENCE = 20  # seconds until a test that waits for another thread gives up


@pytest.fixture
def store():
    """A store in memory with four users."""
    store = SqliteStore(":memory:", analyzer=WordAnalyzer(), names=PlainNames())
    for name in USERS:
        User(store, Scope(name)).remember("tea")
    yield store
    store.close()


@pytest.fixture
def begin(store, clock):
    """Make the schedule of a process that runs one stage."""

    def schedule(run, stop=None, clock=clock, lease=LEASE):
        jobs = stage_jobs(
            store=store,
            clock=clock,
            run_stage=lambda user, stage: (
                run(user) or StageReport(stage=stage, counts={"faded": 1})
            ),
            times=DECAY.items(),
            zone=START.tzinfo,
            stop=stop,
            lease=lease,
        )
        return Schedule(jobs, store, clock=clock, lease=lease)

    return schedule


def test_another_process_helps(begin, store):
    """While one has a user another takes the rest; the run tells what both have done."""
    made = []
    other = begin(made.append)
    schedule = begin(lambda user: made.append(user) or made.extend(map(str, other.step())))
    (run,) = schedule.step()
    assert made == USERS  # The other one has completed nothing.
    assert run.result.counts == {"faded": 4}
    assert [each.counts for each in store.job_runs()] == [{"faded": 4}]
    assert other.step() == schedule.step() == []


def test_whoever_is_last_completes_a_run(begin, store):
    """Also where that is not the one who has claimed it."""
    made = []

    def help_first(user):
        """Let the one who has the run come to its end meanwhile."""
        made.append(user)
        if user == "ben":
            assert leading.step() == []
            assert store.job_runs() == []

    other = begin(help_first)

    def lead(user):
        made.append(user)
        if user == "ana":
            raise ZeroDivisionError

    leading = begin(lead)
    store.begin_run("decay", due=DUE)
    (run,) = other.step()
    assert sorted(made) == sorted(USERS)
    assert run.result.counts == {"faded": 4}


def test_a_user_who_fails_is_tried_again_by_anyone(begin, store, clock, caplog):
    """After a minute, then after twice as long each time, six times; the others are done once."""
    tried, reached = Counter(), []

    def run(user):
        tried[user] += 1
        if user == "ben":
            reached.append((clock.now() - START) // MINUTE)
            message = "by nothing"
            raise ZeroDivisionError(message)

    schedules = [begin(run), begin(run)]
    errors = [each.error for each in schedules[0].step()]
    assert errors == ["MemorandaError: decay failed for 1 (ben: ZeroDivisionError: by nothing)"]
    for minute in range(1, 12 * 60):
        clock.set(START + minute * MINUTE)
        schedules[minute % 2].step()
    assert dict(tried) == {"ana": 1, "ben": 6, "cy": 1, "dan": 1}
    gaps = [later - at for at, later in pairwise(reached)]
    assert [gap >= 2**number for number, gap in enumerate(gaps)] == [True] * 5
    assert store.job_runs() == []
    clock.set(START + timedelta(days=1))
    schedules[1].step()
    assert tried["ana"] == 2
    assert "decay failed for ben" in caplog.text


def test_who_is_told_to_stop_gives_back_the_rest(begin):
    """After the user at hand; another process goes on at once, and nobody is done twice."""
    made, stop = [], Event()

    def run(user):
        made.append(user)
        if len(made) == 2:
            stop.set()

    assert begin(run, stop).step() == []
    assert made == USERS[:2]
    (run,) = begin(made.append).step()
    assert made == USERS
    assert run.result.counts == {"faded": 4}


def test_a_store_that_is_closed_ends_the_run(begin, store):
    """What was done till then is kept, and the users at hand are given back."""

    def run(user):
        if user == "cy":
            message = "over"
            raise StoreClosed(message)

    with pytest.raises(StoreClosed):
        begin(run).step()
    progress = store.run_progress("decay", due=DUE)
    assert (progress.waiting, progress.until <= START) == (2, True)


def test_the_claim_on_a_user_lasts_as_long_as_their_part(begin, store):
    """It is renewed, so that a long part is not taken over."""
    clock, renewed = SystemClock(), Event()
    due = clock.now().replace(hour=4, minute=0, second=0, microsecond=0)
    due -= timedelta(days=due > clock.now())
    store.begin_run("decay", due=due)
    tomorrow = {"now": clock.now(), "until": clock.now() + timedelta(days=1), "limit": 9}
    store.claim_users("decay", due=due, **tomorrow)
    store.keep_users("decay", ["ana"], due=due, until=clock.now())

    def run(_user):
        first = store.run_progress("decay", due=due).until
        since = monotonic()
        while monotonic() - since < PATIENCE and not renewed.is_set():
            if store.run_progress("decay", due=due).until > first:
                renewed.set()
            Event().wait(0.01)

    begin(run, clock=clock, lease=timedelta(seconds=0.2)).step()
    assert renewed.is_set()
