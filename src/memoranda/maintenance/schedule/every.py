"""A job that is due so long after its last run (seed 001, ``cleanup_interval``)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True)
class Every:
    """When a job is due, counted from when it was due last. Its first run is due at once.

    Attributes:
        span: the time from one run to the next, more than none.
    """

    span: timedelta

    def next(self, after: datetime) -> datetime | None:
        """Return when the run after that of ``after`` is due; ``None`` beyond the calendar."""
        try:
            return after + self.span
        except OverflowError:
            return None

    def last(self, until: datetime, *, since: datetime | None = None) -> datetime | None:
        """Return for when the run at ``until`` was due, if one is, after that of ``since``.

        Of several that were missed it is the last.
        """
        if since is None:
            return until
        missed = (until - since) // self.span
        return since + missed * self.span if missed > 0 else None
