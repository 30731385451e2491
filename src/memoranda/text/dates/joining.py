"""How time expressions that belong together make one: ranges, offsets, one inside another."""

from __future__ import annotations

from dataclasses import replace

from memoranda.text.dates import words as w
from memoranda.text.dates.expressions import (
    DAY,
    Bounds,
    RelativeCalendar,
    TimeExpression,
    TimeMeaning,
    spread,
)

# How far before a time expression the words that govern it are looked for.
REACH = 40

_FRIDAY = 5


def has_offset(text: str, atom: TimeExpression) -> bool:
    """Return whether words such as "two days before" stand before ``atom``."""
    return w.DATES.offset.search(text, max(0, atom.begin - REACH), atom.begin) is not None


def join_stretch(first: TimeMeaning, second: TimeMeaning) -> TimeMeaning:
    """Return the time from ``first`` to ``second``; a year said once holds for both."""
    start, end = first.bounds[0], second.bounds[1]
    one, other = first.in_year, second.in_year
    if one and other:
        in_year = spread(one, other)
        return replace(second, bounds=in_year(start.year), in_year=in_year)
    if one:
        # The year is that of the second, or the one before: "November to March 2023".
        start = one(second.bounds[0].year)[0]
        if start > second.bounds[0]:
            start = one(second.bounds[0].year - 1)[0]
    options = tuple(
        (since, until if until > since else until + 7 * DAY)
        for (since, _), (_, until) in zip(first.options, second.options, strict=False)
    )
    return replace(second, bounds=(start, end), options=options)


def intersect_times(one: TimeMeaning, other: TimeMeaning) -> TimeMeaning | None:
    """Return what two expressions for the same time mean, if they agree."""
    for inner, outer in ((one, other), (other, one)):
        bounds: Bounds = inner.bounds
        if inner.in_year and outer.grain == "year":
            bounds = inner.in_year(outer.bounds[0].year)
        if inner.grain == "weekday" and outer.grain == "week":
            start = outer.bounds[0] + bounds[0].weekday() * DAY
            bounds = (start, start + DAY)
        if outer.bounds[0] <= bounds[0] and bounds[1] <= outer.bounds[1]:
            return replace(inner, bounds=bounds, in_year=None, options=())
    return None


def apply_offset(query: str, atom: TimeExpression) -> TimeExpression:
    """Apply "two days before", "the Sunday after", "the week of" to a date.

    Raises:
        ValueError: the words name a time that cannot be known.
    """
    match = w.DATES.offset.search(query, max(0, atom.begin - REACH), atom.begin)
    if match is None:
        return atom
    word = " ".join((match["one"] or match["u"]).lower().split())
    count = w.number_of(match["n"]) if match["n"] else 1
    (start, end), way = atom.found.bounds, match["way"].lower()
    if way == "from" and not match["n"]:
        return atom
    if way == "of" and (match["n"] or not start < end <= start + DAY):
        raise ValueError(match[0])
    number = w.weekdays().get(word)
    if number is not None:
        if way == "before":
            start -= ((start.isoweekday() - number - 1) % 7 + 1) * DAY
        else:
            start = end + (number - end.isoweekday()) % 7 * DAY
        bounds = (start, start + DAY)
    elif way == "of":
        bounds = RelativeCalendar(start).unit(w.unit_of(word), 0)
    else:
        bounds = _away(atom.found.bounds, w.unit_of(word), -count if way == "before" else count)
    found = replace(atom.found, bounds=bounds, in_year=None, options=(), needs_cue=False)
    if number is None and w.unit_of(word) == "week":
        found = replace(found, grain="week")
    return TimeExpression(match.start(), atom.finish, found)


def _away(bounds: Bounds, unit: str, count: int) -> Bounds:
    """Return the time ``count`` units before (negative) or after ``bounds``."""
    start, end = bounds
    if unit == "weekend":
        week_has_begun = count > 0 and start.isoweekday() <= _FRIDAY
        return RelativeCalendar(start).unit(unit, count - 1 if week_has_begun else count)
    if unit == "week" and abs(count) == 1:
        return (start - 7 * DAY, start) if count < 0 else (end, end + 7 * DAY)
    return RelativeCalendar(start).around(unit, count, count)
