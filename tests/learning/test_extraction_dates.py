"""What is learned from sentences that tell a day: appointments, deadlines, journeys."""

from __future__ import annotations

from datetime import UTC, datetime

from tables import each_row

from memoranda.entities.rules import RuleExtractor
from memoranda.learning.claims import Turn
from memoranda.learning.extraction import RuleFactExtractor
from memoranda.text.dates.statements import DateParser

SAID = datetime(2026, 3, 10, 10, tzinfo=UTC)  # A Tuesday.

LEARNED = [
    ("My viva's in a fortnight and I can't sleep.", "The user's viva is around 24 March 2026."),
    (
        "Last Thursday the inspector shut my kitchen.",
        "On 5 March 2026 the inspector shut the user's kitchen.",
    ),
    ("My sister flies in on the 28th.", "The user's sister flies in on 28 March 2026."),
    (
        "They operated on my knee on 3 December.",
        "They operated on the user's knee on 3 December 2025.",
    ),
    ("I handed in my notice yesterday.", "The user handed in their notice on 9 March 2026."),
    (
        "im home from uni from 18 December to 9 January",
        "The user is home from uni from 18 December 2026 to 9 January 2027.",
    ),
    ("I'm off from June 22 to July 3.", "The user is off from 22 June to 3 July 2026."),
    (
        "The vet's coming on Friday to look at the mare.",
        "The vet is coming on 13 March 2026 to look at the mare.",
    ),
    (
        "the car goes in for its MOT on the 17th",
        "The user's car goes in for its MOT on 17 March 2026.",
    ),
    ("Off to Rome on Friday!", "The user is off to Rome on 13 March 2026."),
    (
        "Next term I'm taking statistics.",
        "Next term the user is taking statistics (said on 10 March 2026).",
    ),
    (
        "My mum's staying with us over Easter.",
        "The user's mum is staying with the user over Easter (said on 10 March 2026).",
    ),
    ("I have an MRI on Tuesday week.", "The user has an MRI on 24 March 2026."),
    ("Our son graduates on 11 July.", "The user's son graduates on 11 July 2026."),
    (
        "I need to renew my passport before July.",
        "The user needs to renew their passport before July 2026.",
    ),
    (
        "We're getting solar panels fitted in May.",
        "The user is getting solar panels fitted in May 2026.",
    ),
    ("It's our golden wedding on 12 July.", "It's the user's golden wedding on 12 July 2026."),
    (
        "My brother drowned on 8 May, so every year we light a lantern.",
        "The user's brother drowned on 8 May.",
    ),
]

NOT_LEARNED = [
    "I think I'm free on Friday.",
    "I hope to see you on Monday.",
    "Maybe we go to Rome in May.",
    "If it rains on Saturday we'll stay home.",
    "Can we meet on Friday?",
    "I'll get back to you tomorrow.",
    "I'm so tired since Monday.",
    "The president resigned yesterday.",
    "The match was boring last night.",
    "It rained yesterday.",
    "remind me to call mum on Friday",
]


def contents(text: str) -> list[str]:
    """Return what one turn said to an assistant gives."""
    reader = RuleFactExtractor(DateParser(), RuleExtractor())
    return [
        claim.content for claim in reader.extract([Turn("ep_1", "user", text, SAID, person=True)])
    ]


@each_row(("text", "content"), LEARNED)
def test_what_is_on_a_day_is_learned(text, content):
    """Whatever the verb, a statement about one's own with a time is kept, its time in full."""
    assert content in contents(text)


@each_row("text", NOT_LEARNED)
def test_a_day_makes_no_fact_of_talk(text):
    """Wishes, guesses, promises of a talk and what concerns nobody give nothing."""
    assert contents(text) == []
