"""``retention.remove``: what has expired or was forgotten is taken out for good (S1.18)."""

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest
from kept_bytes import holding
from learning_talks import remembering

from memoranda import Settings
from memoranda.testing.clocks import FrozenClock

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
DAY = timedelta(days=1)
EVERY = 6  # days on which the robot talks
ROBOT = Settings(memory={"cleanup_interval": 3600}, timezone="UTC")


def opened(path, clock, settings=ROBOT):
    """Return a memory that is to be closed."""
    return closing(remembering(path, clock=clock, settings=settings))


def live(memory, day):
    """Let a robot live a day: two turns in its conversation, a value in two versions, a fact."""
    chat = memory.conversation("robot")
    chat.add("user", f"question{day}x about the weather")
    chat.add("assistant", f"answer{day}x about the weather")
    memory.set_context("mood", f"mood{day}x early")
    memory.set_context("mood", f"mood{day}x late")
    memory.remember(f"fact{day}x that stays")


@pytest.mark.parametrize("place", ["file", "chroma"])
def test_ninety_days_of_a_robot_leave_no_expired_text(tmp_path, place):
    """Of 90 days, the last 30 of what was said, the context of the day and all facts are left."""
    if place == "chroma":
        pytest.importorskip("chromadb", reason="the extra chroma is not installed")
    path = {"file": str(tmp_path / "m.db"), "chroma": f"chroma://{tmp_path}/m"}[place]
    clock = FrozenClock(START)
    young = [day for day in range(0, 90, EVERY) if day > 60]
    with opened(path, clock) as memory:
        for day in range(0, 90, EVERY):
            live(memory, day)
            if day % 18 == 0:
                memory.expire()
            clock.advance(EVERY * DAY)
        memory.derive()
        planned = memory.maintain(["expire"], dry_run=True).stages[0]
        assert memory.expire().counts == planned.counts
        assert (planned.count > 0, memory.expire().count) == (True, 0)
        chat = memory.conversation("robot")
        said = [message.content for message in chat.messages]
        assert said[::2] == [f"question{day}x about the weather" for day in young]
        assert len(memory.records(kind="fact")) == 90 // EVERY
        assert memory.records(kind="context") == []
        assert memory.verify() == []
    gone = [f"{word}{day}x" for word in ("question", "answer") for day in range(61)]
    gone += [f"mood{day}x" for day in range(90)]
    assert holding(tmp_path, *gone) == []
    if place == "file":
        with closing(sqlite3.connect(path)) as file:
            (rows,) = file.execute("SELECT count(*) FROM records").fetchone()
            assert rows == 2 * len(young) + 90 // EVERY
