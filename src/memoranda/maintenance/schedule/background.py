"""The loop in a thread of the process that serves."""

from __future__ import annotations

from threading import Event, Thread, current_thread
from types import TracebackType
from typing import Self

from memoranda.maintenance.schedule.schedule import Schedule


class Background:
    """Runs a schedule in a daemon thread from ``start`` to ``close``."""

    def __init__(self, schedule: Schedule) -> None:
        """Start nothing yet."""
        self._stop = Event()
        self._thread = Thread(
            target=schedule.run, args=(self._stop,), name="memoranda-schedule", daemon=True
        )

    def start(self) -> None:
        """Start the loop. Starting twice is harmless; what was closed stays closed."""
        if self._thread.ident is None and not self._stop.is_set():
            self._thread.start()

    def close(self, timeout: float | None = None) -> bool:
        """Begin no further job and wait for the one at hand; whether it ended in time.

        Args:
            timeout: seconds to wait; ``None`` is as long as it takes.
        """
        self._stop.set()
        if self._thread.ident is not None and self._thread is not current_thread():
            self._thread.join(timeout)
        return not self._thread.is_alive()

    @property
    def running(self) -> bool:
        """Whether the loop goes on."""
        return self._thread.is_alive()

    def __enter__(self) -> Self:
        """Start."""
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close."""
        self.close()
