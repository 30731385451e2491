"""What holds of the extractor whatever is said."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st
from tables import each_row

from memoranda.entities.rules import RuleExtractor as Names
from memoranda.learning.claims import Turn
from memoranda.learning.extraction import RuleFactExtractor
from memoranda.model.checks import clean
from memoranda.model.models import DateMention

SAID = datetime(2024, 2, 29, 23, 59, tzinfo=UTC)
SENTENCES = [
    "I live in Porto.",
    "My sister Ana works at Siemens.",
    "She has two dogs.",
    "The deadline is 5.",
    "Actually, it's 7.",
    "I bought a car yesterday, and it's great!",
    "Remember that I'm allergic to nuts.",
    "Can you help me?",
    "My password is x1y2.",
    "I've reached 65% coverage",
    "we're",
    "I'd",
    "my",
    "’",
    "I don’t eat meat",
    "- I have a cat\n- I have a dog",
    "```code",
    '"quoted I live here"',
    "\ue000",
    "which has 5,",
    "ich heiße Jana",
    "\x00\ud800",
    "İstanbul'da I live in İ.",
]
TEXTS = st.one_of(
    st.text(max_size=200),
    st.lists(st.sampled_from(SENTENCES), max_size=6).map(" ".join),
    st.lists(st.sampled_from(" ".join(SENTENCES).split()), max_size=30).map(" ".join),
)
SPEAKERS = st.sampled_from(["user", "Caroline", "Melanie", "assistant", "tool"])


class NoDates:
    """Finds no times."""

    def read(self, text: str, said_at: datetime) -> list[DateMention]:
        """Return nothing."""
        del text, said_at
        return []

    def resolve(self, text: str, said_at: datetime) -> str:
        """Return ``text`` as it is."""
        del said_at
        return text


def extractor() -> RuleFactExtractor:
    """Return the extractor with real names and no dates."""
    return RuleFactExtractor(NoDates(), Names())


def page_of(said: list[tuple[str, str]]) -> list[Turn]:
    """Return turns a minute apart; only persons are persons."""
    return [
        Turn(
            f"ep_{place}",
            speaker,
            text,
            SAID + timedelta(minutes=place),
            person=speaker not in {"assistant", "tool"},
        )
        for place, (speaker, text) in enumerate(said)
    ]


@given(st.lists(st.tuples(SPEAKERS, TEXTS), max_size=5))
def test_whatever_is_said_claims_rest_on_turns_of_persons(said):
    """No text raises; each claim's source is a person's turn of the page."""
    page = page_of(said)
    persons = {turn.id: turn for turn in page if turn.person}
    for claim in extractor().extract(page):
        source = persons[claim.sources[0]]
        assert claim.speaker == source.speaker
        assert claim.said_at == source.at
        assert 0 < claim.confidence <= 1
        assert claim.subject
        assert claim.content.strip()
        assert "\ue000" not in claim.content or "\ue000" in source.text


@given(st.lists(st.tuples(SPEAKERS, TEXTS), min_size=2, max_size=6), st.data())
def test_where_a_page_ends_does_not_matter(said, data):
    """Two pages, the first as context of the second, give the claims of the whole in order."""
    page = page_of(said)
    cut = data.draw(st.integers(1, len(page) - 1))
    others = {turn.speaker for turn in page if turn.person} - {"user"}
    rules = extractor()
    parts = rules.extract(page[:cut]) + rules.extract(page[cut:], before=page[:cut])
    whole = rules.extract(page)
    if len(others) < 2:  # who ``you`` is depends on who has spoken so far
        assert parts == whole
    else:
        assert {claim.sources for claim in parts} <= {(turn.id,) for turn in page}


def test_assistants_and_tools_tell_nothing_about_the_user():
    """Their words are context: no claim rests on them, in the page or before it."""
    said = [("assistant", "I live in Porto."), ("tool", "My name is Ana.")]
    assert extractor().extract(page_of(said)) == []
    person = page_of([("user", "I live in Porto.")])
    assert extractor().extract([], before=person) == []


@each_row(
    "piece",
    [
        "I ",
        "my ",
        "and I ",
        "I went to ",
        ", which has 5",
        "the quota of 5 ",
        "I have a dog, ",
        "- ",
        "\t",
        "`",
        '"',
        "no, ",
        "pin ",
        "a1b2C3",
        "4111 ",
        "remember ",
        "she ",
        "my sister Ana ",
        "because ",
        "of the of ",
        "!?",
        "'",
        "x= ",
    ],
)
def test_time_grows_with_the_text_and_not_faster(piece):
    """A text four times as long, of whatever is repeated, takes at most some ten times as long."""

    def taken(characters: int) -> float:
        turn = Turn("a", "user", (piece * characters)[:characters], SAID, person=True)
        began = time.process_time()
        extractor().extract([turn])
        return time.process_time() - began

    taken(1_000)
    short = min(taken(4_500) for _ in range(2))
    assert min(taken(18_000) for _ in range(2)) < 10 * short + 0.03


def test_long_turns_are_read_from_their_start():
    """What stands beyond the limit of a turn is not read, what stands before it is."""
    text = "I live in Porto. " + "x " * 20_000 + ". I own a boat."
    contents = [claim.content for claim in extractor().extract(page_of([("user", text)]))]
    assert contents == ["The user lives in Porto."]


def test_contents_can_be_stored():
    """A claim drawn from text that can be stored can itself be stored."""
    for sentence in SENTENCES:
        if "\x00" not in sentence:
            for claim in extractor().extract(page_of([("user", sentence)])):
                assert clean(claim.content, "content") == claim.content
