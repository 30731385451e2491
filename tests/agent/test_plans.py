"""What is planned: chat without a model lists what was told of the days a question names."""

from datetime import UTC, datetime, timedelta

import pytest
from tables import each_row

from memoranda.agent import Agent
from memoranda.testing.clocks import FrozenClock
from memoranda.text.recalled import NOTHING

MONDAY = datetime(2026, 3, 2, 9, tzinfo=UTC)
SAID = [
    "I have a dentist appointment tomorrow at 3pm.",
    "On Friday I'm meeting Tom for lunch.",
    "My sister visits on Saturday.",
    "The piano tuner comes on Sunday afternoon.",
    "We have the school concert on 12 March.",
    "I am so tired today",
    "I lived in Leeds in 2026 once.",
]
DENTIST, LUNCH, SISTER, TUNER, CONCERT = SAID[:5]


@pytest.fixture
def say(opened):
    """Say texts to an agent without a model, a minute apart; ``None`` lets a day pass."""
    clock = FrozenClock(MONDAY)
    agent = Agent(opened(clock=clock))

    def say(*texts):
        told = []
        for text in texts:
            clock.advance(timedelta(minutes=1) if text else timedelta(days=1))
            told.append(agent.process(text or "/new").text)
        return told

    return say


def _quoted(answer):
    return [line.partition("“")[2].partition("”")[0] for line in answer.splitlines()]


def test_plans_are_told_in_order(say):
    """Of the days that are asked about, whatever the words, the earliest first, and no others."""
    say(*SAID)
    asked = {
        "what do I have tomorrow?": [DENTIST],
        "What am I doing on Friday?": [LUNCH],
        "anything planned for friday?": [LUNCH],
        "am I free this weekend": [SISTER, TUNER],
        "What's on this week?": [DENTIST, LUNCH, SISTER, TUNER],
        "do I have anything on the 12th?": [CONCERT],
        "what's coming up?": [DENTIST, LUNCH, SISTER, TUNER, CONCERT],
        "what are my plans for next Tuesday?": [],
    }
    told = dict(zip(asked, map(_quoted, say(*asked)), strict=True))
    assert told == {text: plans or [""] for text, plans in asked.items()}
    assert say("what are my plans for next Tuesday?") == [NOTHING]


def test_a_plan_is_told_with_its_date_on_another_day(say):
    """The date of "tomorrow" stands behind it; what is told first is what "forget that" means."""
    say(*SAID, None)
    assert say("What do I have today?") == [
        "- “I have a dentist appointment tomorrow (3 March 2026) at 3pm.” (yesterday)"
    ]
    assert "dentist" in say("forget that")[0]
    assert say("What do I have today?") == [NOTHING]


@pytest.mark.parametrize("between", [[], [None]], ids=["same session", "next session"])
def test_what_was_said_of_a_plan_later_stands_behind_it(say, between):
    """The last turn after it that has a word of it beside a day, and tells a day or a change."""
    say(*SAID, *between)
    say("lunch with Tom is moved to Saturday", "Tom has a cold", "the school concert's off")
    [friday] = say("What am I doing on Friday?")
    assert LUNCH in friday
    assert "; later: “lunch with Tom is moved to Saturday” (today)" in friday
    assert "concert's off" in say("anything on the 12th?")[0]
    assert _quoted(say("am I free on Saturday?")[0]) == [
        SISTER,
        "lunch with Tom is moved to Saturday",
    ]


def test_what_comes_every_week_is_told_of_the_next_day(say):
    """A day that recurs is read as the next of its kind; what is past is no plan."""
    say("choir every Thursday at half past seven", "the party on Thursday was wild")
    assert _quoted(say("what's on Thursday?")[0]) == ["choir every Thursday at half past seven"]


def test_what_was_cleared_or_asked_is_no_plan(opened):
    """A question that names a day is none, and neither is what the person cleared from the talk."""
    agent = Agent(opened(clock=FrozenClock(MONDAY)))
    for text in (LUNCH, "Is the bank open on Friday?"):
        agent.process(text)
    agent.chat.clear()
    agent.process("On Friday I see Mia.")
    assert _quoted(agent.process("what do I have on Friday?").text) == ["On Friday I see Mia."]


def test_a_plan_shows_no_secret(say):
    """As in every search, a secret is masked where something else was asked for."""
    say("The wifi password for the cabin on Friday is kiwi-Tree-4471")
    [told] = say("what do I have on Friday?")
    assert "cabin" in told
    assert "4471" not in told


@each_row
def test_plans_are_asked_for_in_other_languages(opened, said, asked, told):
    """In each language whose dates are read.

    Am Freitag treffe ich meine Schwester Ida. | Was habe ich am Freitag vor? | Ida
    Am Freitag treffe ich meine Schwester Ida. | Was steht am Freitag an? | Ida
    Am Freitag treffe ich meine Schwester Ida. | Bin ich am Freitag frei? | Ida
    El viernes ceno con mi hermana Eva. | ¿Qué tengo el viernes? | Eva
    Ma sœur Léa vient demain. | Qu'est-ce que j'ai de prévu demain ? | Léa
    Ma sœur Léa vient demain. | Est-ce que je suis libre demain ? | Léa
    """
    agent = Agent(opened(clock=FrozenClock(MONDAY)))
    agent.process(said)
    assert told in agent.process(asked).text


@each_row
def test_what_asks_for_no_plans_is_answered_as_any_question(say, asked):
    """A day beside another matter is no question for plans.

    What do I have to pay on Friday?
    Who am I meeting on Friday?
    What is on the menu on Friday?
    Is my son free on Friday?
    Is the lunch with Tom on Saturday?
    """
    say(*SAID)
    assert not say(asked)[0].startswith("- ")
