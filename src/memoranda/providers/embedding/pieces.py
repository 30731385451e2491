"""The word pieces of a text, by a vocabulary of a quarter of a million in any script.

As SentencePiece cuts a text (Kudo 2018): of all ways to put it together from pieces the most
likely one (Viterbi 1967). Whoever keeps so many pieces in a tree needs 280 MB for it, and in a dict
40. Here each is a number of eight bytes, its hash in this process, and sorted: 4 MB.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any
from unicodedata import category, combining, normalize

import numpy as np
import numpy.typing as npt

from memoranda.providers.embedding.local_model import Token

SPACE = "▁"  # stands before what begins a word
INVISIBLE = "\u200b\u200c\u200d\u200e\u200f\ufeff\ufffd"  # which part words, too
CONTROL = "Cc"
FIRST = 4  # the pieces before are marks of the model's own
UNLIKELY = 10.0  # by how much an unknown character is less likely than any piece
LONGEST = 2_000  # characters of a text, which are more pieces than a model takes

# The characters of a text in one form, and where each stands in it, from and to.
PlainText = tuple[str, list[tuple[int, int]]]


class Vocabulary:
    """Pieces with their scores, the logarithms of how likely they are."""

    def __init__(
        self, data: bytes, ends: npt.NDArray[Any], scores: npt.NDArray[np.float32], unknown: int
    ) -> None:
        """Take pieces.

        Args:
            data: all of them in UTF-8, one behind the other.
            ends: where each ends there, and a 0 before the first.
            scores: of each.
            unknown: the number of the one that stands for characters in none.
        """
        pieces = [data[start:end].decode() for start, end in pairwise(ends.tolist())]
        numbers = np.array([*map(hash, pieces)])
        self._longest = max(map(len, pieces))
        self._order = np.argsort(numbers)
        self._numbers = numbers[self._order]
        self._scores = scores
        self._unknown, self._least = unknown, float(scores.min()) - UNLIKELY

    def tokens(self, text: str) -> list[Token]:
        """Return the most likely pieces of a text, in order."""
        signs, spans = plain(text[:LONGEST])
        tokens: list[Token] = []
        for start, end, id_ in self._best(signs):
            word = start + (signs[start] == SPACE)
            span = (spans[word][0], spans[end - 1][1]) if word < end else (0, 0)
            piece = signs[word:end].casefold()
            tokens.append(Token(id_, piece, span, id_ != self._unknown))
        return tokens

    def _best(self, signs: str) -> list[tuple[int, int, int]]:
        """Return the pieces of the most likely way, each from, to, and which it is."""
        scores = [0.0] + [-np.inf] * len(signs)
        before = [(0, self._unknown)] * (len(signs) + 1)
        found = self._find(signs)
        for start in range(len(signs)):
            unknown = (start + 1, self._unknown, self._least)
            for end, id_, score in (unknown, *found.get(start, ())):
                if scores[start] + score > scores[end]:
                    scores[end], before[end] = scores[start] + score, (start, id_)
        way, end = [], len(signs)
        while end:
            start, id_ = before[end]
            way.append((start, end, id_))
            end = start
        return way[::-1]

    def _find(self, signs: str) -> dict[int, list[tuple[int, int, float]]]:
        """Return by where they begin the pieces that a text holds: to where, which, their score."""
        size, longest = len(signs), self._longest
        parts = [
            (at, to) for at in range(size) for to in range(at + 1, min(at + longest, size) + 1)
        ]
        numbers = np.array([hash(signs[start:end]) for start, end in parts])
        near = np.minimum(np.searchsorted(self._numbers, numbers), len(self._numbers) - 1)
        ids = self._order[near]
        held = np.flatnonzero((self._numbers[near] == numbers) & (ids >= FIRST))
        found: dict[int, list[tuple[int, int, float]]] = {}
        columns = (held, ids[held], self._scores[ids[held]])
        for part, id_, score in zip(*(each.tolist() for each in columns), strict=True):
            start, end = parts[part]
            found.setdefault(start, []).append((end, id_, score))
        return found


def plain(text: str) -> PlainText:
    """Return a text in one form, its words begun by ``SPACE``, and where each character was."""
    signs, spans, start = [SPACE], [(0, 0)], 0
    while start < len(text):
        end = start + 1
        while end < len(text) and combining(text[end]):
            end += 1
        for char in normalize("NFKC", text[start:end]):
            sign = SPACE if char.isspace() or char in INVISIBLE else char
            if category(sign) != CONTROL and not sign == signs[-1] == SPACE:
                signs.append(sign)
                spans.append((start, end))
        start = end
    return "".join(signs).removesuffix(SPACE), spans
