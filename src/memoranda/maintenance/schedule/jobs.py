"""What is to be run, and which run of it is due."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from memoranda.maintenance.schedule.cron import Cron
from memoranda.maintenance.schedule.every import Every


@dataclass(frozen=True, slots=True)
class Job:
    """Something to be run again and again, which twice does no harm.

    Attributes:
        name: unique in a store.
        times: when; ``None`` is never.
        run: does it; called with the moment for which it was due. What it returns is shown.
        at_start: whether it is also run as soon as a schedule starts.
    """

    name: str
    times: Cron | Every | None
    run: Callable[[datetime], object]
    at_start: bool = False


@dataclass(frozen=True, slots=True)
class Ran:
    """One run of a job.

    Attributes:
        job: its name.
        due: when it was due.
        result: what it returned.
        error: why it failed, if it did; then it is run again.
    """

    job: str
    due: datetime
    result: object = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class NextRun:
    """When a job runs next.

    Attributes:
        job: its name.
        at: when; the present, if a run is due already; ``None`` is never.
        last_due: for when its last finished run was due, in whichever process.
        last_error: why its last run in this process failed, if it did.
    """

    job: str
    at: datetime | None
    last_due: datetime | None = None
    last_error: str | None = None


def due(job: Job, last_due: datetime | None, now: datetime) -> datetime | None:
    """Return for when the run was due that is to be made now; ``None`` if there is none.

    Runs that were missed, while the machine slept or nothing ran, become one: the last of them,
    however long ago it was. A job that never ran has missed one.

    Args:
        job: the job.
        last_due: for when the last finished run was due.
        now: the present.
    """
    if job.times is None or (last_due is not None and last_due >= now):
        return None
    return job.times.last(now, since=last_due)


def following(job: Job, last_due: datetime | None, now: datetime) -> datetime | None:
    """Return when a job is due next, if none of its runs is due at ``now``; ``None`` is never."""
    if job.times is None:
        return None
    if isinstance(job.times, Every) and last_due is not None:
        return job.times.next(last_due)
    return job.times.next(now)
