"""Duplicates: the same in other clothes, and never two that differ in what matters."""

from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st
from tables import each_row

from memoranda.learning.claims import Category, Statement
from memoranda.learning.deduplication import (
    find_difference,
    jaccard_similarity,
    says_more,
    score_duplicate,
)
from memoranda.learning.parsed_text import parse_text

DAY = datetime(2024, 5, 1, 12, tzinfo=UTC)
WORDS = ["ana", "tea", "green", "likes", "garden", "violin", "plays", "often", "school", "river"]
NOT = ["not", "never", "no longer", "formerly"]

words = st.lists(st.sampled_from(WORDS), min_size=2, max_size=12, unique=True)
texts = st.text(min_size=1, max_size=40)
sentences = words.map(" ".join)


def said(text, *, likeness=None, at=DAY, subject=None, category=None):
    """A statement."""
    return Statement(text, at, subject=subject, category=category, likeness=likeness)


def same(one, other, likeness=None):
    """Whether two texts are one, by all that may speak for it."""
    return score_duplicate(said(one), said(other, likeness=likeness)) > 0


@given(one=texts | sentences, other=texts | sentences, likeness=st.none() | st.floats(-1, 1))
def test_being_a_duplicate_is_mutual(one, other, likeness):
    """Which of two came first changes nothing, and a text is one with itself, in any script."""
    forth = score_duplicate(said(one), said(other, likeness=likeness))
    assert forth == score_duplicate(said(other), said(one, likeness=likeness))
    assert find_difference(one, other) == find_difference(other, one)
    assert 0 <= forth <= 1
    assert score_duplicate(said(one), said(one)) == jaccard_similarity(one, one) == 1


@given(picked=words, data=st.data())
def test_case_punctuation_and_order_change_nothing(picked, data):
    """Shouted, with commas and full stops, or as a list told in another order, it is the same."""
    text = " ".join(picked)
    marks = data.draw(st.lists(st.sampled_from([" ", ", ", "; ", " ... "]), min_size=12))
    dressed = "".join(word + mark for word, mark in zip(picked, marks, strict=False))
    assert same(text, dressed.upper() + "!")
    assert same(text, text.capitalize() + ".")
    assert same(text, " ".join(data.draw(st.permutations(picked))))


@given(
    picked=words,
    pair=st.one_of(
        st.tuples(*[st.integers(0, 10**6).map(str)] * 2),
        st.tuples(*[st.sampled_from(["named Rex", "named Tom"])] * 2),
        st.tuples(st.just(""), st.sampled_from(NOT) | st.integers(0, 10**6).map(str)),
    ),
    likeness=st.floats(0.9, 1),
    data=st.data(),
)
def test_another_number_name_or_negation_is_another_fact(picked, pair, likeness, data):
    """Wherever it stands, however alike all else is, and however alike the vectors."""
    place = data.draw(st.integers(0, len(picked)))
    one, other = (" ".join([*picked[:place], each, *picked[place:]]) for each in pair)
    assert same(one, other, likeness) == (pair[0] == pair[1])


@each_row
def test_what_keeps_two_apart_is_named(one, other, why):
    """The reason is one of a few words, and no likeness of vectors overrules it.

    Ana likes tea | Ana dislikes tea | opposite
    Ben can swim | Ben cannot swim | negation
    Ana plays violin | Ana used to play violin | negation
    Ana moved to Lisbon | Ana plans to move to Lisbon | negation
    Ana eats fish | Ana only eats fish | negation
    Ana's mother likes tea | Ana likes tea | person
    He likes tea | She likes tea | person
    Ana's tea shop is old | Ana's shop is old | owner
    Ana loves Ben | Ben loves Ana | name
    She prefers tea over milk | She prefers milk over tea | order
    the bus from oslo to bergen | the bus from bergen to oslo | order
    It grew from 5 to 10 | It grew from 10 to 5 | number
    The exam is on May 5 | The exam is on May 6 | number
    用户喜欢喝绿茶和咖啡 | 用户不喜欢喝绿茶和咖啡 | negation
    Das Büro ist offen | Das Büro ist nicht offen | negation
    """
    assert find_difference(one, other) == why
    assert not same(one, other, 1.0)


@each_row
def test_one_value_in_two_spellings_is_one(one, other):
    """Numbers, dates, contractions and accents are compared by what they mean.

    Ana has two cats | Ana has 2 cats
    The budget is 1,200 euros | The budget is 1200 euros
    It weighs 2.50 kg | It weighs 2.5 kg
    Ana left on May 7, 2023 | Ana left on 2023-05-07
    Ana left on the 7th of May | Ana left on May 7th
    Ana doesn't smoke | Ana does not smoke
    Ana can't swim | Ana cannot swim
    My favourite colour is green | My favorite color is green
    José wohnt in Köln | José wohnt in Köln
    """
    assert same(one, other)


def test_the_threshold_is_a_share_of_content_words():
    """At 0.75 three of four words are enough (seed 004); a word replaced is not."""
    assert jaccard_similarity("Ana likes tea", "Ana likes tea a lot") == 0.75
    assert score_duplicate(said("Ana likes tea"), said("Ana likes tea a lot")) == 0.75
    assert score_duplicate(said("Ana likes tea"), said("Ana likes tea a lot"), threshold=0.8) == 0
    replaced = (
        "she drinks green tea at home in the morning",
        "she drinks green milk at home in the morning",
    )
    assert jaccard_similarity(*replaced) < 0.75
    assert score_duplicate(said(replaced[0]), said(replaced[1]), threshold=0.5) == 0


def test_vectors_join_what_is_said_in_other_words():
    """From the threshold on, and not below it."""
    one, other = "Ana resides by the sea", "Ana lives by the sea"
    assert [same(one, other, likeness) for likeness in (None, 0.94, 0.97)] == [False, False, True]
    assert score_duplicate(said(one), said(other, likeness=0.97)) == 0.97


LATER = {"at": DAY + timedelta(days=7)}
ELSEWHERE = {"at": DAY.astimezone(timezone(timedelta(hours=14)))}
EVENT, PLAN = {"category": Category.EVENT}, {"category": Category.PLAN}
LIKED, AWAY = {"category": Category.PREFERENCE}, "Ana helped at the zoo"
STILL = "Ana is still helping at the zoo"


@each_row(
    ("old", "old_of", "new", "new_of", "one"),
    [
        # What came to pass is of its day; what somebody likes or goes on with is not.
        ("Ana ran home", EVENT, "Ana ran home", EVENT, True),
        ("Ana ran home", EVENT, "Ana ran home", EVENT | ELSEWHERE, True),
        ("Ana ran home", EVENT, "Ana ran home", EVENT | LATER, False),
        ("Ana ran home", PLAN, "Ana ran home", PLAN | LATER, False),
        ("Ana likes tea", LIKED, "Ana likes tea", LIKED | LATER, True),
        (STILL, EVENT, "Ana has been helping at the zoo", EVENT | LATER, True),
        (STILL, EVENT, AWAY, EVENT | LATER, False),
        (AWAY, EVENT | LATER, "Ana also helped at the zoo", {}, False),
        (AWAY, EVENT | LATER, "Ana also helped at the zoo", LATER, True),
        # The same words about two people are two; the user has several names.
        ("likes tea", {"subject": "Ana"}, "likes tea", {"subject": "Ben"}, False),
        ("likes tea", {"subject": "Ana"}, "likes tea", {"subject": "ana"}, True),
        ("x", {"subject": "the user"}, "x", {"subject": "User"}, True),
        # To like something is not to do it, however alike the vectors.
        ("Ana is keen on sailing", {}, "Ana is out sailing", {"likeness": 0.97}, False),
        ("Ana enjoys sailing trips", {}, "Ana loves sailing tours", {"likeness": 0.97}, True),
    ],
)
def test_day_subject_and_kind_part_what_reads_the_same(old, old_of, new, new_of, one):
    """Words alone are not enough for two statements to be one."""
    assert bool(score_duplicate(said(old, **old_of), said(new, **new_of))) is one


@given(one=sentences, other=sentences)
def test_to_say_more_is_to_have_a_word_of_its_own(one, other):
    """A text never says more than itself, and of two with other words each may."""
    assert not says_more(one, one)
    assert not says_more(one, f"{one} {other}")
    assert says_more(f"{one} lighthouse", one)
    assert not says_more(f"{one} really, certainly", one)


@each_row(
    ("text", "part", "read"),
    [
        *(
            (f"Ana opened a shop, {idiom}", "markers", ())
            for idiom in ("not so long ago", "not only in May", "no matter what", "no doubt")
        ),
        ("Ana opened a shop, we can't wait", "markers", ()),
        ("Ana has one cat", "values", ("1",)),
        ("Ana likes one of the cats, this one", "values", ()),
        ("", "content", frozenset()),
        ("?!", "normal", ""),
        ("C++ and C#", "normal", "c++ and c#"),
        ("She may in May.", "names", ("may",)),
    ],
)
def test_words_are_read_by_what_they_mean(text, part, read):
    """An idiom denies nothing, and ``one of`` is no number; odd input is read like any other."""
    assert getattr(parse_text(text), part) == read
