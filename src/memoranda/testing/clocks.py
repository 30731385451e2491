"""A clock that stands still until a test moves it."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

from memoranda.model.checks import require_aware

START = datetime(2026, 1, 1, 12, tzinfo=UTC)


class FrozenClock:
    """Implements :class:`memoranda.model.clock.Clock`. Thread-safe."""

    def __init__(self, now: datetime = START) -> None:
        """Stand at ``now``.

        Raises:
            InvalidInput: ``now`` has no time zone.
        """
        self._lock = threading.Lock()
        self._now = require_aware(now, "now")

    def now(self) -> datetime:
        """Return the moment that was set, in UTC."""
        with self._lock:
            return self._now

    def set(self, now: datetime) -> None:
        """Go to ``now``, which may lie in the past.

        Raises:
            InvalidInput: ``now`` has no time zone.
        """
        moment = require_aware(now, "now")
        with self._lock:
            self._now = moment

    def advance(self, by: timedelta) -> datetime:
        """Go on by ``by`` (back, if negative) and return the new moment."""
        with self._lock:
            self._now = require_aware(self._now + by, "now")
            return self._now
