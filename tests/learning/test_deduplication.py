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
    """Which of two came first changes nothing."""
    forth = score_duplicate(said(one), said(other, likeness=likeness))
    assert forth == score_duplicate(said(other), said(one, likeness=likeness))
    assert find_difference(one, other) == find_difference(other, one)
    assert 0 <= forth <= 1


@given(text=texts | sentences)
def test_a_text_is_a_duplicate_of_itself(text):
    """Whatever it is, in any script."""
    assert score_duplicate(said(text), said(text)) == 1
    assert jaccard_similarity(text, text) == 1


@given(text=sentences, data=st.data())
def test_case_and_punctuation_change_nothing(text, data):
    """Shouted, with commas and full stops, it is the same."""
    marks = data.draw(st.lists(st.sampled_from([" ", ", ", "; ", " ... "]), min_size=12))
    dressed = "".join(word + mark for word, mark in zip(text.split(), marks, strict=False))
    assert same(text, dressed.upper() + "!")
    assert same(text, text.capitalize() + ".")


@given(data=st.data(), picked=words)
def test_the_order_of_the_same_words_changes_nothing(data, picked):
    """A list may be told in any order."""
    assert same(" ".join(picked), " ".join(data.draw(st.permutations(picked))))


@given(
    picked=words,
    one=st.integers(0, 10**6),
    other=st.integers(0, 10**6),
    likeness=st.floats(0.9, 1),
    data=st.data(),
)
def test_another_number_is_another_fact(picked, one, other, likeness, data):
    """However alike all else is, and however alike the vectors."""
    place = data.draw(st.integers(0, len(picked)))
    first, second = (
        " ".join([*picked[:place], str(number), *picked[place:]]) for number in (one, other)
    )
    assert same(first, second, likeness) == (one == other)
    assert not same(first, " ".join(picked), likeness)


@given(picked=words, word=st.sampled_from(NOT), likeness=st.floats(0.9, 1), data=st.data())
def test_a_negation_is_another_fact(picked, word, likeness, data):
    """Wherever it stands."""
    place = data.draw(st.integers(0, len(picked)))
    denied = " ".join([*picked[:place], word, *picked[place:]])
    assert not same(" ".join(picked), denied, likeness)


@given(picked=words, names=st.lists(st.sampled_from(["Rex", "Tom", "Mia"]), min_size=2, max_size=2))
def test_another_name_is_another_fact(picked, names):
    """Two dogs of one owner stay two."""
    first, second = (" ".join([*picked, "named", name]) for name in names)
    assert same(first, second, 1.0) == (names[0] == names[1])


@each_row(
    ("one", "other", "why"),
    [
        ("Ana likes tea", "Ana dislikes tea", "opposite"),
        ("Ben can swim", "Ben cannot swim", "negation"),
        ("Ana plays violin", "Ana used to play violin", "negation"),
        ("Ana moved to Lisbon", "Ana plans to move to Lisbon", "negation"),
        ("Ana eats fish", "Ana only eats fish", "negation"),
        ("Ana's mother likes tea", "Ana likes tea", "person"),
        ("He likes tea", "She likes tea", "person"),
        ("Ana's tea shop is old", "Ana's shop is old", "owner"),
        ("Ana loves Ben", "Ben loves Ana", "name"),
        ("She prefers tea over milk", "She prefers milk over tea", "order"),
        ("the bus from oslo to bergen", "the bus from bergen to oslo", "order"),
        ("It grew from 5 to 10", "It grew from 10 to 5", "number"),
        ("The exam is on May 5", "The exam is on May 6", "number"),
        ("用户喜欢喝绿茶和咖啡", "用户不喜欢喝绿茶和咖啡", "negation"),
        ("Das Büro ist offen", "Das Büro ist nicht offen", "negation"),
    ],
)
def test_what_keeps_two_apart_is_named(one, other, why):
    """The reason is one of a few words, and no likeness of vectors overrules it."""
    assert find_difference(one, other) == why
    assert not same(one, other, 1.0)


@each_row(
    ("one", "other"),
    [
        ("Ana has two cats", "Ana has 2 cats"),
        ("The budget is 1,200 euros", "The budget is 1200 euros"),
        ("It weighs 2.50 kg", "It weighs 2.5 kg"),
        ("Ana left on May 7, 2023", "Ana left on 2023-05-07"),
        ("Ana left on the 7th of May", "Ana left on May 7th"),
        ("Ana doesn't smoke", "Ana does not smoke"),
        ("Ana can't swim", "Ana cannot swim"),
        ("My favourite colour is green", "My favorite color is green"),
        ("José wohnt in Köln", "Jose\u0301 wohnt in Ko\u0308ln"),
    ],
)
def test_one_value_in_two_spellings_is_one(one, other):
    """Numbers, dates, contractions and accents are compared by what they mean."""
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
    assert not same(one, other)
    assert same(one, other, 0.97)
    assert not same(one, other, 0.94)
    assert score_duplicate(said(one), said(other, likeness=0.97)) == 0.97


def test_what_happened_on_two_days_happened_twice():
    """An event of another day is another one; a liking is the same on any day."""
    later = DAY + timedelta(days=7)
    for category in (Category.EVENT, Category.PLAN):
        old = said("Ana ran home", category=category)
        assert not score_duplicate(old, said("Ana ran home", at=later, category=category))
        assert score_duplicate(old, said("Ana ran home", category=category))
    old = said("Ana likes tea", category=Category.PREFERENCE)
    assert score_duplicate(old, said("Ana likes tea", at=later, category=Category.PREFERENCE))


def test_what_goes_on_is_the_same_on_any_day():
    """Filed under event or not; only what came to pass is of a day."""
    later, event = DAY + timedelta(days=7), Category.EVENT
    going = said("Ana is still helping at the zoo", category=event)
    again = said("Ana has been helping at the zoo", at=later, category=event)
    done = said("Ana helped at the zoo", at=later, category=event)
    assert score_duplicate(going, again)
    assert not score_duplicate(going, done)
    assert not score_duplicate(done, said("Ana also helped at the zoo"))
    assert score_duplicate(done, said("Ana also helped at the zoo", at=later))


def test_to_like_something_is_not_to_do_it():
    """However alike the vectors."""
    assert not same("Ana is keen on sailing", "Ana is out sailing", 0.97)
    assert same("Ana enjoys sailing trips", "Ana loves sailing tours", 0.97)


@given(one=sentences, other=sentences)
def test_to_say_more_is_to_have_a_word_of_its_own(one, other):
    """A text never says more than itself, and of two with other words each may."""
    assert not says_more(one, one)
    assert not says_more(one, f"{one} {other}")
    assert says_more(f"{one} lighthouse", one)
    assert not says_more(f"{one} really, certainly", one)


@each_row(
    "text", ["not so long ago", "not only in May", "no matter what", "no doubt", "we can't wait"]
)
def test_an_idiom_with_a_not_denies_nothing(text):
    """Words that look like a negation are read by what they mean."""
    assert "not" not in parse_text(f"Ana opened a shop, {text}").markers


def test_one_is_a_number_only_where_it_counts():
    """``One cat`` is a number of cats, ``one of the cats`` is not."""
    assert parse_text("Ana has one cat").values == ("1",)
    assert parse_text("Ana likes one of the cats, this one").values == ()


def test_one_moment_in_two_zones_is_one_day():
    """A store gives times in UTC, a claim has the user's zone."""
    moment = datetime(2024, 5, 2, 0, 0, tzinfo=timezone(timedelta(hours=2)))
    old = said("Ana ran home", at=moment.astimezone(UTC), category=Category.EVENT)
    assert score_duplicate(old, said("Ana ran home", at=moment, category=Category.EVENT))


def test_subjects_part_what_reads_the_same():
    """``Likes tea`` of Ana and of Ben are two; the user has several names."""
    ana, ben = said("likes tea", subject="Ana"), said("likes tea", subject="Ben")
    assert not score_duplicate(ana, ben)
    assert score_duplicate(ana, said("likes tea", subject="ana"))
    assert score_duplicate(said("x", subject="the user"), said("x", subject="User"))


def test_reading_is_quick_and_total():
    """Odd input is read like any other."""
    assert parse_text("").content == frozenset()
    assert parse_text("?!").normal == ""
    assert parse_text("C++ and C#").normal == "c++ and c#"
    assert parse_text("She may in May.").names == ("may",)
