"""Names: the form they are compared in, and which of them mean the same."""

import re

from hypothesis import given
from hypothesis import strategies as st
from tables import each_row, each_text

from memoranda.entities import names as matcher
from memoranda.entities.names import is_initialism, keys, means, same_person, same_thing
from memoranda.text.terms import fold_name


@each_text
def test_fold(pair: str):
    """Case, width, accents, possessive and spaces do not distinguish names; letters do.

    Caroline = caroline | José = jose | Ana's = ana | Ana’s = ana | James' = james
    Straße = strasse | Łódź = lodz | Søren = soren | Æther = aether | İstanbul = istanbul
    Αθήνα = αθηνα | Андрей = андреи | O’Brien = o'brien | C++ = c++ | हिन्दी = हिन्दी | が = が
    三体 = 三体 | 's = 's
    """
    name, key = pair.split(" = ")
    assert fold_name(name) == key


NAMES = st.one_of(
    st.text(max_size=40),
    st.text(alphabet="aAéÉ\u0301's\u2019 -.İıßﬁÅ\u212b\u0345ͅΐΣς\uff21が", max_size=12),
)


@given(NAMES)
def test_a_key_is_its_own_key_and_forgets_spaces(name: str):
    """A name in other spacing has the same key, and so has the key."""
    key = fold_name(name)
    assert fold_name(key) == fold_name(f"  {name}\t") == key
    spellings = ("Jose\u0301", "jose"), ("\uff21\uff2e\uff21", "ana"), (" New\n York ", "new york")
    assert all(fold_name(each) == folded for each, folded in spellings)


@each_text
def test_one_person_or_two(pair: str):
    """Given name, family name, initials and the beginning of a given name are the same person.

    Mel = Melanie | Caro = Caroline | Steph = Stephanie | mel = Melanie Jones
    Mel Jones = Melanie Jones | M. Jones = Melanie Jones | Smith = John Smith | John = John Smith
    Dr. Smith = John Smith | Dr. Smith = Prof. Smith | José = Jose Garcia | Ana = ANA
    # Names that only resemble each other are two people.
    Me ≠ Melanie | Paul ≠ Paula | Martin ≠ Martina | Mel ≠ Carmel | Melanie ≠ Mel
    John Smith ≠ John Miller | John Smith ≠ Jane Smith | J. Smith ≠ Maria Smith | John Smith ≠ Smith
    Will ≠ Bill | Robert ≠ Bob | Bob ≠ Rob | Jack ≠ John | Sally ≠ Sarah | Bob Smith ≠ Robert Miller
    Smith ≠ Bob Robertson | ⏎ ≠ Melanie | Dr. ≠ Dr. Smith | Mel ≠ ⏎
    """
    one, sign, other = re.split(" ([=≠]) ", pair)
    assert same_person(one, other) == (sign == "=")


@each_text
def test_initials(pair: str):
    """Initials count without the small words.

    NYC = New York City | N.Y.C. = new york city | UN = United Nations
    BA = Bank of America
    # Everyday words, single letters and parts of the initials are none.
    nyc ≠ New York City | NYC ≠ New York | NY ≠ New York City | N ≠ Norway | No ≠ New Order
    N1 ≠ New 1 | ⏎ ≠ New York | NYC ≠ ⏎
    """
    one, sign, other = re.split(" ([=≠]) ", pair)
    assert is_initialism(one, other) == (sign == "=")


@each_text
def test_one_thing_or_two(pair: str):
    """A legal form and an article make no other company.

    Acme = Acme Ltd. | Acme Inc = Acme, Inc.
    The Guardian = Guardian
    # Names that only resemble each other are two things.
    UK ≠ Ukraine | New York ≠ New York City | Acme Ltd ≠ Acme Records | Co ≠ Inc
    Georgia ≠ Georgetown
    """
    one, sign, other = re.split(" ([=≠]) ", pair)
    assert same_thing(one, other) == same_thing(other, one) == (sign == "=")


KNOWN = {"acme": "organization"}
KNOWN |= dict.fromkeys(["melanie", "john smith", "maxine"], "person")
KNOWN |= dict.fromkeys(["new york city", "jordan river", "united states"], "location")


@each_text
def test_what_a_name_means(row: str):
    """A name may mean a known one by the rules for its type, if that one's type fits.

    Melanie (person) = melanie | Mel (person) = melanie
    Mel (other) = - | Mel (location) = - | Dr. Smith (person) = john smith
    Smith (other) = john smith | NYC (location) = new york city | NYC (other) = new york city
    NYC (person) = - | Jordan (person) = - | Caroline (person) = -
    J. Smith (person) = john smith | US (location) = united states | US (person) = -
    Acme Ltd (organization) = acme | Acme Ltd (location) = -
    """
    *name, key = re.fullmatch(r"(.+) \((\w+)\) = (.+)", row).groups()
    fitting = [known for known, kind in KNOWN.items() if matcher.means(*name, known, kind)]
    assert fitting == ([] if key == "-" else [key])


RELATED = [
    "Bob", "Robert", "Robert Smith", "Bob Smith", "R. Smith", "Dr. Smith", "Smith", "Mel",
    "Melanie", "Melanie Jones", "NYC", "N.Y.C.", "New York City", "UN", "United Nations", "BoA",
    "Bank of America", "MoMA", "Museum of Modern Art", "US", "U.S.", "United States", "UK",
    "Acme", "Acme, Inc.", "The Acme Ltd", "Ana", "ANA's", "José", "Jose Garcia", "Ed", "Ted",
    "Edward", "Theodore", "Ed van der Berg", "O'Brien", "三体", "L.A.", "Los Angeles", "M. A.",
    "Élise", "ÇA", "Çağ Anadolu", "İ", "ß", "SS Anne",
]  # fmt: skip
LOOSE = st.one_of(
    st.sampled_from(RELATED),
    st.text(alphabet="aAbBoOsSßİ.' é-", max_size=9),
    st.lists(
        st.sampled_from(["Bob", "Robert", "Ann", "of", "B", "Inc", "the", "Dr"]), max_size=4
    ).map(" ".join),
)
TYPES = st.sampled_from(["person", "organization", "location", "other"])


@given(LOOSE, LOOSE, TYPES, TYPES)
def test_names_that_mean_the_same_find_each_other(one: str, other: str, type: str, known_type: str):
    """A store that offers only names under the keys that are looked for misses no link."""
    if fold_name(one) and means(one, type, fold_name(other), known_type):
        require_found(one, other)


def require_found(one, other):
    """Check that each of two names is kept under a key with which the other looks."""
    for name, known in ((one, other), (other, one)):
        assert keys(name)[1] & keys(known)[0], (name, known)


@each_row("one", RELATED)
def test_all_related_names_find_each_other(one: str):
    """The same for each pair of the names that the rules were made for."""
    for other in RELATED:
        for kind in ("person", "organization", "location"):
            if means(one, kind, fold_name(other), kind):
                require_found(one, other)


@given(LOOSE)
def test_keys_depend_on_the_folded_name(name: str):
    """A spelling and its folded form have the same few keys."""
    assert keys(name) == keys(fold_name(name)) == matcher.keys(name)
    for each in keys(name):
        assert bool(each) == bool(fold_name(name))
        assert len(each) <= 10


def test_keys_tell_names_apart():
    """However many people have a given name, only those come up who may be meant."""
    same = "Melanie Smith"
    pairs = [(same, name) for name in ("Melanie Jones", "Mel Miller", "J. Smith", "Anna Smith")]
    pairs += [("Melanie", "Robert"), ("New York City", "Austin"), ("Acme", "Apex")]
    for one, other in pairs:
        assert not keys(one)[1] & keys(other)[0], (one, other)
