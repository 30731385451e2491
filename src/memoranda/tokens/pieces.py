r"""Cutting text into the pieces that no token crosses, as OpenAI's encodings do it.

The patterns are those of tiktoken, written for :mod:`re`, which does not know ``\p{L}``: the
classes are put together from :mod:`unicodedata` when they are first needed, in some 50 ms.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cache
from itertools import groupby
from typing import NamedTuple

from memoranda.text.patterns import compile_pattern

# From here to the end there are only marks that select variants, and characters without a
# meaning, which are in none of the classes.
PLANES_END = 0x40000
VARIANT_SELECTORS = ("Mn", (0xE0100, 0xE01EF))
SPACES = r"\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"  # White_Space


class CharacterClasses(NamedTuple):
    """Insides of the sets of characters that the patterns speak of."""

    letters: str
    numbers: str
    upper: str
    lower: str


@cache
def pieces(encoding: str) -> re.Pattern[str]:
    """Return the pattern whose matches are the pieces of a text; they cover all of it.

    Every alternative takes time by the length of what it reads, for any text.
    """
    return compile_pattern(
        "|".join(_cl100k(classes()) if encoding == "cl100k_base" else _o200k(classes()))
    )


def _cl100k(chars: CharacterClasses) -> tuple[str, ...]:
    letters, numbers = chars.letters, chars.numbers
    return (
        r"'(?i:[sdmt]|ll|ve|re)",
        rf"[^\r\n{letters}{numbers}]?+[{letters}]++",
        rf"[{numbers}]{{1,3}}+",
        rf" ?[^{SPACES}{letters}{numbers}]++[\r\n]*+",
        rf"[{SPACES}]++\Z",
        rf"[{SPACES}]*[\r\n]",
        rf"[{SPACES}]+(?![^{SPACES}])",
        rf"[{SPACES}]",
    )


def _o200k(chars: CharacterClasses) -> tuple[str, ...]:
    letters, numbers, upper, lower = chars
    before = rf"[^\r\n{letters}{numbers}]?"
    contracted = r"(?:'(?i:[stmd]|re|ve|ll))?+"
    return (
        rf"{before}[{upper}]*[{lower}]++{contracted}",
        rf"{before}[{upper}]+[{lower}]*+{contracted}",
        rf"[{numbers}]{{1,3}}+",
        rf" ?[^{SPACES}{letters}{numbers}]++[\r\n/]*+",
        rf"[{SPACES}]*[\r\n]++",
        rf"[{SPACES}]+(?![^{SPACES}])",
        rf"[{SPACES}]++",
    )


@cache
def classes() -> CharacterClasses:
    """Return the sets of characters, by their general categories in Python's Unicode."""
    return CharacterClasses(
        letters=_members("Lu", "Ll", "Lt", "Lm", "Lo"),
        numbers=_members("Nd", "Nl", "No"),
        upper=_members("Lu", "Lt", "Lm", "Lo", "Mn", "Mc", "Me"),
        lower=_members("Ll", "Lm", "Lo", "Mn", "Mc", "Me"),
    )


def _members(*categories: str) -> str:
    spans = sorted(span for category, span in _spans() if category in categories)
    return "".join(_range(first, last) for first, last in _merge_ranges(spans))


@cache
def _spans() -> tuple[tuple[str, tuple[int, int]], ...]:
    """Return the runs of characters of one category, with their first and last."""
    spans = [VARIANT_SELECTORS]
    points = groupby(range(PLANES_END), key=lambda point: unicodedata.category(chr(point)))
    for category, run in points:
        first, *rest = run
        spans.append((category, (first, rest[-1] if rest else first)))
    return tuple(spans)


def _merge_ranges(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for first, last in spans:
        if joined and joined[-1][1] + 1 == first:
            joined[-1] = (joined[-1][0], last)
        else:
            joined.append((first, last))
    return joined


def _range(first: int, last: int) -> str:
    return rf"\U{first:08x}" if first == last else rf"\U{first:08x}-\U{last:08x}"
