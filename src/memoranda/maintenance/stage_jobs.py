"""The stages of upkeep as jobs of a schedule, whose users all processes divide among themselves.

Whoever has claimed the run of a stage enters the users of the store for it. From then on every
process takes some of them, who has the run or not: as many at once as take about a second. A
claim on them is renewed while they are worked on; who was killed loses theirs when it ends. Whoever
finds that no user is left completes the run. A user for whom a stage fails waits, longer each time.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, tzinfo
from threading import Event

from memoranda.errors import MemorandaError, StoreClosed
from memoranda.maintenance.figures import WorkerMetrics
from memoranda.maintenance.schedule import (
    ATTEMPTS,
    FIRST_RETRY,
    LEASE,
    LONGEST_RETRY,
    Job,
    UnfinishedRun,
    renewed,
)
from memoranda.maintenance.service import STAGES
from memoranda.maintenance.triggers import parse_times
from memoranda.model.clock import Clock
from memoranda.model.ports import JobStore
from memoranda.model.reports import MaintenanceReport, StageReport

log = logging.getLogger("memoranda.maintenance.schedule")

# The stage that also runs when a process begins to serve (requirement S1.38).
AT_START = "expire"
# Seconds that the users take who are claimed at once, and how many these are at most.
TOGETHER = 1.0
MOST_TOGETHER = 64
# When a user is tried again who has failed too often: in another run.
NEVER = timedelta(days=3650)

# Called with a user and what a stage did for them.
OnReport = Callable[[str, StageReport], object]


@dataclass(slots=True)
class _RunPart:
    """What this process did of a run: for how many users, the sum of that, and what failed."""

    users: int = 0
    count: int = 0
    failed: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class StageRuns:
    """The runs of one stage, for every user of a store.

    Attributes:
        stage: its name.
        store: where processes agree who takes whom.
        clock: the time.
        run_stage: runs a stage, for a user.
        on_report: called after each user.
        figures: where each is counted.
        stop: when set, no further user is taken.
        lease: how long after a process was killed others take its users over.
    """

    stage: str
    store: JobStore
    clock: Clock
    run_stage: Callable[[str, str], StageReport]
    on_report: OnReport | None
    figures: WorkerMetrics
    stop: Event
    lease: timedelta

    def lead(self, due: datetime) -> MaintenanceReport | UnfinishedRun:
        """Begin a run, do what nobody else does of it, and report it if that was the last.

        Raises:
            MemorandaError: the stage failed for some users; the others' part is done.
        """
        self.store.begin_run(self.stage, due=due)
        part = self._work_off(due)
        if part.failed:
            what, why = next(iter(part.failed.items()))
            message = f"{self.stage} failed for {len(part.failed)} ({what}: {why})"
            raise MemorandaError(message)
        progress = self.store.run_progress(self.stage, due=due)
        if progress.waiting:
            return UnfinishedRun(progress.until)
        report = StageReport(stage=self.stage, count=part.count, counts=progress.counts)
        return MaintenanceReport(stages=(report,))

    def help(self, due: datetime) -> int:
        """Do what nobody else does of a run that another process has; return for how many users."""
        return self._work_off(due).users

    def _work_off(self, due: datetime) -> _RunPart:
        part, limit = _RunPart(), 1
        while not self.stop.is_set():
            now = self.clock.now()
            taken = self.store.claim_users(
                self.stage, due=due, now=now, until=now + self.lease, limit=limit
            )
            if not taken:
                break
            start = time.monotonic()
            self._run_for(taken, due, part)
            spent = time.monotonic() - start
            limit = min(MOST_TOGETHER, max(1, int(len(taken) * TOGETHER / max(spent, 0.001))))
        return part

    def _run_for(self, taken: Mapping[str, int], due: datetime, part: _RunPart) -> None:
        """Run the stage for users who were claimed; give back those who are left at the end."""
        left = dict(taken)
        done: dict[str, Mapping[str, int]] = {}
        failed: dict[str, datetime] = {}

        def keep(until: datetime) -> bool:
            self.store.keep_users(self.stage, list(left), due=due, until=until)
            return True

        try:
            with renewed(self.stage, lambda: keep(self.clock.now() + self.lease), self.lease):
                for user, tries in taken.items():
                    if self.stop.is_set():
                        break
                    report = self._report(user, part)
                    if report.failed:
                        failed[user] = self._retry_at(tries)
                    else:
                        done[user] = report.counts
                    del left[user]
        finally:
            self.store.finish_users(self.stage, due=due, done=done, failed=failed)
            if left:
                keep(self.clock.now())

    def _report(self, user: str, part: _RunPart) -> StageReport:
        """Run the stage for a user; what goes wrong for one is no reason to leave the others'."""
        start = time.monotonic()
        try:
            report = self.run_stage(user, self.stage)
        except StoreClosed:
            raise
        except Exception as error:
            log.exception("%s failed for %s", self.stage, user)
            why = f"{type(error).__name__}: {error}"
            report = StageReport(stage=self.stage, failed={user: why})
            part.failed[user] = why
        else:
            part.failed |= {f"{user}/{what}": why for what, why in report.failed.items()}
        if report.count:
            log.info("%s for %s: %s", self.stage, user, report)
        self.figures.add_stage(report, time.monotonic() - start)
        if self.on_report is not None:
            self.on_report(user, report)
        part.users += 1
        part.count += report.count
        return report

    def _retry_at(self, tries: int) -> datetime:
        """Return when a user is tried again for whom the stage failed, and so often before."""
        late = tries + 1 >= ATTEMPTS
        return self.clock.now() + (NEVER if late else min(FIRST_RETRY * 2**tries, LONGEST_RETRY))


def stage_jobs(
    *,
    store: JobStore,
    clock: Clock,
    run_stage: Callable[[str, str], StageReport],
    times: Iterable[tuple[str, object]],
    zone: tzinfo,
    on_report: OnReport | None = None,
    figures: WorkerMetrics | None = None,
    stop: Event | None = None,
    lease: timedelta = LEASE,
) -> list[Job]:
    """Return the upkeep of a whole store as jobs: each stage, for every user.

    Args:
        times: when each stage runs, by name, as the settings write it.
        zone: of whose clock.
        store, clock, run_stage, on_report, figures, stop, lease: as for :class:`StageRuns`.

    Raises:
        ConfigError: a time of the settings cannot be read.
    """
    chosen = {name: parse_times(str(value), zone) for name, value in times if name in STAGES}
    runs = [
        StageRuns(
            stage=stage,
            store=store,
            clock=clock,
            run_stage=run_stage,
            on_report=on_report,
            figures=figures or WorkerMetrics(),
            stop=stop or Event(),
            lease=lease,
        )
        for stage in STAGES
    ]
    return [
        Job(
            each.stage,
            chosen[each.stage],
            each.lead,
            help=each.help,
            at_start=each.stage == AT_START,
        )
        for each in runs
    ]
