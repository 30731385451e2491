"""What the calendar holds, and the names of its months, weekdays and seasons in many languages.

The languages are those that have a ``calendar`` file.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, tzinfo
from functools import cache

from memoranda.model.checks import require_aware
from memoranda.text.patterns import languages_with, load


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


def in_zone(moment: datetime, zone: tzinfo) -> datetime:
    """Return a moment in a time zone, but for the first and the last day that there is."""
    try:
        return moment.astimezone(zone)
    except OverflowError:
        return moment


@cache
def calendar_numbers(table: str, *codes: str) -> Mapping[str, int]:
    """Return every name in small letters with its number: January, Monday and spring are 1.

    Args:
        table: what is named.
        codes: the languages; all that have names of these, if none is given.
    """
    read = [load(code, "calendar") for code in codes or languages_with("calendar")]
    return {
        name: number
        for data in read
        for number, names in enumerate(data.get(table, ()), start=1)
        for name in names
    }


@cache
def month_numbers(*codes: str) -> Mapping[str, int]:
    """Return the full and the short names of months with their numbers."""
    return {**calendar_numbers("months", *codes), **calendar_numbers("short_months", *codes)}
