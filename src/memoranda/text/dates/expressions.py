"""Single time expressions: which of them stand in a text, and what each one means.

The patterns stand in ``mul/dates.toml``; the functions here read what they match. The longest
match wins. A reader returns ``None`` where the words only look like a time, and raises
:class:`ValueError` where they are one that cannot be known ("31 February").

Stretches of time around a moment, as words such as "last week" and "May" name them.

Weeks begin on Monday; seasons are those of the northern hemisphere, by whole months.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from typing import Any

from memoranda.text.dates import words as w
from memoranda.text.linear_patterns import LinearMatch, LinearPattern
from memoranda.text.patterns import compile_pattern, expand, load

DAY = timedelta(days=1)
MONTHS_IN = {"month": 1, "quarter": 3, "year": 12}

# Where an open past ("before 2020") begins.
EARLIEST_YEAR = 1900

# The first moment of a stretch of time and the first one after it.
Bounds = tuple[datetime, datetime]
# Places a stretch that recurs each year.
InYear = Callable[[int], Bounds]


def is_empty(bounds: Bounds) -> bool:
    """Return whether a stretch ends before it begins, whatever the clocks of its zone do."""
    return bounds[0].astimezone(UTC) >= bounds[1].astimezone(UTC)


def spread(first: InYear, last: InYear) -> InYear:
    """Return a stretch of each year, from one to another, that may reach into the next year."""

    def in_year(year: int) -> Bounds:
        since, until = first(year)[0], last(year)[1]
        return since, until if until > since else last(year + 1)[1]

    return in_year


class RelativeCalendar:
    """Stretches of days around ``now``; all bounds are midnights in its zone."""

    def __init__(self, now: datetime) -> None:
        """Look at the calendar from ``now``."""
        self.now = now
        self.today = now.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)

    def date(self, year: int, month: int = 1, day: int = 1) -> datetime:
        """Return the midnight that begins a day."""
        return datetime(year, month, day, tzinfo=self.now.tzinfo)

    def days(self, offset: int, count: int = 1) -> Bounds:
        """Return ``count`` days, the first one ``offset`` days from today."""
        return self.today + offset * DAY, self.today + (offset + count) * DAY

    def months(self, year: int, month: int, count: int = 1) -> Bounds:
        """Return ``count`` months; a month below 1 or over 12 is one of another year."""
        start, end = 12 * year + month - 1, 12 * year + month - 1 + count
        return self.date(start // 12, start % 12 + 1), self.date(end // 12, end % 12 + 1)

    def season(self, year: int, season: int) -> Bounds:
        """Return a season: 1 is spring, 4 the winter that begins in ``year``."""
        return self.months(year, 3 * season, 3)

    def unit(self, unit: str, offset: int) -> Bounds:
        """Return the calendar unit that is ``offset`` units from the present one."""
        year, month = self.now.year, self.now.month
        if unit == "month":
            return self.months(year, month + offset)
        if unit == "quarter":
            return self.months(year, 3 * ((month - 1) // 3 + offset) + 1, 3)
        if unit == "year":
            return self.months(year + offset, 1, 12)
        if unit == "day":
            return self.days(offset)
        monday = 7 * offset - self.today.weekday()
        return self.days(monday + 5, 2) if unit == "weekend" else self.days(monday, 7)

    def moved(self, day: datetime, unit: str, count: int) -> datetime:
        """Return the day so many units later; of a shorter month the last one."""
        if unit not in MONTHS_IN:
            return day + count * (1 if unit == "day" else 7) * DAY
        start, end = self.months(day.year, day.month + count * MONTHS_IN[unit])
        return min(start + (day.day - 1) * DAY, end - DAY)

    def around(self, unit: str, low: int, high: int) -> Bounds:
        """Return the time ``low`` to ``high`` units away, as exact as the unit is."""
        if unit == "week":
            return self.days(7 * low - 3)[0], self.days(7 * high + 3)[1]
        return self.unit(unit, low)[0], self.unit(unit, high)[1]

    def latest(self, in_year: InYear) -> Bounds:
        """Return the latest occurrence of a yearly stretch that has begun."""
        for year in range(self.now.year, self.now.year - 9, -1):
            try:
                bounds = in_year(year)
            except ValueError:  # The 29th of February of another year.
                continue
            if bounds[0] <= self.now:
                return bounds
        raise ValueError("no such day in any year")

    def shifted(self, in_year: InYear, shift: int) -> Bounds:
        """Return the occurrence that is over (-1), of this year (0) or to come (1)."""
        year = self.now.year
        if shift == 0:
            return in_year(year)
        if shift < 0:
            return next(b for y in (year, year - 1, year - 2) if (b := in_year(y))[1] <= self.now)
        return next(b for y in (year, year + 1) if (b := in_year(y))[0] > self.now)


# The least and the most that "a few" may be.
FEW_MEANS = (2, 5)
_MONTHS_A_YEAR = 12
_SATURDAY, _SUNDAY = 6, 7
_FAR_AHEAD = 30  # years
_NEARBY_MONTHS = range(-5, 6)

_INSIDE = compile_pattern(r"[^\W_],?\s+$")

Match = LinearMatch


@dataclass(frozen=True, slots=True)
class TimeMeaning:
    """The meaning of a time expression: a span, and its precision.

    Attributes:
        bounds: the stretch of time.
        grain: what it is: day, weekday, week, month, season, year, …
        needs_cue: whether it means a time only behind a word such as "in" or "since".
        in_year: the same in another year, where no year was said.
        options: other times that the words may mean, where the tense decides.
        only: ``future`` where the words mean a time only with a verb that looks ahead.
    """

    bounds: Bounds
    grain: str
    needs_cue: bool = False
    in_year: InYear | None = None
    options: tuple[Bounds, ...] = ()
    only: str = ""


@dataclass(frozen=True, slots=True)
class TimeExpression:
    """A time expression and where it stands in the text."""

    begin: int
    finish: int
    found: TimeMeaning


Reader = Callable[..., TimeMeaning | None]
# --- what the parts of a match say -------------------------------------------------------


def _shift(m: Match) -> int | None:
    said = m.get("shift")
    return w.shifts()[said.lower()] if said else None


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
    said = m.get("n")
    count = w.number_of(said) if said else 1
    return ("week", 2 * count, 2 * count) if unit == "fortnight" else (unit, count, count)


def _year(m: Match, c: RelativeCalendar) -> int:
    """Return the year that was said: of "'28" the one in this century, unless that is far ahead."""
    said: str = m["y"]
    year = int(said.lstrip("'\u2019"))
    if said.isdecimal():
        return year
    return year + (2_000 if 2_000 + year <= c.now.year + _FAR_AHEAD else 1_900)


def _day(c: RelativeCalendar, year: int, month: int, day: int) -> Bounds:
    start = c.date(year, month, day)
    return start, start + DAY


def _yearly(m: Match, c: RelativeCalendar, in_year: InYear, grain: str = "day") -> TimeMeaning:
    """Place a stretch that recurs each year: in the year said, or the latest."""
    if m.get("y"):
        return TimeMeaning(in_year(_year(m, c)), grain)
    return TimeMeaning(c.latest(in_year), grain, in_year=in_year)


def _recurring(m: Match, c: RelativeCalendar, in_year: InYear, grain: str) -> TimeMeaning:
    """Place "last May" and "May 2023"; without a year it needs a word that makes it a time."""
    if (shift := _shift(m)) is not None:
        return TimeMeaning(c.shifted(in_year, shift), grain)
    return replace(_yearly(m, c, in_year, grain), needs_cue=m.get("y") is None)


# --- days and months ---------------------------------------------------------------------


def _is_verb(m: Match) -> bool:
    """Return whether "may" or "march" in small letters is no month: a sentence goes on after it."""
    return m["m"] in {"may", "march"} and w.DATES.ends.match(m.string, m.end()) is None


def _read_month_day(m: Match, c: RelativeCalendar) -> TimeMeaning | None:
    """Read a day of a month, or some days of it."""
    if not m.get("y") and _is_verb(m):
        return None
    month = w.month_number(m["m"])
    first, last = int(m["d"]), int(m.get("e") or m["d"])
    return _yearly(m, c, lambda year: (c.date(year, month, first), c.date(year, month, last) + DAY))


def _read_numeric(m: Match, c: RelativeCalendar) -> TimeMeaning:
    """Read "5/13/2023"; with points the day comes first."""
    first, second = int(m["a"]), int(m["b"])
    pointed = m.get("sep") == "."
    if not pointed and first != second and max(first, second) <= _MONTHS_A_YEAR:
        raise ValueError("day and month cannot be told apart")
    american = not pointed and second > _MONTHS_A_YEAR
    month, day = (first, second) if american else (second, first)
    return _yearly(m, c, lambda year: _day(c, year, month, day))


def _read_nth_of_month(m: Match, c: RelativeCalendar) -> TimeMeaning:
    """Read "the third of May"."""
    month, day = w.month_number(m["m"]), w.ordinals()[m["word"].lower()]
    return _yearly(m, c, lambda year: _day(c, year, month, day))


def _read_day_of_month(m: Match, c: RelativeCalendar) -> TimeMeaning:
    """Read "the 3rd", of this month or one nearby."""
    day = int(m["d"]) if m.get("d") else w.ordinals()[m["word"].lower()]
    options = []
    for shift in _NEARBY_MONTHS:
        start, end = c.months(c.now.year, c.now.month + shift)
        if start + (day - 1) * DAY < end:
            options.append((start + (day - 1) * DAY, start + day * DAY))
    return TimeMeaning(options[0], "day", needs_cue=True, options=tuple(options))


def _read_weekday_nth(m: Match, c: RelativeCalendar) -> TimeMeaning:
    """Read "Friday the 3rd"."""
    number = w.weekday_number(m["wd"].lower())
    found = _read_day_of_month(m, c)
    options = tuple(bounds for bounds in found.options if bounds[0].isoweekday() == number)
    if not options:
        raise ValueError(m[0])
    return replace(found, options=options, needs_cue=False)


def _read_holiday(m: Match, c: RelativeCalendar) -> TimeMeaning:
    """Read a day with a name."""
    month, day = next(
        (month, day)
        for name, month, day in load("en", "dates")["holidays"]
        if compile_pattern(name, re.IGNORECASE).fullmatch(m["holiday"])
    )

    return _recurring(m, c, lambda year: _day(c, year, month, day), "day")


def _read_month(m: Match, c: RelativeCalendar) -> TimeMeaning | None:
    """Read a month, or the beginning, middle or end of one."""
    if m["m"].lower() == "mars" and not w.DATES.french_march.search(m.string):
        return None  # A planet, or a chocolate bar.
    month = w.month_number(m["m"])
    phase = (m.get("phase") or "").lower()[:3]
    if m.get("y") and not phase and _is_verb(m):
        return None

    def in_year(year: int) -> Bounds:
        start, end = c.months(year, month)
        if phase[:2] in {"mi", "me"}:
            return start + 10 * DAY, start + 20 * DAY
        if phase in {"lat", "end", "fin"}:
            return start + 20 * DAY, end
        return start, start + 10 * DAY if phase else end

    found = _yearly(m, c, in_year, "month")
    return replace(found, needs_cue=not phase and m.get("y") is None)


def _read_shifted_month(m: Match, c: RelativeCalendar) -> TimeMeaning | None:
    """Read "last May"; "this may" is none."""
    if m["shift"].lower() == "this" and (m["m"] == "may" or _is_verb(m)):
        return None
    month = w.month_number(m["m"])
    return _recurring(m, c, lambda year: c.months(year, month), "month")


def _read_season(m: Match, c: RelativeCalendar) -> TimeMeaning:
    """Read a season."""
    season = w.seasons()[m["season"].lower()]
    return _recurring(m, c, lambda year: c.season(year, season), "season")


def _read_weekday_of_month(m: Match, c: RelativeCalendar) -> TimeMeaning:
    """Read "the last Sunday in September"."""
    number, which = w.weekday_number(m["day"].lower()), w.week_ordinals()[m["k"].lower()]
    month = w.month_number(m["m"])

    def in_year(year: int) -> Bounds:
        start, end = c.months(year, month)
        first = start + (number - start.isoweekday()) % 7 * DAY
        last = end - DAY - ((end - DAY).isoweekday() - number) % 7 * DAY
        day = first + 7 * (which - 1) * DAY if which > 0 else last
        return day, day + DAY

    return _yearly(m, c, in_year)


# --- years and their parts ---------------------------------------------------------------


def _read_quarter(m: Match, c: RelativeCalendar) -> TimeMeaning:
    """Read "Q3"."""
    return _recurring(m, c, lambda year: c.months(year, 3 * int(m["q"]) - 2, 3), "quarter")


def _read_year(m: Match, c: RelativeCalendar) -> TimeMeaning | None:
    """Read a number that is a year, unless it counts or names something else."""
    if w.DATES.counted.search(m.string[: m.start()]):
        return None
    return TimeMeaning(c.months(int(m["y"]), 1, 12), "year")


def _read_decade(m: Match, c: RelativeCalendar) -> TimeMeaning:
    """Read "the 1990s"."""
    return TimeMeaning(c.months(int(m["decade"] + "0"), 1, 120), "decade")


def _read_part_of_year(m: Match, c: RelativeCalendar) -> TimeMeaning:
    """Read "early 2023"."""
    part = m["part"].lower()
    month = 9 if part.startswith("end") else {"e": 1, "b": 1, "s": 1, "m": 5, "l": 9}[part[0]]
    return TimeMeaning(c.months(int(m["y"]), month, 4), "span")


# --- weekdays ----------------------------------------------------------------------------


def _read_weekday(m: Match, c: RelativeCalendar) -> TimeMeaning:
    """Read a weekday: the last or next one as the tense says, or that of "last" and "next"."""
    number, today = w.weekday_number(m["day"].lower()), c.today.isoweekday()
    shift = _shift(m)
    if shift is None:
        options = (c.days((number - today) % 7 - 7), c.days((number - today - 1) % 7 + 1))
        return TimeMeaning(options[0], "weekday", needs_cue=True, options=options)
    offset = (number - today) % 7 - 7 if shift < 0 else number - today + 7 * shift
    return TimeMeaning(c.days(offset), "weekday")


def _read_weekday_with_hour(m: Match, c: RelativeCalendar) -> TimeMeaning:
    """Read a weekday before an hour, which needs no other word: "Monday 3:30pm"."""
    return replace(_read_weekday(m, c), needs_cue=False)


def _read_weekday_on(m: Match, c: RelativeCalendar, weeks: int = 0) -> TimeMeaning:
    """Read "a week on Friday"; the last Friday with -1 week, and the next one with none."""
    number, today = w.weekday_number(m["day"].lower()), c.today.isoweekday()
    if m.get("u"):
        said = m.get("n")
        weeks = (w.number_of(said) if said else 1) * (2 if w.unit_of(m["u"]) == "fortnight" else 1)
    first = (number - today) % 7 if weeks < 0 else (number - today - 1) % 7 + 1
    return TimeMeaning(c.days(first + 7 * weeks), "day")


def _read_day_on(m: Match, c: RelativeCalendar, offset: int) -> TimeMeaning:
    """Read "a week tomorrow" and "tomorrow week"."""
    weeks = 2 if w.unit_of(m["u"]) == "fortnight" else 1
    return TimeMeaning(c.days(offset + 7 * weeks), "day")


def _read_weekday_of_week(m: Match, c: RelativeCalendar) -> TimeMeaning:
    """Read "Friday of next week"."""
    number = w.weekday_number(m["day"].lower())
    start = c.unit("week", _shift(m) or 0)[0] + (number - 1) * DAY
    return TimeMeaning((start, start + DAY), "day")


# --- units, near and far -----------------------------------------------------------------


def _read_unit(m: Match, c: RelativeCalendar, shift: int | None = None) -> TimeMeaning:
    """Read "last week"; of "the week before last", ``shift`` is -2."""
    unit = w.unit_of(m["u"])
    return TimeMeaning(c.unit(unit, (_shift(m) or 0) if shift is None else shift), unit)


def _read_units_away(m: Match, c: RelativeCalendar, way: str, only: str = "") -> TimeMeaning:
    """Read "two weeks ago" and "in two weeks"."""
    unit, low, high = _amount(m)
    if way == "past":
        low, high = -high, -low
    return TimeMeaning(c.around(unit, low, high), unit, only=only)


def _read_last_units(m: Match, c: RelativeCalendar) -> TimeMeaning:
    """Read "the last two weeks"."""
    unit, _, count = _amount(m)
    return TimeMeaning((c.moved(c.today, unit, -count), c.today + DAY), unit)


def _read_next_units(m: Match, c: RelativeCalendar) -> TimeMeaning:
    """Read "the next two weeks"."""
    unit, _, count = _amount(m)
    return TimeMeaning((c.today + DAY, c.moved(c.today + DAY, unit, count)), "span")


def _read_weekend(m: Match, c: RelativeCalendar) -> TimeMeaning:
    """Read "the weekend", the last or the next one, and "this weekend"."""
    begun = c.today.isoweekday() >= _SATURDAY
    options = (c.unit("weekend", 0 if begun else -1), c.unit("weekend", 0))
    return TimeMeaning(options[1], "weekend", needs_cue=not m["this"], options=options)


def _read_last_week(_: Match, c: RelativeCalendar) -> TimeMeaning:
    """Read "last week"."""
    start, end = c.unit("week", -1)
    # On a Sunday, those whose weeks begin on Sundays mean the six days before as well.
    return TimeMeaning((start, end if c.today.isoweekday() < _SUNDAY else c.today), "week")


def _read_rest_of_unit(m: Match, c: RelativeCalendar) -> TimeMeaning:
    """Read "later this week" and "earlier this month"."""
    start, end = c.unit(w.unit_of(m["u"]), _shift(m) or 0)
    if m["part"].lower() == "later":
        return TimeMeaning((max(start, c.today), end), "span")
    return TimeMeaning((start, min(end, c.today + DAY)), "span")


# --- days that count from today ----------------------------------------------------------


def _read_named_day(m: Match, c: RelativeCalendar, offset: int) -> TimeMeaning | None:
    """Read "yesterday".

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
    return TimeMeaning(c.days(offset), "day")


# --- Chinese -----------------------------------------------------------------------------


def _read_zh_date(m: Match, c: RelativeCalendar) -> TimeMeaning:
    """Read 2023年5月8日."""
    month = w.number_of(m["m"])

    def in_year(year: int) -> Bounds:
        return _day(c, year, month, w.number_of(m["d"])) if m["d"] else c.months(year, month)

    grain = "day" if m["d"] else "month"
    if m["rel"]:
        return TimeMeaning(in_year(c.now.year + w.chinese("relative_years")[m["rel"]]), grain)
    return _yearly(m, c, in_year, grain)


def _read_zh_year(m: Match, c: RelativeCalendar) -> TimeMeaning:
    """Read 去年 and 2023年春天."""
    year = int(m["y"]) if m["y"] else c.now.year + w.chinese("relative_years")[m["rel"]]
    if m["season"]:
        return TimeMeaning(c.season(year, w.seasons()[m["season"] + "天"]), "season")
    return TimeMeaning(c.months(year, 1, 12), "year")


def _read_zh_unit(m: Match, c: RelativeCalendar) -> TimeMeaning:
    """Read 上周 and 下周五."""
    shift = w.chinese("relative_units")[m["shift"]]
    if m.get("day") is None:
        unit = "month" if m.get("u") == "月" else "week"
        return TimeMeaning(c.unit(unit, shift), unit)
    if m["day"] == "末":
        return TimeMeaning(c.unit("weekend", shift), "weekend")
    start = c.unit("week", shift)[0] + "一二三四五六日天".index(m["day"]) % 7 * DAY
    if m["day"] == "天":
        start = c.unit("week", shift)[1] - DAY
    return TimeMeaning((start, start + DAY), "day")


def _read_zh_day(m: Match, c: RelativeCalendar) -> TimeMeaning:
    """Read 前天."""
    return TimeMeaning(c.days(w.chinese("relative_days")[m["day"]]), "day")


# --- what is no time ---------------------------------------------------------------------


def _read_never(_: Match, c: RelativeCalendar) -> TimeMeaning:
    """Read "now", which is a time only as the end of a stretch."""
    return TimeMeaning(c.days(0), "day", only="never")


def _read_refuse(m: Match, _: RelativeCalendar) -> TimeMeaning:
    """Refuse words that hold a time only by half: "over two years ago"."""
    raise ValueError(m[0])


# --- finding them ------------------------------------------------------------------------

# The functions above, as the rules of ``mul/dates.toml`` name them.
_READERS: dict[str, Reader] = {
    name.removeprefix("_read_"): reader
    for name, reader in list(globals().items())
    if name.startswith("_read_")
}


@dataclass(frozen=True, slots=True)
class TimeRule:
    """How one form of time is found and read.

    Attributes:
        pattern: what it finds; the time itself is the group ``it``.
        read: what reads it.
        beside: what must not come ``then``, and what it must come ``after``, or not.
    """

    pattern: LinearPattern
    read: Reader
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
        if time.get("y") and time.end("y") == end and w.DATES.after_number.match(text, end):
            return False
        if "not_then" in self.beside and self.beside["not_then"].match(text, end):
            return False
        before = max(0, begin - _BESIDE)
        return all(
            (self.beside[name].search(text, before, begin) is not None) == wanted
            for name, wanted in (("after", True), ("not_after", False))
            if name in self.beside
        )


# Characters before a time in which what it comes after stands.
_BESIDE = 10
# What stands before and after a time in a script with spaces, and in one without.
_SPACED = r"(?:^|[^\w@#$€£/.-])", r"(?:$|[^\w-]|-(?:$|\W))"
_UNSPACED = "(?:^|[^0-9.])", ""


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
    read = _READERS[reader]
    return TimeRule(
        compile_pattern(source, re.IGNORECASE),
        partial(_read_with, read, tuple(arguments)) if arguments else read,
        beside,
    )


def _read_with(
    read: Reader, arguments: tuple[Any, ...], m: Match, c: RelativeCalendar
) -> TimeMeaning | None:
    """Read a time with the arguments that a rule gives."""
    return read(m, c, *arguments)


@cache
def _rules() -> list[TimeRule]:
    """Return the rules in their order."""
    tables = [(name, _SPACED) for name in ("of_days", "of_spans", "named_days", "parts_of_days")]
    tables += [(name, _UNSPACED) for name in ("unspaced", "parts_of_days")]
    data = load("mul", "dates")
    return [_rule(row, *beside) for name, beside in tables for row in data[name]]


def matches(text: str) -> list[tuple[Match, Reader]]:
    """Return what the rules match in ``text``, the longest first."""
    found = [(m, rule.read) for rule in _rules() for m in rule.find(text)]
    return sorted(found, key=lambda one: (one[0].start() - one[0].end(), one[0].start()))
