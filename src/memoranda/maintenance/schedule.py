"""Runs the stages of upkeep at their times, for every user of a store, beside other processes.

For each user whose run of a stage is due a process takes the lease ``<stage>:<user>``, runs the
stage and marks the run as done. Runs that were missed become one; a run that was due before a
user had anything was not missed. Whoever is killed loses the lease when it ends, and the next
process takes the user over: a stage does no harm when it is run twice.

A stage runs at times of the clock (five fields of cron; Sunday is 0 or 7, and where both kinds of
day are given, both must fit) as APScheduler reads them, or every so often: a span is counted from
the beginning of 1970, so that all processes agree.
"""

from __future__ import annotations

import logging
import os
import secrets
import socket
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import partial
from threading import Event
from typing import Any

from apscheduler.triggers.cron import CronTrigger
from apscheduler.triggers.interval import IntervalTrigger

from memoranda.derivations import BATCH, DerivationWorker
from memoranda.errors import ConfigError, MemorandaError, StoreClosed
from memoranda.maintenance.service import STAGES
from memoranda.model.checks import EPOCH
from memoranda.model.clock import Clock
from memoranda.model.models import Kind, Scope
from memoranda.model.query import Filter
from memoranda.model.reports import StageReport
from memoranda.model.sessions import FUTURE, StageLease
from memoranda.settings.parsing import SPAN, parse_span
from memoranda.store.sql.store import Store
from memoranda.text.patterns import compile_pattern

log = logging.getLogger("memoranda.maintenance.schedule")

# How long a process has a stage of a user to itself. After that, where it was killed or the stage
# failed, any process tries again.
LEASE = timedelta(hours=1)
# How long the loop sleeps at most: clocks are set, machines sleep, processes are killed.
NAP = timedelta(minutes=1)
# The stage that also runs when a process begins to serve (requirement S1.38).
AT_START = "expire"
ANYTHING = Filter.at_any_time(kinds=tuple(Kind))
NO_LEASE = StageLease(None, None)
# A trigger of APScheduler.
Times = Any
OFF = "off"
# APScheduler counts the days from Monday, cron from Sunday; by name they agree.
DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat", "sun")
# A day of the week, and not every so many of them.
DAY = compile_pattern(r"(^|[,-])([0-7])\b")
REFUSED = (
    "the schedule {!r} cannot be read: {}; write five fields (minute hour day month weekday) such "
    "as '0 3 * * *', or a span such as 3600s or 1h, or 'off'"
)
MINUTE, TICK = timedelta(minutes=1), timedelta(microseconds=1)
# Longer than from one 29 February to the next.
HORIZON = timedelta(days=9 * 366)

# Seconds until it is looked again whether anything waits to be derived.
LOOK = 1.0

# Called with a user and what a stage did for them.
OnReport = Callable[[str, StageReport], object]


def parse_times(text: str, zone: tzinfo) -> Times | None:
    """Return the times that a setting names; ``None`` for ``off``.

    Args:
        text: five fields of cron, a time span such as ``3600s`` or ``1h``, or ``off``.
        zone: of whose clock the fields are.

    Raises:
        ConfigError: it is none of them, or no such time ever comes.
    """
    given = text.strip().lower()
    if given == OFF:
        return None
    try:
        if SPAN.fullmatch(given):
            seconds = int(parse_span(given).total_seconds())
            times: Times = IntervalTrigger(seconds=seconds, start_date=EPOCH, timezone=UTC)
        else:
            fields, _, days = given.rpartition(" ")
            named = DAY.sub(lambda found: found[1] + DAYS[int(found[2])], days)
            times = CronTrigger.from_crontab(f"{fields} {named}", timezone=zone)
        if next_time(times, EPOCH) is None:
            raise ConfigError(REFUSED.format(text, "no such time ever comes"))
    except ValueError as error:
        raise ConfigError(REFUSED.format(text, error)) from error
    return times


def next_time(times: Times, after: datetime) -> datetime | None:
    """Return the first of ``times`` later than a moment, in UTC; ``None`` beyond the calendar."""
    try:
        found = times.get_next_fire_time(None, after.astimezone(UTC) + TICK)
    except (OverflowError, ValueError):  # The end of the calendar.
        return None
    return None if found is None else found.astimezone(UTC)


def last_time(times: Times, until: datetime) -> datetime | None:
    """Return the last of ``times`` not later than a moment, in UTC; ``None`` for years before."""
    span, found = MINUTE, None
    while found is None and span < HORIZON:
        moment = next_time(times, until - span)
        while moment is not None and moment <= until:
            found, moment = moment, next_time(times, moment)
        span *= 4
    return found


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
    ) -> None:
        """Run nothing yet."""
        written = dict(times)
        self._times = {stage: parse_times(str(written[stage]), zone) for stage in STAGES}
        self._run_stage = run_stage
        self._store, self._clock = store, clock
        self._on_report = on_report
        self.stop = stop or Event()
        self._holder = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
        self._started: datetime | None = None

    def step(self) -> list[StageReport]:
        """Run what is due and not done or being done elsewhere; return what was done, by user.

        Where a stage fails for a user, the error is logged, the others' runs go on, and an hour
        later it is tried again.

        Raises:
            MemorandaError: the store failed.
        """
        now = self._clock.now()
        self._started = self._started or now
        self._store.vector_model()  # Raises where the store was closed, also if nothing is due.
        due = [(moment, stage) for stage in STAGES if (moment := self._due(stage, now))]
        done: list[StageReport] = []
        for moment, stage in due:  # In the order of a night: a week is told with all its facts.
            for user, lease in list(self._users(stage, moment)):
                if self.stop.is_set():
                    return done
                is_taken = lease.until is not None and now < lease.until <= now + FUTURE
                report = None if is_taken else self._run_for(user, stage, moment)
                done += [] if report is None else [report]
        return done

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

    def pause(self, now: datetime) -> timedelta:
        """Return how long nothing is to be done; at most a minute."""
        moments = [next_time(times, now) for times in self._times.values() if times is not None]
        return min([NAP, *(moment - now for moment in moments if moment is not None)])

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
        leases, known = self._store.stage_leases(stage), self._clock.now() + FUTURE
        for user in self._store.users():
            lease = leases.get(user, NO_LEASE)
            if lease.done is None or lease.done > known:
                first = self._store.records(Scope(user), ANYTHING, limit=1)
                is_due = bool(first) and not due < first[0].created_at <= known
            else:
                is_due = lease.done < due
            if is_due:
                yield user, lease

    def _run_for(self, user: str, stage: str, due: datetime) -> StageReport | None:
        """Run a stage for a user, under the lease on it; nothing where another process has that."""
        name, now = f"{stage}:{user}", self._clock.now()
        claim = partial(self._store.claim, name, self._holder, due=due, now=now)
        if not claim(until=now + LEASE):
            return None
        try:
            report = self._report(user, stage)
        except StoreClosed:
            with suppress(MemorandaError):
                claim(until=now)
            raise
        if not report.failed:
            at = self._clock.now()
            self._store.complete(name, self._holder, due=due, at=at, counts=report.counts)
        return report

    def _report(self, user: str, stage: str) -> StageReport:
        """Run a stage for a user; what goes wrong for one is no reason to leave the others'."""
        try:
            report = self._run_stage(user, stage)
        except StoreClosed:
            raise
        except Exception as error:
            log.exception("%s failed for %s; it is tried again", stage, user)
            report = StageReport(stage=stage, failed={stage: f"{type(error).__name__}: {error}"})
        else:
            for what, why in report.failed.items():
                log.warning("%s failed for %s/%s: %s; it is tried again", stage, user, what, why)
        if report.failed and self.stop.is_set():
            raise StoreClosed(f"{stage} was stopped; whoever opens the store next runs it again")
        if report.count:
            log.info("%s for %s: %s", stage, user, report)
        if self._on_report is not None:
            self._on_report(user, report)
        return report


@dataclass(slots=True)
class StoreWorker:
    """Derives what waits and runs the schedule of a store until that is stopped.

    The batch and the user at hand are finished then.

    Attributes:
        schedule: the stages of upkeep for all users.
        derivations: derives what waits.
    """

    schedule: Schedule
    derivations: DerivationWorker

    def run(self) -> None:
        """Work until it is stopped, or the store is closed."""
        stop = self.schedule.stop
        derive = partial(self.derivations.keep_up, stop, partial(stop.wait, LOOK), BATCH)
        with ThreadPoolExecutor(2) as threads:
            both = [threads.submit(each) for each in (derive, self.schedule.run)]
            wait(both, return_when=FIRST_COMPLETED)  # However one half ends, the other does, too.
            stop.set()
        for each in both:
            each.result()

    def run_once(self) -> Sequence[StageReport]:
        """Work off what waits and what is due, as far as no other process does; return the runs.

        Raises:
            MemorandaError: the store failed, or the model.
        """
        work_off = partial(self.derivations.work_off, self.schedule.stop, BATCH)
        work_off()
        ran = self.schedule.step()
        work_off()  # Also of what was learned just now.
        return ran
