"""Reflection: at most once in six days, from what was learned, with nothing made up."""

import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st
from tables import each_row

from memoranda.learning import reflection as reflect
from memoranda.learning.reflection import LINE, LONGEST
from memoranda.model.models import Kind, Record

NOW = datetime(2026, 3, 8, 3, tzinfo=UTC)  # a Sunday, at three
DAY = timedelta(days=1)


def fact(number, content, *, age=1.0, **fields):
    """Return a fact that was learned ``age`` days ago."""
    at = NOW - age * DAY
    times = {"event_time": at, "created_at": at}
    given = {"kind": Kind.FACT, "content_hash": content, "user": "ana", **times, **fields}
    return Record(id=f"fact_{number:03d}", content=content, **given)


def digest(facts, *, zone=UTC, now=NOW):
    """Return the digest of a week's facts, and the ids of those that it tells."""
    return reflect.write_digest(facts, now, zone)


@each_row(
    ("last", "facts", "why"),
    [
        (None, 3, None),
        (NOW - 6 * DAY, 3, None),
        (NOW - 6 * DAY + timedelta(seconds=1), 3, "under 6 days ago"),
        (NOW + DAY, 3, "under 6 days ago"),
        (NOW + 900 * DAY, 3, None),
        (None, 2, "2 new facts in 7 days; 3 are needed"),
    ],
)
def test_it_is_due_once_in_six_days_if_three_facts_were_learned(last, facts, why):
    """As seed 004 has it; and it says why not."""
    found = reflect.why_not_due(last, facts, NOW)
    assert found is why if why is None else why in found


def test_the_digest_says_what_is_ahead_and_what_is_new():
    """What is ahead stands first with its day, then what changed; marks of Markdown are no text."""
    facts = [
        fact(1, "# Ana likes\n tea."),
        fact(4, "Ana works at Acme.", supersedes="fact_0"),
        fact(5, "Ana flies to Rome.", event_time=NOW + 12 * DAY),
    ]
    text, told = digest(facts)
    assert text.splitlines() == [
        "Week of 2026-03-02 to 2026-03-08: 3 new facts.",
        "",
        "- 2026-03-20: Ana flies to Rome.",
        "- Ana works at Acme.",
        "- Ana likes tea.",
    ]
    assert told == ["fact_005", "fact_004", "fact_001"]


def test_days_are_those_of_the_user():
    """A week that ends after midnight in Kathmandu ends a day later there."""
    kathmandu, now = ZoneInfo("Asia/Kathmandu"), NOW.replace(hour=20)
    late = fact(9, "Ana dines.", event_time=datetime(2026, 3, 10, 20, tzinfo=UTC))
    text, _ = digest([late], zone=kathmandu, now=now)
    assert text.startswith("Week of 2026-03-03 to 2026-03-09:")
    assert "- 2026-03-11: Ana dines." in text
    edge = fact(9, "The end.", event_time=datetime.max.replace(tzinfo=UTC))
    assert "- 9999-12-31: The end." in digest([edge], zone=kathmandu, now=now)[0]


WORDS = st.text("abc é日ß.#*-\n ", min_size=1, max_size=400).filter(str.strip)


@given(st.lists(st.tuples(WORDS, st.booleans(), st.integers(-20, 20)), max_size=40))
def test_a_digest_is_bounded_and_made_of_records_alone(items):
    """Any texts: at most 1,200 characters, every statement a record's, and as many as fit."""
    facts = [
        fact(number, text, event_time=NOW + days * DAY, supersedes="x" if old else None)
        for number, (text, old, days) in enumerate(items)
    ]
    text, told = digest(facts)
    assert len(text) <= LONGEST
    lines = text.splitlines()[2:]
    contents = {each.id: " ".join(each.content.split()) for each in facts}
    for line, source in zip(lines, told, strict=True):
        said = re.sub(r"^- (\d{4}(-\d\d){2}: )?", "", line)
        assert len(said) <= LINE
        assert said.removesuffix("…") in contents[source]
    assert len(told) == len(facts) or len(text) > LONGEST - LINE - len("\n- 2026-03-08: ")
