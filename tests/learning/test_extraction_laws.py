"""What holds of the extractor whatever is said."""

import time
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st
from rule_facts import RULES, SAID, contents, turn
from tables import each_row

from memoranda.model.checks import clean

SENTENCES = [
    "I live in Porto.", "My sister Ana works at Siemens.", "She has two dogs.", "It is due on 5.",
    "Actually, it's 7.", "I bought a car yesterday, and it's great!", "my", "’", "ich heiße Jana",
    "Remember that I'm allergic to nuts.", "Can you help me?", "My password is x1y2.", "we're",
    "I've reached 65% coverage", "I'd", "I don’t eat meat", "- I have a cat\n- I have a dog",
    "```code", '"quoted I live here"', "\ue000", "which has 5,", "\x00\ud800",
    "İstanbul'da I live in İ.",
]  # fmt: skip
TEXTS = st.one_of(
    st.text(max_size=200),
    st.lists(st.sampled_from(SENTENCES), max_size=6).map(" ".join),
    st.lists(st.sampled_from(" ".join(SENTENCES).split()), max_size=30).map(" ".join),
)
SPEAKERS = st.sampled_from(["user", "Caroline", "Melanie", "assistant", "tool"])


def page_of(said):
    """Return turns a minute apart; only persons are persons."""
    return [
        turn(text, speaker, number=place, at=SAID + timedelta(minutes=place))
        for place, (speaker, text) in enumerate(said)
    ]


@given(st.lists(st.tuples(SPEAKERS, TEXTS), min_size=1, max_size=6), st.data())
def test_claims_rest_on_turns_of_persons_wherever_a_page_ends(said, data):
    """No text raises, each source is a person's turn, and what is drawn can be stored.

    Two pages, the first as context of the second, give the claims of the whole in order.
    """
    page = page_of(said)
    persons = {each.id: each for each in page if each.person}
    whole = RULES.read(page).claims
    for claim in whole:
        source = persons[claim.sources[0]]
        assert (claim.speaker, claim.said_at) == (source.speaker, source.at)
        assert 0 < claim.confidence <= 1
        assert claim.subject
        assert claim.content.strip()
        assert "\ue000" not in claim.content or "\ue000" in source.text
        assert "\x00" in source.text or clean(claim.content, "content") == claim.content
    cut = data.draw(st.integers(0, len(page)))
    parts = RULES.read(page[:cut]).claims + RULES.read(page[cut:], before=page[:cut]).claims
    if len({each.speaker for each in persons.values()} - {"user"}) < 2:
        assert parts == whole
    else:  # Who ``you`` is depends on who has spoken so far.
        assert {claim.sources for claim in parts} <= {(each.id,) for each in page}


def test_assistants_and_tools_tell_nothing_about_the_user():
    """Their words are context: no claim rests on them, in the page or before it."""
    assert not RULES.read(
        page_of([("assistant", "I live in Porto."), ("tool", "I am Ana.")])
    ).claims
    assert not RULES.read([], before=page_of([("user", "I live in Porto.")])).claims


PIECES = [
    "I ", "my ", "and I ", "I went to ", ", which has 5", "the quota of 5 ", "I have a dog, ", "- ",
    "\t", "`", '"', "no, ", "pin ", "a1b2C3", "4111 ", "remember ", "she ", "my sister Ana ",
    "because ", "of the of ", "!?", "'", "x= ",
]  # fmt: skip


@each_row("piece", PIECES)
def test_time_grows_with_the_text_and_not_faster(piece):
    """A text four times as long, of whatever is repeated, takes at most some ten times as long."""

    def taken(characters):
        began = time.process_time()
        RULES.read([turn((piece * characters)[:characters])])
        return time.process_time() - began

    taken(500)
    assert taken(8_000) < 10 * taken(2_000) + 0.1


def test_long_turns_are_read_from_their_start():
    """What stands beyond the limit of a turn is not read, what stands before it is."""
    text = "I live in Porto. " + "x " * 20_000 + ". I own a boat."
    assert contents(text) == ["The user lives in Porto."]
