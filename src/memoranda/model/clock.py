"""The time as an argument, so that every rule about time can be tested."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Tells the present moment."""

    def now(self) -> datetime:
        """Return the present as an aware UTC datetime."""


class SystemClock:
    """The clock of the machine."""

    def now(self) -> datetime:
        """Return the present as an aware UTC datetime."""
        return datetime.now(UTC)
