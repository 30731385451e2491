"""Runs jobs at their times, each run once among all processes, and again where it failed.

A store says which process has claimed a run and which runs are done; jobs are plain functions
that can be run twice without harm.
"""

from __future__ import annotations

import logging
import os
import secrets
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import Event, Thread, current_thread
from types import TracebackType
from typing import Self

from memoranda.errors import InvalidInput, MemorandaError, StoreClosed
from memoranda.maintenance.triggers import CronTimes, Interval
from memoranda.model.checks import require_aware
from memoranda.model.clock import Clock
from memoranda.model.ports import JobStore

log = logging.getLogger("memoranda.maintenance.schedule")

LEASE = timedelta(minutes=10)
FIRST_RETRY = timedelta(minutes=1)
LONGEST_RETRY = timedelta(hours=1)
ATTEMPTS = 6
"""How often one run is tried; then its next one is waited for."""
NAP = timedelta(minutes=1)
"""How long the loop sleeps at most: clocks are set, and machines sleep, without telling."""
RENEWALS = 3
"""How often a claim is renewed before it would end: two may fail."""


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
    times: CronTimes | Interval | None
    run: Callable[[datetime], object]
    at_start: bool = False


@dataclass(frozen=True, slots=True)
class JobResult:
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
    if isinstance(job.times, Interval) and last_due is not None:
        return job.times.next(last_due)
    return job.times.next(now)


class JobLease:
    """A lease on one run: it ends by itself if its holder is killed."""

    def __init__(
        self,
        store: JobStore,
        *,
        job: str,
        holder: str,
        due: datetime,
        clock: Clock,
        lease: timedelta,
    ) -> None:
        """Claim nothing yet; ``lease`` is how long a claim lasts."""
        self._store = store
        self._job = job
        self._holder = holder
        self._due = due
        self._clock = clock
        self._lease = lease

    def take(self) -> bool:
        """Take the run or renew the claim on it; false if it is done, or another's."""
        now = self._clock.now()
        return self._store.claim(
            self._job, self._holder, due=self._due, now=now, until=now + self._lease
        )

    def complete(self) -> None:
        """Say that the run is done."""
        self._store.complete(self._job, self._holder, due=self._due, at=self._clock.now())

    @contextmanager
    def renewed(self) -> Iterator[None]:
        """Renew the claim from a thread of its own until the block ends."""
        done = Event()
        thread = Thread(
            target=self._renew, args=(done,), name=f"memoranda-claim-{self._job}", daemon=True
        )
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    def _renew(self, done: Event) -> None:
        while not done.wait(self._lease.total_seconds() / RENEWALS):
            try:
                if not self.take():
                    log.warning(
                        "the claim on %s ended before its run; it may be run twice", self._job
                    )
                    return
            except MemorandaError as error:
                log.warning("the claim on %s could not be renewed: %s", self._job, error)


@dataclass(slots=True)
class _JobState:
    """What this process knows of a job."""

    due: datetime | None = None
    failures: int = 0
    wait_until: datetime | None = None
    error: str | None = None


class Schedule:
    """Jobs and what is known of their runs. One thread at a time may step it."""

    def __init__(
        self,
        jobs: Sequence[Job],
        store: JobStore,
        *,
        clock: Clock,
        holder: str | None = None,
        lease: timedelta = LEASE,
    ) -> None:
        """Run nothing yet.

        Args:
            jobs: what to run; of those due at the same time the first one first.
            store: where processes agree who runs what.
            clock: the time.
            holder: a name that no other schedule has; made, if not given.
            lease: how long after a process was killed another takes its run over.

        Raises:
            InvalidInput: two jobs have the same name.
        """
        names = [job.name for job in jobs]
        for name in names:
            if names.count(name) > 1:
                raise InvalidInput(f"two jobs are called {name!r}; give each a name of its own")
        self._jobs = tuple(jobs)
        self._store = store
        self._clock = clock
        self._holder = holder or f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
        self._lease = lease
        self._started: datetime | None = None
        self._seen: Mapping[str, datetime] = {}
        self._states = {name: _JobState() for name in names}

    def step(self, now: datetime, stop: Event | None = None) -> list[JobResult]:
        """Run what is due at ``now`` and not done or being done elsewhere; return the runs.

        Where a job fails, the error is logged and kept, its run stays undone, and a later step
        tries it again: after a minute, then after twice as long each time, up to six times.

        Args:
            now: the present.
            stop: when set, no further job is begun.

        Raises:
            MemorandaError: the store failed.
        """
        now = require_aware(now, "now")
        self._started = self._started or now
        last = self._seen = self._last()
        found = [(self._due(job, last.get(job.name), now), job) for job in self._jobs]
        ready = [(moment, job) for moment, job in found if moment is not None]
        ran: list[JobResult] = []
        for moment, job in sorted(ready, key=lambda pair: pair[0]):
            if stop is not None and stop.is_set():
                break
            if self._ready(job, moment, now):
                ran += self._attempt(job, moment)
        return ran

    def run(self, stop: Event) -> None:
        """Step whenever something is due, until ``stop`` is set or the store is closed.

        The job at hand is finished first.
        """
        while not stop.is_set():
            ran: list[JobResult] = []
            try:
                ran = self.step(self._clock.now(), stop)
            except StoreClosed:
                return
            except MemorandaError as error:
                log.warning("the schedule could not be read: %s; it is tried again", error)
            if not ran:  # Else something may have come due meanwhile.
                stop.wait(self.pause(self._clock.now()).total_seconds())

    def pause(self, now: datetime) -> timedelta:
        """Return how long nothing is to be done; at most a minute."""
        moments = [following(job, self._seen.get(job.name), now) for job in self._jobs]
        moments += [state.wait_until for state in self._states.values()]
        return min([NAP, *(each - now for each in moments if each is not None and each > now)])

    def next_runs(self, now: datetime) -> list[NextRun]:
        """Return when each job runs next, in the order of the jobs.

        Raises:
            MemorandaError: the store failed.
        """
        now = require_aware(now, "now")
        last = self._last()
        return [self._next(job, last.get(job.name), now) for job in self._jobs]

    def _last(self) -> dict[str, datetime]:
        return {run.job: run.due for run in self._store.job_runs()}

    def _due(self, job: Job, last: datetime | None, now: datetime) -> datetime | None:
        scheduled = due(job, last, now)
        start = self._started
        if not job.at_start or job.times is None or start is None or start > now:
            return scheduled
        if last is not None and last >= start:
            return scheduled
        return start if scheduled is None else max(start, scheduled)

    def _ready(self, job: Job, moment: datetime, now: datetime) -> bool:
        """Return whether a run may be tried: not too soon after a failure, nor too often."""
        state = self._states[job.name]
        if state.due != moment:
            state.due, state.failures, state.wait_until = moment, 0, None
        if state.failures >= ATTEMPTS:
            return False
        wait = state.wait_until
        # A wait that is longer than any is one of a clock that has been set back since.
        return wait is None or not now < wait <= now + LONGEST_RETRY

    def _attempt(self, job: Job, moment: datetime) -> list[JobResult]:
        state = self._states[job.name]
        lease = JobLease(
            self._store,
            job=job.name,
            holder=self._holder,
            due=moment,
            clock=self._clock,
            lease=self._lease,
        )
        result: object = None
        try:
            if not lease.take():
                state.wait_until = self._clock.now() + FIRST_RETRY
                return []
            with lease.renewed():
                result = job.run(moment)
            lease.complete()
        except StoreClosed:
            raise
        except Exception as error:
            # Whatever a job does wrong, the others go on.
            log.exception("the job %s failed; it is tried again", job.name)
            return [self._failed(job, moment, f"{type(error).__name__}: {error}")]
        state.failures, state.wait_until, state.error = 0, None, None
        return [JobResult(job.name, moment, result)]

    def _failed(self, job: Job, moment: datetime, error: str) -> JobResult:
        state = self._states[job.name]
        delay = min(FIRST_RETRY * 2**state.failures, LONGEST_RETRY)
        state.failures += 1
        state.wait_until = self._clock.now() + delay
        state.error = error
        return JobResult(job.name, moment, error=error)

    def _next(self, job: Job, last: datetime | None, now: datetime) -> NextRun:
        error = self._states[job.name].error
        if job.times is None:
            return NextRun(job.name, None, last, error)
        waiting = due(job, last, now) is not None
        return NextRun(job.name, now if waiting else following(job, last, now), last, error)


class ScheduleThread:
    """Runs a schedule in a daemon thread from ``start`` to ``close``."""

    def __init__(self, schedule: Schedule) -> None:
        """Start nothing yet."""
        self._stop = Event()
        self._thread = Thread(
            target=schedule.run, args=(self._stop,), name="memoranda-schedule", daemon=True
        )

    def start(self) -> None:
        """Start the loop. Starting twice is harmless; what was closed stays closed."""
        if self._thread.ident is None and not self._stop.is_set():
            self._thread.start()

    def close(self, timeout: float | None = None) -> bool:
        """Begin no further job and wait for the one at hand; whether it ended in time.

        Args:
            timeout: seconds to wait; ``None`` is as long as it takes.
        """
        self._stop.set()
        if self._thread.ident is not None and self._thread is not current_thread():
            self._thread.join(timeout)
        return not self._thread.is_alive()

    @property
    def running(self) -> bool:
        """Whether the loop goes on."""
        return self._thread.is_alive()

    def __enter__(self) -> Self:
        """Start."""
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close."""
        self.close()
