"""Cue words before a time expression: they confirm it, open it, or rule it out."""

from __future__ import annotations

from typing import NamedTuple

from memoranda.text.calendar import month_numbers
from memoranda.text.dates import words as w
from memoranda.text.dates.expressions import DAY, Bounds, TimeExpression
from memoranda.text.dates.tense import is_put
from memoranda.text.languages import is_english

# How far before a time expression the words that govern it are looked for.
REACH = 40
# Names of weekdays of so few letters are words as well: "Sun", "Wed", "sat".
_SHORT = 4

_INCLUDED = frozenset({"since", "before", "after", "until", "by", "in", "on", "at"})
_NAMES_A_DAY = frozenset({"on", "since", "until", "by", "before", "after", "from", "put"})
_OF_PEOPLE = frozenset({"for", "by", "around", "from"})


class TimeCue(NamedTuple):
    """A word before a time expression.

    Attributes:
        name: what kind of word it is.
        begin: where it begins.
    """

    name: str
    begin: int


def find_cue(text: str, begin: int) -> TimeCue | None:
    """Return the word before ``begin`` that makes what follows a time, or opens it."""
    window = text[max(0, begin - REACH) : begin]
    for name, pattern in w.cues().items():
        if match := pattern.search(window):
            # "Postponed until June 22" is that day, and no stretch until then.
            put = name == "until" and is_put(text, begin)
            return TimeCue("put" if put else name, begin - len(window) + match.start())
    return TimeCue("put", begin) if is_put(text, begin) else None


def find_begin(text: str, time: TimeExpression, cue: TimeCue | None, bounds: Bounds) -> int:
    """Return where the words of a time begin: with the word before it, where that says when."""
    if cue is None or w.DATES.day_word.match(text, time.begin):
        return time.begin
    several = time.found.grain in {"stretch", "day"} and bounds[1] - bounds[0] > DAY
    return cue.begin if cue.name in _INCLUDED or (cue.name == "from" and several) else time.begin


def is_time(text: str, time: TimeExpression, cue: TimeCue | None) -> bool:
    """Return whether a time stands for itself, and a month, weekday or year for a time at all.

    "Two days before" counts from one; one without a year may go on: "March 8 nineteen …".
    """
    found, words = time.found, text[time.begin : time.finish]
    window = text[max(0, time.begin - REACH) : time.begin]
    goes_on = len(found.options) > 1 and w.DATES.goes_on.match(text, time.finish)
    counted = w.DATES.counted_behind.match(text, time.finish) or _is_foreign(text, words)
    # "She had a fall last week." "They came on the Friday."
    other = {"season": w.DATES.named, "weekday": w.DATES.of_a_week}.get(found.grain)
    long = w.DATES.for_so_long.search(text[max(0, time.begin - REACH) : time.finish])
    if any(
        [
            goes_on,
            counted,
            long,
            other and other.search(window),
            w.DATES.counted_from.search(window),
        ]
    ):
        return False
    if not found.needs_cue:
        return True
    if w.DATES.named.search(window):
        return False
    if found.grain == "weekday" and (cue is None or cue.name not in _NAMES_A_DAY):
        named = words[:1].isupper() and len(words.rstrip(".")) > _SHORT
        return named and w.DATES.ends.match(text, time.finish) is not None
    if found.grain == "year":
        return cue is not None and cue.name not in {"on", "put"}
    is_person = found.grain == "month" and cue is not None and cue.name in _OF_PEOPLE
    return cue is not None and not (is_person and w.DATES.person_month.match(words))


def _is_foreign(text: str, words: str) -> bool:
    """Return whether an English text has a month of another language: "mayo" is no May there."""
    foreign = w.months().keys() - month_numbers("en").keys()
    return not foreign.isdisjoint(words.lower().split()) and is_english(text)
