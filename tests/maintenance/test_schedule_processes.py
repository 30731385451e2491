"""Several processes on one store: each run is made by one of them, also where one is killed."""

import os
import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from analyzers import PlainNames, WordAnalyzer

from memoranda.maintenance.schedule import LEASE, Job, Schedule
from memoranda.maintenance.triggers import CronTimes
from memoranda.store.sqlite import SqliteStore
from memoranda.testing.clocks import START, FrozenClock

CHILDREN = Path(__file__).with_name("schedule_children.py")


@pytest.fixture
def begin(tmp_path):
    """Start a process in a role; killed after the test."""
    started = []

    def begin_one(role):
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and script
            [sys.executable, str(CHILDREN), role, str(tmp_path / "m.db"), str(tmp_path / "log")],
            env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[1] / "contract")},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield begin_one
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def store(tmp_path):
    """The database that all the processes write."""
    with_parts = SqliteStore(tmp_path / "m.db", analyzer=WordAnalyzer(), names=PlainNames())
    yield with_parts
    with_parts.close()


def test_of_two_processes_one_runs_each_job(begin, store, tmp_path):
    """Stepped at the same moments, two processes make each run once, and every run."""
    both = [begin("stepper"), begin("stepper")]
    assert [each.stdout.readline() for each in both] == ["ready\n"] * 2
    moments = [datetime(2026, 1, 2, hour, tzinfo=UTC) for hour in range(12)]
    for moment in moments:
        for each in both:
            each.stdin.write(f"{moment.isoformat()}\n")
            each.stdin.flush()
        for each in both:
            assert each.stdout.readline().strip().isdecimal()
    made = Counter((tmp_path / "log").read_text("utf-8").splitlines())
    assert set(made.values()) == {1}
    assert {f"expire {each.isoformat()}" for each in moments} <= set(made)
    # The nights before that nobody was there for are one run each, then comes this night's.
    assert sum(line.startswith("enrich") for line in made) == 2
    assert sum(line.startswith("consolidate") for line in made) == 2
    assert {run.job for run in store.job_runs()} == {"consolidate", "enrich", "expire"}


def test_the_run_of_a_process_that_was_killed_is_taken_over(begin, store, tmp_path):
    """Killed in the middle of a job, its run waits until the claim ends and is then made once."""
    victim = begin("sleeper")
    assert victim.stdout.readline() == "begun\n"
    (line,) = (tmp_path / "log").read_text("utf-8").splitlines()
    name, _, due = line.partition(" ")
    victim.kill()
    victim.wait()
    clock, made = FrozenClock(START), []
    other = Schedule([Job(name, CronTimes("0 2 * * *", UTC), made.append)], store, clock=clock)
    assert name == "enrich"
    assert other.step(clock.now()) == []
    assert other.step(clock.advance(LEASE - timedelta(seconds=1))) == []
    assert made == []
    assert [ran.error for ran in other.step(clock.advance(timedelta(minutes=1)))] == [None]
    assert [each.isoformat() for each in made] == [due]
    assert other.step(clock.advance(timedelta(hours=1))) == []
