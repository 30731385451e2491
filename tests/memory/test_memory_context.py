"""Context: the newest value of a key, until the day ends where the user lives."""

import time
from datetime import UTC, datetime, timedelta

import pytest
import tzlocal
from tables import each_row

from memoranda import Settings
from memoranda.testing.clocks import FrozenClock


def at(text):
    """Return a moment written in UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_the_newest_value_wins(memory):
    """A value set again replaces the one before, which stays in history."""
    first = memory.set_context("mood", "tired")
    second = memory.set_context("mood", "awake")
    memory.set_context("place", "kitchen")
    assert memory.get_context("mood") == "awake"
    assert memory.get_context("place") == "kitchen"
    assert memory.get_context("weather") is None
    assert memory.get(first.id).superseded_by == second.id
    assert [r.content for r in memory.records(kind="context")] == ["awake", "kitchen"]


def test_a_key_is_compared_exactly(memory):
    """Neither case nor wildcards nor JSON make one key of two."""
    for key in ("a", "A", "a%", 'a"b', "a'b", "ключ"):
        memory.set_context(key, f"value of {key}")
    for key in ("a", "A", "a%", 'a"b', "a'b", "ключ"):
        assert memory.get_context(key) == f"value of {key}"


def test_a_forgotten_value_does_not_bring_back_the_one_before(memory):
    """After forgetting the newest there is no value."""
    memory.set_context("mood", "tired")
    newest = memory.set_context("mood", "awake")
    memory.forget(newest.id)
    assert memory.get_context("mood") is None


@each_row(
    ("zone", "set_at", "ends"),
    [
        ("UTC", "2026-03-10 00:00", "2026-03-11 00:00"),
        ("Europe/Lisbon", "2026-03-28 23:30", "2026-03-29 00:00"),
        # The day on which summer time begins is an hour short, the day it ends an hour long.
        ("Europe/Lisbon", "2026-03-29 00:30", "2026-03-29 23:00"),
        ("Europe/Lisbon", "2026-10-24 23:30", "2026-10-26 00:00"),
        ("America/New_York", "2026-03-08 05:00", "2026-03-09 04:00"),
        ("Asia/Kathmandu", "2026-05-01 18:14", "2026-05-01 18:15"),
        ("Asia/Kathmandu", "2026-05-01 18:15", "2026-05-02 18:15"),
        # In Beirut the clock went from 23:59 to 01:00: the day ended at midnight that was not.
        ("Asia/Beirut", "2022-03-26 12:00", "2022-03-26 22:00"),
        ("Pacific/Kiritimati", "2026-01-01 09:59", "2026-01-01 10:00"),
    ],
)
@each_row("by_setting", [True, False])
def test_a_value_lasts_until_midnight_where_the_user_lives(opened, zone, set_at, ends, by_setting):
    """Seed 001: context ends with the user's day, by setting or by the machine's own zone."""
    patch = pytest.MonkeyPatch()
    patch.setenv("TZ", "Asia/Tokyo" if by_setting else zone)
    time.tzset()
    tzlocal.reload_localzone()
    try:
        clock = FrozenClock(at(set_at))
        chosen = Settings(timezone=zone) if by_setting else Settings()
        memory = opened(clock=clock, settings=chosen)
        record = memory.set_context("mood", "awake")
        assert record.valid_until == at(ends)
        clock.set(at(ends) - timedelta(milliseconds=1))
        assert memory.get_context("mood") == "awake"
        assert memory.search("awake")
        clock.set(at(ends))
        assert memory.get_context("mood") is None
        assert memory.search("awake") == []
        assert memory.get(record.id) is not None
    finally:
        patch.undo()
        time.tzset()
        tzlocal.reload_localzone()
