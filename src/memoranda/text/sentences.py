"""Where the sentences of a text end. What callers need differently is an argument.

Readers that must know where in a text a sentence stands, or leave out code and quotations, find
their sentences themselves: times (:mod:`memoranda.text.dates.statements`) and facts.
"""

from __future__ import annotations

import re
from functools import cache

from memoranda.text.patterns import compile_pattern

_WIDE = "\u3002\uff01\uff1f"
_TITLES = r"(?<!Dr\.)(?<!Mr\.)(?<!Ms\.)(?<!Mrs\.)"
_CLOSING = r"[\"')\]]*"
_CAPITAL = r"(?=[^\W\d_a-z])"


def cut_sentences(
    text: str,
    *,
    unspaced: bool = True,
    lines: bool = True,
    closing: bool = False,
    capital: bool = False,
    titles: bool = False,
) -> list[str]:
    """Return the sentences of a text in order, none of them empty.

    Args:
        text: prose.
        unspaced: whether the wide marks of Chinese and Japanese need no space behind them.
        lines: whether the end of a line ends a sentence.
        closing: whether quotes and brackets behind the mark are left out.
        capital: whether a sentence begins with a capital, or a letter that has none.
        titles: whether "Dr." and a mark before a number end no sentence.
    """
    ends = _ends(unspaced=unspaced, lines=lines, closing=closing, capital=capital, titles=titles)
    return [sentence for sentence in ends.split(text) if sentence]


@cache
def _ends(
    *, unspaced: bool, lines: bool, closing: bool, capital: bool, titles: bool
) -> re.Pattern[str]:
    """Return the pattern of what stands between sentences."""
    mark = f"(?<=[.!?{'' if unspaced else _WIDE}])"
    before = (_TITLES if titles else "") + (_CLOSING if closing else "")
    after = (r"(?!\d)" if titles else "") + (_CAPITAL if capital else "")
    ends = [rf"{mark}{before}\s+{after}"]
    if lines:
        ends.append(r"\s*\n\s*")
    if unspaced:
        ends.append(f"(?<=[{_WIDE}])")
    return compile_pattern("|".join(ends))
