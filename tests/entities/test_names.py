"""Names: the form they are compared in, and which of them mean the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.core.ports import NameMatcher
from recollect.entities.names import Names, fold, is_initialism, link, same_person

MATCHER: NameMatcher = Names()


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("Caroline", "caroline"),
        ("  New\n York ", "new york"),
        ("José", "jose"),
        ("Jose\u0301", "jose"),
        ("\uff21\uff2e\uff21", "ana"),
        ("Ana's", "ana"),
        ("Ana\u2019s", "ana"),
        ("James'", "james"),
        ("Straße", "strasse"),
        ("Łódź", "lodz"),
        ("Søren", "soren"),
        ("Æther", "aether"),
        ("İstanbul", "istanbul"),
        ("Αθήνα", "αθηνα"),
        ("Андрей", "андреи"),
        ("O\u2019Brien", "o'brien"),
        ("C++", "c++"),
        ("हिन्दी", "हिन्दी"),
        ("が", "が"),
        ("三体", "三体"),
        ("", ""),
        ("'s", "'s"),
    ],
)
def test_fold(name: str, key: str):
    """Case, width, accents, possessive and spaces do not distinguish names; letters do."""
    assert fold(name) == key


NAMES = st.one_of(
    st.text(max_size=40),
    st.text(alphabet="aAéÉ\u0301's\u2019 -.İıßﬁÅ\u212b\u0345ͅΐΣς\uff21が", max_size=12),
)


@given(NAMES)
def test_folding_twice_changes_nothing(name: str):
    """A key is its own key."""
    assert fold(fold(name)) == fold(name)


@given(NAMES)
def test_folding_forgets_case_and_spaces(name: str):
    """A name in other spacing has the same key."""
    assert fold(f"  {name}\t") == fold(name)


@pytest.mark.parametrize(
    ("short", "full"),
    [
        ("Mel", "Melanie"),
        ("Caro", "Caroline"),
        ("Steph", "Stephanie"),
        ("mel", "Melanie Jones"),
        ("Mel Jones", "Melanie Jones"),
        ("M. Jones", "Melanie Jones"),
        ("Smith", "John Smith"),
        ("John", "John Smith"),
        ("Dr. Smith", "John Smith"),
        ("Dr. Smith", "Prof. Smith"),
        ("José", "Jose Garcia"),
        ("Ana", "ANA"),
    ],
)
def test_a_short_form_of_a_name(short: str, full: str):
    """Given name, family name, initials and nicknames by beginning are the same person."""
    assert same_person(short, full)


@pytest.mark.parametrize(
    ("short", "full"),
    [
        ("Me", "Melanie"),
        ("Paul", "Paula"),
        ("Martin", "Martina"),
        ("Mel", "Carmel"),
        ("Melanie", "Mel"),
        ("John Smith", "John Miller"),
        ("John Smith", "Jane Smith"),
        ("J. Smith", "Maria Smith"),
        ("John Smith", "Smith"),
        ("Will", "Bill"),
        ("", "Melanie"),
        ("Dr.", "Dr. Smith"),
        ("Mel", ""),
    ],
)
def test_two_people(short: str, full: str):
    """Names that only resemble each other are two people."""
    assert not same_person(short, full)


@pytest.mark.parametrize(
    ("short", "full"),
    [
        ("NYC", "New York City"),
        ("N.Y.C.", "new york city"),
        ("UN", "United Nations"),
        ("BoA", "Bank of America"),
        ("BA", "Bank of America"),
        ("MoMA", "Museum of Modern Art"),
    ],
)
def test_initials(short: str, full: str):
    """Initials count with or without the small words."""
    assert is_initialism(short, full)


@pytest.mark.parametrize(
    ("short", "full"),
    [
        ("nyc", "New York City"),
        ("NYC", "New York"),
        ("NY", "New York City"),
        ("N", "Norway"),
        ("No", "New Order"),
        ("N1", "New 1"),
        ("", "New York"),
        ("NYC", ""),
    ],
)
def test_no_initials(short: str, full: str):
    """Everyday words, single letters and parts of the initials are none."""
    assert not is_initialism(short, full)


KNOWN = {
    "melanie": "person",
    "john smith": "person",
    "new york city": "location",
    "maxine": "person",
    "jordan river": "location",
}


@pytest.mark.parametrize(
    ("name", "type", "key"),
    [
        ("Melanie", "person", "melanie"),
        ("MELANIE's", "other", "melanie"),
        ("Mel", "person", "melanie"),
        ("Mel", "other", None),
        ("Mel", "location", None),
        ("Dr. Smith", "person", "john smith"),
        ("Smith", "other", "john smith"),
        ("NYC", "location", "new york city"),
        ("NYC", "other", "new york city"),
        ("NYC", "person", None),
        ("Jordan", "person", None),
        ("Caroline", "person", None),
        ("", "person", None),
    ],
)
def test_link(name: str, type: str, key: str | None):
    """A name is linked to the one known name that it may mean, of a type that fits."""
    assert link(name, type, KNOWN) == key
    assert MATCHER.link(name, type, KNOWN) == key


def test_an_ambiguous_name_is_not_linked():
    """With two candidates there is no link; with one of them gone there is."""
    known = {"melanie": "person", "melissa": "person"}
    assert link("Mel", "person", known) is None
    del known["melissa"]
    assert link("Mel", "person", known) == "melanie"


def test_the_exact_name_wins_over_its_longer_forms():
    """A name that is known itself is never taken for another's short form."""
    known = {"mel": "person", "melanie": "person", "melissa": "person"}
    assert link("Mel", "person", known) == "mel"


@given(NAMES, st.dictionaries(NAMES.map(fold), st.sampled_from(["person", "other", "location"])))
def test_a_link_is_a_known_name(name: str, known: dict[str, str]):
    """Whatever is known, a link leads to something known, and the port agrees."""
    key = link(name, "person", known)
    assert key is None or key in known
    assert MATCHER.fold(name) == fold(name)
    if fold(name) in known:
        assert key == fold(name)
