"""The upkeep of a whole store at its times: each stage, for every user, as a job of a schedule."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from datetime import datetime, tzinfo
from functools import partial
from threading import Event

from memoranda.errors import MemorandaError, StoreClosed
from memoranda.maintenance.schedule import Job, JobResult, NextRun, Schedule, ScheduleThread
from memoranda.maintenance.service import STAGES
from memoranda.maintenance.triggers import parse_times
from memoranda.model.clock import Clock
from memoranda.model.ports import JobStore
from memoranda.model.reports import StageReport

log = logging.getLogger("memoranda.maintenance")

AT_START = "expire"
"""The stage that also runs when a process begins to serve (requirement S1.38)."""

OnReport = Callable[[str, StageReport], object]
"""Called with a user and what a stage did for them."""


class MaintenanceSchedule:
    """The scheduled upkeep of a whole store.

    Any number of processes may keep up one store: each run is made by one of them, and what a
    killed process left is done by another.
    """

    def __init__(
        self,
        *,
        users: Callable[[], Iterable[str]],
        run_stage: Callable[[str, str], StageReport],
        times: Iterable[tuple[str, object]],
        zone: tzinfo,
        store: JobStore,
        clock: Clock,
        on_report: OnReport | None = None,
    ) -> None:
        """Plan the jobs that the settings name; run nothing yet.

        Args:
            users: gives every user of the store.
            run_stage: runs a stage, for a user.
            times: when each stage runs, by name, as the settings write it.
            zone: of whose clock.
            store: where processes agree who runs what.
            clock: the time.
            on_report: called after each stage for a user.

        Raises:
            ConfigError: a time of the settings cannot be read.
        """
        self._users, self._run_stage, self._on_report = users, run_stage, on_report
        chosen = {name: str(value) for name, value in times}
        jobs = [
            Job(
                name,
                parse_times(chosen[name], zone),
                partial(self._run, name),
                at_start=name == AT_START,
            )
            for name in STAGES
        ]
        self._clock = clock
        self._schedule = Schedule(jobs, store, clock=clock)

    def step(self) -> list[JobResult]:
        """Run what is due now; return the runs."""
        return self._schedule.step(self._clock.now())

    def run(self, stop: Event) -> None:
        """Run what comes due until ``stop`` is set or the memory is closed."""
        self._schedule.run(stop)

    def background(self) -> ScheduleThread:
        """Return the same as a thread, to be started and closed."""
        return ScheduleThread(self._schedule)

    def next_runs(self) -> list[NextRun]:
        """Return when each stage runs next."""
        return self._schedule.next_runs(self._clock.now())

    def _run(self, stage: str, _due: datetime) -> tuple[StageReport, ...]:
        reports: list[StageReport] = []
        failed: dict[str, str] = {}
        for user in self._users():
            try:
                report = self._run_stage(user, stage)
            except StoreClosed:
                raise
            except Exception as error:
                # What is wrong with the memory of one user is no reason to leave the others'.
                log.exception("%s failed for %s", stage, user)
                failed[user] = f"{type(error).__name__}: {error}"
                continue
            if report.count:
                log.info("%s for %s: %s", stage, user, report)
            if self._on_report is not None:
                self._on_report(user, report)
            reports.append(report)
            failed |= {f"{user}/{what}": why for what, why in report.failed.items()}
        if failed:
            what, why = next(iter(failed.items()))
            message = f"{stage} failed for {len(failed)} ({what}: {why})"
            raise MemorandaError(message)
        return tuple(reports)
