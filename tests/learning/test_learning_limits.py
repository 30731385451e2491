"""Tests that nothing is read for ever: of very long texts the ends count."""

from memoranda import Memory
from memoranda.search.search import MOST_ASKED
from memoranda.testing.embedders import HashEmbedder
from memoranda.text.limits import MOST_READ


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
