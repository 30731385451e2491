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
from memoranda.text.linear_patterns import LinearPattern
from memoranda.text.patterns import LanguageData, compile_pattern, expand, languages_with, load

_TENS = "十"
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
def _numbered(name: str, first: int) -> Mapping[str, int]:
    """Return the words of a list of lists, the first of which are numbered ``first``."""
    rows = (row for file in _spoken() for row in enumerate(file.get(name, ()), start=first))
    return {word: number for number, words in rows for word in words}


def numbers() -> Mapping[str, int]:
    """Return the words for the numbers from one to twelve."""
    return _numbered("numbers", 1)


def shifts() -> Mapping[str, int]:
    """Return the words for what is over (-1), present (0) and to come (1)."""
    return _numbered("shifts", -1)


@cache
def units() -> Mapping[str, str]:
    """Return the words for a day, a week and so on, with the English name of each."""
    return {
        word: unit for file in _spoken() for unit, each in file["units"].items() for word in each
    }


@cache
def ordinals() -> Mapping[str, int]:
    """Return the days of a month that are spelled out."""
    return {word: day for day, word in enumerate(load("en", "dates")["ordinals"], start=1)}


def week_ordinals() -> Mapping[str, int]:
    """Return the words for a week of a month; -1 is the last one."""
    found: Mapping[str, int] = load("en", "dates")["week_ordinals"]
    return found


def chinese(table: str) -> Mapping[str, int]:
    """Return one of the tables of signs that say how far away a unit, a year or a day is."""
    found: Mapping[str, int] = load("zh", "dates")[table]
    return found


def weekday_number(word: str) -> int:
    """Return the number of a weekday by its name or the beginning of its name."""
    return next(number for name, number in weekdays().items() if name.startswith(word))


def month_number(word: str) -> int:
    """Return the number of a month by its name or its figures."""
    return int(word) if word.isdecimal() else months()[word.lower()]


def unit_of(word: str) -> str:
    """Return the English name of a unit of time, whatever white space is in its word."""
    return units()[" ".join(word.lower().split())]


def number_of(text: str) -> int:
    """Return the number that a word or digits of any of the languages stand for."""
    word = " ".join(text.lower().split())
    if word.isdecimal():
        return int(word)
    if word in numbers():
        return numbers()[word]
    tens, _, ones = word.partition(_TENS)
    return 10 * (numbers()[tens] if tens else 1) + (numbers()[ones] if ones else 0)


def _days(*names: str) -> list[str]:
    """Return the words for days, or parts of days, that count from today."""
    return [word for file in _spoken() for name in names for word in file["days"].get(name, ())]


_NAMED_DAYS = ("before_yesterday", "yesterday", "today", "tomorrow", "after_tomorrow")
_PARTS_OF_DAYS = ("last_night", "this_morning", "this_afternoon", "tonight")
_LISTS: Mapping[str, Callable[[], str | Iterable[str]]] = {
    "month": lambda: calendar_numbers("months", *_codes()),
    "any_month": months,
    "sure_month": lambda: set(months()) - set(load("en", "dates")["months_and_words"]),
    "weekday": weekdays,
    "season": seasons,
    "number": numbers,
    "shift_word": shifts,
    "unit": units,
    "long_unit": lambda: [word for word, unit in units().items() if unit not in _UNSHIFTED_UNITS],
    "ordinal": ordinals,
    "week_ordinal": week_ordinals,
    "zh_relative_year": lambda: chinese("relative_years"),
    "zh_day": lambda: chinese("relative_days"),
    "day_word": lambda: _days(*_NAMED_DAYS, *_PARTS_OF_DAYS),
    "any_word": lambda: [*months(), *weekdays(), *seasons(), *units(), *_days(*_NAMED_DAYS)],
    "holiday_name": lambda: "|".join(pattern for pattern, _, _ in load("en", "dates")["holidays"]),
    **{name: partial(_days, name) for name in (*_NAMED_DAYS, *_PARTS_OF_DAYS)},
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
