"""The judge by rules: what holds for any pair, and how it fares on pairs of real messages."""

from datetime import UTC, datetime, timedelta

from hypothesis import assume, given
from hypothesis import strategies as st

from memoranda.learning.claims import Relation, Statement
from memoranda.learning.conflicts import RuleJudge

OLD = datetime(2024, 3, 1, tzinfo=UTC)
NEW = OLD + timedelta(days=60)
FACTS = [
    "Ana lives in Oslo.",
    "Ana moved to Lisbon in May 2023.",
    "Ben works at Acme.",
    "Ben no longer works at Acme.",
    "The deadline is April 5.",
    "The deadline was moved to April 9.",
    "I have never used Flask routes.",
    "I implemented three routes with Flask.",
    "Ana hates olives.",
    "Ana likes olives.",
]
EXCLUDE = {Relation.UPDATE, Relation.CONTRADICTION}


def judge(old, new, *, likeness=None, subjects=(None, None)):
    """The verdict on two texts."""
    return RuleJudge().judge(
        Statement(old, OLD, subject=subjects[0]),
        Statement(new, NEW, subject=subjects[1], likeness=likeness),
    )


@given(old=st.text(max_size=60) | st.sampled_from(FACTS), new=st.text(max_size=60))
def test_any_text_gets_a_verdict(old, new):
    """The judge is total, sure between 0 and 1, and gives the same answer twice."""
    verdict = judge(old, new)
    assert 0 <= verdict.confidence <= 1
    assert verdict == judge(old, new)


@given(old=st.sampled_from(FACTS), new=st.sampled_from(FACTS))
def test_other_subjects_never_exclude_each_other(old, new):
    """What is said of Ana changes nothing of what is known of Ben."""
    assert judge(old, new, subjects=("Ana", "Ben")).relation is Relation.NONE


@given(text=st.text(min_size=1, max_size=60) | st.sampled_from(FACTS))
def test_a_statement_repeats_itself(text):
    """Said twice, it is a duplicate, never a conflict."""
    assert judge(text, text).relation is Relation.DUPLICATE


@given(old=st.sampled_from(FACTS), new=st.sampled_from(FACTS))
def test_a_reason_quotes_nothing(old, new):
    """What a verdict says of itself holds no word of a person."""
    why = judge(old, new).why
    assert not {"ana", "ben", "oslo", "olives", "flask"} & set(why.lower().split())


def test_texts_without_a_common_theme_are_left_alone():
    """Vectors that point apart outweigh words that happen to be the same."""
    old, new = "The app has 200 users.", "The app now has 500 users."
    assert judge(old, new).relation is Relation.UPDATE
    assert judge(old, new, likeness=0.9).relation is Relation.UPDATE
    assert judge(old, new, likeness=0.05).relation is Relation.NONE


def test_what_came_first_decides_the_verdict():
    """Never done and then done is progress; done and then never done cannot be."""
    never, done = "Ana has never been to Japan.", "Ana went to Japan in April 2024."
    assert judge(never, done).relation is Relation.UPDATE
    assert judge(done, never).relation is Relation.CONTRADICTION


def test_a_conflict_is_found_inside_long_messages():
    """One pair of clauses decides, wherever it stands; program code is not what is said."""
    old = (
        "I'm trying to plan my garden, and I want to know more about soil. We've set a budget "
        "of $900 for the raised beds, and the seeds come from a friend. Can you help me choose?"
    )
    new = (
        "Thanks, that helps! I'm looking into compost now, but the new budget of $1,200 for the "
        "raised beds gives us some room.\n```python\nbudget = 900\n```\nWhat should I buy first?"
    )
    assert judge(old, new).relation is Relation.UPDATE
    assert judge(old, new.replace("$1,200", "$900")).relation not in EXCLUDE
    assert judge(old, new.replace("new budget of $1,200", "fence of 3 m")).relation not in EXCLUDE


def test_questions_and_wishes_state_nothing():
    """Who asks for a value, or wants one, has not said that it is so."""
    assert judge("Ana lives in Oslo.", "Does Ana live in Rome?").relation is Relation.NONE
    assert judge("Ana lives in Oslo.", "Ana wants to move to Rome.").relation is Relation.NONE
    assert judge("I've never used Docker.", "I want to use Docker.").relation is Relation.NONE


CODES = st.from_regex(
    r"[a-z]{2}[0-9][a-z][0-9][a-z][0-9]{1,2}[a-z]|[a-z]{2,3}[0-9]{3,6}", fullmatch=True
)
UNRELATED = (
    "I like {}.",
    "{} is my dog.",
    "I use {} every day.",
    "The meeting {} is on Monday.",
    "I stopped using {}.",
    "We cancelled {}.",
    "I moved to {}.",
    "I no longer like {}.",
)


@given(st.sampled_from(UNRELATED), st.sampled_from(UNRELATED), CODES, CODES)
def test_facts_with_different_codes_are_not_about_the_same(first, second, one, other):
    """A code is a name: what is said of one ends nothing that was said of another."""
    assume(one != other and not (first == second == "I moved to {}."))
    assert judge(first.format(one), second.format(other)).relation is Relation.NONE
