"""Runs the stages of upkeep at their times, for every user of a store, beside other processes.

For each user whose run of a stage is due a process takes the lease ``<stage>:<user>``, runs the
stage and marks the run as done. Runs that were missed become one; a run that was due before a
user had anything was not missed. Whoever is killed loses the lease when it ends, and the next
process takes the user over: a stage does no harm when it is run twice.
"""

from __future__ import annotations

import logging
import os
import secrets
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from threading import Event, Thread

from memoranda.errors import MemorandaError, StoreClosed
from memoranda.maintenance.figures import WorkerMetrics
from memoranda.maintenance.service import STAGES
from memoranda.maintenance.triggers import last_time, next_time, parse_times
from memoranda.model.checks import require_aware
from memoranda.model.clock import Clock
from memoranda.model.models import Kind, Scope
from memoranda.model.processes import start_thread
from memoranda.model.query import Filter
from memoranda.model.reports import StageReport
from memoranda.model.sessions import StageLease
from memoranda.store.sql.store import Store

log = logging.getLogger("memoranda.maintenance.schedule")

LEASE = timedelta(minutes=10)
# After how long a stage that failed for a user is tried again, by whichever process.
RETRY = timedelta(hours=1)
# How long the loop sleeps at most: clocks are set, machines sleep, processes are killed.
NAP = timedelta(minutes=1)
# How often a lease is renewed before it would end: two may fail.
RENEWALS = 3
# The stage that also runs when a process begins to serve (requirement S1.38).
AT_START = "expire"
ANYTHING = Filter.at_any_time(kinds=tuple(Kind))
NO_LEASE = StageLease(None, None)

# Called with a user and what a stage did for them.
OnReport = Callable[[str, StageReport], object]


@dataclass(frozen=True, slots=True)
class JobResult:
    """What this process did of a run of a stage.

    Attributes:
        job: the stage.
        due: when the run was due.
        result: what was done, for all users of whom this process ran it.
        error: why it failed for some of them, if it did; then it is tried again for these.
    """

    job: str
    due: datetime
    result: StageReport
    error: str | None = None


@dataclass(frozen=True, slots=True)
class NextRun:
    """When a stage runs next.

    Attributes:
        job: the stage.
        at: when; the present, if it is due already; ``None`` is never.
        last_due: for when its last run was due that is done, in whichever process.
        last_error: why its last run in this process failed for some users, if it did.
    """

    job: str
    at: datetime | None
    last_due: datetime | None = None
    last_error: str | None = None


class Schedule:
    """The stages of upkeep at the times of the settings. One thread at a time may step it.

    Args:
        run_stage: runs a stage, for a user.
        store: where everybody's memory is, and where processes agree who runs what.
        clock: the time.
        times: when each stage runs, by name, as the settings write it.
        zone: of whose clock.
        on_report: called after each user.
        stop: when set, no further user is taken.
        lease: how long after a process was killed others take its user over.

    Attributes:
        figures: where each run for a user is counted.

    Raises:
        ConfigError: a time of the settings cannot be read.
    """

    def __init__(
        self,
        run_stage: Callable[[str, str], StageReport],
        *,
        store: Store,
        clock: Clock,
        times: Iterable[tuple[str, object]],
        zone: tzinfo,
        on_report: OnReport | None = None,
        stop: Event | None = None,
        lease: timedelta = LEASE,
    ) -> None:
        """Run nothing yet."""
        written = dict(times)
        self._times = {stage: parse_times(str(written[stage]), zone) for stage in STAGES}
        self._run_stage = run_stage
        self._store, self._clock, self.lease = store, clock, lease
        self._on_report, self.figures = on_report, WorkerMetrics()
        self.stop = stop or Event()
        self._holder = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
        self._started: datetime | None = None
        # For when the last run of each stage was due that nobody has to make any more.
        self._settled: dict[str, datetime] = {}
        self._errors: dict[str, str] = {}

    def step(self, now: datetime | None = None) -> list[JobResult]:
        """Run what is due and not done or being done elsewhere; return what was run.

        Where a stage fails for a user, the error is logged, the others' runs go on, and an hour
        later it is tried again.

        Args:
            now: the present, if not by the clock.

        Raises:
            MemorandaError: the store failed.
        """
        now = require_aware(self._clock.now() if now is None else now, "now")
        self._started = self._started or now
        self._store.vector_model()  # Raises where the store was closed, also if nothing is due.
        due = {stage: self._due(stage, now) for stage in STAGES}
        open_runs = [
            (moment, stage)
            for stage, moment in due.items()
            if moment is not None and moment != self._settled.get(stage)
        ]
        ran: list[JobResult] = []
        for moment, stage in sorted(open_runs, key=lambda run: run[0]):
            if not self.stop.is_set():
                ran += self._run(stage, moment, now)
        return ran

    def run(self) -> None:
        """Step whenever something is due, until stopped, or until the store is closed.

        The user at hand is finished first.
        """
        while not self.stop.is_set():
            try:
                self.step()
            except StoreClosed:
                return
            except MemorandaError as error:
                log.warning("the schedule could not be read: %s; it is tried again", error)
            self.stop.wait(self.pause(self._clock.now()).total_seconds())

    @contextmanager
    def background(self, timeout: float | None = None) -> Iterator[Thread]:
        """Run it in a thread; at the end of the block wait for the user at hand.

        Args:
            timeout: seconds to wait; ``None`` is as long as it takes.
        """
        thread = start_thread("memoranda-schedule", self.run, self.stop.set)
        try:
            yield thread
        finally:
            self.stop.set()
            thread.join(timeout)

    def pause(self, now: datetime) -> timedelta:
        """Return how long nothing is to be done; at most a minute."""
        moments = [next_time(times, now) for times in self._times.values() if times is not None]
        return min([NAP, *(moment - now for moment in moments if moment is not None)])

    def next_runs(self, now: datetime | None = None) -> list[NextRun]:
        """Return when each stage runs next, in the order of a night.

        Raises:
            MemorandaError: the store failed.
        """
        now = require_aware(self._clock.now() if now is None else now, "now")
        last = {run.job: run.due for run in self._store.job_runs()}
        found = []
        for stage, times in self._times.items():
            due = self._due(stage, now)
            at = None if times is None else next_time(times, now)
            if due is not None and any(True for _ in self._users(stage, due)):
                at = now
            found.append(NextRun(stage, at, last.get(stage), self._errors.get(stage)))
        return found

    def _due(self, stage: str, now: datetime) -> datetime | None:
        """Return when the last run of a stage was due until now."""
        times, start = self._times[stage], self._started
        if times is None:
            return None
        last = last_time(times, now)
        if stage != AT_START or start is None or start > now:
            return last
        return start if last is None else max(last, start)

    def _users(self, stage: str, due: datetime) -> Iterator[tuple[str, StageLease]]:
        """Yield the users for whom a run is still to be made, with the lease on it."""
        leases = self._store.stage_leases(stage)
        for user in self._store.users():
            lease = leases.get(user, NO_LEASE)
            if lease.done is None:
                first = self._store.records(Scope(user), ANYTHING, limit=1)
                is_due = bool(first) and first[0].created_at <= due
            else:
                is_due = lease.done < due
            if is_due:
                yield user, lease

    def _run(self, stage: str, due: datetime, now: datetime) -> list[JobResult]:
        """Make a run for all users of whom no other process does; return what was done."""
        counts, count = Counter[str](), 0
        failed: dict[str, str] = {}
        tried = left = 0
        for user, lease in self._users(stage, due):
            if self.stop.is_set():
                left += 1
                break
            claimed = lease.until is not None and lease.until > now
            report = None if claimed else self._run_for(user, stage, due)
            if report is None:
                left += 1
                continue
            tried += 1
            count += report.count
            counts.update(report.counts)
            left += bool(report.failed)
            failed |= {f"{user}/{what}": why for what, why in report.failed.items()}
        if not left:
            self._settled[stage] = due
        if not tried:
            return []
        self._errors.pop(stage, None)
        if failed:
            what, why = next(iter(failed.items()))
            self._errors[stage] = f"{stage} failed for {len(failed)} ({what}: {why})"
        done = StageReport(stage=stage, count=count, counts=counts, failed=failed)
        return [JobResult(stage, due, done, self._errors.get(stage))]

    def _run_for(self, user: str, stage: str, due: datetime) -> StageReport | None:
        """Run a stage for a user, under the lease on it; nothing where another process has that."""
        name = f"{stage}:{user}"

        def claim(span: timedelta = self.lease) -> bool:
            now = self._clock.now()
            return self._store.claim(name, self._holder, due=due, now=now, until=now + span)

        if not claim():
            return None
        try:
            with renewed(name, claim, self.lease):
                report = self._report(user, stage)
        except StoreClosed:
            with suppress(MemorandaError):
                claim(timedelta())
            raise
        if report.failed:
            claim(RETRY)
        else:
            at = self._clock.now()
            self._store.complete(name, self._holder, due=due, at=at, counts=report.counts)
        return report

    def _report(self, user: str, stage: str) -> StageReport:
        """Run a stage for a user; what goes wrong for one is no reason to leave the others'."""
        start = time.monotonic()
        try:
            report = self._run_stage(user, stage)
        except StoreClosed:
            raise
        except Exception as error:
            if not self.stop.is_set():
                log.exception("%s failed for %s; it is tried again", stage, user)
            why = f"{type(error).__name__}: {error}"
            report = StageReport(stage=stage, failed={stage: why})
        else:
            for what, why in report.failed.items():
                log.warning("%s failed for %s/%s: %s; it is tried again", stage, user, what, why)
        if report.failed and self.stop.is_set():
            raise StoreClosed(f"{stage} was stopped; whoever opens the store next runs it again")
        if report.count:
            log.info("%s for %s: %s", stage, user, report)
        self.figures.add_stage(report, time.monotonic() - start)
        if self._on_report is not None:
            self._on_report(user, report)
        return report


@contextmanager
def renewed(name: str, claim: Callable[[], bool], lease: timedelta) -> Iterator[None]:
    """Renew a lease from a thread of its own until the block ends.

    Args:
        name: of the lease, for the log.
        claim: renews it; false, if it was lost.
        lease: how long it lasts.
    """
    done = Event()

    def renew() -> None:
        while not done.wait(lease.total_seconds() / RENEWALS):
            try:
                if not claim():
                    log.warning("the lease %s ended before its run; that may be made twice", name)
                    return
            except MemorandaError as error:
                log.warning("the lease %s could not be renewed: %s", name, error)

    thread = Thread(target=renew, name=f"memoranda-lease-{name}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
