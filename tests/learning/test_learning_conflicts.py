"""What is said again, what has changed, and what rests on what: facts over time."""

import pytest
from learning_talks import DAY, START, clock_of, contents, fact, facts, talk

PORTO, LISBON = "The user lives in Porto.", "The user lives in Lisbon."


@pytest.fixture
def moved(memory):
    """Ana's memory, who lived in Porto and ten days later in Lisbon."""
    talk(memory, "before", "I live in Porto.", "I have a dog named Rex.")
    memory.consolidate()
    clock_of(memory).advance(10 * DAY)
    talk(memory, "after", "I live in Lisbon.")
    memory.consolidate()
    return memory


def test_what_is_said_again_credits_the_fact(memory):
    """A duplicate adds a source and a line of history, and no row."""
    talk(memory, "one", "I live in Porto.")
    memory.consolidate()
    clock_of(memory).advance(DAY)
    talk(memory, "two", "I'm living in Porto.")
    report = memory.consolidate()
    (found,) = facts(memory)
    sources = [memory.get(source).session_id for source in found.source_ids]
    assert (sources, report.counts["credited"], report.count) == (["one", "two"], 1, 0)
    assert [change.action for change in memory.history(found.id)] == ["insert", "credit"]


def test_what_is_said_twice_at_once_is_one_fact(memory):
    """Seed 004, the first level: exact repetitions within a batch are one, and keep it fresh."""
    sailed = "I used to sail with old friends."
    talk(memory, "one", sailed, "Hm.", sailed)
    memory.consolidate()
    (found,) = facts(memory)
    assert len(found.source_ids) == 2
    clock_of(memory).advance(10 * DAY)
    memory.decay()
    assert fact(memory, "friends").confidence < found.confidence
    talk(memory, "two", sailed)
    memory.consolidate()
    assert fact(memory, "friends").confidence == pytest.approx(found.confidence)


def test_a_new_value_takes_the_place_of_the_old_one(moved):
    """Seed 004, resolve_conflict: 0.3 for the old one; each names the other; both are there."""
    old, new = fact(moved, "Porto"), fact(moved, "Lisbon")
    assert (old.confidence, old.superseded_by, old.valid_until) == (0.3, new.id, None)
    assert new.supersedes == old.id
    assert new.superseded_by is None
    assert [change.action for change in moved.history(old.id)] == ["insert", "supersede"]
    assert fact(moved, "Rex").superseded_by is None


def test_the_old_value_is_found_behind_the_new_one(moved):
    """It is told after what is true now; ``as_of`` before the change tells it alone, and first."""
    found = [hit.record.content for hit in moved.search("Where does the user live?", kind="fact")]
    assert found.index(LISBON) < found.index(PORTO)
    then = moved.search("Where does the user live?", kind="fact", as_of=START + DAY)
    assert then[0].record.content == PORTO
    assert LISBON not in [hit.record.content for hit in then]


def test_forgetting_a_fact_does_not_bring_it_back_by_itself(memory):
    """A fact that was taken back is learned again only when it is said again."""
    talk(memory, "s", "I live in Porto.")
    memory.consolidate()
    memory.forget(fact(memory, "Porto").id)
    memory.consolidate()
    memory.consolidate("s")
    assert facts(memory) == []
    clock_of(memory).advance(DAY)
    talk(memory, "again", "I live in Porto.")
    memory.consolidate()
    assert contents(memory) == [PORTO]


def test_the_report_says_what_was_done_line_by_line(memory):
    """A person reads what was new, what was said again and what was replaced."""
    talk(memory, "one", "I live in Porto.", "I have a dog named Rex.")
    memory.consolidate()
    clock_of(memory).advance(DAY)
    talk(memory, "two", "I live in Lisbon.", "I have a dog named Rex.")
    old, same = fact(memory, "Porto"), fact(memory, "Rex")
    report = memory.consolidate()
    assert dict(report.counts) == {"sessions": 1, "facts": 1, "credited": 1, "superseded": 1}
    assert str(report) == "consolidate: 1 session, 1 fact, 1 credited, 1 superseded"
    new = fact(memory, "Lisbon")
    assert report.lines[:3] == (
        f"+ {LISBON}",
        f"- {old.id} is superseded by {new.id}: a later statement took its place",
        f"= {same.id} was said again",
    )
    assert (report.count, report.failed, report.dry_run) == (1, {}, False)
