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
    """A value set again replaces the one before, which stays in history and never comes back."""
    first = memory.set_context("mood", "tired")
    newest = memory.set_context("mood", "awake")
    memory.set_context("Mood", "of the kitchen")
    assert memory.get_context("mood") == "awake"
    assert memory.get_context("Mood") == "of the kitchen"
    assert memory.get_context("weather") is None
    assert memory.get(first.id).superseded_by == newest.id
    assert [r.content for r in memory.records(kind="context")] == ["awake", "of the kitchen"]
    memory.forget(newest.id)
    assert memory.get_context("mood") is None


@each_row(
    ("zone", "set_at", "ends", "by_setting"),
    [
        # The day on which summer time begins is an hour short.
        ("Europe/Lisbon", "2026-03-29 00:30", "2026-03-29 23:00", True),
        ("Asia/Kathmandu", "2026-05-01 18:15", "2026-05-02 18:15", False),
        # In Beirut the clock went from 23:59 to 01:00: the day ended at midnight that was not.
        ("Asia/Beirut", "2022-03-26 12:00", "2022-03-26 22:00", True),
    ],
)
def test_a_value_lasts_until_midnight_where_the_user_lives(opened, zone, set_at, ends, by_setting):
    """Seed 001: context ends with the user's day, by setting or by the machine's own zone."""
    patch = pytest.MonkeyPatch()
    patch.setenv("TZ", "Asia/Tokyo" if by_setting else zone)
    time.tzset()
    tzlocal.reload_localzone()
    try:
        clock = FrozenClock(at(set_at))
        memory = opened(clock=clock, settings=Settings(timezone=zone) if by_setting else Settings())
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
