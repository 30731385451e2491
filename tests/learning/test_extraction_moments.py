"""What is over by tomorrow is no fact; a short answer tells what was asked."""

from __future__ import annotations

from datetime import UTC, datetime

from tables import each_row

from memoranda.entities.rules import RuleExtractor
from memoranda.learning.claims import Turn
from memoranda.learning.extraction import RuleFactExtractor
from memoranda.text.dates.statements import DateParser

AT = datetime(2026, 3, 2, 10, tzinfo=UTC)
RULES = RuleFactExtractor(DateParser(), RuleExtractor())
MOMENTS = [
    "I'm making a cup of tea.",
    "I had a sandwich for lunch.",
    "My boss is annoying today.",
    "Every time I run it I get a timeout.",
    "I slept badly on Sunday.",
    "We had a rough night on Sunday.",
    "My phone is at 3%.",
    "I just got home.",
    "The new iPhone is out on Friday.",
]
ANSWERS = [
    ("Where do you live?", "In Zeist, near Utrecht.", "The user lives in Zeist."),
    ("Any allergies I should know about?", "Yes, sesame.", "The user is allergic to sesame."),
    ("Any dietary requirements?", "vegan", "The user is vegan."),
    ("How old are you?", "34", "The user is 34 years old."),
    ("Any allergies?", "no", None),
    ("Any allergies?", "Thanks, that's all", None),
    ("Where are you based?", "Near the station", None),
    ("Where do you live?", "why do you ask", None),
    ("What shall we cook?", "sesame noodles", None),
]


def contents(*texts: str) -> list[str]:
    """Return what is learned of turns of the user and the assistant, the last the user's."""
    turns = []
    for place, text in enumerate(reversed(texts)):
        role = "assistant" if place % 2 else "user"
        turns.insert(0, Turn(str(place), role, text, AT, person=role == "user"))
    return [claim.content for claim in RULES.extract(turns)]


@each_row("text", MOMENTS)
def test_what_is_over_by_tomorrow_is_no_fact(text):
    """Meals, moods, errors and nights state nothing about a life."""
    assert contents(text) == []


@each_row(("question", "answer", "expected"), ANSWERS)
def test_a_short_answer_tells_what_was_asked(question, answer, expected):
    """An answer that leaves out what the assistant asked is read as if it said it."""
    assert contents(question, answer) == ([] if expected is None else [expected])
