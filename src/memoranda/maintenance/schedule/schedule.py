"""The loop: runs what is due, once among all processes, and again where it failed."""

from __future__ import annotations

import logging
import os
import secrets
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import Event

from memoranda.errors import InvalidInput, MemorandaError, StoreClosed
from memoranda.maintenance.schedule.claims import Claim
from memoranda.maintenance.schedule.jobs import Job, NextRun, Ran, due, following
from memoranda.model.clock import Clock
from memoranda.model.ports import JobStore
from memoranda.model.times import require_aware

log = logging.getLogger("memoranda.maintenance.schedule")

LEASE = timedelta(minutes=10)
FIRST_RETRY = timedelta(minutes=1)
LONGEST_RETRY = timedelta(hours=1)
ATTEMPTS = 6
"""How often one run is tried; then its next one is waited for."""
NAP = timedelta(minutes=1)
"""How long the loop sleeps at most: clocks are set, and machines sleep, without telling."""


@dataclass(slots=True)
class _State:
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
        self._states = {name: _State() for name in names}

    def step(self, now: datetime, stop: Event | None = None) -> list[Ran]:
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
        ran: list[Ran] = []
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
            ran: list[Ran] = []
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

    def last_error(self, job: str) -> str | None:
        """Return why the last run of a job in this process failed; ``None`` if it did not.

        Raises:
            InvalidInput: there is no such job.
        """
        if job not in self._states:
            raise InvalidInput(f"there is no job {job!r}; use one of {', '.join(self._states)}")
        return self._states[job].error

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

    def _attempt(self, job: Job, moment: datetime) -> list[Ran]:
        state = self._states[job.name]
        claim = Claim(
            self._store,
            job=job.name,
            holder=self._holder,
            due=moment,
            clock=self._clock,
            lease=self._lease,
        )
        result: object = None
        try:
            if not claim.take():
                state.wait_until = self._clock.now() + FIRST_RETRY
                return []
            with claim.kept():
                result = job.run(moment)
            claim.complete()
        except StoreClosed:
            raise
        except Exception as error:
            # Whatever a job does wrong, the others go on.
            log.exception("the job %s failed; it is tried again", job.name)
            return [self._failed(job, moment, f"{type(error).__name__}: {error}")]
        state.failures, state.wait_until, state.error = 0, None, None
        return [Ran(job.name, moment, result)]

    def _failed(self, job: Job, moment: datetime, error: str) -> Ran:
        state = self._states[job.name]
        delay = min(FIRST_RETRY * 2**state.failures, LONGEST_RETRY)
        state.failures += 1
        state.wait_until = self._clock.now() + delay
        state.error = error
        return Ran(job.name, moment, error=error)

    def _next(self, job: Job, last: datetime | None, now: datetime) -> NextRun:
        error = self._states[job.name].error
        if job.times is None:
            return NextRun(job.name, None, last, error)
        waiting = due(job, last, now) is not None
        return NextRun(job.name, now if waiting else following(job, last, now), last, error)
