"""Single time expressions: which of them stand in a text, and what each one means.

The patterns stand in ``mul/dates.toml``; the functions here read what they match. The longest
match wins. A reader returns ``None`` where the words only look like a time, and raises
:class:`ValueError` where they are one that cannot be known ("31 February").

Weeks begin on Monday; seasons are those of the northern hemisphere, by whole months.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from typing import Any

from memoranda.text.dates import words as w
from memoranda.text.patterns import LinearMatch as Match
from memoranda.text.patterns import LinearPattern, compile_pattern, expand, load

DAY = timedelta(days=1)

# Where an open past ("before 2020") begins.
EARLIEST_YEAR = 1900

# The first moment of a stretch of time and the first one after it.
Bounds = tuple[datetime, datetime]

# The least and the most that "a few" may be.
FEW_MEANS = (2, 5)
# How far around today the days without a year, month or week are looked for.
_YEARS_AROUND, _MONTHS_AROUND, _WEEKS_AROUND = 80, 5, 54
_MONTHS_A_YEAR = 12
_SATURDAY = 6
_FAR_AHEAD = 30  # years

_INSIDE = compile_pattern(r"[^\W_],?\s+$")


def is_empty(bounds: Bounds) -> bool:
    """Return whether a stretch ends before it begins, whatever the clocks of its zone do."""
    return bounds[0].astimezone(UTC) >= bounds[1].astimezone(UTC)


class RelativeCalendar:
    """Stretches of days around ``now``; all bounds are midnights in its zone."""

    def __init__(self, now: datetime) -> None:
        """Look at the calendar from ``now``."""
        self.now = now
        self.today = now.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)

    def date(self, year: int, month: int = 1, day: int = 1) -> datetime:
        """Return the midnight that begins a day."""
        return datetime(year, month, day, tzinfo=self.now.tzinfo)

    def day_of_year(self, year: int, month: int, day: int) -> Bounds:
        """Return a day by its date."""
        return self.date(year, month, day), self.date(year, month, day) + DAY

    def days(self, offset: int, count: int = 1) -> Bounds:
        """Return ``count`` days, the first one ``offset`` days from today."""
        return self.today + offset * DAY, self.today + (offset + count) * DAY

    def months(self, year: int, month: int, count: int = 1) -> Bounds:
        """Return ``count`` months; a month below 1 or over 12 is one of another year."""
        start, end = 12 * year + month - 1, 12 * year + month - 1 + count
        return self.date(start // 12, start % 12 + 1), self.date(end // 12, end % 12 + 1)

    def unit(self, unit: str, offset: int) -> Bounds:
        """Return the calendar unit that is ``offset`` units from the present one."""
        if unit == "month":
            return self.months(self.now.year, self.now.month + offset)
        if unit == "year":
            return self.months(self.now.year + offset, 1, _MONTHS_A_YEAR)
        if unit == "day":
            return self.days(offset)
        monday = 7 * offset - self.today.weekday()
        return self.days(monday + 5, 2) if unit == "weekend" else self.days(monday, 7)

    def moved(self, day: datetime, unit: str, count: int) -> datetime:
        """Return the day so many units later; of a shorter month the last one."""
        if unit in {"day", "week", "weekend"}:
            return day + count * (1 if unit == "day" else 7) * DAY
        start, end = self.months(day.year, day.month + count * (12 if unit == "year" else 1))
        return min(start + (day.day - 1) * DAY, end - DAY)

    def around(self, unit: str, low: int, high: int) -> Bounds:
        """Return the time ``low`` to ``high`` units away, as exact as the unit is."""
        if unit == "week":
            return self.days(7 * low - 3)[0], self.days(7 * high + 3)[1]
        return self.unit(unit, low)[0], self.unit(unit, high)[1]


@dataclass(frozen=True, slots=True)
class TimeMeaning:
    """What a time expression may mean.

    Attributes:
        options: the stretches of time, in order; several where a year, month or week was not said.
        grain: what it is: day, weekday, week, month, part of one, season, year, …
        needs_cue: whether it means a time only behind a word such as "in" or "since".
        only: ``future`` where the words mean a time only with a verb that looks ahead.
    """

    options: tuple[Bounds, ...]
    grain: str
    needs_cue: bool = False
    only: str = ""


Reader = Callable[..., TimeMeaning | None]

# --- what the parts of a match say -------------------------------------------------------


def _shift(m: Match) -> int | None:
    said = m.get("shift")
    return w.numbered("shifts", -1)[said.lower()] if said else None


def _amount(m: Match) -> tuple[str, int, int]:
    """Return the unit and the least and greatest number of a counted stretch.

    Raises:
        ValueError: it is less than a day.
    """
    unit = w.unit_of(m["u"])
    if unit in {"hour", "minute"}:
        raise ValueError(m[0])
    if m.get("few"):
        return unit, *FEW_MEANS
    count = w.number_of(m.get("n") or "1")
    return ("week", 2 * count, 2 * count) if unit == "fortnight" else (unit, count, count)


def _year(m: Match, c: RelativeCalendar) -> int:
    """Return the year that was said: of "'28" the one in this century, unless that is far ahead."""
    said: str = m["y"]
    year = int(said.lstrip("'\u2019"))
    if said.isdecimal():
        return year
    return year + (2_000 if 2_000 + year <= c.now.year + _FAR_AHEAD else 1_900)


def _yearly(
    m: Match,
    c: RelativeCalendar,
    in_year: Callable[[int], Bounds],
    grain: str = "day",
    *,
    bare: bool = True,
) -> TimeMeaning:
    """Return what recurs each year: in the year said, or by "last" and "next", or in any year.

    Args:
        m: the words.
        c: the calendar.
        in_year: its place in a year; an error where a year has none.
        grain: what it is.
        bare: whether it is a time without another word.

    Raises:
        ValueError: there is no such day.
    """
    if m.get("y"):
        return TimeMeaning((in_year(_year(m, c)),), grain)
    options = []
    for year in range(c.now.year - _YEARS_AROUND, c.now.year + _YEARS_AROUND + 1):
        try:
            options.append(in_year(year))
        except ValueError:  # The 29th of February of another year.
            continue
    shift = _shift(m)
    if shift == 0:
        options = [in_year(c.now.year)]
    elif shift is not None and shift < 0:
        options = [each for each in options if each[1] <= c.now][-1:]
    elif shift is not None:
        options = [each for each in options if each[0] > c.now][:1]
    if not options:
        raise ValueError(m[0])
    return TimeMeaning(tuple(options), grain, needs_cue=not bare and shift is None)


# --- days, months, seasons and years -----------------------------------------------------


def _is_verb(m: Match) -> bool:
    """Return whether "may" or "march" in small letters is no month: a sentence goes on after it."""
    return m["m"] in {"may", "march"} and w.DATES.ends.match(m.string, m.end()) is None


def _read_month_day(m: Match, c: RelativeCalendar) -> TimeMeaning | None:
    """Read a day of a month, or some days of it."""
    if not m.get("y") and _is_verb(m):
        return None
    month, first = w.month_number(m["m"]), w.number_of(m["d"])
    last = w.number_of(m.get("e") or m["d"])
    return _yearly(m, c, lambda year: (c.date(year, month, first), c.date(year, month, last) + DAY))


def _read_numeric(m: Match, c: RelativeCalendar) -> TimeMeaning:
    """Read "5/13/2023"; with points the day comes first."""
    first, second = int(m["a"]), int(m["b"])
    pointed = m.get("sep") == "."
    if not pointed and first != second and max(first, second) <= _MONTHS_A_YEAR:
        raise ValueError("day and month cannot be told apart")
    day, month = (second, first) if not pointed and second > _MONTHS_A_YEAR else (first, second)
    return _yearly(m, c, partial(c.day_of_year, month=month, day=day))


def _read_day_of_month(m: Match, c: RelativeCalendar) -> TimeMeaning | None:
    """Read "the 3rd", of this month or one nearby; who means today says so.

    None where another month stands before it, or something was moved to it from an unknown one.
    """
    before = {word.strip(".,;:") for word in m.string[: m.start()].lower().split()}
    months = w.months().keys() - {*load("en", "dates")["months_and_words"]}
    if before & months or w.DATES.moved.search(m.string[: m.start()]):
        return None
    day, options = w.number_of(m["d"]), []
    for shift in range(-_MONTHS_AROUND, _MONTHS_AROUND + 1):
        start, end = c.months(c.now.year, c.now.month + shift)
        start += (day - 1) * DAY
        if start < end and start != c.today:
            options.append((start, start + DAY))
    return TimeMeaning(tuple(options), "day", needs_cue=True)


def _read_holiday(m: Match, c: RelativeCalendar) -> TimeMeaning:
    """Read a day with a name."""
    names = load("en", "dates")["holidays"]
    fits = (compile_pattern(name, re.IGNORECASE).fullmatch(m["holiday"]) for name, _, _ in names)
    month, day = next(date for (_, *date), found in zip(names, fits, strict=True) if found)
    return _yearly(m, c, partial(c.day_of_year, month=month, day=day), bare=False)


def _read_month(m: Match, c: RelativeCalendar) -> TimeMeaning | None:
    """Read a month, or the beginning, middle or end of one; "this may" is none."""
    name = m["m"].lower()
    if name == "mars" and not w.DATES.french_march.search(m.string):
        return None  # A planet, or a chocolate bar.
    dated = (m.get("y") or m.get("shift")) and not m.get("phase")
    if (dated and _is_verb(m)) or (m["m"] == "may" and (m.get("shift") or "").lower() == "this"):
        return None
    in_year = partial(c.months, month=w.month_number(name))
    part = m.get("phase") is not None
    return _yearly(m, c, in_year, "part" if part else "month", bare=part)


def _read_season(m: Match, c: RelativeCalendar) -> TimeMeaning:
    """Read a season: of a winter, the year is that in which it begins."""
    season = w.seasons()[m["season"].lower()]
    return _yearly(m, c, lambda year: c.months(year, 3 * season, 3), "season", bare=False)


def _read_year(m: Match, c: RelativeCalendar) -> TimeMeaning | None:
    """Read a number that is a year, unless it counts or names something else."""
    if w.DATES.counted.search(m.string[: m.start()]):
        return None
    return TimeMeaning((c.months(int(m["y"]), 1, _MONTHS_A_YEAR),), "year", needs_cue=True)


# --- weekdays ----------------------------------------------------------------------------


def _read_weekday(m: Match, c: RelativeCalendar) -> TimeMeaning:
    """Read a weekday: any near one, or that of "last" and "next"."""
    days, shift = w.weekday_number(m["day"]) - c.today.isoweekday(), _shift(m)
    if shift is None:
        weeks = range(-_WEEKS_AROUND, _WEEKS_AROUND + 1)
        near = tuple(c.days(days + 7 * each) for each in weeks)
        return TimeMeaning(near, "weekday", needs_cue=True)
    return TimeMeaning((c.days(days % 7 - 7 if shift < 0 else days + 7 * shift),), "weekday")


def _read_weekday_on(m: Match, c: RelativeCalendar) -> TimeMeaning:
    """Read "a week on Friday", "Friday week"."""
    days = w.weekday_number(m["day"]) - c.today.isoweekday()
    return TimeMeaning((c.days((days - 1) % 7 + 1 + 7 * _amount(m)[2]),), "day")


def _read_weekday_of_week(m: Match, c: RelativeCalendar, shift: int | None = None) -> TimeMeaning:
    """Read "Friday of next week"."""
    week = c.unit("week", (_shift(m) or 0) if shift is None else shift)
    start = week[0] + (w.weekday_number(m["day"]) - 1) * DAY
    return TimeMeaning(((start, start + DAY),), "day")


# --- units, near and far, and days that count from today ---------------------------------


def _read_unit(m: Match, c: RelativeCalendar, shift: int | None = None) -> TimeMeaning:
    """Read "last week"; of "the week before last", ``shift`` is -2."""
    unit = w.unit_of(m["u"])
    return TimeMeaning((c.unit(unit, (_shift(m) or 0) if shift is None else shift),), unit)


def _read_units_away(m: Match, c: RelativeCalendar, way: str, only: str = "") -> TimeMeaning:
    """Read "two weeks ago" and "in two weeks"."""
    unit, low, high = _amount(m)
    if way == "past":
        low, high = -high, -low
    return TimeMeaning((c.around(unit, low, high),), unit, only=only)


def _read_last_units(m: Match, c: RelativeCalendar) -> TimeMeaning:
    """Read "the last two weeks"."""
    unit, _, count = _amount(m)
    return TimeMeaning(((c.moved(c.today, unit, -count), c.today + DAY),), "span")


def _read_weekend(m: Match, c: RelativeCalendar) -> TimeMeaning:
    """Read "the weekend", the last or the next one, and "this weekend"."""
    begun = c.today.isoweekday() >= _SATURDAY
    options = (c.unit("weekend", 0 if begun else -1), c.unit("weekend", 0))
    return TimeMeaning(options, "weekend", needs_cue=not m["this"])


def _read_named_day(
    m: Match, c: RelativeCalendar, offset: int, only: str = ""
) -> TimeMeaning | None:
    """Read "yesterday", and "a week tomorrow".

    "hier" is French for yesterday and German for here; "morgen" and "mañana" are tomorrow and
    the morning; a capital inside a sentence makes a title.
    """
    word, before = m[0].lower(), m.string[: m.start()]
    if (
        (word == "hier" and w.DATES.german.search(m.string))
        or (word in {"morgen", "mañana"} and w.DATES.morning.search(before))
        or (m[0][0].isupper() and _INSIDE.search(before))
    ):
        return None
    weeks = 0 if m.get("u") is None else _amount(m)[2]
    return TimeMeaning((c.days(offset + 7 * weeks),), "day", only=only)


def _read_refuse(m: Match, _: RelativeCalendar) -> TimeMeaning:
    """Refuse words that hold a time only by half: "over two years ago"."""
    raise ValueError(m[0])


# --- finding them ------------------------------------------------------------------------

# The functions above, as the rules of ``mul/dates.toml`` name them.
_READERS: Mapping[str, Reader] = {
    name.removeprefix("_read_"): reader
    for name, reader in list(globals().items())
    if name.startswith("_read_")
}
# Characters before a time in which what it comes after stands.
_BESIDE = 10
# What stands before and after a time in a script with spaces, and in one without.
_SPACED = r"(?:^|[^\w@#$€£/.-])", r"(?:$|[^\w-]|-(?:$|\W))"
_UNSPACED = "(?:^|[^0-9.])", ""


@dataclass(frozen=True, slots=True)
class TimeRule:
    """How one form of time is found and read.

    Attributes:
        pattern: what it finds; the time itself is the group ``it``.
        read: what reads it.
        arguments: what its reader is told besides.
        beside: what must not come ``then``, and what it must come ``after``, or not.
    """

    pattern: LinearPattern
    read: Reader
    arguments: Sequence[Any]
    beside: Mapping[str, LinearPattern]

    def find(self, text: str) -> Iterator[Match]:
        """Yield the times of this form in a text."""
        place = 0
        while found := self.pattern.search(text, place):
            time = found.within("it")
            place = max(time.end(), time.start() + 1)
            if self._fits(time):
                yield time

    def _fits(self, time: Match) -> bool:
        """Return whether a time may stand where it stands."""
        text, (begin, end) = time.string, time.span()
        if "not_then" in self.beside and self.beside["not_then"].match(text, end):
            return False
        before = max(0, begin - _BESIDE)
        return all(
            (self.beside[name].search(text, before, begin) is not None) == wanted
            for name, wanted in (("after", True), ("not_after", False))
            if name in self.beside
        )


def _rule(row: Sequence[Any], before: str, after: str) -> TimeRule:
    """Return a row of a table as a rule."""
    reader, pattern, *arguments = row
    asked = dict(arguments.pop()) if arguments and isinstance(arguments[-1], Mapping) else {}
    after = asked.pop("then", after)
    beside = {
        name: compile_pattern(expand(each + "$" * name.endswith("after"), w.DATES), re.IGNORECASE)
        for name, each in asked.items()
    }
    source = f"{before}(?P<it>{expand(pattern, w.DATES)}){expand(after, w.DATES)}"
    return TimeRule(compile_pattern(source, re.IGNORECASE), _READERS[reader], arguments, beside)


@cache
def _rules() -> list[TimeRule]:
    """Return the rules in their order."""
    data = load("mul", "dates")
    tables = (("rules", _SPACED), ("named_days", _SPACED), ("unspaced", _UNSPACED))
    return [_rule(row, *beside) for name, beside in tables for row in data[name]]


@dataclass(frozen=True, slots=True)
class TimeExpression:
    """A time expression and where it stands in the text."""

    begin: int
    finish: int
    found: TimeMeaning


def find_expressions(text: str, calendar: RelativeCalendar) -> list[TimeExpression]:
    """Return the time expressions of a text, the longest first chosen, in order.

    What cannot be known ("31 February") is no time, and neither are parts of it.
    """
    matches = [(m, rule) for rule in _rules() for m in rule.find(text)]
    matches.sort(key=lambda each: (each[0].start() - each[0].end(), each[0].start()))
    taken: list[tuple[int, int]] = []
    found = []
    for match, rule in matches:
        begin, finish = match.span()
        if any(begin < last and first < finish for first, last in taken):
            continue
        try:
            meaning = rule.read(match, calendar, *rule.arguments)
        except (ValueError, OverflowError, LookupError):
            taken.append((begin, finish))
            continue
        if meaning is not None:
            taken.append((begin, finish))
            found.append(TimeExpression(begin, finish, meaning))
    return sorted(found, key=lambda each: each.begin)
