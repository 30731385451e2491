"""What a question wants to hear, and who tells it best."""

from datetime import UTC, datetime, timedelta

import pytest
from tables import each_row

from memoranda import Memory, Settings
from memoranda.search.answers import ExpectedAnswer
from memoranda.testing.clocks import FrozenClock


@pytest.fixture
def memory():
    """Ana's, empty."""
    with Memory(":memory:", user="ana", settings=Settings(timezone="UTC")) as made:
        yield made


@each_row
def test_a_text_holds_what_is_asked_for_or_not(question, with_it, without):
    """A name, a time, a number, a code or a colour.

    Who fixes the boiler? | The boiler man is Mr Gilfillan. | The boiler man was nice.
    what's the kitten called | the kitten is called Beans | the kitten sleeps all day
    When is band practice? | practice moved to sundays | practice was loud
    How many chairs are there? | we need twelve chairs | the chairs are heavy
    What's the gate code? | Code's 7316 on this one. | I forgot the gate code.
    What colour is the door? | We painted the door teal. | The door is dry.
    Wann ist die Probe? | die Probe ist am Donnerstag | die Probe war laut
    Combien de chaises ? | il y a douze chaises | les chaises sont lourdes
    ¿De qué color es la puerta? | la puerta es verde | la puerta es vieja
    Hoe heet de kat? | onze kat heet Minoes | onze kat slaapt
    """
    asked = ExpectedAnswer(question)
    assert asked.held(with_it)
    assert not asked.held(without)


def test_the_name_in_the_question_is_no_answer():
    """Nor is a word that only begins a sentence."""
    asked = ExpectedAnswer("What is Archie's school called?")
    assert not asked.held("Yesterday it rained at Archie's.")
    assert asked.held("It's Kadina Primary for Archie.")


def test_the_assistant_answers_where_it_is_asked_what_it_said(memory):
    """Otherwise who told it goes first."""
    memory.remember("The oven takes forty minutes.", kind="episode", role="assistant", session="a")
    memory.remember("Slow, that oven: forty minutes.", kind="episode", role="user", session="b")
    assert memory.search("How many minutes does the oven take?")[0].record.source_role == "user"
    said = memory.search("How many minutes did you say the oven takes?")[0].record
    assert said.source_role == "assistant"


@each_row(
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
