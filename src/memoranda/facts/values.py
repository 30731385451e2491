"""Values of attributes: in which form they are compared, and when two are the same."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

from memoranda.text.patterns import compile_pattern, languages_with, load

_WORD = compile_pattern(r"[^\W_]+(?:[.@'’+#-]+[^\W_]+)*[+#]*")
_UNSPACED = compile_pattern(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]")


@lru_cache(maxsize=4096)
def value_key(value: str) -> frozenset[str]:
    """Return the words of a value that tell it, without case, accents, articles and pronouns."""
    folded = unicodedata.normalize("NFKD", value.casefold())
    plain = "".join(char for char in folded if not unicodedata.combining(char))
    words = _WORD.findall(plain)
    return frozenset(each for each in words if each not in _small_words()) or frozenset(words)


def same_value(one: str, other: str) -> bool:
    """Return whether two values name the same: ``Dana`` and ``Dana Smith``, ``a Volvo``."""
    if _UNSPACED.search(one) or _UNSPACED.search(other):
        return one in other or other in one
    left, right = value_key(one), value_key(other)
    return bool(left and right) and (left <= right or right <= left)


@lru_cache(maxsize=1)
def _small_words() -> frozenset[str]:
    """Return articles and possessives of all languages, which tell nothing of a value."""
    return frozenset(
        word
        for code in languages_with("facts")
        for word in load(code, "facts")["words"].get("small_words", ())
    )
