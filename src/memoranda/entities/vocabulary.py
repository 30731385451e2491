"""The words and names that the rules know, and whether a word is an everyday one."""

from __future__ import annotations

from functools import cache, lru_cache

from memoranda.text.calendar import calendar_numbers
from memoranda.text.languages import WordLists, words_of
from memoranda.text.patterns import compile_pattern

names = WordLists("names")
"""What stands in names and around them, by what it tells."""

_PLAIN_WORD_END = compile_pattern(
    r"\w{3,}(?:ing|in['’]|ly|ed|[ts]ions?|ness|ments?|ful|less|[ai]ble|ous|ives?|ism|ized?|"
    r"ify|ship|hood|[ae]nces?|ity|ities|ional|ually|ology|ward|wise|ize)"
)
_NEGATION = compile_pattern(r"n['’]t$")
_SHORTEST_STEM = 3
_ENDINGS = ("s", "es", "ed", "d", "ing", "in", "er", "ers", "r", "ly", "y")
INTERJECTION = compile_pattern(
    r"b?w?u?a*h?(?:h[aeio]){2,}h?|[aeh]{4,}|.*([^\W\d])\1\1.*|[^aeiouy\W\d]{3,}|xo+|[ae]h+|[uho]+h?m+"
)


def given_names() -> frozenset[str]:
    """Return well-known given names."""
    return words_of("given_names")


def places() -> frozenset[str]:
    """Return well-known countries, regions and cities."""
    return words_of("places")


def organizations() -> frozenset[str]:
    """Return well-known organizations and brands."""
    return words_of("organizations")


def products() -> frozenset[str]:
    """Return well-known products and projects."""
    return words_of("products")


@cache
def known_names() -> frozenset[str]:
    """Return all well-known names."""
    return given_names() | places() | organizations() | products()


def everyday_words() -> frozenset[str]:
    """Return the English words that are no names, without their inflections."""
    return words_of("everyday", "en")


@cache
def date_words() -> frozenset[str]:
    """Return the names of months and days, which are no names of things."""
    weekdays = calendar_numbers("weekdays", "en", "de")
    months = {**calendar_numbers("months", "en", "de"), **calendar_numbers("short_months", "en")}
    days = {*weekdays, *(f"{day}s" for day in calendar_numbers("weekdays", "en"))}
    return names.holidays.union(months, days, calendar_numbers("short_weekdays", "en"))


@lru_cache(maxsize=8_192)
def is_common(word: str) -> bool:
    """Return whether ``word``, in any inflection, is an everyday word rather than a name."""
    low = word.lower()
    if low in words_of("everyday") or low in names.demonyms or _NEGATION.search(low):
        return True
    stems = (low.removesuffix(ending) for ending in _ENDINGS if low.endswith(ending))
    return any(len(stem) >= _SHORTEST_STEM and _is_stem(stem) for stem in stems)


def _is_stem(stem: str) -> bool:
    """Return whether an everyday word is left when an ending is taken away."""
    common = everyday_words()
    if stem in common or stem + "e" in common:
        return True
    doubled = stem[-1] == stem[-2] and stem[:-1] in common
    return doubled or (stem[-1] == "i" and stem[:-1] + "y" in common)


def is_plain(word: str) -> bool:
    """Return whether a word is an everyday one, or ends like a word that is no name."""
    return is_common(word) or _PLAIN_WORD_END.fullmatch(word.lower()) is not None


def is_interjection(word: str) -> bool:
    """Return whether a word is only a sound: "Hahaha", "Nooo", "Hmm"."""
    return INTERJECTION.fullmatch(word.lower()) is not None
