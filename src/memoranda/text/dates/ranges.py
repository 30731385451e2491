"""Stretches of time around a moment, as words such as "last week" and "May" name them.

Weeks begin on Monday; seasons are those of the northern hemisphere, by whole months.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from memoranda.model.checks import require_aware

DAY = timedelta(days=1)
SUB_DAY = {"hour": timedelta(hours=1), "minute": timedelta(minutes=1)}
MONTHS_IN = {"month": 1, "quarter": 3, "year": 12}

EARLIEST_YEAR = 1900
"""Where an open past ("before 2020") begins."""

Bounds = tuple[datetime, datetime]
"""The first moment of a stretch of time and the first one after it."""
InYear = Callable[[int], Bounds]
"""Places a stretch that recurs each year."""


def within_calendar(moment: datetime, name: str) -> bool:
    """Return whether ``moment`` has a UTC time; the calendar's first and last day may not.

    Raises:
        InvalidInput: it has no time zone.
    """
    if moment.utcoffset() is None:
        require_aware(moment, name)
    try:
        moment.astimezone(UTC)
    except OverflowError:
        return False
    return True


def is_empty(bounds: Bounds) -> bool:
    """Return whether a stretch ends before it begins, whatever the clocks of its zone do."""
    return bounds[0].astimezone(UTC) >= bounds[1].astimezone(UTC)


def spread(first: InYear, last: InYear) -> InYear:
    """Return a stretch of each year, from one to another, that may reach into the next year."""

    def in_year(year: int) -> Bounds:
        since, until = first(year)[0], last(year)[1]
        return since, until if until > since else last(year + 1)[1]

    return in_year


class RelativeCalendar:
    """Stretches of days around ``now``; all bounds are midnights in its zone."""

    def __init__(self, now: datetime) -> None:
        """Look at the calendar from ``now``."""
        self.now = now
        self.today = now.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)

    def date(self, year: int, month: int = 1, day: int = 1) -> datetime:
        """Return the midnight that begins a day."""
        return datetime(year, month, day, tzinfo=self.now.tzinfo)

    def days(self, offset: int, count: int = 1) -> Bounds:
        """Return ``count`` days, the first one ``offset`` days from today."""
        return self.today + offset * DAY, self.today + (offset + count) * DAY

    def months(self, year: int, month: int, count: int = 1) -> Bounds:
        """Return ``count`` months; a month below 1 or over 12 is one of another year."""
        start, end = 12 * year + month - 1, 12 * year + month - 1 + count
        return self.date(start // 12, start % 12 + 1), self.date(end // 12, end % 12 + 1)

    def season(self, year: int, season: int) -> Bounds:
        """Return a season: 1 is spring, 4 the winter that begins in ``year``."""
        return self.months(year, 3 * season, 3)

    def unit(self, unit: str, offset: int) -> Bounds:
        """Return the calendar unit that is ``offset`` units from the present one."""
        year, month = self.now.year, self.now.month
        if unit == "month":
            return self.months(year, month + offset)
        if unit == "quarter":
            return self.months(year, 3 * ((month - 1) // 3 + offset) + 1, 3)
        if unit == "year":
            return self.months(year + offset, 1, 12)
        if unit == "day":
            return self.days(offset)
        monday = 7 * offset - self.today.weekday()
        return self.days(monday + 5, 2) if unit == "weekend" else self.days(monday, 7)

    def around(self, unit: str, low: int, high: int) -> Bounds:
        """Return the time ``low`` to ``high`` units away, as exact as the unit is."""
        if unit in SUB_DAY:
            length, zone = SUB_DAY[unit], self.now.tzinfo
            moment = self.now.astimezone(UTC)
            start, end = moment + (low - 0.5) * length, moment + (high + 0.5) * length
            return start.astimezone(zone), end.astimezone(zone)
        if unit == "week":
            return self.days(7 * low - 3)[0], self.days(7 * high + 3)[1]
        return self.unit(unit, low)[0], self.unit(unit, high)[1]

    def latest(self, in_year: InYear) -> Bounds:
        """Return the latest occurrence of a yearly stretch that has begun."""
        for year in range(self.now.year, self.now.year - 9, -1):
            try:
                bounds = in_year(year)
            except ValueError:  # The 29th of February of another year.
                continue
            if bounds[0] <= self.now:
                return bounds
        raise ValueError("no such day in any year")

    def shifted(self, in_year: InYear, shift: int) -> Bounds:
        """Return the occurrence that is over (-1), of this year (0) or to come (1)."""
        year = self.now.year
        if shift == 0:
            return in_year(year)
        if shift < 0:
            return next(b for y in (year, year - 1, year - 2) if (b := in_year(y))[1] <= self.now)
        return next(b for y in (year, year + 1) if (b := in_year(y))[0] > self.now)
