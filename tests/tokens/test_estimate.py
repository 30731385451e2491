"""The estimate of tokens: near the exact counts on every kind of text, linear, never failing."""

import argparse
import base64
import difflib
import heapq
import json
import textwrap
from pathlib import Path
from string import ascii_lowercase
from time import process_time

import pytest
from effort import examples
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tables import each_row

from memoranda.tokens.estimate import ENCODINGS, EstimatedCounter, pieces

DATA = Path(__file__).parents[3] / "shared" / "data"
CODE = [argparse, difflib, heapq, textwrap]
CONVERSATIONS = [
    "locomo/locomo10.json",
    "tau_bench/airline_80.json",
    "transcripts/hermes_session_2026-05-15.txt",
    "transcripts/hermes_session_2026-05-15_en.txt",
    "transcripts/herb_garden.txt",
]
ANY = st.text(st.characters(exclude_categories=[]))
TALK = "".join(f"{number}. Ana said: don't forget the tea (3 bags)!\n" for number in range(40))


def record(dice):
    """Return an object as tools return them: numbers, dates, ids, names, and texts in lists."""
    day = f"{dice.randrange(2000, 2030)}-{dice.randrange(1, 13):02}-{dice.randrange(1, 29):02}"
    return {
        "id": dice.randrange(10 ** dice.randrange(1, 12)),
        "price": round(dice.uniform(-90, 90), dice.randrange(1, 8)),
        "createdAt": f"{day}T{dice.randrange(24):02}:00:00Z",
        "user_id": f"{dice.getrandbits(128):032x}",
        "to": dice.choice([True, False, None, "", "Zürich", "東京", "reservation confirmed"]),
        "items": [" ".join(dice.choices(TALK.split(), k=8)) for _ in range(dice.randrange(4))],
    }


def texts(samples, dice):
    """Yield texts of every kind with their names, each of more than a hundred tokens."""
    yield from samples.items()
    for module in CODE:
        yield module.__name__, Path(module.__file__).read_text("utf-8")
    for path in CONVERSATIONS:
        if (DATA / path).exists():
            yield path, (DATA / path).read_text("utf-8")[:50_000]
    values = [record(dice) for _ in range(60)]
    for escape in (True, False):
        for indent in (None, 2):
            yield f"JSON {escape} {indent}", json.dumps(values, indent=indent, ensure_ascii=escape)
    words = ["".join(dice.choices(ascii_lowercase, k=dice.randrange(3, 12))) for _ in range(2_000)]
    yield "no words", " ".join(words)
    yield "hashes", "\n".join(f"{dice.getrandbits(256):064x}" for _ in range(200))
    yield "base64", base64.b64encode(dice.randbytes(20_000)).decode()
    for letters in ("ACGT", "acgt", "ab", "0123456789", "\U0001f600\U0001f680", "漢字東京"):
        yield f"a run of {letters}", "".join(dice.choices(letters, k=20_000))
    for unit in ("a", "=-", " ", "漢", "\n", "7"):
        yield f"nothing but {unit!r}", unit * 20_000


def test_no_count_is_below_and_none_is_five_percent_above(samples, encoding, oracle, dice):
    """Law 13: prose in eleven languages, code, JSON, talk with tools, and what is no language."""
    wrong = []
    for name, text in texts(samples, dice):
        exact, count = oracle(text), EstimatedCounter(encoding).count(text)
        assert exact > 100
        if not exact <= count <= 1.05 * exact:
            wrong.append((name, exact, count))
    assert wrong == []


def test_a_short_message_is_at_most_a_token_off(samples, encoding, oracle):
    """Not only long texts: every paragraph on its own."""
    for name, text in samples.items():
        for paragraph in text.split("\n\n"):
            exact, count = oracle(paragraph), EstimatedCounter(encoding).count(paragraph)
            assert exact - 1 <= count <= 1.05 * exact + 1, (name, exact, count)


def test_the_default_is_the_larger_encoding_outside_english(samples):
    """Who does not know the tokenizer plans with the cautious one."""
    assert EstimatedCounter().name == "estimate (cl100k_base)"
    for text in samples.values():
        assert EstimatedCounter().count(text) >= EstimatedCounter("o200k_base").count(text)


def test_a_factor_multiplies_and_rounds_up():
    """A tokenizer that makes more tokens of the same text is never counted below its share.

    Nobody takes the figures for exact, and the name says whose they approach.
    """
    plain, larger = EstimatedCounter("o200k_base"), EstimatedCounter(factor=1.3)
    assert (plain.name, plain.exact) == ("estimate (o200k_base)", False)
    assert (larger.name, larger.exact) == ("estimate (cl100k_base × 1.3)", False)
    count = EstimatedCounter().count(TALK)
    assert count * 1.3 <= larger.count(TALK) < count * 1.3 + 1
    assert (larger.count("tea"), larger.count("")) == (2, 0)


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


LONG = {
    "letters": "a",
    "two letters": "ab",
    "digits": "7",
    "spaces": " ",
    "no spaces": "漢",
    "emoji": "\U0001f600",
    "rulers": "-=",
    "surrogates": "\ud83d",
    "control": "\x00\n",
    "marks": "é\u0301",
    "spaces and breaks": " \n",
    "prose": "the pump was started at nine. ",
    "JSON": '{"id":17,"ok":true},',
}


def test_the_work_grows_with_the_length_alone():
    """R1.6: no text is too long or too strange; eight times the text is about eight times more."""
    EstimatedCounter().count("".join(LONG.values()))
    wrong = []
    for name, unit in LONG.items():
        some, more = (seconds(unit * (size // len(unit))) for size in (4_096, 32_768))
        if more > 16 * some + 0.05:
            wrong.append((name, some, more))
    assert wrong == []


def test_of_a_very_long_text_samples_are_enough(samples, encoding, oracle, dice):
    """R1.6: never below; how far above depends on how different its parts are."""
    mixed = [*(text for _, text in texts(samples, dice))] * 4
    dice.shuffle(mixed)
    for most, text in (
        (1.06, samples["english"] * 200),
        (1.06, base64.b64encode(dice.randbytes(400_000)).decode()),
        (1.4, "".join(mixed)),
    ):
        exact, start = oracle(text), process_time()
        count = EstimatedCounter(encoding).count(text)
        assert process_time() - start < 1
        assert exact <= count <= most * exact
        assert count == EstimatedCounter(encoding).count(text)


def seconds(text):
    """Return the processor time that a count takes."""
    start = process_time()
    assert len(text) / 128 <= EstimatedCounter().count(text) <= 4 * len(text)
    return process_time() - start


WHOLE = st.text(st.characters(exclude_categories=["Cs"]))
# Later versions of Unicode give a category to characters that have none yet.
# What the patterns tell apart, thrown together.
TRICKY = (
    "aBzé ßǅʰª漢かК한हि\u093f\u0301عم🎉\u200d\ufe0f\u00a0\u2028\u3000\x85\x1c\t\r\n"
    "  09٣²½Ⅷ'’\u017fsTLl!/#_-."
)
CONTRACTIONS = ["'s", "'LL", "'Re", "'\u017f", "don't", "IT'S"]
PARTS = st.one_of(st.sampled_from(TRICKY), st.sampled_from(CONTRACTIONS), st.sampled_from("\n /aA"))
NEAR = st.lists(PARTS).map("".join)


@each_row("name", ENCODINGS)
@settings(max_examples=examples(60))
@given(text=st.one_of(NEAR, WHOLE))
@example(text="x!\n//\n/ a IT'Sx  \n \r\n\u3000b 1234567")
def test_no_token_crosses_a_piece(name, text):
    """Counted piece by piece, a text has as many tokens as in one: the cuts are the encoding's."""
    module = pytest.importorskip("rs_bpe.bpe", reason="rs_bpe has no wheels for this Python")
    tokenizer = getattr(module.openai, name)()
    merged = tokenizer.bpe()
    parts = pieces(name).findall(text)
    assert sum(merged.count(part.encode()) for part in parts) == tokenizer.count(text)
