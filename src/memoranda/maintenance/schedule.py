"""Runs jobs at their times, each run once among all processes, and again where it failed.

A store says which process has claimed a run and which runs are done; jobs are plain functions
that can be run twice without harm. Other processes may help with a run, and then the last of them
completes it.
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
from threading import Event, Thread

from memoranda.errors import MemorandaError, StoreClosed
from memoranda.maintenance.triggers import CronTimes, Interval
from memoranda.model.background import start_thread
from memoranda.model.checks import require_aware
from memoranda.model.clock import Clock
from memoranda.model.ports import JobStore
from memoranda.model.reports import MaintenanceReport
from memoranda.model.sessions import NO_COUNTS

log = logging.getLogger("memoranda.maintenance.schedule")

LEASE = timedelta(minutes=10)
FIRST_RETRY = timedelta(minutes=1)
LONGEST_RETRY = timedelta(hours=1)
# When it is looked again whether there is something to help with, where another has the run.
HELP_AGAIN = timedelta(seconds=5)
# How often one run is tried; then its next one is waited for.
ATTEMPTS = 6
# How long the loop sleeps at most: clocks are set, and machines sleep, without telling.
NAP = timedelta(minutes=1)
# How often a claim is renewed before it would end: two may fail.
RENEWALS = 3


@dataclass(frozen=True, slots=True)
class UnfinishedRun:
    """What a job returns of whose run other processes have a part, or which was stopped.

    Attributes:
        until: when it is to be looked at again, if nobody has completed it by then.
    """

    until: datetime | None


@dataclass(frozen=True, slots=True)
class Job:
    """Something to be run again and again, which twice does no harm.

    Attributes:
        name: unique in a store.
        times: when; ``None`` is never.
        run: does it; called with the moment for which it was due. Of a report that it returns
            the counts are kept with the run; an ``UnfinishedRun`` is not done.
        at_start: whether it is also run as soon as a schedule starts.
        help: does a part of a run that another process has; returns how much that was.
    """

    name: str
    times: CronTimes | Interval | None
    run: Callable[[datetime], object]
    at_start: bool = False
    help: Callable[[datetime], int] = lambda _due: 0


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
    return None if job.times is None else job.times.last(now, since=last_due)


def following(job: Job, last_due: datetime | None, now: datetime) -> datetime | None:
    """Return when a job is due next, if none of its runs is due at ``now``; ``None`` is never."""
    if job.times is None:
        return None
    return job.times.next(last_due if isinstance(job.times, Interval) and last_due else now)


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
        """
        self._states = {job.name: _JobState() for job in jobs}
        self._jobs = tuple(jobs)
        self._store = store
        self._clock = clock
        self._holder = holder or f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
        self._lease = lease
        self._started: datetime | None = None
        self._seen: Mapping[str, datetime] = {}

    def step(self, now: datetime | None = None, stop: Event | None = None) -> list[JobResult]:
        """Run what is due and not done or being done elsewhere; return the runs.

        Where a job fails, the error is logged and kept, its run stays undone, and a later step
        tries it again: after a minute, then after twice as long each time, up to six times.

        Args:
            now: the present, if not by the clock.
            stop: when set, no further job is begun.

        Raises:
            MemorandaError: the store failed.
        """
        now = require_aware(self._clock.now() if now is None else now, "now")
        self._started = self._started or now
        self._seen = self._last()
        found = ((self._due(job, self._seen.get(job.name), now), job) for job in self._jobs)
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
                ran = self.step(stop=stop)
            except StoreClosed:
                return
            except MemorandaError as error:
                log.warning("the schedule could not be read: %s; it is tried again", error)
            if not ran:  # Else something may have come due meanwhile.
                stop.wait(self.pause(self._clock.now()).total_seconds())

    @contextmanager
    def background(self, timeout: float | None = None) -> Iterator[Thread]:
        """Run it in a thread; at the end of the block wait for the job at hand.

        Args:
            timeout: seconds to wait; ``None`` is as long as it takes.
        """
        stop = Event()
        thread = start_thread("memoranda-schedule", lambda: self.run(stop), stop.set)
        try:
            yield thread
        finally:
            stop.set()
            thread.join(timeout)

    def pause(self, now: datetime) -> timedelta:
        """Return how long nothing is to be done; at most a minute."""
        moments = [following(job, self._seen.get(job.name), now) for job in self._jobs]
        moments += [state.wait_until for state in self._states.values()]
        return min([NAP, *(each - now for each in moments if each is not None and each > now)])

    def next_runs(self, now: datetime | None = None) -> list[NextRun]:
        """Return when each job runs next, in the order of the jobs.

        Raises:
            MemorandaError: the store failed.
        """
        now = require_aware(self._clock.now() if now is None else now, "now")
        found, last = [], self._last()
        for job in self._jobs:
            done = last.get(job.name)
            at = now if due(job, done, now) is not None else following(job, done, now)
            found.append(NextRun(job.name, at, done, self._states[job.name].error))
        return found

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
        wait = state.wait_until
        # A wait that is longer than any is one of a clock that has been set back since.
        waits = wait is not None and now < wait <= now + LONGEST_RETRY
        return state.failures < ATTEMPTS and not waits

    def _attempt(self, job: Job, moment: datetime) -> list[JobResult]:
        state = self._states[job.name]
        try:
            result = self._run(job, moment)
        except StoreClosed:
            raise
        except Exception as error:
            # Whatever a job does wrong, the others go on.
            log.exception("the job %s failed; it is tried again", job.name)
            delay = min(FIRST_RETRY * 2**state.failures, LONGEST_RETRY)
            state.failures += 1
            state.wait_until = self._clock.now() + delay
            state.error = f"{type(error).__name__}: {error}"
            return [JobResult(job.name, moment, error=state.error)]
        if isinstance(result, UnfinishedRun):
            now = self._clock.now()
            again = result.until or now + min(HELP_AGAIN, self._lease)
            state.wait_until = min(again, now + LONGEST_RETRY)
            return []
        state.failures, state.wait_until, state.error = 0, None, None
        return [JobResult(job.name, moment, result)]

    def _run(self, job: Job, moment: datetime) -> object:
        """Run a job and complete its run, or help where another process has it.

        Of several who finish their parts at once the last one completes it: who has the run gives
        it up before looking whether any part is left, and who helped asks for it after that.
        """

        def claim(lease: timedelta = self._lease) -> bool:
            """Take the run or renew the claim on it; false if it is done, or another's."""
            now = self._clock.now()
            return self._store.claim(job.name, self._holder, due=moment, now=now, until=now + lease)

        while True:
            if claim():
                with renewed(job.name, claim, self._lease):
                    result = job.run(moment)
                if not isinstance(result, UnfinishedRun):
                    counts = result.counts if isinstance(result, MaintenanceReport) else NO_COUNTS
                    at = self._clock.now()
                    self._store.complete(job.name, self._holder, due=moment, at=at, counts=counts)
                    return result
                claim(timedelta())
                if self._store.run_progress(job.name, due=moment).waiting:
                    return result
            elif not job.help(moment):
                return UnfinishedRun(None)


@contextmanager
def renewed(name: str, claim: Callable[[], bool], lease: timedelta) -> Iterator[None]:
    """Renew a claim from a thread of its own until the block ends.

    Args:
        name: what is claimed, for the log.
        claim: renews it; false, if it was lost.
        lease: how long it lasts.
    """
    done = Event()

    def renew() -> None:
        while not done.wait(lease.total_seconds() / RENEWALS):
            try:
                if not claim():
                    log.warning("the claim on %s ended before its run; it may be run twice", name)
                    return
            except MemorandaError as error:
                log.warning("the claim on %s could not be renewed: %s", name, error)

    thread = Thread(target=renew, name=f"memoranda-claim-{name}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
