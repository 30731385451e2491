"""CronTimes: the times of a clock on the wall, whatever the law does to the clock."""

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda.errors import ConfigError
from memoranda.maintenance.triggers import CronTimes, parse_times

BERLIN = ZoneInfo("Europe/Berlin")
ZONES = (
    "UTC",
    "Europe/Lisbon",
    "America/New_York",
    "Asia/Kathmandu",
    "Australia/Lord_Howe",  # moves by half an hour
    "Africa/Cairo",  # skips midnight
    "America/Sao_Paulo",  # skipped midnight
    "America/Havana",  # midnight comes twice
    "Pacific/Apia",  # has no 30 December 2011
)
YEARS = {"Pacific/Apia": 2011, "America/Sao_Paulo": 2017}
MOMENTS = st.datetimes(
    datetime(2009, 1, 1),  # noqa: DTZ001 - hypothesis adds the zone
    datetime(2031, 1, 1),  # noqa: DTZ001
    timezones=st.just(UTC),
)
CRONS = st.sampled_from(
    ["0 2 * * *", "*/20 * * * *", "30 1,2 * * sun", "0 */2 * * *", "15 0 1 * 1", "0 0 29 2 *"]
)


def runs(text, zone, start, end):
    """Return all times of a job from ``start`` to ``end``, both aware."""
    cron, found, moment = CronTimes(text, zone), [], start - timedelta(seconds=1)
    while (moment := cron.next(moment)) is not None and moment < end:
        found.append(moment)
    return found


def day(year, month, number, zone):
    """Return the first moment of a day."""
    return datetime(year, month, number, tzinfo=zone).astimezone(UTC)


def test_a_time_that_the_clock_leaves_out_comes_once_and_as_much_later():
    """02:00 on the day when 02:00 becomes 03:00 is one run, at 03:00."""
    found = runs("0 2 * * *", BERLIN, day(2025, 3, 29, BERLIN), day(2025, 4, 1, BERLIN))
    assert [each.astimezone(BERLIN).isoformat() for each in found] == [
        "2025-03-29T02:00:00+01:00",
        "2025-03-30T03:00:00+02:00",
        "2025-03-31T02:00:00+02:00",
    ]


def test_a_time_that_comes_twice_counts_once():
    """02:00 on the day when 03:00 becomes 02:00 is one run, the first time."""
    found = runs("0 2 * * *", BERLIN, day(2025, 10, 25, BERLIN), day(2025, 10, 28, BERLIN))
    assert [each.astimezone(BERLIN).isoformat() for each in found] == [
        "2025-10-25T02:00:00+02:00",
        "2025-10-26T02:00:00+02:00",
        "2025-10-27T02:00:00+01:00",
    ]


@given(st.sampled_from(ZONES), st.integers(0, 23), st.integers(0, 59))
def test_a_daily_job_runs_once_a_day_in_every_zone(name, hour, minute):
    """Each date of a year has one run, at its time or as much later as the clock was moved."""
    zone, year = ZoneInfo(name), YEARS.get(name, 2025)
    found = runs(f"{minute} {hour} * * *", zone, day(year, 1, 1, zone), day(year + 1, 1, 1, zone))
    dates = [date(year, 1, 1) + timedelta(days=number) for number in range(365)]
    expected = {
        datetime(each.year, each.month, each.day, hour, minute, tzinfo=zone).astimezone(UTC)
        for each in dates
    }
    assert found == sorted(expected)
    assert len(found) == (364 if name == "Pacific/Apia" else 365)
    shown = [each.astimezone(zone) for each in found]
    late = [each for each in shown if (each.hour, each.minute) != (hour, minute)]
    assert len(late) <= 1


@pytest.mark.parametrize("name", [name for name in ZONES if name != "Australia/Lord_Howe"])
def test_an_hourly_job_runs_every_hour_that_passes(name):
    """Its runs are an hour apart, whether the clock skips an hour or has one twice."""
    zone, year = ZoneInfo(name), YEARS.get(name, 2025)
    days = [day(year, 1, 1, zone) + timedelta(days=number) for number in range(365)]
    offsets = [each.astimezone(zone).utcoffset() for each in days]
    moved = [each for each, (old, new) in zip(days, pairwise(offsets), strict=False) if old != new]
    for start in moved or days[:1]:
        begin, end = start - timedelta(days=2), start + timedelta(days=3)
        found = runs("0 * * * *", zone, begin, end)
        assert len(found) == 5 * 24
        assert {later - earlier for earlier, later in pairwise(found)} == {timedelta(hours=1)}


@pytest.mark.parametrize(
    ("name", "moved"),
    [
        ("Europe/Berlin", "2025-03-30T01:00"),
        ("Europe/Berlin", "2025-10-26T01:00"),
        ("Australia/Lord_Howe", "2025-04-05T15:00"),
        ("Australia/Lord_Howe", "2025-10-04T15:30"),
    ],
)
@pytest.mark.parametrize("text", ["*/20 * * * *", "30 2 * * *", "10 3 * * *"])
def test_around_a_change_of_the_clock_no_run_is_missed(text, name, moved):
    """Asked at each ten minutes of that day, next and last tell the same runs."""
    zone, around = ZoneInfo(name), datetime.fromisoformat(moved).replace(tzinfo=UTC)
    cron, start = CronTimes(text, zone), around.replace(tzinfo=None) - timedelta(days=2)
    walls = [start + timedelta(minutes=number) for number in range(4 * 24 * 60)]
    expected = set()
    for wall in walls:
        if wall.minute % 20 == 0 if text[0] == "*" else f"{wall.minute} {wall.hour} * * *" == text:
            moments = [wall.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1)]
            expected.add(moments[0])
            if text[0] == "*" and moments[0] < moments[1]:
                expected.add(moments[1])
    expected = sorted(expected)
    for minutes in range(-8 * 60, 8 * 60, 10):
        moment = around + timedelta(minutes=minutes)
        assert cron.next(moment) == next(each for each in expected if each > moment)
        assert cron.last(moment) == next(each for each in expected[::-1] if each <= moment)


@given(CRONS, st.sampled_from(ZONES), MOMENTS)
def test_last_and_next_are_neighbours(text, name, moment):
    """No run lies between the last one and the next, and both are on their side of the moment."""
    cron = CronTimes(text, ZoneInfo(name))
    last, after = cron.last(moment), cron.next(moment)
    assert last is not None
    assert after is not None
    assert last <= moment < after
    assert cron.next(last) == after
    assert cron.last(moment, since=last) is None
    assert cron.last(moment, since=last - timedelta(milliseconds=1)) == last


@given(CRONS, st.sampled_from(ZONES), MOMENTS)
def test_no_run_lies_between_a_moment_and_the_next_run(text, name, moment):
    """Asked from any moment before it, the same run comes next."""
    cron = CronTimes(text, ZoneInfo(name))
    after = cron.next(moment)
    for share in (0.1, 0.5, 0.9, 0.999):
        between = moment + (after - moment) * share
        if between < after:  # Of a few microseconds, a share may be all.
            assert cron.next(between) == after


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("0", [4, 11]),
        ("7", [4, 11]),
        ("sun", [4, 11]),
        ("SUN", [4, 11]),
        ("1", [5, 12]),
        ("sat-mon", [3, 4, 5, 10, 11, 12]),
        ("5-7", [2, 3, 4, 9, 10, 11]),
        ("0-2", [4, 5, 6, 11, 12, 13]),
        ("*/3", [3, 4, 7, 10, 11, 14]),
        ("1,sun", [4, 5, 11, 12]),
        ("*", list(range(1, 15))),
    ],
)
def test_days_of_the_week_are_those_of_cron(field, expected):
    """Sunday is 0, 7 or sun; January 2026 starts on a Thursday."""
    found = runs(f"0 3 * * {field}", UTC, day(2026, 1, 1, UTC), day(2026, 1, 15, UTC))
    assert [each.day for each in found] == expected


def test_either_kind_of_day_will_do_where_both_are_given():
    """Day of the month and day of the week are joined by or, as crontab(5) has it."""
    found = runs("0 3 10 * sun", UTC, day(2026, 1, 1, UTC), day(2026, 1, 15, UTC))
    assert [each.day for each in found] == [4, 10, 11]
    both = runs("0 3 10-12 * */6", UTC, day(2026, 1, 1, UTC), day(2026, 1, 15, UTC))
    assert [each.day for each in both] == [10, 11]  # A star takes no part in the or.


def test_off_is_no_time():
    """A job can be switched off by its setting."""
    assert parse_times(" Off ", UTC) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hourly",
        "0 3 * *",
        "0 3 * * * *",
        "60 * * * *",
        "0 24 * * *",
        "0 3 * * 8",
        "0 3 * * sunday",
        "0 3 * * mon/0",
        "0 3 30 2 *",
        "*/0 * * * *",
        "1,,2 * * * *",
        "x y z 1 2",
    ],
)
def test_what_is_no_time_is_refused_with_a_remedy(text):
    """The message names the value and shows how a time is written."""
    with pytest.raises(ConfigError, match="0 3 \\* \\* \\*") as refusal:
        parse_times(text, UTC)
    assert repr(text) in str(refusal.value)
    assert "off" in str(refusal.value)


def test_the_end_of_the_calendar_is_the_end():
    """There is no run after the last one."""
    assert CronTimes("0 3 * * *", UTC).next(datetime(9999, 12, 31, 4, tzinfo=UTC)) is None
