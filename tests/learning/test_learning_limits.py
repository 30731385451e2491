"""Tests that nothing is read for ever: what takes too long waits, and then stays as it is."""

import logging
from pathlib import Path

import pytest

from memoranda import Memory, Settings
from memoranda.testing.embedders import HashEmbedder
from memoranda.text.limits import MOST_READ
from memoranda.text.terms import MOST_ASKED

NO_TIME = Settings(consolidation={"longest": 1e-9})


def test_a_session_that_takes_too_long_is_tried_three_times(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    """It waits twice and says why; then its messages stay, are found, and doctor tells of them.

    To ask what would be learned uses up no try.
    """
    path = tmp_path / "agent.db"
    with Memory(path, settings=NO_TIME, embedder=HashEmbedder()) as memory:
        memory.conversation("talk").add("user", "I live in Delft.")
        for _ in range(4):
            assert "talk" in memory.consolidate(dry_run=True).failed
        for _ in range(2):
            report = memory.consolidate()
            assert "consolidation.longest" in report.failed["talk"]
            assert memory.stats().pending_sessions == 1
    with Memory(path, settings=NO_TIME, embedder=HashEmbedder()) as memory:
        with caplog.at_level(logging.WARNING):
            assert memory.consolidate().failed == {}
        assert "1 messages stay as they are" in caplog.text
        found = memory.stats()
        assert (found.pending_sessions, found.unread_messages) == (0, 1)
        (told,) = [each for each in memory.doctor() if each.name == "learning"]
        assert "1" in told.detail
        assert memory.count(kind="fact") == 0
        assert "Delft" in memory.search("Where does she live?")[0].record.content


def test_of_a_very_long_text_the_ends_count():
    """Facts are read up to a stated length; what is behind it is stored and found all the same.

    What stands first or last in a question counts, however much is between.
    """
    text = "I live in Delft. " + "word " * (MOST_READ // 5) + " I work at Philips."
    with Memory(":memory:", embedder=HashEmbedder()) as memory:
        memory.conversation("talk").add("user", text)
        memory.consolidate()
        facts = [record.content for record in memory.records(kind="fact")]
        assert any("Delft" in each for each in facts)
        assert not any("Philips" in each for each in facts)
        (hit,) = memory.search("Philips", kind="episode")
        assert hit.record.content == text
        words = memory.remember_many([f"It is {name}" for name in ("Rome", "Bonn", "Zanzibar")])
        between = "nothing " * MOST_ASKED
        hits = memory.search(f"Rome {between} Bonn {between} Zanzibar", kind="fact", limit=2)
        assert {hit.record.id for hit in hits} == {words[0].id, words[2].id}
