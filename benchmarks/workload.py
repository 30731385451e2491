"""What the speed measurements store and ask: made-up talk and made-up vectors.

Word frequencies follow Zipf's law, as in real text: English function words in front, then
names, then invented words. Sentences have the length of chat turns. The vectors are random
unit vectors, which is the hardest case for an index that prunes, and no gain or loss for
one that looks at everything (both of those compared here do).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from memoranda.model.query import EmbeddedText, TokenVectors, Vectors

DIMENSIONS = 384  # as all-MiniLM-L6-v2
VOCABULARY = 20_000


def _words(text: str) -> list[str]:
    return text.split()


FUNCTION_WORDS = _words(
    "the to and a i you of it that in is for was on my we with have so be this just me but at "
    "not are what do your he she they all about like up from out can had as when how there an "
    "her his been will one more by our if or would them some did no who has then their now"
)
NAMES = _words(
    "Ana Bruno Carla Diego Elena Felix Greta Hugo Ines Jonas Klara Luca Maria Nico Olga Pedro "
    "Rosa Samuel Tara Viktor Lisbon Berlin Madrid Vienna Oslo"
)
ONSETS = _words("b br c ch d dr f fl g gr h j k l m n p pl qu r s sh st t tr v w z")
VOWELS = _words("a e i o u ai ea oo")
CODAS = ("", "n", "r", "s", "t", "l", "m", "nd", "rt", "st", "ck", "ng")


@dataclass(frozen=True, slots=True)
class Talk:
    """Texts to store, and questions about them with the words that carry their meaning."""

    texts: Sequence[str]
    questions: Sequence[str]
    keywords: Sequence[Sequence[str]]


def talk(texts: int, questions: int = 200, seed: int = 0) -> Talk:
    """Return made-up talk: the same for the same arguments."""
    rng = np.random.default_rng(seed)
    words = _vocabulary(rng)
    telling = np.array(words[len(FUNCTION_WORDS) :])
    chances = _zipf(len(words))
    lengths = np.clip(rng.lognormal(3.0, 0.5, texts), 4, 120).astype(int)
    drawn = np.split(rng.choice(len(words), int(lengths.sum()), p=chances), lengths.cumsum()[:-1])
    # Questions ask for rarer words than talk has: the function words are not among them.
    asked = [
        list(dict.fromkeys(telling[rng.choice(len(telling), 4, p=_zipf(len(telling)))].tolist()))
        for _ in range(questions)
    ]
    return Talk(
        [_sentence([words[place] for place in places]) for places in drawn],
        [f"What did we say about {' and '.join(keywords)}?" for keywords in asked],
        asked,
    )


def _vocabulary(rng: np.random.Generator) -> list[str]:
    words = dict.fromkeys([*FUNCTION_WORDS, *NAMES])
    while len(words) < VOCABULARY:
        syllables = rng.integers(1, 4)
        word = "".join(str(rng.choice(ONSETS)) + str(rng.choice(VOWELS)) for _ in range(syllables))
        words.setdefault(word + str(rng.choice(CODAS)))
    return list(words)


def _zipf(count: int) -> np.ndarray:
    chances = 1 / np.arange(1, count + 1)
    return chances / chances.sum()


def _sentence(words: Sequence[str]) -> str:
    # A function word in front: an invented one would be taken for a name there.
    return f"{FUNCTION_WORDS[len(words) % 20].capitalize()} {' '.join(words)}."


def unit_vectors(count: int, seed: int = 0) -> Vectors:
    """Return ``count`` random vectors of unit length."""
    rows = np.random.default_rng(seed).standard_normal((count, DIMENSIONS), dtype=np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


LONGER_WORDS = re.compile(r"\w{4,}")
TOKEN_NUMBERS = 192  # of a token


class KnownVectors:
    """An embedder that looks vectors up: what it takes is no part of a search's time.

    A text that was not announced gets a random vector that depends on it alone.
    """

    name = "random"
    dimensions = DIMENSIONS

    def __init__(self, announced: Sequence[str] = ()) -> None:
        """Make the vectors of ``announced`` texts beforehand."""
        self._known = {text: _drawn(text) for text in announced}

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one row for each text."""
        rows = [self._known[text] if text in self._known else _drawn(text) for text in texts]
        return np.stack(rows)

    def embed_tokens(self, texts: Sequence[str], *, query: bool = False) -> list[EmbeddedText]:
        """Return the same with random vectors of 192 numbers for the longer words."""
        del query  # They are the same words.
        return [
            EmbeddedText(row, _drawn_tokens(text), [m.span() for m in LONGER_WORDS.finditer(text)])
            for text, row in zip(texts, self.embed(texts), strict=True)
        ]


def _drawn_tokens(text: str) -> TokenVectors:
    words = LONGER_WORDS.findall(text)
    drawn = hashlib.shake_256(text.encode()).digest(TOKEN_NUMBERS * len(words))
    return np.frombuffer(drawn, np.int8).reshape(len(words), TOKEN_NUMBERS)


def _drawn(text: str) -> Vectors:
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return unit_vectors(1, int.from_bytes(digest, "little"))[0]
