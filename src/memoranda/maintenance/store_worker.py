"""Takes derivations and scheduled jobs of all users of a store, beside any number of others."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from memoranda.derivations import BATCH, DerivationWorker
from memoranda.errors import MemorandaError, StoreClosed
from memoranda.maintenance.schedule import Schedule
from memoranda.model.reports import StageReport

log = logging.getLogger("memoranda.maintenance.worker")

# Seconds until it is looked again whether anything waits to be derived.
LOOK = 1.0
# How much longer it waits at least than such a look takes, which may go through a long queue.
LOOKING = 20
# Seconds between two lines on what was derived.
TELL = 10.0


@dataclass(slots=True)
class StoreWorker:
    """Derives what waits and runs the schedule of a store until that is stopped.

    The batch and the user at hand are finished then. All is counted in the figures of the schedule.

    Attributes:
        schedule: the stages of upkeep for all users; its lease holds for batches, too.
        derivations: derives what waits.
        on_derived: called now and then, while something is derived.
    """

    schedule: Schedule
    derivations: DerivationWorker
    on_derived: Callable[[], object]
    _told_at: float = 0.0

    def run(self) -> None:
        """Work until it is stopped, or the store is closed."""
        with ThreadPoolExecutor(2) as threads:
            both = [
                threads.submit(self._end_with, each) for each in (self._derive, self.schedule.run)
            ]
        for each in both:
            each.result()

    def run_once(self) -> Sequence[StageReport]:
        """Work off what waits and what is due, as far as no other process does; return the runs.

        Raises:
            MemorandaError: the store failed, or the model.
        """
        self._work_off()
        ran = self.schedule.step()
        self._work_off()  # Also of what was learned just now.
        return ran

    def _end_with(self, work: Callable[[], object]) -> None:
        """Do one half of the work; with it, however it ends, the other ends, too."""
        try:
            work()
        finally:
            self.schedule.stop.set()

    def _derive(self) -> None:
        while not self.schedule.stop.is_set():
            pause, start, before = LOOK, time.monotonic(), self.schedule.figures.derived.total()
            try:
                self._work_off()
                if self.schedule.figures.derived.total() == before:
                    pause = max(LOOK, LOOKING * (time.monotonic() - start))
            except StoreClosed:
                return
            except MemorandaError as error:
                self.schedule.figures.derivation_failures += 1
                log.warning("%s; trying again later", error)
                pause = self.schedule.lease.total_seconds()  # As long as the batch is claimed.
            self.schedule.stop.wait(pause)

    def _work_off(self) -> None:
        self.derivations.work_off(
            self.schedule.stop.is_set, self._count, works=BATCH, claim=self.schedule.lease
        )

    def _count(self, work: str, records: int, seconds: float) -> None:
        self.schedule.figures.derived[work] += records
        self.schedule.figures.derivation_seconds[work] += seconds
        if time.monotonic() - self._told_at >= TELL:
            self._told_at = time.monotonic()
            self.on_derived()
