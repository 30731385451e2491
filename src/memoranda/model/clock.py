"""The time as an argument, and the ids that sort by it (the layout of a ULID)."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from threading import Lock
from typing import Protocol

from memoranda.model.checks import require_aware, to_ms
from memoranda.model.processes import follow_forks


class Clock(Protocol):
    """Tells the present moment."""

    def now(self) -> datetime:
        """Return the present as an aware UTC datetime."""


class SystemClock:
    """The clock of the machine."""

    def now(self) -> datetime:
        """Return the present as an aware UTC datetime."""
        return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class CheckedClock:
    """Tells the time of ``source``, a clock from outside, as the store keeps it."""

    source: Clock

    def now(self) -> datetime:
        """Return the present in UTC, cut to the millisecond.

        Raises:
            InvalidInput: the clock gives no datetime, or one without a time zone.
        """
        return require_aware(self.source.now(), "clock")


ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # Crockford's base 32: no I, L, O, U
RANDOM_BITS = 80
RANDOM = (1 << RANDOM_BITS) - 1
# Of the bits of an id, five at a time.
SHIFTS = range(125, -1, -5)


class IdFactory:
    """Makes ids such as ``fact_01JD…``; each sorts after the one before it.

    Thread-safe. Ids of one process strictly increase, also when the clock steps
    back or stands still; ids of several processes sort by their millisecond.
    """

    def __init__(self, clock: Clock) -> None:
        """Take the time from ``clock``."""
        self._clock = clock
        self._last = 0
        self.after_fork()
        follow_forks(self)

    def after_fork(self) -> None:
        """Give ids other than those of the process that this one was forked from."""
        self._lock = Lock()
        self._last = self._last & ~RANDOM | int.from_bytes(os.urandom(RANDOM_BITS // 8))

    def new(self, prefix: str, at: datetime | None = None) -> str:
        """Return a fresh id of the present or ``at``: ``prefix``, an underscore, and letters."""
        stamp = to_ms(self._clock.now() if at is None else at) << RANDOM_BITS
        with self._lock:
            # From one random number on, as no other process has the same.
            number = self._last = max(self._last, stamp | self._last & RANDOM) + 1
        return f"{prefix}_{encode_id(number)}"


def encode_id(number: int) -> str:
    """Return a number of 130 bits at most as the letters of an id."""
    return "".join([ALPHABET[number >> shift & 31] for shift in SHIFTS])
