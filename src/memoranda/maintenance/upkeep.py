"""Upkeep at its times: the stages of every user of a store, as jobs of a schedule (seed 004)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime, tzinfo
from functools import partial
from threading import Event

from memoranda.errors import ConfigError, MemorandaError, StoreClosed
from memoranda.learning.stages import STAGES
from memoranda.maintenance.schedule.background import Background
from memoranda.maintenance.schedule.cron import Cron, parse
from memoranda.maintenance.schedule.every import Every
from memoranda.maintenance.schedule.jobs import Job, NextRun, Ran
from memoranda.maintenance.schedule.schedule import Schedule
from memoranda.memory import Memory, parts_of
from memoranda.model.reports import StageReport
from memoranda.settings.sections import SPAN, parse_span

log = logging.getLogger("memoranda.maintenance")

AT_START = "expire"
"""The stage that also runs when a process begins to serve (seed 001)."""

Told = Callable[[str, StageReport], object]
"""Told of what a stage did for a user."""


class Maintenance:
    """The scheduled upkeep of a whole store.

    Any number of processes may keep up one store: each run is made by one of them, and what a
    killed process left is done by another.
    """

    def __init__(self, memory: Memory, told: Told | None = None) -> None:
        """Plan the jobs that the settings name; run nothing yet.

        Args:
            memory: a memory of the store; all users are served.
            told: called after each stage that did something for a user.

        Raises:
            ConfigError: a time of the settings cannot be read.
        """
        self._memory = memory
        self._told = told
        parts = parts_of(memory)
        times = parts.settings.schedule
        jobs = [
            Job(
                name,
                trigger(getattr(times, name), parts.settings.zone),
                partial(self._run, name),
                at_start=name == AT_START,
            )
            for name in STAGES
        ]
        self._clock = parts.clock
        self._schedule = Schedule(jobs, parts.store, clock=parts.clock)

    def step(self) -> list[Ran]:
        """Run what is due now; return the runs."""
        return self._schedule.step(self._clock.now())

    def run(self, stop: Event) -> None:
        """Run what comes due until ``stop`` is set or the memory is closed."""
        self._schedule.run(stop)

    def background(self) -> Background:
        """Return the same as a thread, to be started and closed."""
        return Background(self._schedule)

    def next_runs(self) -> list[NextRun]:
        """Return when each stage runs next."""
        return self._schedule.next_runs(self._clock.now())

    def _run(self, stage: str, _due: datetime) -> tuple[StageReport, ...]:
        reports: list[StageReport] = []
        failed: dict[str, str] = {}
        for user in self._memory.users():
            try:
                report = self._kept_up(user, stage)
            except StoreClosed:
                raise
            except Exception as error:
                # What is wrong with the memory of one user is no reason to leave the others'.
                log.exception("%s failed for %s", stage, user)
                failed[user] = f"{type(error).__name__}: {error}"
                continue
            if report.count:
                log.info("%s for %s: %s", stage, user, report)
            if self._told is not None:
                self._told(user, report)
            reports.append(report)
            failed |= {f"{user}/{what}": why for what, why in report.failed.items()}
        if failed:
            what, why = next(iter(failed.items()))
            message = f"{stage} failed for {len(failed)} ({what}: {why})"
            raise MemorandaError(message)
        return tuple(reports)

    def _kept_up(self, user: str, stage: str) -> StageReport:
        memory = self._memory.as_user(user)
        if stage == "reflect" and memory.sessions(pending=True):
            # Both are due on Sunday at three, and the week is to be seen with all its facts.
            memory.consolidate()
            if memory.sessions(pending=True):
                raise MemorandaError("sessions are still being consolidated; it is tried again")
        return memory.maintain([stage]).stages[0]


def trigger(text: str, zone: tzinfo) -> Cron | Every | None:
    """Return the times that a setting names: of the clock in ``zone``, or a span between runs.

    Args:
        text: five fields of cron, a time span such as ``3600s`` or ``1h``, or ``off``.
        zone: of whose clock.

    Raises:
        ConfigError: it is none of them.
    """
    if SPAN.fullmatch(text.strip()) is None:
        return parse(text, zone)
    try:
        return Every(parse_span(text))
    except ValueError as error:
        message = f"{text!r} is no time between two runs of a job; write such as 3600s or 1h"
        raise ConfigError(message) from error
