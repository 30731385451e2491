"""How much two lines say the same, by their words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher

_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")
_HALF = 0.5
_DENIALS = frozenset({"not", "no", "never", "none", "nor", "without", "t"})  # "t" is of "don't".


def words(text: str) -> tuple[str, ...]:
    """Return the words without case; the characters of scripts that leave no spaces."""
    return tuple(_WORD.findall(text.casefold()))


def alike(first: Sequence[str], second: Sequence[str]) -> float:
    """Return from 0 to 1 how much of two lists of words is the same and in the same order.

    Exact from a half on; below that it may be a little more.
    """
    common = sum((Counter(first) & Counter(second)).values())
    bound = 2 * common / max(len(first) + len(second), 1)
    if bound < _HALF:
        return bound
    return SequenceMatcher(None, first, second, autojunk=False).ratio()


def shared(first: frozenset[str], second: frozenset[str]) -> float:
    """Return the Jaccard index of two sets of words.

    0 where their numbers differ or only one of them denies: one word then makes another
    statement of it.
    """
    if _decisive(first) != _decisive(second):
        return 0.0
    return len(first & second) / max(len(first | second), 1)


def _decisive(found: frozenset[str]) -> frozenset[str]:
    return frozenset(word for word in found if word.isnumeric() or word in _DENIALS)
