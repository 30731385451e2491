"""Precedence: what is true now goes before what was true, and nothing else moves."""

from datetime import UTC, datetime, timedelta

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from retrieving import LATE, adds_up, found
from tables import each_row, each_text

from memoranda import Memory, Settings
from memoranda.model.query import Filter

FIRST = datetime(2026, 1, 5, 9, tzinfo=UTC)
TALK = [
    ("user", "My monthly grocery budget is 400 euros for the two of us."),
    ("user", "The support queue stands at 42 open tickets, mostly login trouble."),
    ("user", "My sister Ana is 31 years old and works as a nurse."),
    ("user", "I live in Porto, in a small flat near the river."),
    ("user", "The flight to Oslo cost 210 euros in the end."),
    ("user", "The deadline of sprint 1 is on March 3, says the plan."),
    ("user", "The page load time of the shop is 3.2 seconds, can you help me find out why?"),
    ("assistant", "Your monthly grocery budget is 390 euros now, if I may round it."),
    ("user", "I visited Bologna, a city in Italy, on the first day."),
    ("user", "I visited Verona, a city in Italy, for the opera."),
    ("user", "I raised my monthly grocery budget to 460 euros."),
    ("user", "The support queue has dropped to 17 open tickets."),
    ("user", "My sister Berta is 27 years old now and studies law."),
    ("user", "We finally moved, I live in Braga now."),
    ("user", "The flight to Rome cost 95 euros now."),
    ("user", "The deadline of sprint 2 is now on March 24, says the plan."),
    ("user", "With lazy loading the page load time of the shop improved to 1.9 seconds."),
]
BUDGET = "What is my monthly grocery budget?"
QUESTIONS = [
    BUDGET,
    "How many open tickets are in the support queue?",
    "Where do I live?",
    "What is the page load time of the shop?",
    "How old is my sister Ana?",
    "What was my monthly grocery budget originally?",
    "grocery budget",
]


def filled(talk):
    """Return a memory in which ``talk`` was said, a day apart, without vectors."""
    chosen = Settings(timezone="UTC", embedding={"model": "none"})
    made = Memory(":memory:", user="ana", settings=chosen)
    said = {"kind": "episode", "session": "s"}
    made.remember_many(
        [
            {"content": text, "role": role, "event_time": FIRST + timedelta(days=place)} | said
            for place, (role, text) in enumerate(talk)
        ]
    )
    return made


@pytest.fixture(scope="module")
def memory():
    """The talk, in order."""
    with filled(TALK) as made:
        yield made


def texts(hits):
    """Return what the hits say."""
    return [hit.record.content for hit in hits]


def moved(hits):
    """Return what was raised."""
    return [hit.record.content for hit in hits if hit.why.precedence > 1]


def first(hits, *parts):
    """Return which of the texts that hold one of ``parts`` comes first."""
    return next(part for text in texts(hits) for part in parts if part in text)


@each_row
def test_the_newer_of_two_answers_goes_first_and_no_other_thing_of_its_sort(
    memory, question, right, other
):
    """The last word answers for the present; another sister, flight or sprint is no update.

    What is my monthly grocery budget? | 460 | 400
    Can you tell me what my monthly grocery budget is? | 460 | 400
    How many open tickets are in the support queue? | 17 | 42
    Where do I live? | Braga | Porto
    What is the page load time of the shop? | 1.9 | 3.2
    How old is my sister Ana? | 31 | 27
    How much does the flight to Oslo cost? | 210 | 95
    When is the deadline of sprint 1? | March 3 | March 24
    """
    assert first(found(memory, question), right, other) == right


@each_text
def test_a_question_about_the_past_or_many_things_is_not_reordered(memory, question):
    """Precedence is for what is true now: the order and all scores are what they were.

    What did I say about my grocery budget? | Where did I live in Porto?
    What is my monthly grocery budget in January 2026? | How many tickets did I say were open?
    """
    with_it, without = found(memory, question), found(memory, question, without={"precedence"})
    assert [(h.record.id, h.score) for h in with_it] == [(h.record.id, h.score) for h in without]


@each_row
def test_what_was_so_before_a_change_goes_first_where_it_is_asked_for(memory, question, old, new):
    """Who asks how it was gets the answer that the best one brought up to date.

    What was my monthly grocery budget originally? | 400 | 460
    What did I say at first that my grocery budget is? | 400 | 460
    What was the page load time of the shop before? | 3.2 | 1.9
    """
    assert first(found(memory, question), old, new) == old


@pytest.mark.parametrize("name", ["Mario", "Νίκος", "🚲", "E_CONN_4291"])
def test_the_same_said_with_another_word_in_place_of_what_is_asked_for_is_no_update(name):
    """Who was talked to after Mario is not the answer to "Who is Mario?"."""
    others = [("user", f"I talked to {each} about the holidays.") for each in ("Ana", "Γιώργος")]
    with filled([("user", f"I talked to {name} about the holidays."), *others]) as memory:
        assert name in found(memory, f"Who is {name}?")[0].record.content


@each_row("question", QUESTIONS)
def test_nothing_else_moves_and_scores_are_explained(memory, question):
    """Without what was raised, the order is the one without precedence; no assistant raises."""
    hits = found(memory, question)
    raised = {hit.record.id for hit in hits if hit.why.precedence != 1}
    plain = [h.record.id for h in found(memory, question, without={"precedence"})]
    assert [h.record.id for h in hits if h.record.id not in raised] == [
        each for each in plain if each not in raised
    ]
    assert {hit.record.id for hit in hits} == set(plain)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert all(map(adds_up, hits))
    assert not [h for h in hits if h.record.source_role == "assistant" and h.record.id in raised]
    if question == "Where do I live?":
        assert "We finally moved, I live in Braga now." in moved(hits)


def test_a_value_that_was_known_before_is_no_news():
    """Whenever and in whatever words it is told again."""
    talk = [
        ("user", "My accuracy in algebra is 70%, I did a few problems."),
        ("user", "My accuracy in algebra has improved to 95%."),
        ("user", "I wonder how my accuracy in algebra got from 70% in spring to this."),
    ]
    with filled(talk) as memory:
        hits = found(memory, "What is my accuracy in algebra?")
        assert first(hits, "95%", "is 70%") == "95%"


def test_as_of_a_past_day_sees_only_what_was_known_then():
    """Law 11: what was said later neither answers nor moves anything."""
    with filled(TALK[:4]) as memory:
        then = memory._services.clock.now()
        told = memory.remember(
            TALK[10][1], kind="episode", role="user", event_time=FIRST + timedelta(days=30)
        )
        if told.created_at == then:  # The clock did not move on between the two.
            then -= timedelta(milliseconds=1)
        assert first(found(memory, BUDGET), "460", "400") == "460"
        past = found(memory, BUDGET, where=Filter(now=LATE, as_of=then))
        assert all("460" not in text for text in texts(past))
        assert all(hit.why.precedence == 1 for hit in past)


@settings(max_examples=examples(4))
@given(order=st.permutations(range(len(TALK))), question=st.sampled_from(QUESTIONS))
def test_a_shorter_list_is_the_beginning_of_a_longer_one(order, question):
    """Whatever was said in whatever order: limit k is a prefix of limit k + 1, each time."""
    with filled([TALK[place] for place in order]) as memory:
        whole = found(memory, question)
        assert found(memory, question) == whole
        for limit in range(1, len(whole) + 1):
            assert texts(found(memory, question, limit)) == texts(whole)[:limit]


def test_an_item_brings_no_other_up_to_date():
    """A new one takes the place of an old one under its key alone, whatever they say."""
    chosen = Settings(timezone="UTC", embedding={"model": "none"})
    with Memory(":memory:", user="ana", settings=chosen) as memory:
        for key, text in (("july", "400 euros"), ("august", "460 euros now")):
            content = f"My monthly grocery budget is {text}, for July."
            memory.remember(content.replace("July", key), kind="item", key=key, namespace=("a",))
        hits = memory.search("What is my monthly grocery budget for July?", kind="item")
        assert [hit.record.key for hit in hits] == ["july", "august"]
