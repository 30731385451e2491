"""The estimate of tokens: near the exact counts on every kind of text, linear, never failing."""

import argparse
import difflib
import heapq
import json
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from string import ascii_lowercase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda.tokens import estimate
from memoranda.tokens.estimate import EstimatedCounter

DATA = Path(__file__).parents[3] / "shared" / "data"
CODE = [argparse, difflib, heapq, textwrap]
ANY = st.text(st.characters(exclude_categories=[]))
TALK = "".join(f"{number}. Ana said: don't forget the tea (3 bags)!\n" for number in range(40))


def deviation(text, encoding, oracle):
    """Return by how much the estimate is above the exact count, as a share of it."""
    return EstimatedCounter(encoding).count(text) / oracle(text) - 1


def test_natural_language_is_within_two_percent(sample, encoding, oracle):
    """Prose in eleven languages, talk that mixes them, and messages full of emoji (N4.2)."""
    assert oracle(sample) >= 200
    assert abs(deviation(sample, encoding, oracle)) <= 0.02


def test_one_message_of_each_language_is_within_five_percent(sample, encoding, oracle):
    """Not only long texts: every paragraph on its own, give or take a token."""
    for paragraph in sample.split("\n\n"):
        exact = oracle(paragraph)
        assert abs(EstimatedCounter(encoding).count(paragraph) - exact) <= 0.05 * exact + 1


@pytest.mark.parametrize("module", CODE, ids=[module.__name__ for module in CODE])
def test_source_code_is_within_two_percent(module, encoding, oracle):
    """Modules of the standard library, with their indentation and docstrings."""
    text = Path(module.__file__).read_text("utf-8")
    assert abs(deviation(text, encoding, oracle)) <= 0.02


def leaf(dice):
    """Return a value as tools return them: a number, a date, an id, a name, a text."""
    day = f"{dice.randrange(2000, 2030)}-{dice.randrange(1, 13):02}-{dice.randrange(1, 29):02}"
    return dice.choice(
        [
            dice.randrange(10 ** dice.randrange(1, 12)),
            round(dice.uniform(-90, 90), dice.randrange(1, 8)),
            f"{day}T{dice.randrange(24):02}:00:00Z",
            f"{dice.getrandbits(128):032x}",
            dice.choice([True, False, None, "", "Zürich", "東京", "reservation confirmed"]),
            " ".join(dice.choices(TALK.split(), k=8)),
        ]
    )


def tree(dice, depth=0):
    """Return such values in lists and objects."""
    if depth == 3 or dice.random() < 0.4:
        return leaf(dice)
    if dice.random() < 0.5:
        return [tree(dice, depth + 1) for _ in range(dice.randrange(1, 5))]
    keys = dice.sample(["id", "user_id", "createdAt", "items", "price", "flight", "to"], 4)
    return {key: tree(dice, depth + 1) for key in keys}


@pytest.mark.parametrize("indent", [None, 2])
def test_json_is_within_two_percent(indent, encoding, oracle, dice):
    """On one line and indented, with and without escapes."""
    values = [tree(dice) for _ in range(60)]
    for escape in (True, False):
        text = json.dumps(values, indent=indent, ensure_ascii=escape)
        assert oracle(text) > 1_000
        assert abs(deviation(text, encoding, oracle)) <= 0.02


@pytest.mark.parametrize(
    "path",
    [
        "locomo/locomo10.json",
        "tau_bench/airline_80.json",
        "transcripts/hermes_session_2026-05-15.txt",
        "transcripts/hermes_session_2026-05-15_en.txt",
        "transcripts/herb_garden.txt",
    ],
)
def test_real_conversations_are_within_two_percent(path, encoding, oracle):
    """Talk, tool calls with their results, and an assistant's session in two languages."""
    file = DATA / path
    if not file.exists():
        pytest.skip("the evaluation data are not there")
    text = file.read_text("utf-8")[:300_000]
    assert abs(deviation(text, encoding, oracle)) <= 0.02


def test_what_is_no_language_is_near_as_well(encoding, oracle, dice):
    """Words of random letters and hashes, too, are within 2 %."""
    words = ["".join(dice.choices(ascii_lowercase, k=dice.randrange(3, 12))) for _ in range(2_000)]
    hashes = [f"{dice.getrandbits(256):064x}" for _ in range(200)]
    for text in (" ".join(words), "\n".join(hashes)):
        assert abs(deviation(text, encoding, oracle)) <= 0.02


def test_long_sequences_are_within_five_percent(encoding, oracle, dice):
    """Without words and spaces, as genes are: merging leaves them in short tokens."""
    for letters in ("ACGT", "acgt"):
        assert abs(deviation("".join(dice.choices(letters, k=20_000)), encoding, oracle)) <= 0.05


def test_the_default_is_the_larger_encoding_outside_english(sample):
    """Who does not know the tokenizer plans with the cautious one."""
    cautious, other = EstimatedCounter().count(sample), EstimatedCounter("o200k_base").count(sample)
    assert EstimatedCounter().name == "estimate (cl100k_base)"
    assert cautious >= other


def test_it_says_that_it_is_an_estimate():
    """Nobody takes the figures for exact, and the name says whose they approach."""
    assert not EstimatedCounter().exact
    assert EstimatedCounter("o200k_base").name == "estimate (o200k_base)"
    assert EstimatedCounter(factor=1.25).name == "estimate (cl100k_base × 1.25)"


def test_a_factor_multiplies_and_rounds_up():
    """A tokenizer that makes more tokens of the same text is never counted below its share."""
    plain, more = EstimatedCounter().count(TALK), EstimatedCounter(factor=1.3).count(TALK)
    assert plain * 1.3 <= more < plain * 1.3 + 1
    assert EstimatedCounter(factor=1.3).count("tea") == 2
    assert EstimatedCounter(factor=1.3).count("") == 0


@given(text=ANY)
def test_a_count_never_fails_and_is_zero_only_for_nothing(text):
    """Any text, with lone surrogates, control characters and characters of no meaning."""
    count = EstimatedCounter().count(text)
    assert isinstance(count, int)
    assert count == EstimatedCounter().count(text)
    assert bool(count) == bool(text)
    assert count <= 4 * len(text)


@given(first=ANY, second=ANY)
def test_joining_texts_adds_next_to_nothing(first, second):
    """Parts can be measured apart: together they take no more, give or take three tokens."""
    count = EstimatedCounter().count
    assert count(first + second) <= count(first) + count(second) + 3


WORDS = st.lists(st.sampled_from(["tea", "Lisbon", "2026", "茶", "!"]))


@given(words=WORDS, more=st.integers(1, 5))
def test_more_words_never_take_fewer_tokens(words, more):
    """Adding words to a text does not lower its count."""
    shorter, longer = " ".join(words), " ".join(words + ["more"] * more)
    assert EstimatedCounter().count(longer) > EstimatedCounter().count(shorter)


@pytest.mark.parametrize(
    "text",
    [
        "a" * 1_000_000,
        " " * 1_000_000,
        "漢" * 300_000,
        "-=" * 200_000,
        "\ud83d" * 200_000,
        "\x00\n" * 100_000,
        "é\u0301" * 100_000,
    ],
    ids=["letter", "spaces", "no spaces", "rulers", "surrogates", "control", "marks"],
)
def test_one_thing_without_end_is_counted(text, encoding):
    """No text is too long or too strange; a quadratic count would take hours here."""
    count = EstimatedCounter(encoding).count(text)
    assert len(text) / 128 <= count <= 4 * len(text)


def test_the_known_pieces_change_no_count_and_are_bounded(monkeypatch, encoding):
    """With a memory of 50 pieces, and with a full one, the counts are those without."""
    texts = [TALK, "naïve Grüße", TALK.upper()]
    expected = [EstimatedCounter(encoding).count(text) for text in texts]
    estimate._costs.cache_clear()
    monkeypatch.setattr(estimate, "KNOWN_PIECES", 50)
    assert [EstimatedCounter(encoding).count(text) for text in texts * 2] == expected * 2
    assert 0 < len(estimate._costs(encoding)) <= 50


def test_threads_that_count_at_once_agree(monkeypatch, sample):
    """The first counts of a process, from eight threads, share one sketch and are equal."""
    expected = EstimatedCounter().count(sample)
    estimate._costs.cache_clear()
    monkeypatch.setattr(estimate, "KNOWN_PIECES", 100)
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(EstimatedCounter().count, [sample] * 24)) == {expected}
