"""Cue words around a time expression: they confirm it, extend it, or rule it out."""

from __future__ import annotations

from dataclasses import dataclass, replace

from memoranda.text.dates import tense
from memoranda.text.dates import words as w
from memoranda.text.dates.expressions import (
    DAY,
    Bounds,
    RelativeCalendar,
    TimeExpression,
    TimeMeaning,
)
from memoranda.text.dates.joining import REACH

YEARS_AROUND = 8

_INCLUDED = frozenset({"since", "before", "after", "until", "by", "in", "on", "at"})


@dataclass(frozen=True, slots=True)
class TimeCue:
    """A word before a time expression.

    Attributes:
        name: what kind of word it is.
        begin: where the words of the mention begin, this one included if it is part of them.
        word: where the word itself begins.
    """

    name: str
    begin: int
    word: int


def find_cue(text: str, begin: int) -> TimeCue | None:
    """Return the word before ``begin`` that makes what follows a time, or opens it."""
    if tense.is_moved(text, begin):
        # "Postponed until June 22" is that day, and no stretch until then.
        return TimeCue("moved", begin, begin)
    window = text[max(0, begin - REACH) : begin]
    for name, pattern in w.cues().items():
        if match := pattern.search(window):
            place = begin - len(window) + match.start()
            opens = name not in {"in", "on", "at"} or not w.DATES.day_words.match(text, begin)
            included = name in _INCLUDED and opens
            if name == "around":
                included = w.DATES.amount_follows.match(text, begin) is not None
            return TimeCue(name, place if included else begin, place)
    return None


def find_suffix(text: str, finish: int) -> tuple[str, int] | None:
    """Return the cue in the words after a time (such as 以前), and where they end."""
    match = w.DATES.suffix.match(text, finish)
    return (str(match.lastgroup), match.end()) if match else None


def is_time(text: str, atom: TimeExpression, cue: TimeCue | None) -> bool:
    """Return whether a bare month, weekday or year is a time here."""
    found, words = atom.found, text[atom.begin : atom.finish]
    window = text[max(0, atom.begin - REACH) : atom.begin]
    if (
        w.DATES.numbered.search(window)
        or (w.DATES.weekdays.match(words) and w.DATES.named.search(window))
        or (words[:5].lower() == "last " and w.DATES.modal.search(window))
        or ((found.in_year or found.options) and _goes_on(text, atom.finish))
    ):
        return False
    if found.grain == "weekday" and found.needs_cue:
        return _is_day(text, atom, cue)
    if found.grain == "year" and words.isdecimal():
        moved = cue is not None and cue.name == "moved" and window.rstrip().endswith("to")
        return cue is not None and cue.name != "on" and not moved
    return not found.needs_cue or (cue is not None and _made_a_time(words, found, cue, window))


def _goes_on(text: str, finish: int) -> bool:
    """Return whether a date without a year is followed by what may be one: "March 8 nineteen"."""
    found = w.DATES.goes_on.match(text, finish)
    return found is not None and not w.DATES.clock_follows.match(text, found.end())


def _made_a_time(words: str, found: TimeMeaning, cue: TimeCue, window: str) -> bool:
    """Return whether the word before a month, season or holiday makes it a time."""
    if found.grain == "month" and cue.name in {"for", "by", "around", "from"}:
        return not w.DATES.person_month.match(words)
    return not w.DATES.named.search(window)


def _is_day(text: str, atom: TimeExpression, cue: TimeCue | None) -> bool:
    """Return whether the name of a weekday stands for a day, and not in a name."""
    window, rest = text[max(0, atom.begin - REACH) : atom.begin], text[atom.finish :]
    word = text[atom.begin : atom.finish]
    if w.DATES.named.search(window):
        return False
    if cue is not None and cue.name in {"on", "since", "until", "by", "before", "after", "from"}:
        return True
    if len(word.rstrip(".")) <= 4:  # noqa: PLR2004 - "Sun", "Wed", "sat" are words as well
        return False
    return bool(word[:1].isupper() and w.DATES.ends.match(rest))


def occurrences(
    found: TimeMeaning, calendar: RelativeCalendar, reach: int = YEARS_AROUND
) -> tuple[Bounds, ...]:
    """Return the dates of a time without a year, in the ``reach`` years around."""
    options = []
    for year in range(calendar.now.year - reach, calendar.now.year + reach + 1):
        try:
            options.append(found.in_year(year) if found.in_year else found.bounds)
        except ValueError:  # The 29th of February of another year.
            continue
    return tuple(options)


def keep_weekday(words: str, options: tuple[Bounds, ...]) -> tuple[Bounds, ...]:
    """Return those of the options that fall on the weekday that the words name, if any."""
    match = w.DATES.weekdays.search(words)
    if match is None or any(until - since != DAY for since, until in options):
        return options
    number = w.weekdays()[match[0].lower()]
    near = options[len(options) // 2 - 1 : len(options) // 2 + 2]
    return tuple(bounds for bounds in near if bounds[0].isoweekday() == number)


def join_beside(
    one: TimeMeaning, other: TimeMeaning, calendar: RelativeCalendar
) -> TimeMeaning | None:
    """Return a weekday with its date as one time: "Friday, May 5"."""
    for weekday, day in ((one, other), (other, one)):
        if weekday.grain != "weekday" or not weekday.needs_cue or day.grain != "day":
            continue
        number = weekday.bounds[0].isoweekday()
        if day.in_year or day.options:
            options = day.options or occurrences(day, calendar, 1)
            kept = tuple(bounds for bounds in options if bounds[0].isoweekday() == number)
            return replace(day, in_year=None, options=kept)
        if day.bounds[0].isoweekday() == number:
            return day
    return None
