"""Calls to a server that may be slow, busy or away, so that nobody waits for it for long."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, InvalidStateError
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import suppress
from functools import partial
from threading import Lock, Thread
from typing import Any, TypeVar
from weakref import WeakSet

from memoranda.errors import ModelUnavailable
from memoranda.model.processes import follow_forks

Result = TypeVar("Result")

# Seconds that a call may take for which nobody waits at a prompt.
PATIENCE = 60.0
# Seconds after a first failure; they double from there.
FIRST_PAUSE, LONGEST_PAUSE = 15.0, 300.0


class CircuitBreaker:
    """Calls a server, and leaves it alone for a while after it failed (Nygard 2007).

    Each call has a thread of its own, so that it ends in time however slowly an answer comes,
    and so that closing waits for no server. An answer that comes too late still counts: the
    server is there again. After the pause, the first call in a hurry is sent and not waited for:
    only its success has the server asked as usual again. Thread-safe.
    """

    def __init__(
        self, server: str, timeout: float, *, timer: Callable[[], float] = time.monotonic
    ) -> None:
        """Trust the server.

        Args:
            server: its name, for messages.
            timeout: how many seconds a call in a hurry may take.
            timer: gives seconds that only grow.
        """
        self._server, self._timeout, self._timer = server, timeout, timer
        self._failure: str | None = None
        self._pause = self._until = 0.0
        self._running: WeakSet[Future[Any]] | None = WeakSet()
        self.after_fork()
        follow_forks(self)

    def after_fork(self) -> None:
        """Have a lock that nobody holds, as in a process that was forked."""
        self._lock = Lock()

    def call(self, work: Callable[[], Result], *, hurry: bool) -> Result:
        """Return what ``work`` returns, which asks the server.

        Args:
            work: raises ``ModelUnavailable`` where the server is busy or away.
            hurry: whether somebody waits at a prompt.

        Raises:
            EmbeddingError: ``work`` raised it.
            ModelUnavailable: there was no answer in time, it is not asked at present, or this is
                closed.
        """
        outcome: Future[Result] = Future()
        failure = self._admit(outcome)
        run = partial(self._run, work, outcome)
        Thread(target=run, name="memoranda-server", daemon=True).start()
        limit = self._timeout if hurry else PATIENCE
        try:
            return outcome.result(0 if failure and hurry else limit)
        except FutureTimeout as error:
            if failure and hurry:
                raise ModelUnavailable(f"{failure}; it is being asked again") from error
            remedy = "start the server, or raise embedding.timeout"
            message = f"no answer from {self._server} within {limit:g} s; {remedy}"
            outcome.cancel()
            self._note(message)
            raise ModelUnavailable(message) from error
        except CancelledError as error:
            raise ModelUnavailable(f"{self._server} is not waited for: closed") from error

    def close(self) -> None:
        """Let everybody go who waits, and call no more."""
        with self._lock:
            running, self._running = self._running or (), None
        for outcome in list(running):
            outcome.cancel()

    def _admit(self, outcome: Future[Result]) -> str | None:
        """Register a call; return why the last one failed, if it did.

        Raises:
            ModelUnavailable: the server is not asked at present.
        """
        with self._lock:
            if self._running is None:
                raise ModelUnavailable(f"{self._server} is not asked any more: closed")
            now = self._timer()
            if self._failure is not None:
                if now < self._until:
                    left = f"it is asked again in {self._until - now:.0f} s"
                    raise ModelUnavailable(f"{self._failure}; {left}")
                self._wait_longer(now)  # One call tries it, and not each of many.
            self._running.add(outcome)
            return self._failure

    def _run(self, work: Callable[[], Result], outcome: Future[Result]) -> None:
        """Call the server, note how it is, and hand the result to whoever still waits."""
        with suppress(InvalidStateError):  # Nobody does.
            try:
                result = work()
            except Exception as error:  # noqa: BLE001 - goes to whoever called
                if not outcome.cancelled():
                    # A server that refuses a text is there.
                    self._note(str(error) if isinstance(error, ModelUnavailable) else None)
                outcome.set_exception(error)
            else:
                self._note(None)
                outcome.set_result(result)

    def _note(self, failure: str | None) -> None:
        """Note why a call failed, or ``None``; of calls that fail together the first counts."""
        with self._lock:
            if failure is None:
                self._pause = 0.0
            elif self._failure is None:
                self._wait_longer(self._timer())
            self._failure = failure

    def _wait_longer(self, now: float) -> None:
        self._pause = min(LONGEST_PAUSE, self._pause * 2 or FIRST_PAUSE)
        self._until = now + self._pause
