"""Packing: as many memories as fit, in a fence."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st
from tables import each_row

from memoranda.model.checks import content_hash
from memoranda.model.models import NO_RECALL, ArmEvidence, Hit, Kind, Record, Trust, Why
from memoranda.search.recall import CLOSING, LONGEST, OPENING, pack

NOW = datetime(2026, 7, 1, 12, tzinfo=UTC)


class Characters:
    """Counts characters as tokens."""

    exact = True

    def count(self, text):
        """Return the length."""
        return len(text)


def hit(content, **fields):
    """Make a hit with this text."""
    usual = {"id": content, "kind": Kind.FACT, "user": "ana", "event_time": NOW, "created_at": NOW}
    record = Record(content=content, content_hash=content_hash(content), **usual | fields)
    return Hit(record, 1.0, Why(arms={"lexical": ArmEvidence(1, 1.0, 1.0)}, when=NOW))


def packed(hits, budget=100_000, zone=UTC, insight=None, facts=None):
    """Pack with every character a token."""
    how = {"counter": Characters(), "zone": zone, "insight": insight}
    return pack(hits, facts=facts or {}, budget=budget, **how)


@given(lengths=st.lists(st.integers(1, 90), max_size=12), budget=st.integers(1, 900))
def test_the_best_that_fit_are_in_and_the_budget_holds(lengths, budget):
    """The best come in their order, each text once, until the budget is used."""
    hits = [hit("x" * length) for length in lengths]
    recall = packed(hits, budget)
    assert recall.tokens == len(recall.text) <= budget
    distinct = list(dict.fromkeys(found.record.content for found in hits))
    kept = [found.record.content for found in recall.hits]
    assert kept == distinct[: len(kept)]
    if recall.text:
        assert recall.text.startswith(OPENING)
        assert recall.text.endswith(CLOSING)
        assert len(recall.text.splitlines()) == len(recall.hits) + 3


def test_a_line_says_when_who_and_how_sure():
    """Time in the user's zone, speaker or kind, doubts, and one line of text."""
    zone = ZoneInfo("Asia/Tokyo")
    told = hit("tea\n\nfor  two", source_role="Ana")
    doubted = hit("milk", confidence=0.44, trust=Trust.EXTERNAL)
    lines = packed([told, doubted], zone=zone).text.splitlines()
    assert lines[2] == "- [2026-07-01 21:00, Ana] tea for two"
    assert lines[3] == "- [2026-07-01 21:00, fact, unverified, confidence 0.4] milk"


@each_row
def test_what_was_restated_is_one_line_with_its_times(again, lines):
    """The newest, without regard to case and marks; what says more is another line.

    i like tea! | 1
    As I said, I like tea. | 2
    I like tea? | 2
    I doubt that I like tea. | 2
    I like green tea. | 2
    """
    later = hit(again, event_time=NOW + timedelta(days=2))
    text = packed([hit("I like tea."), later]).text
    assert text.count("- [") == int(lines)
    assert (f"- [2026-07-03 12:00, also 2026-07-01, fact] {again}" in text) is (lines == "1")


@each_row
def test_lead_ins_make_no_other_line_of_the_same_facts(again, facts, lines):
    """Turns from which the same facts were drawn, and that differ in few words, are one line.

    As I said, I really like tea. | tea | 1
    I like tea a lot more than all other drinks. | tea | 2
    As I said, I like tea. | cake | 2
    As I said, I like tea. |  | 2
    """
    first, later = hit("I like tea."), hit(again, event_time=NOW + timedelta(days=2))
    drawn = {first.record.id: ["tea"] if facts else [], later.record.id: facts.split()}
    assert packed([first, later], facts=drawn).text.count("- [") == int(lines)


def test_a_long_record_is_shortened():
    """One record cannot take the whole block; where nothing fits there is none, no empty one."""
    assert packed([]) == packed([hit("tea")], budget=10) == NO_RECALL
    text = packed([hit("x" * 5_000)]).text
    assert "x" * (LONGEST - 1) + "…" in text
    assert "x" * LONGEST not in text


def test_an_insight_comes_last_if_it_fits():
    """The latest reflection stands under its heading, after the memories."""
    insight = hit("Ana\nrests", kind=Kind.REFLECTION).record
    text = packed([hit("tea")], insight=insight).text
    assert text.index("tea") < text.index("## Weekly insight") < text.index("Ana\nrests")
    alone = packed([], insight=insight)
    assert alone.hits == ()
    assert "rests" in alone.text
    tight = packed([hit("tea")], budget=len(packed([hit("tea")]).text) + 10, insight=insight)
    assert "rests" not in tight.text


@each_row("fence", [OPENING, CLOSING, "</ MEMORANDA-memory>", "<\n/memoranda-memory"])
def test_no_text_is_a_fence(fence):
    """Law 10: whatever a record says, the block begins and ends once."""
    text = packed([hit(fence, source_role=fence), hit("tea")]).text.lower()
    flat = "".join(text.split())
    assert flat.count("<memoranda-memory") == 1
    assert flat.count("</memoranda-memory") == 1
