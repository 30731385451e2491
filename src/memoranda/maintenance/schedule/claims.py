"""The claim of one process on one run of a job, kept up while it works."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from threading import Event, Thread

from memoranda.errors import MemorandaError
from memoranda.model.clock import Clock
from memoranda.model.ports import JobStore

log = logging.getLogger("memoranda.maintenance.schedule")

RENEWALS = 3
"""How often a claim is renewed before it would end: two may fail."""


class Claim:
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
    def kept(self) -> Iterator[None]:
        """Renew the claim from a thread of its own until the block ends."""
        done = Event()
        thread = Thread(
            target=self._keep, args=(done,), name=f"memoranda-claim-{self._job}", daemon=True
        )
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    def _keep(self, done: Event) -> None:
        while not done.wait(self._lease.total_seconds() / RENEWALS):
            try:
                if not self.take():
                    log.warning(
                        "the claim on %s ended before its run; it may be run twice", self._job
                    )
                    return
            except MemorandaError as error:
                log.warning("the claim on %s could not be renewed: %s", self._job, error)
