"""What other processes do in the tests of the schedule. Roles: stepper, sleeper.

They talk by lines: what the test writes is a command, what they write is an answer.
"""

import os
import sys
from datetime import UTC, datetime
from pathlib import Path

from analyzers import PlainNames, WordAnalyzer

from memoranda.maintenance.schedule import Job, Schedule
from memoranda.maintenance.triggers import CronTimes
from memoranda.store.sqlite import SqliteStore
from memoranda.testing.clocks import FrozenClock

CRONS = {"enrich": "0 2 * * *", "consolidate": "0 3 * * *", "expire": "0 * * * *"}


def answer(text):
    """Tell the test, which waits for the line."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def append(log, *words):
    """Write one line at the end of a file that several processes write."""
    handle = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(handle, (" ".join(words) + "\n").encode())
    os.close(handle)


def schedule(path, clock, run):
    """Make the schedule of this process over the test's database."""
    store = SqliteStore(Path(path), analyzer=WordAnalyzer(), names=PlainNames())
    jobs = [
        Job(name, CronTimes(text, UTC), lambda due, name=name: run(name, due))
        for name, text in CRONS.items()
    ]
    return Schedule(jobs, store, clock=clock)


def step(path, log):
    """Step at each moment that the test names."""
    clock = FrozenClock()
    mine = schedule(path, clock, lambda name, due: append(log, name, due.isoformat()))
    answer("ready")
    for line in sys.stdin:
        clock.set(datetime.fromisoformat(line.strip()))
        answer(len(mine.step(clock.now())))


def sleep(path, log):
    """Begin a job that never ends."""
    clock = FrozenClock()

    def begin(name, due):
        append(log, name, due.isoformat())
        answer("begun")
        sys.stdin.read()

    schedule(path, clock, begin).step(clock.now())


if __name__ == "__main__":
    role, *arguments = sys.argv[1:]
    {"stepper": step, "sleeper": sleep}[role](*arguments)
