"""A fact is of use to somebody who never saw the talk: what names nothing is none."""

from __future__ import annotations

from datetime import UTC, datetime

from tables import each_row

from memoranda.entities.rules import RuleExtractor
from memoranda.learning.claims import Turn
from memoranda.learning.extraction import RuleFactExtractor
from memoranda.text.dates.statements import DateParser

AT = datetime(2023, 5, 20, 12, tzinfo=UTC)
RULES = RuleFactExtractor(DateParser(), RuleExtractor())
EMPTY = [
    "I've got something to share!",
    "I've still got a lot to learn.",
    "I worked on a project.",
    "We had so much fun at the beach.",
    "I had a feeling of peace by the lake.",
    "I had to try to catch that feeling.",
    "We held a few events and got to meet some people.",
    "My team worked together.",
    "It's not just for our kids, but for all of us!",
    "I met some investors.",
    "I met someone special at the clinic.",
    "I moved there in 2010.",
    "I already started doing what you said about the blog.",
]
WHOLE = [
    ("At the event, I met a woman called Jean.", "Ana met a woman called Jean."),
    ("We raised money for the shelter at the event.", "Ana raised money for the shelter."),
    ("As for me, I've joined a choir in Leeds.", "Ana has joined a choir in Leeds."),
    ("Since we spoke last, I've been painting landscapes.", "Ana has been painting landscapes."),
    ("I got the idea from a trip to Norway.", "Ana got the idea from a trip to Norway."),
    (
        "I play two instruments: the cello and the harp.",
        "Ana plays two instruments: the cello and the harp.",
    ),
    ("I had to sell my car.", "Ana had to sell their car."),
    ("Blue's my fave, it calms me down.", "Ana's favourite is Blue."),
    (
        "I asked if they needed help, so I reached out to the clinic and asked if they take kids.",
        "Ana reached out to the clinic and asked if they take kids.",
    ),
]


def contents(text: str) -> list[str]:
    """Return what is learned of one turn of Ana's to Ben."""
    turns = [Turn("1", "Ben", "How are you?", AT, person=True)]
    turns.append(Turn("2", "Ana", text, AT, person=True))
    return [claim.content for claim in RULES.extract(turns)]


@each_row("text", EMPTY)
def test_what_names_nothing_is_no_fact(text):
    """Without its talk nobody could tell what is meant, or would ever ask."""
    assert contents(text) == []


@each_row(("text", "content"), WHOLE)
def test_what_was_named_elsewhere_is_left_out(text, content):
    """The rest stands alone, and what a word sums up stays with it."""
    assert content in contents(text)
