r"""Cutting text into the pieces that no token crosses, as OpenAI's encodings do it.

The patterns stand in ``pieces.toml``. They are written for :mod:`re`, which does not know
``\p{L}``: the sets of characters are put together from :mod:`unicodedata` when they are first
needed, in some 50 ms.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import groupby
from pathlib import Path

from memoranda.text.patterns import compile_pattern, expand

PATTERNS = Path(__file__).with_name("pieces.toml")
# From here to the end there are only marks that select variants, and characters without a
# meaning, which are in none of the sets.
PLANES_END = 0x40000
VARIANT_SELECTORS = ("Mn", (0xE0100, 0xE01EF))


@cache
def pieces(encoding: str) -> re.Pattern[str]:
    """Return the pattern whose matches are the pieces of a text; they cover all of it."""
    return compile_pattern(_patterns()[encoding])


@cache
def _patterns() -> Mapping[str, str]:
    """Return the patterns of the file, each with those before it and the sets put in."""
    read = tomllib.loads(PATTERNS.read_text("utf-8"))
    found = {name: _members(*members) for name, members in read.pop("categories").items()}
    for name, pattern in read.items():
        found[name] = expand(pattern, found)
    return found


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
