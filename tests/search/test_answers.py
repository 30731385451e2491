"""Of what speaks of the same, the likelier answer comes first."""

from datetime import UTC, datetime, timedelta

import pytest

from memoranda import Memory, Settings
from memoranda.model.checks import content_hash
from memoranda.model.models import Kind, Record
from memoranda.search.answers import ExpectedAnswer
from memoranda.testing.clocks import FrozenClock


def likelihood(question, text, role="user"):
    """Return what remains of the score of a text by somebody against a question."""
    moment = datetime(2026, 1, 5, 9, tzinfo=UTC)
    record = Record(
        id="turn_1",
        kind=Kind.EPISODE,
        content=text,
        user="ana",
        source_role=role,
        event_time=moment,
        created_at=moment,
        content_hash=content_hash(text),
    )
    return ExpectedAnswer(question).likelihood(record)


@pytest.mark.parametrize(
    ("question", "with_it", "without"),
    [
        ("Who fixes the boiler?", "The boiler man is Mr Gilfillan.", "The boiler man was nice."),
        ("what's the kitten called", "the kitten is called Beans", "the kitten sleeps all day"),
        ("When is band practice?", "practice moved to sundays", "practice was loud"),
        ("How many chairs are there?", "we need twelve chairs", "the chairs are heavy"),
        ("What's the gate code?", "Code's 7316 on this one.", "I forgot the gate code."),
        ("What colour is the door?", "We painted the door teal.", "The door is dry."),
        ("Wann ist die Probe?", "die Probe ist am Donnerstag", "die Probe war laut"),
        ("Combien de chaises ?", "il y a douze chaises", "les chaises sont lourdes"),
        ("¿De qué color es la puerta?", "la puerta es verde", "la puerta es vieja"),
        ("Hoe heet de kat?", "onze kat heet Minoes", "onze kat slaapt"),
    ],
)
def test_who_has_what_is_asked_for_answers_before_who_has_not(question, with_it, without):
    """A name, a time, a number, a code or a colour."""
    assert likelihood(question, with_it) > likelihood(question, without)


def test_the_assistant_answers_where_it_is_asked_what_it_said():
    """Otherwise who told it goes first."""
    text = "The oven takes forty minutes."
    assert likelihood("how hot is the oven", text, "assistant") < 1
    assert likelihood("What did you say of the oven?", text, "assistant") == 1


def test_the_name_in_the_question_is_no_answer():
    """Nor is a word that only begins a sentence."""
    question = "What is Archie's school called?"
    assert likelihood(question, "Yesterday it rained at Archie's.") < 1
    assert likelihood(question, "It's Kadina Primary for Archie.") == 1


@pytest.mark.parametrize(
    ("question", "turns"),
    [
        (
            "who's my endocrinologist",
            ["dr Fortier is my endo", "new endo, Fortier left so i've been handed to dr Whelan"],
        ),
        (
            "What's the code for the shed gate?",
            ["Remember the shed gate code. 2290.", "New shed, new gate. Code's 7316 now."],
        ),
    ],
)
def test_what_tells_of_a_change_goes_before_what_it_changes(question, turns):
    """However much less like the question it is."""
    clock = FrozenClock(datetime(2026, 1, 5, 9, tzinfo=UTC))
    with Memory(":memory:", user="ana", settings=Settings(timezone="UTC"), clock=clock) as memory:
        for text in [*turns, "The kettle is broken again."]:
            clock.advance(timedelta(days=9))
            memory.remember(text, kind="episode", role="user")
        assert memory.search(question)[0].record.content == turns[1]
