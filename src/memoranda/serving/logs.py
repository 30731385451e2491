"""The log of a server: bounded, whoever may make the server write to it."""

from __future__ import annotations

import logging
from collections.abc import Callable

MINUTE = 60.0


class RepeatLimit(logging.Filter):
    """Lets each line of code log only so often in a minute, and says how many were left out.

    Args:
        most: how often in a minute.
        now: the present, in seconds.
    """

    def __init__(self, most: int, now: Callable[[], float]) -> None:
        """Have let nothing pass yet."""
        super().__init__()
        self._most, self._now = most, now
        # By place in the code the beginning of its minute, and how often it logged since.
        self._logged: dict[tuple[str, int], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a record is written; the first of a minute tells of the one before."""
        place, now = (record.pathname, record.lineno), self._now()
        began, count = self._logged.get(place, (now, 0))
        if now - began >= MINUTE:
            if count > self._most:
                left_out = count - self._most
                record.msg = f"{record.getMessage()} (and {left_out:,} more of these before)"
                record.args = ()
            began, count = now, 0
        self._logged[place] = began, count + 1
        return count < self._most
