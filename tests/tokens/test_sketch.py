"""The sketches of the encodings: the very tokens, and cutting text in linear time."""

import hashlib
import importlib.util
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda.tokens.estimate import (
    LONGEST_WORD,
    NEVER,
    TokenLevels,
    VocabularySketch,
    load,
    unpack,
)

BYTES = {bytes([value]) for value in range(256)}


def test_a_sketch_holds_the_tokens_of_its_encoding(encoding):
    """All of them and no other, the single bytes among them."""
    module = pytest.importorskip("rs_bpe.bpe", reason="rs_bpe has no wheels for this Python")
    merges = getattr(module.openai, encoding)().bpe()
    size = {"cl100k_base": 100_256, "o200k_base": 199_998}[encoding]
    levels = load(encoding).levels
    tokens = {merges.decode_tokens([rank]) for rank in range(size)} | BYTES
    assert len(levels) == len(tokens) == size
    assert all(levels.level(token) < NEVER for token in tokens)


def test_levels_rise_with_the_ranks(encoding):
    """What the encoding merges first has no higher level than what it merges later."""
    module = pytest.importorskip("rs_bpe.bpe", reason="rs_bpe has no wheels for this Python")
    merges = getattr(module.openai, encoding)().bpe()
    levels = load(encoding).levels
    ranked = [merges.decode_tokens([rank]) for rank in range(0, 100_000, 7)]
    merged = [levels.level(token) for token in ranked if max(token) < 0xE0]
    assert merged == sorted(merged)
    assert merged[-1] < NEVER


def test_a_sketch_is_read_once(encoding):
    """All counters of a process share it."""
    assert load(encoding) is load(encoding)


class Counting:
    """Levels that count how often they are asked."""

    def __init__(self, levels):
        """Ask ``levels``."""
        self.lengths, self._levels, self.asked = levels.lengths, levels, 0

    def level(self, token):
        """Count, and answer."""
        self.asked += 1
        return self._levels.level(token)


@pytest.fixture(scope="module")
def counting():
    """A sketch whose look-ups are counted."""
    return VocabularySketch(Counting(load("cl100k_base").levels))


def questions(sketch, piece):
    """Return how often ``sketch`` asks for a token while it counts ``piece``."""
    sketch.levels.asked = 0
    sketch.count(piece)
    return sketch.levels.asked


def test_what_is_a_token_is_looked_up_once(counting):
    """Most words are, so most are counted by a single question."""
    for word in (b" remember", "ы".encode(), b"=" * 64):
        assert counting.count(word) == 1
        assert questions(counting, word) == 1


@pytest.mark.parametrize(
    "unit", ["a", "ab", "é", "漢", "한", "🙂", "--!", "\u0301", "    \t", "zqx", "ि"]
)
def test_twice_the_length_takes_twice_the_questions(counting, unit):
    """A piece without end is cut in linear time, whatever it is made of."""
    base = (unit * 4_000).encode()
    once, twice = questions(counting, base), questions(counting, base * 2)
    assert twice <= 2.1 * once + 200
    assert once <= 2 * len(base)


def test_random_bytes_are_covered_in_linear_time(counting, dice):
    """Neither does the worst mixture of them."""
    noise = dice.randbytes(50_000)
    assert questions(counting, noise) <= 20 * len(noise)


def test_the_longest_word_that_is_merged_bounds_the_work(counting):
    """Merging is quadratic in a word, and a word has no more than so many bytes."""
    word = ("zqxjkvw" * LONGEST_WORD).encode()[:LONGEST_WORD]
    assert questions(counting, word) <= 4 * LONGEST_WORD


@pytest.fixture(scope="module")
def script():
    """The script that makes the sketches."""
    pytest.importorskip("rs_bpe.bpe", reason="rs_bpe has no wheels for this Python")
    path = Path(__file__).parents[2] / "scripts" / "make_token_sketch.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_what_is_packed_is_unpacked(script):
    """Words in all their forms, words in one form only, bytes that are no text, long tokens."""
    words = [b"tea", b" tea", b"Tea", b" Tea", b"TEA", b" TEA", b"iPhone", b" iPhone", b"OK", b" "]
    others = [b"  ", b" \n", b"\xe6\xbc", " 漢".encode(), "é".encode(), b" \xf0\x9f", b"=" * 128]
    tokens = [bytes([value]) for value in range(256) if value != ord(" ")] + words + others
    expected = {token: script.level(token, rank) for rank, token in enumerate(tokens)}
    levels = unpack(script.pack(tokens))
    assert len(levels) == len(expected)
    assert {token: levels.level(token) for token in expected} == expected


@given(tokens=st.dictionaries(st.binary(min_size=1, max_size=5), st.integers(0, 254)))
def test_levels_are_those_that_were_given(tokens):
    """Every token has its level and what is none has none, however their hashes meet."""
    levels = TokenLevels(len(tokens), tokens.items())
    assert {token: levels.level(token) for token in tokens} == tokens
    assert all(len(token) in levels.lengths(token[:3]) for token in tokens if len(token) > 3)
    others = {token + b"x" for token in tokens} - set(tokens)
    assert all(levels.level(token) == NEVER for token in others)


def test_the_script_checks_the_published_vocabulary(script, encoding):
    """What the sketch is made of hashes to what OpenAI published."""
    data = script.published_file(script.vocabulary(encoding))
    assert hashlib.sha256(data).hexdigest() == script.PUBLISHED[encoding][1]
