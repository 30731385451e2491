"""Turns finished sessions into facts while nobody waits: one thread, one session at a time."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from threading import Condition, Event

from memoranda.errors import StoreClosed
from memoranda.model.models import Scope
from memoranda.model.processes import BackgroundThread, follow_forks

log = logging.getLogger("memoranda.consolidate")


@dataclass(frozen=True, slots=True)
class ConsolidationRequest:
    """Which sessions to consolidate.

    Attributes:
        scope: whose.
        session: only this one, if given.
        but: all that wait but this one, which still goes on.
        until: position of the last episode of ``session`` that is to be read.
    """

    scope: Scope
    session: str | None = None
    but: str | None = None
    until: int | None = None


class ConsolidationQueue:
    """Runs consolidation when it is asked to. Thread-safe.

    The same request twice is done once. Of requests for all sessions but one only the newest
    is done: the session that an older one spared is over, and one that it would read goes on.
    What was not done when it is closed stays pending in the store and is done next time.
    """

    def __init__(self) -> None:
        """Start no thread yet."""
        self._thread = BackgroundThread("memoranda-consolidation")
        self.after_fork()
        follow_forks(self)

    def after_fork(self) -> None:
        """Have no request yet, as in a process that was forked."""
        self._wake = Condition()
        self._wanted: dict[ConsolidationRequest, Callable[[Event], object]] = {}
        self._busy = False

    def ask(self, request: ConsolidationRequest, work: Callable[[Event], object]) -> None:
        """Have ``work`` do what is requested, until its event is set; returns at once."""
        with self._wake:
            if self._thread.ending.is_set():
                return
            self._wanted[replace(request, but=None)] = work
            self._thread.start(self._run, self.stop)
            self._wake.notify_all()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until nothing is asked for or being done; whether it came to that in time."""
        with self._wake:
            return self._wake.wait_for(lambda: not self._wanted and not self._busy, timeout)

    def stop(self) -> None:
        """Begin nothing more; what is being done ends after the page at hand."""
        with self._wake:
            self._thread.ending.set()
            self._wanted.clear()
            self._wake.notify_all()

    def close(self) -> None:
        """Stop, and wait for the end of the page at hand."""
        self.stop()
        self._thread.wait()

    def _run(self) -> None:
        while True:
            with self._wake:
                self._wake.wait_for(lambda: self._wanted or self._thread.ending.is_set())
                if self._thread.ending.is_set():
                    return
                work = self._wanted.pop(next(iter(self._wanted)))
                self._busy = True
            try:
                work(self._thread.ending)
            except StoreClosed:
                return
            except BaseException:  # SystemExit of an injected model, too: it would end this thread.
                log.exception("consolidation failed; it is tried again later")
            finally:
                with self._wake:
                    self._busy = False
                    self._wake.notify_all()
