"""When a job is due: at times of the clock (five fields of cron), or a span after its last run.

Minute, hour, day of the month, month, day of the week, as in crontab(5): Sunday is 0 or 7, and
where both kinds of day are given, either will do. Daylight saving never skips or doubles a run
at a set hour: a time that the clock leaves out comes as much later, and of one that comes twice
the first counts. A job of every hour (its hour begins with ``*``) runs in both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from apscheduler.triggers.combining import OrTrigger
from apscheduler.triggers.cron import CronTrigger

from memoranda.errors import ConfigError
from memoranda.model.checks import EPOCH
from memoranda.settings.parsing import SPAN, parse_span
from memoranda.text.patterns import compile_pattern

OFF = "off"
FIELDS = ("minute", "hour", "day", "month", "day_of_week")
REFUSED = (
    "{!r} is no time for a job: {}; write five fields (minute hour day month weekday), such as "
    "'0 3 * * *', or 'off'"
)
MINUTE = timedelta(minutes=1)
# More than any clock was ever moved at once.
DAY_AND_HOUR = timedelta(hours=25)
# Longer than from one 29 February to the next.
HORIZON = timedelta(days=9 * 366)
WIDEN = 4
WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
WEEKDAY = rf"[0-7]|{'|'.join(WEEKDAYS)}"
WEEKDAY_ITEM = compile_pattern(
    rf"(?:\*|(?P<first>{WEEKDAY})(?:-(?P<last>{WEEKDAY}))?)(?:/(?P<step>[1-7]))?", re.ASCII
)


class CronTimes:
    """When a job is due. A value, safe to share between threads."""

    def __init__(self, text: str, zone: tzinfo) -> None:
        """Read five fields, such as ``0 3 * * sun``, as times of the clock in ``zone``.

        Raises:
            ConfigError: they cannot be read, or no day ever fits them.
        """
        self._zone = zone
        given = text.lower().split()
        if len(given) != len(FIELDS):
            raise ConfigError(REFUSED.format(text, f"it has {len(given)} fields"))
        fields = dict(zip(FIELDS, given, strict=True))
        self._hourly = fields["hour"].startswith("*")
        either = not fields["day"].startswith("*") and not fields["day_of_week"].startswith("*")
        try:
            fields["day_of_week"] = _weekdays(fields["day_of_week"])
            choices = [{"day": "*"}, {"day_of_week": "*"}] if either else [{}]
            # The clock's own face, which knows no zone: what time that is, is reckoned here.
            self._face = OrTrigger(
                [CronTrigger(**(fields | choice), timezone=UTC) for choice in choices]
            )
        except ValueError as error:
            raise ConfigError(REFUSED.format(text, error)) from error
        if next(self._walls(EPOCH), None) is None:
            raise ConfigError(REFUSED.format(text, "no day ever fits it"))

    def next(self, after: datetime) -> datetime | None:
        """Return the first time later than ``after``, in UTC; ``None`` beyond the calendar."""
        moved = self._moved(after)
        best: datetime | None = None
        for wall in self._walls(self._wall(after) - moved):
            if best is not None and wall > self._wall(best) + moved:
                break
            moments = [
                wall.replace(tzinfo=self._zone, fold=fold).astimezone(UTC) for fold in (0, 1)
            ]
            if not self._hourly or moments[1] < moments[0]:  # Left out by the clock: comes later.
                moments = moments[:1]
            later = [moment for moment in moments if moment > after]
            best = min(later if best is None else [*later, best], default=None)
        return best

    def last(self, until: datetime, *, since: datetime | None = None) -> datetime | None:
        """Return the last time not later than ``until`` and later than ``since``, in UTC."""
        span = MINUTE
        while True:
            start = until - span if since is None else max(until - span, since)
            found = None
            while (moment := self.next(found or start)) is not None and moment <= until:
                found = moment
            if found is not None or start == since or span > HORIZON:
                return found
            span *= WIDEN

    def _wall(self, moment: datetime) -> datetime:
        """Return what the clock shows."""
        return moment.astimezone(self._zone).replace(tzinfo=None)

    def _walls(self, start: datetime) -> Iterator[datetime]:
        """Yield what the clock shows when the job is due, from ``start`` on."""
        moment = start.replace(tzinfo=UTC)
        with suppress(OverflowError, ValueError):  # The end of the calendar.
            while (found := self._face.get_next_fire_time(None, moment)) is not None:
                yield found.replace(tzinfo=None)
                moment = found + MINUTE

    def _moved(self, moment: datetime) -> timedelta:
        """Return by how much the clock is moved around ``moment``."""
        try:
            around = [moment - DAY_AND_HOUR, moment, moment + DAY_AND_HOUR]
            offsets = [each.astimezone(self._zone).utcoffset() or timedelta() for each in around]
        except OverflowError:  # The first or the last day that there is.
            return timedelta()
        return max(offsets) - min(offsets)


@dataclass(frozen=True, slots=True)
class Interval:
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


def parse_times(text: str, zone: tzinfo) -> CronTimes | Interval | None:
    """Return the times that a setting names: of the clock in ``zone``, or a span between runs.

    Args:
        text: five fields of cron, a time span such as ``3600s`` or ``1h``, or ``off``.
        zone: of whose clock.

    Raises:
        ConfigError: it is none of them; the message says how to write it.
    """
    if text.strip().lower() == OFF:
        return None
    if SPAN.fullmatch(text.strip()) is None:
        return CronTimes(text, zone)
    try:
        return Interval(parse_span(text))
    except ValueError as error:
        message = f"{text!r} is no time between two runs of a job; write such as 3600s or 1h"
        raise ConfigError(message) from error


def _weekdays(text: str) -> str:
    """Return the days by name: the library counts them from Monday, cron from Sunday."""
    days = (day for item in text.split(",") for day in _days(item))
    return "*" if text == "*" else ",".join(WEEKDAYS[day % 7] for day in days)


def _days(item: str) -> range:
    """Return the days of an item of the field, from Sunday as 0; 7 is Sunday again."""
    match = WEEKDAY_ITEM.fullmatch(item)
    if match is None:
        raise ValueError(f"{item!r} is no day of the week (0-7, sun-sat)")
    named, step = match["first"] is not None, match["step"]
    first, last = (
        int(day) if day.isdecimal() else WEEKDAYS.index(day)
        for day in (match["first"] or "0", match["last"] or "6")
    )
    if named and not match["last"] and not step:
        last = first
    return range(first, last + 1 if last >= first else last + 8, int(step or 1))
