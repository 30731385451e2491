"""The words and patterns of time expressions, read from the language data.

Five languages share one grammar, so a table of words per idea is enough: a language is added by
adding words. The patterns stand in ``mul/dates.toml``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from typing import Any

from memoranda.text.calendar import calendar_numbers, month_numbers
from memoranda.text.patterns import (
    LanguageData,
    LinearPattern,
    compile_pattern,
    expand,
    languages_with,
    load,
)

_TENS = "十"
_WEEKDAY_SIGNS = "一二三四五六日天"
_SUNDAY = 7
_UNSHIFTED_UNITS = frozenset({"day", "hour", "minute", "fortnight"})


def _codes() -> tuple[str, ...]:
    """Return the languages whose times are read."""
    return tuple(code for code in languages_with("dates") if code != "mul")


def _spoken() -> list[Mapping[str, Any]]:
    """Return the words of each language whose times are read."""
    return [load(code, "dates") for code in _codes()]


def months() -> Mapping[str, int]:
    """Return the full and short names of months."""
    return month_numbers(*_codes())


def weekdays() -> Mapping[str, int]:
    """Return the names of weekdays."""
    return calendar_numbers("weekdays", *_codes())


def seasons() -> Mapping[str, int]:
    """Return the names of seasons."""
    return calendar_numbers("seasons", *_codes())


@cache
def numbered(name: str, first: int) -> Mapping[str, int]:
    """Return the words of a list of lists, the first of which are numbered ``first``."""
    rows = (row for file in _spoken() for row in enumerate(file.get(name, ()), start=first))
    return {word: number for number, words in rows for word in words}


@cache
def units() -> Mapping[str, str]:
    """Return the words for a day, a week and so on, with the English name of each."""
    return {
        word: unit for file in _spoken() for unit, each in file["units"].items() for word in each
    }


def weekday_number(word: str) -> int:
    """Return the number of a weekday by its name, the beginning of its name or its sign."""
    if word in _WEEKDAY_SIGNS:
        return min(_WEEKDAY_SIGNS.index(word) + 1, _SUNDAY)
    return next(number for name, number in weekdays().items() if name.startswith(word.lower()))


def month_number(word: str) -> int:
    """Return the number of a month by its name or its number."""
    return months().get(word.lower()) or number_of(word)


def unit_of(word: str) -> str:
    """Return the English name of a unit of time, whatever white space is in its word."""
    return units()[" ".join(word.lower().split())]


def number_of(text: str) -> int:
    """Return the number that digits, a word or an ordinal stand for."""
    word = " ".join(text.lower().split())
    if word.isdecimal():
        return int(word)
    if word in (ordinals := load("en", "dates")["ordinals"]):
        return int(ordinals.index(word)) + 1
    if word in (numbers := numbered("numbers", 1)):
        return numbers[word]
    tens, _, ones = word.partition(_TENS)
    return 10 * (number_of(tens) if tens else 1) + (number_of(ones) if ones else 0)


def _days(*names: str) -> list[str]:
    """Return the words for days, or parts of days, that count from today."""
    return [word for file in _spoken() for name in names for word in file["days"].get(name, ())]


_NAMED_DAYS = ("before_yesterday", "yesterday", "today", "tomorrow", "after_tomorrow")
_LISTS: Mapping[str, Callable[[], str | Iterable[str]]] = {
    "month": lambda: calendar_numbers("months", *_codes()),
    "any_month": months,
    "sure_month": lambda: set(months()) - set(load("en", "dates")["months_and_words"]),
    "weekday": weekdays,
    "season": seasons,
    "number": lambda: numbered("numbers", 1),
    "shift_word": lambda: numbered("shifts", -1),
    "unit": units,
    "long_unit": lambda: [word for word, unit in units().items() if unit not in _UNSHIFTED_UNITS],
    "ordinal": lambda: load("en", "dates")["ordinals"],
    "any_word": lambda: [*months(), *weekdays(), *seasons(), *units(), *_days(*_NAMED_DAYS)],
    "holiday_name": lambda: "|".join(pattern for pattern, _, _ in load("en", "dates")["holidays"]),
    **{name: partial(_days, name) for name in (*_NAMED_DAYS, "last_night", "part_of_today")},
}


# The patterns of ``mul/dates.toml``, with the lists of words that they name.
DATES = LanguageData("mul", "dates", _LISTS)


@cache
def cues() -> Mapping[str, LinearPattern]:
    """Return the patterns of the words before a time, by what they make of it, in their order."""
    return {
        name: compile_pattern(expand(pattern, DATES), re.IGNORECASE)
        for name, pattern in load("mul", "dates")["cues"].items()
    }
