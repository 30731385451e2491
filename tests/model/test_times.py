"""Times are aware outside and whole UTC milliseconds inside."""

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import each_row

from memoranda.errors import InvalidInput
from memoranda.model.checks import EPOCH, from_ms, require_aware, to_ms
from memoranda.testing.clocks import START, FrozenClock

DAY = timedelta(days=1)
ZONES = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
MOMENTS = st.datetimes(
    min_value=datetime.min + DAY,  # noqa: DTZ901 - naive, as the strategy asks for
    max_value=datetime.max - DAY,  # noqa: DTZ901 - naive, as the strategy asks for
    timezones=ZONES,
)


@given(moment=MOMENTS)
def test_a_moment_is_cut_to_its_millisecond(moment):
    """What is stored is the moment rounded down to a millisecond, in UTC."""
    kept = require_aware(moment, "event_time")
    assert kept.tzinfo is UTC
    assert timedelta(0) <= moment - kept < timedelta(milliseconds=1)
    assert from_ms(to_ms(kept)) == kept
    assert require_aware(kept, "event_time") == kept


@given(one=MOMENTS, other=MOMENTS)
def test_order_is_kept(one, other):
    """Of two moments the earlier one is never stored as the later, before 1970 either."""
    assert (to_ms(one) <= to_ms(other)) or one > other
    assert to_ms(EPOCH - timedelta(microseconds=1)) == -1
    assert to_ms(EPOCH + timedelta(microseconds=999)) == 0


@each_row("value", [datetime(2026, 1, 1), "2026-01-01", 5, None, START.date()])  # noqa: DTZ001
def test_what_is_no_aware_datetime_is_refused(value):
    """Naive datetimes and other things are refused by name, with what to write instead."""
    with pytest.raises(InvalidInput, match=r"event_time.*(time zone|timezone)"):
        require_aware(value, "event_time")


def test_what_is_stored_is_a_moment_in_every_zone_and_nothing_is_beyond_the_calendar():
    """One of its ends is moved by a day; what is in no year from 1 to 9999 in UTC is an error."""
    for moment in (datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)):
        kept = require_aware(moment, "event_time")
        assert abs(moment - kept) <= DAY
        for hours in (-14, 14):
            kept.astimezone(timezone(timedelta(hours=hours)))
        away = timezone(timedelta(hours=5 if moment.year == 1 else -5))
        with pytest.raises(InvalidInput, match="years 1 to 9999"):
            require_aware(moment.replace(tzinfo=away), "event_time")


def test_summer_time_is_no_hour_lost():
    """The hour that comes twice in autumn is two moments."""
    berlin = ZoneInfo("Europe/Berlin")
    first = datetime(2026, 10, 25, 2, 30, tzinfo=berlin, fold=0)
    second = datetime(2026, 10, 25, 2, 30, tzinfo=berlin, fold=1)
    assert require_aware(second, "t") - require_aware(first, "t") == timedelta(hours=1)


def test_a_frozen_clock_moves_when_told():
    """The clock of tests stands still until it is set or advanced, and refuses naive times."""
    clock = FrozenClock()
    assert clock.now() == clock.now() == START
    assert clock.advance(timedelta(hours=2)) == clock.now() == START + timedelta(hours=2)
    clock.set(START - DAY)
    assert clock.now() == START - DAY
    with pytest.raises(InvalidInput):
        clock.set(datetime(2026, 1, 1))  # noqa: DTZ001
