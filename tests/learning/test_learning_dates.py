"""A stretch of time that somebody tells is one value: in the notes, in history and in search."""

from datetime import UTC, datetime

from learning_talks import remembering, talk

JUNE = datetime(2026, 6, 1, tzinfo=UTC)


def test_a_stretch_is_the_same_everywhere_and_found_by_any_of_its_days(tmp_path):
    """The fact, MEMORY.md and HISTORY.md name the same first and last day.

    A filter of time, and a question that names a time, meet what is not over then.
    """
    with remembering(tmp_path / "dates.db") as memory:
        off = "I'm off from June 22 to July 3, no laptop."
        for text in (off, "My viva is on 24 June.", "My cat is called Pickle."):
            talk(memory, text, text, ("assistant", "Okay.")).end()
            memory.consolidate()
        (leave,) = [each for each in memory.records(kind="fact") if "off" in each.content]
        assert leave.event_time == JUNE.replace(day=22)
        assert leave.event_until == JUNE.replace(month=7, day=4)
        assert "from June 22 to July 3 (22 June 2026 – 3 July 2026)" in leave.content
        assert "from June 22 to July 3 (22 June 2026 – 3 July 2026)" in memory.notes.read_memory()
        history = [entry.text for entry in memory.notes.history()]
        assert any("2026-06-22/2026-07-03" in text for text in history)
        june, july = JUNE.replace(day=30), JUNE.replace(month=7, day=2)
        assert memory.search("off laptop", kind="fact", since=june, until=july)
        assert memory.search("off laptop", kind="fact", since=JUNE.replace(month=7, day=4)) == []
        first, *_ = memory.search("What is on 1 July 2026?", kind="fact")
        assert first.record == leave
