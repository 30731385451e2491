"""What is stated beside a question, and what words of the turn before it mean, is learned."""

from datetime import UTC, datetime

from tables import each_row

import memoranda
from memoranda.testing.clocks import FrozenClock


def learned(*turns: str) -> list[str]:
    """Return the facts of a talk in which one person says ``turns``."""
    clock = FrozenClock(datetime(2026, 3, 2, 10, tzinfo=UTC))
    with memoranda.Memory(":memory:", user="ana", clock=clock) as memory:
        chat = memory.conversation("talk")
        for turn in turns:
            chat.add("user", turn, timestamp=clock.now())
            chat.add("assistant", "I see.", timestamp=clock.now())
        chat.end()
        memory.consolidate()
        return [each.content for each in memory.records(kind="fact") if not each.superseded_by]


@each_row(
    ("said", "fact"),
    [
        ("I'm vegan, what can I cook tonight?", "The user is vegan."),
        ("I live in Oslo, do you know a good bakery?", "The user lives in Oslo."),
        ("I drive a red Fiat, did I say?", "The user drives a red Fiat."),
    ],
)
def test_what_leads_to_a_question_is_stated(said, fact):
    """A sentence that ends as a question may begin as a statement."""
    assert fact in learned(said)


def test_what_is_asked_or_supposed_is_not_stated():
    """A question that supposes something states nothing."""
    assert learned("If I move to Rome, what should I take?") == []
    assert learned("I should move to Rome, what do you think?") == []


def test_she_may_be_the_one_of_the_turn_before():
    """A pronoun in the first sentence means the one person of the end of the last turn."""
    told = learned("My daughter Tanya phoned.", "She works at Riverside School.")
    assert "Tanya works at Riverside School." in told
    several = learned("My daughter Tanya phoned, and my aunt Vera.", "She works at Siemens.")
    assert not any("Siemens" in each for each in several)


def test_what_one_sentence_tells_of_another_is_kept_with_it():
    """A code that is asked to be kept says what it opens."""
    told = learned("The yard gate has a new lock. Code's 2280. Keep that for me.")
    assert told == ["The yard gate has a new lock. Code's 2280."]


def test_an_instruction_names_what_it_is_about():
    """What "it" means stands before it, and is kept with it."""
    told = learned("I can't stand leeks, so please never put them in a recipe.")
    assert any("leeks" in each and "never put them" in each for each in told)


def test_what_rests_on_an_employer_ends_with_it():
    """A new job has another manager, and the club of a name is the club."""
    clock = FrozenClock(datetime(2026, 3, 2, 10, tzinfo=UTC))
    before = "I work at Contoso. My boss is Otto. Our club, the Larks, meets on Saturdays."
    after = "I've got a new job at Fabrikam! The Larks have moved to Sundays."
    with memoranda.Memory(":memory:", user="ana", clock=clock) as memory:
        for day, said in enumerate((before, after)):
            chat = memory.conversation(f"day {day}")
            chat.add("user", said, timestamp=clock.now())
            chat.end()
            memory.consolidate()
        told = [each.content for each in memory.records(kind="fact") if not each.superseded_by]
    assert not any("Otto" in each or "Saturdays" in each for each in told)
    assert any("Sundays" in each for each in told)


@each_row(
    "said",
    [
        "Auntie Grace IS a broadcasting service.",
        "Dora watches Michelle while I'm in Lisbon, so the cat has a butler.",
        "I've been rejected by men more politely.",
        "They had to move me to two fifteen on the 12th.",
        "I'm sitting on a bucket.",
        "We had a great time last weekend.",
        "THE VET. I can't breathe.",
    ],
)
def test_what_is_only_exclaimed_or_passes_is_no_fact(said):
    """A figure of speech, a conclusion about others and a moment tell nothing that lasts."""
    assert learned(said) == []


def test_a_name_that_only_hangs_on_has_a_sentence_of_its_own():
    """What is told on the way is not told with what it hung on."""
    told = learned("I see my therapist on Monday at lunch, Dr Mutua, she'll laugh.")
    assert told == ["The user's therapist is called Dr Mutua."]
