"""The estimate of tokens: near the exact counts on prose, never negative, never failing."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.tokens.estimate import EstimatedCounter

DATA = Path(__file__).parents[3] / "shared" / "data"
COUNTER = EstimatedCounter()
ALICE = (
    "Alice was beginning to get very tired of sitting by her sister on the bank, and of having "
    "nothing to do: once or twice she had peeped into the book her sister was reading, but it had "
    "no pictures or conversations in it, and what is the use of a book, thought Alice, without "
    "pictures or conversations?"
)
ANY = st.text(st.characters(exclude_categories=["Cs"]))


@pytest.fixture(scope="module", params=["cl100k_base", "o200k_base"])
def exact(request):
    """One of OpenAI's tokenizers, offline."""
    openai = pytest.importorskip("rs_bpe.bpe").openai
    return getattr(openai, request.param)()


def prose():
    """Return samples of English prose: one of our own, and turns of real conversations."""
    samples = [ALICE]
    path = DATA / "locomo" / "locomo10.json"
    if path.exists():
        for sample in json.loads(path.read_text(encoding="utf-8")):
            talk = sample["conversation"]
            samples += [
                "\n".join(turn["text"] for turn in talk[name])
                for name in sorted(talk)
                if name.startswith("session_") and not name.endswith("date_time")
            ][:10]
    return samples


def test_english_prose_is_within_fifteen_percent(exact):
    """On each sample of prose the estimate is within 15 % of the model's own count."""
    for text in prose():
        ratio = COUNTER.count(text) / exact.count(text)
        assert 0.85 <= ratio <= 1.15, f"{ratio:.2f} on {text[:60]!r}"


@pytest.mark.parametrize(
    "text",
    [
        "我昨天在里斯本买了一辆红色的自行车",
        "Вчера мы купили новые велосипеды и поехали к реке",
        "เมื่อวานฉันซื้อจักรยานสีแดง",
        "🎉🎉🙂",
        "اشتريت دراجة حمراء",
    ],
)
def test_other_scripts_are_not_undercounted(exact, text):
    """What is not Latin is estimated high: a budget holds."""
    assert COUNTER.count(text) >= 0.95 * exact.count(text)


def test_it_says_that_it_is_an_estimate():
    """Nobody takes the figures for exact."""
    assert not COUNTER.exact


@given(text=ANY)
def test_a_count_is_a_whole_number_and_at_least_one_for_any_text(text):
    """Never negative, zero only for nothing but single spaces, and the same each time."""
    count = COUNTER.count(text)
    assert isinstance(count, int)
    assert count >= 0
    assert COUNTER.count(text) == count
    if text.strip():
        assert count >= 1
    assert count <= 3 * len(text)


@given(first=ANY, second=ANY)
def test_joining_texts_never_adds_more_than_their_parts(first, second):
    """Lines and blocks can be measured apart: joined by a line break they take one more at most."""
    whole = COUNTER.count(f"{first}\n{second}")
    assert whole <= COUNTER.count(first) + COUNTER.count(second) + 1


WORDS = st.lists(st.sampled_from(["tea", "Lisbon", "2026", "茶", "!"]))


@given(words=WORDS, more=st.integers(1, 5))
def test_more_words_never_take_fewer_tokens(words, more):
    """Adding words to a text does not lower its count."""
    shorter, longer = " ".join(words), " ".join(words + ["more"] * more)
    assert COUNTER.count(longer) > COUNTER.count(shorter)


def test_a_long_text_is_counted_like_a_short_one():
    """The cache of short texts changes no figure."""
    assert COUNTER.count("tea " * 10_000) == 10_000
    assert COUNTER.count("") == 0
