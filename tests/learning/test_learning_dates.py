"""A stretch of time that somebody tells is one value: in the notes, in history and in search."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from memoranda import Memory
from memoranda.testing.clocks import FrozenClock

SAID = datetime(2026, 5, 4, 10, tzinfo=UTC)


@pytest.fixture
def memory(tmp_path):
    """Return a memory that has learned when its user is away."""
    clock = FrozenClock(SAID)
    with Memory(tmp_path / "dates.db", clock=clock) as memory:
        for session, text in (
            ("leave", "I'm off from June 22 to July 3, no laptop."),
            ("viva", "My viva is on 24 June."),
            ("cat", "My cat is called Pickle."),
        ):
            talk = memory.conversation(session)
            talk.add("user", text, timestamp=clock.now())
            talk.add("assistant", "Okay.", timestamp=clock.now())
            talk.end()
            memory.consolidate()
            clock.advance(timedelta(hours=1))
        yield memory


def told(memory: Memory, query: str, **where) -> list[str]:
    """Return the facts that a query finds."""
    return [hit.record.content for hit in memory.search(query, kind="fact", **where)]


def test_a_stretch_is_the_same_everywhere(memory):
    """The fact, MEMORY.md and HISTORY.md name the same first and last day."""
    (leave,) = [each for each in memory.records(kind="fact") if "off" in each.content]
    assert leave.event_time == datetime(2026, 6, 22, tzinfo=UTC)
    assert leave.event_until == datetime(2026, 7, 4, tzinfo=UTC)
    assert "from 22 June to 3 July 2026" in leave.content
    assert "from 22 June to 3 July 2026" in memory.notes.read_memory()
    assert "2026-06-22/2026-07-03" in "\n".join(entry.text for entry in memory.notes.history())


def test_a_stretch_is_found_by_any_of_its_days(memory):
    """A filter of time, and a question that names a time, meet what is not over then."""
    june, july = datetime(2026, 6, 30, tzinfo=UTC), datetime(2026, 7, 2, tzinfo=UTC)
    assert told(memory, "off laptop", since=june, until=july)
    assert told(memory, "off laptop", since=datetime(2026, 7, 4, tzinfo=UTC)) == []
    first, *_ = told(memory, "What is on 1 July 2026?")
    assert "off" in first
