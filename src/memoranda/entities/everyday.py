"""Whether a word is an everyday one, in any inflection, rather than a name."""

from __future__ import annotations

import re
from functools import lru_cache

from memoranda.entities import words as w

_PLAIN_WORD_END = re.compile(
    r"\w{3,}(?:ing|in['’]|ly|ed|[ts]ions?|ness|ments?|ful|less|[ai]ble|ous|ives?|ism|ized?|"
    r"ify|ship|hood|[ae]nces?|ity|ities|ional|ually|ology|ward|wise|ize)"
)
_NEGATION = re.compile(r"n['’]t$")
_SHORTEST_STEM = 3
INTERJECTION = re.compile(
    r"b?w?u?a*h?(?:h[aeio]){2,}h?|[aeh]{4,}|.*([^\W\d])\1\1.*|[^aeiouy\W\d]{3,}|xo+|[ae]h+|[uho]+h?m+"
)


@lru_cache(maxsize=8_192)
def is_common(word: str) -> bool:
    """Return whether ``word``, in any inflection, is an everyday word rather than a name."""
    low = word.lower()
    if low in w.COMMON or low in w.FOREIGN_COMMON or low in w.DEMONYMS or _NEGATION.search(low):
        return True
    for ending in ("s", "es", "ed", "d", "ing", "in", "er", "ers", "r", "ly", "y"):
        stem = low.removesuffix(ending)
        if stem != low and len(stem) >= _SHORTEST_STEM and _is_stem(stem):
            return True
    return False


def _is_stem(stem: str) -> bool:
    if stem in w.COMMON or stem + "e" in w.COMMON:
        return True
    doubled = stem[-1] == stem[-2] and stem[:-1] in w.COMMON
    return doubled or (stem[-1] == "i" and stem[:-1] + "y" in w.COMMON)


def is_plain(word: str) -> bool:
    """Tell an everyday word, or one with the ending of a word that is no name."""
    return is_common(word) or _PLAIN_WORD_END.fullmatch(word.lower()) is not None
