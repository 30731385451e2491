"""What two sentences state together, and whom a later one means that only points at somebody."""

from datetime import UTC, datetime, timedelta

from tables import each_row

from memoranda import Memory, Settings
from memoranda.testing.clocks import FrozenClock

BEGIN = datetime(2026, 3, 2, 10, tzinfo=UTC)


def learned(*sessions: str) -> list[str]:
    """Return the facts that hold after some sessions of one message each."""
    clock = FrozenClock(BEGIN)
    with Memory(":memory:", user="ana", clock=clock, settings=Settings(timezone="UTC")) as memory:
        for number, text in enumerate(sessions):
            chat = memory.conversation(f"session-{number}")
            chat.add("user", text)
            chat.end()
            memory.consolidate()
            clock.advance(timedelta(days=20))
        facts = memory.records(kind="fact", limit=50)
        return [each.content for each in facts if each.superseded_by is None]


@each_row(
    ("said", "fact"),
    [
        ("I've changed banks. It's Monzo now.", "The user's bank is Monzo."),
        ("New flat! We're in Leith now.", "The user lives in Leith."),
        ("Hello from Two Harbors! I moved in on Saturday.", "The user lives in Two Harbors."),
        ("Changed doctors. It's Dr Wen now.", "The user's doctor is called Dr Wen."),
        ("We got a puppy. I'm calling her Biscuit.", "The user's puppy is called Biscuit."),
    ],
)
def test_two_sentences_state_what_neither_does_alone(said, fact):
    """The first names what the second gives a value."""
    assert fact in learned(said)


@each_row(
    ("first", "later", "right", "wrong"),
    [
        (
            "Fintan's swimming lesson is Saturdays at half nine.",
            "His lesson's at quarter past ten on Sundays now.",
            "Sundays",
            "Saturdays",
        ),
        (
            "Don't let me call Dad on Mondays.",
            "Thursday is the day I shouldn't call him now.",
            "Thursday",
            "Monday",
        ),
        ("I take 10 mg of ramipril.", "The pills are up to 20 mg now.", "20 mg", "10 mg"),
    ],
)
def test_what_is_only_pointed_at_is_the_one_that_is_known(first, later, right, wrong):
    """The later value takes the place of the earlier one, under its name."""
    facts = "\n".join(learned(first, later))
    assert right in facts
    assert wrong not in facts


def test_what_may_be_several_is_none_of_them():
    """Of two lessons that are known, "his lesson" changes neither."""
    facts = learned(
        "Fintan's lesson is Saturdays at nine. Tom's lesson is Mondays at five.",
        "His lesson is on Sundays now.",
    )
    assert not any("Sundays" in each for each in facts)


def test_a_sentence_without_subject_goes_on_with_whom_the_one_before_told_of():
    """Who lives in a caravan is Neil, not the user."""
    facts = learned("Neil's gone and sold up. Living in a caravan at Robe.")
    assert not any("The user" in each for each in facts)
