"""When a stage of upkeep runs: at times of the clock (five fields of cron), or every so often.

Minute, hour, day of the month, month, day of the week, as in crontab(5): Sunday is 0 or 7, and
where both kinds of day are given, either will do. APScheduler reads them; what it does when the
clock is changed, holds. A span is counted from the beginning of 1970, so that all processes agree.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

from apscheduler.triggers.combining import OrTrigger
from apscheduler.triggers.cron import CronTrigger
from apscheduler.triggers.interval import IntervalTrigger

from memoranda.errors import ConfigError
from memoranda.model.checks import EPOCH
from memoranda.settings.parsing import SPAN, parse_span

# A trigger of APScheduler.
Times = Any
OFF = "off"
FIELDS = ("minute", "hour", "day", "month", "day_of_week")
REFUSED = (
    "{!r} is no time for a stage: {}; write five fields (minute hour day month weekday), such as "
    "'0 3 * * *', or a span such as 3600s or 1h, or 'off'"
)
MINUTE, TICK = timedelta(minutes=1), timedelta(microseconds=1)
# Longer than from one 29 February to the next.
HORIZON = timedelta(days=9 * 366)
DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat", "sun")
# APScheduler counts the days from Monday, cron from Sunday; by name they agree.
WEEKDAYS = {str(day): name for day, name in enumerate(DAYS)}


def parse_times(text: str, zone: tzinfo) -> Times | None:
    """Return the times that a setting names; ``None`` for ``off``.

    Args:
        text: five fields of cron, a time span such as ``3600s`` or ``1h``, or ``off``.
        zone: of whose clock the fields are.

    Raises:
        ConfigError: it is none of them, or no such time ever comes.
    """
    if text.strip().lower() == OFF:
        return None
    try:
        times = _every(text) if SPAN.fullmatch(text.strip()) else _cron(text, zone)
        if next_time(times, EPOCH) is None:
            raise ConfigError(REFUSED.format(text, "no such time ever comes"))
    except ValueError as error:
        raise ConfigError(REFUSED.format(text, error)) from error
    return times


def _every(text: str) -> Times:
    seconds = int(parse_span(text).total_seconds())
    return IntervalTrigger(seconds=seconds, start_date=EPOCH, timezone=UTC)


def _cron(text: str, zone: tzinfo) -> Times:
    given = text.lower().split()
    if len(given) != len(FIELDS):
        raise ValueError(f"it has {len(given)} fields")
    fields = dict(zip(FIELDS, given, strict=True))
    fields["day_of_week"] = ",".join(map(_weekdays, fields["day_of_week"].split(",")))
    either = not fields["day"].startswith("*") and not fields["day_of_week"].startswith("*")
    choices = [{"day": "*"}, {"day_of_week": "*"}] if either else [{}]
    return OrTrigger([CronTrigger(**(fields | choice), timezone=zone) for choice in choices])


def _weekdays(item: str) -> str:
    """Return an item such as ``5-7/2`` with the names of its days."""
    days, slash, step = item.partition("/")
    named = (WEEKDAYS.get(day, day) for day in days.split("-"))
    return "-".join(named) + slash + step


def next_time(times: Times, after: datetime) -> datetime | None:
    """Return the first of ``times`` later than a moment, in UTC; ``None`` beyond the calendar."""
    try:
        found = times.get_next_fire_time(None, after.astimezone(UTC) + TICK)
    except (OverflowError, ValueError):  # The end of the calendar.
        return None
    return None if found is None else found.astimezone(UTC)


def last_time(times: Times, until: datetime) -> datetime | None:
    """Return the last of ``times`` not later than a moment, in UTC; ``None`` for years before."""
    span = MINUTE
    while span < HORIZON:
        found, moment = None, next_time(times, until - span)
        while moment is not None and moment <= until:
            found, moment = moment, next_time(times, moment)
        if found is not None:
            return found
        span *= 4
    return None
