"""When a stage is due: the fields of cron as crontab(5) has them, spans, and what is refused."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda.errors import ConfigError
from memoranda.maintenance.schedule import last_time, next_time, parse_times

BERLIN = ZoneInfo("Europe/Berlin")
THURSDAY = datetime(2026, 1, 1, tzinfo=UTC)
WRITTEN = ["0 2 * * *", "*/20 * * * *", "30 1,2 * * sun", "15 0 1 * 1", "0 0 29 2 *", "1h", "5d"]


def runs(text, start, days, zone=UTC):
    """Return all times of so many days."""
    times, found, moment = parse_times(text, zone), [], start - timedelta(seconds=1)
    while (moment := next_time(times, moment)) is not None and moment < start + timedelta(days):
        found.append(moment)
    return found


def test_days_of_the_week_are_those_of_cron():
    """Sunday is 0, 7 or sun; where a day of the month is given, too, both must fit."""
    rows = {
        "0 3 * * 0": [4, 11],
        "0 3 * * 7": [4, 11],
        "0 3 * * SUN": [4, 11],
        "0 3 * * 1": [5, 12],
        "0 3 * * 5-7": [2, 3, 4, 9, 10, 11],
        "0 3 * * 1,sun": [4, 5, 11, 12],
        "0 3 * * *": list(range(1, 15)),
        "0 3 10,11 * sun": [11],
    }
    assert {text: [each.day for each in runs(text, THURSDAY, 14)] for text in rows} == rows


def test_a_time_is_that_of_the_clock_in_its_zone():
    """Each night has its run, also the two in which the clock is changed."""
    for day in (datetime(2025, 3, 28, tzinfo=BERLIN), datetime(2025, 10, 24, tzinfo=BERLIN)):
        found = {each.astimezone(BERLIN).date() for each in runs("0 2 * * *", day, 5, BERLIN)}
        assert len(found) == 5


def test_a_span_is_the_same_for_all_processes():
    """It is counted from 1970, whoever asks when."""
    times = parse_times("1h", BERLIN)
    assert next_time(times, THURSDAY) == THURSDAY + timedelta(hours=1)
    assert last_time(times, THURSDAY + timedelta(minutes=59)) == THURSDAY


@given(st.sampled_from(WRITTEN), st.datetimes(datetime(2009, 1, 1), datetime(2031, 1, 1)))  # noqa: DTZ001 - gets its zone below
def test_last_and_next_are_neighbours(text, moment):
    """No run lies between the last one and the next, and none after the end of the calendar."""
    times, moment = parse_times(text, BERLIN), moment.replace(tzinfo=UTC)
    last, after = last_time(times, moment), next_time(times, moment)
    assert last <= moment < after
    assert next_time(times, last) == after
    assert next_time(parse_times("0 3 * * *", UTC), datetime(9999, 12, 31, 4, tzinfo=UTC)) is None


def test_what_is_no_time_is_refused_with_a_remedy():
    """The message names the value and shows how a time is written; ``off`` is never."""
    assert parse_times(" Off ", UTC) is None
    for text in (
        *("", "hourly", "0 3 * *", "0 3 * * * *", "60 * * * *", "0 24 * * *", "0 3 * * 8"),
        *("0 3 * * sunday", "0 3 * * 0-2", "0 3 30 2 *", "*/0 * * * *", "x y z 1 2"),
        *("0s", "4500000d"),
    ):
        with pytest.raises(ConfigError, match="0 3 \\* \\* \\*") as refusal:
            parse_times(text, UTC)
        assert repr(text) in str(refusal.value)
