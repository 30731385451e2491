"""One form for all the ways in which the same text can be written: of words, and of names.

Compatibility forms, upper case, diacritics, typographic quotes and the digits of
other scripts are differences of writing, not of words. What is kept:

- short i, short u and yi: letters of their own in Cyrillic, not accented vowels.
  But yo becomes ye, as most people write it, and stress marks go.
- the vowel signs of Devanagari, Thai and their relatives, which are vowels.
- the dakuten of Japanese (が is not か).
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from memoranda.text.patterns import compile_pattern

_APOSTROPHES = "\u2018\u2019\u02bc\u055a\ua78c"
_DASHES = "\u2010\u2011\u2013\u2014\u2015\u2212"
_QUOTES = "\u201c\u201d\u201e\u00ab\u00bb"
_INVISIBLE = (
    "\u00ad\u200c\u200d\u200e\u200f\u2060\ufeff"  # hyphenation, joiners, direction
    "\ufe00-\ufe0f\U000e0100-\U000e01ef"  # variants of a glyph
    "\u20d0-\u20f0"  # frames around a character: keycaps
)
_TYPOGRAPHY = dict.fromkeys(_APOSTROPHES, "'") | dict.fromkeys(_DASHES, "-")
_TYPOGRAPHY |= dict.fromkeys(_QUOTES, '"')
_UNUSUAL = compile_pattern(
    rf"[{_APOSTROPHES}{_DASHES}{_QUOTES}]|(?P<invisible>[{_INVISIBLE}]+)|(?P<digit>[^\x00-\x7f\D])"
)
_UNDECOMPOSED = str.maketrans(
    {
        "ø": "o",
        "ł": "l",
        "đ": "d",
        "ð": "d",
        "\u0131": "i",
        "ħ": "h",
        "æ": "ae",
        "œ": "oe",
        "þ": "th",
    }
)
_DIACRITIC = compile_pattern(
    r"[\u0300-\u0305\u0307\u0309-\u036f]"  # Latin, Greek, Cyrillic
    r"|(?<![\u0438\u0443])\u0306|(?<!\u0456)\u0308"  # but not in letters of their own
    r"|[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7]"  # Hebrew points
    r"|[\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed]"
    r"|\u0640"  # Arabic vowels, above, and the letter that only stretches a word
)


def normalize(text: str) -> str:
    """Return ``text`` in one Unicode form, its case kept, with ASCII quotes and digits."""
    if text.isascii():
        return text
    return _UNUSUAL.sub(_usual, unicodedata.normalize("NFKC", text))


def _usual(found: re.Match[str]) -> str:
    """Return the plain form of an unusual character."""
    if found.lastgroup == "digit":
        return str(unicodedata.decimal(found[0]))
    return _TYPOGRAPHY.get(found[0], "")


def lower(word: str) -> str:
    """Return a normalised word in lower case, its diacritics kept."""
    if word.isascii():
        return word.lower()
    return unicodedata.normalize("NFKC", word.casefold())


def fold(word: str) -> str:
    """Return a normalised word in lower case and without diacritics."""
    return word.lower() if word.isascii() else _fold(word)


@lru_cache(maxsize=8192)
def _fold(word: str) -> str:
    """Fold a word beyond ASCII; remembered, because words come again and again."""
    apart = unicodedata.normalize("NFD", word.casefold())
    bare = _DIACRITIC.sub("", apart).translate(_UNDECOMPOSED)
    return unicodedata.normalize("NFKC", bare)


def without_accents(text: str) -> str:
    """Return ``text`` without case and without any combining marks, of whatever script."""
    apart = unicodedata.normalize("NFKD", text)
    return "".join(sign for sign in apart if not unicodedata.combining(sign)).casefold()


_NAME_LETTERS = _UNDECOMPOSED | str.maketrans(dict.fromkeys(f"{_APOSTROPHES}\u00b4`", "'"))
_ACCENTS = compile_pattern("[\u0300-\u036f]+")
_POSSESSIVE = compile_pattern(r"(?<=\w)'s?$")


def fold_name(name: str) -> str:
    """Return the key under which a name is looked up.

    Without case, width, accents (of Latin, Greek and Cyrillic letters; the marks of other
    scripts are letters), possessive and needless spaces. Folding twice changes nothing more.
    """
    folded = name
    while True:
        before = folded
        folded = unicodedata.normalize("NFKC", folded).casefold().translate(_NAME_LETTERS)
        folded = _ACCENTS.sub("", unicodedata.normalize("NFD", folded))
        folded = unicodedata.normalize("NFC", " ".join(folded.split()))
        folded = _POSSESSIVE.sub("", folded).strip()
        if folded == before:
            return folded
