"""A clock that stands still until a test moves it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from memoranda.model.checks import require_aware

START = datetime(2026, 1, 1, 12, tzinfo=UTC)


class FrozenClock:
    """Implements :class:`memoranda.model.clock.Clock`."""

    def __init__(self, now: datetime = START) -> None:
        """Stand at ``now``.

        Raises:
            InvalidInput: ``now`` has no time zone.
        """
        self.set(now)

    def now(self) -> datetime:
        """Return the moment that was set, in UTC."""
        return self._now

    def set(self, now: datetime) -> None:
        """Go to ``now``, which may lie in the past.

        Raises:
            InvalidInput: ``now`` has no time zone.
        """
        self._now = require_aware(now, "now")

    def advance(self, by: timedelta) -> datetime:
        """Go on by ``by`` (back, if negative) and return the new moment."""
        self.set(self._now + by)
        return self._now
