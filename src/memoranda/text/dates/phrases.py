"""Time expressions of statements, beside those that questions use too.

A statement tells its time by its verb as well: "on the 3rd" and "over the weekend" have two
meanings each, and the tense chooses. Clock times count on a day, or with a clear tense.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

from memoranda.text.dates import grammar as g
from memoranda.text.dates.atoms import Found, Resolver, month_day, span_of
from memoranda.text.dates.grammar import DAY, Bounds, Calendar

NOON, HALF_DAY = 12, 12
_MINUTE, _HOUR = timedelta(minutes=1), timedelta(hours=1)
_MONTHS_A_YEAR = 12
_SATURDAY, _SUNDAY = 6, 7

ORDINALS = {
    word: number
    for number, word in enumerate(
        g.words("""
            first second third fourth fifth sixth seventh eighth ninth tenth eleventh
            twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth
            nineteenth twentieth twenty-first twenty-second twenty-third twenty-fourth
            twenty-fifth twenty-sixth twenty-seventh twenty-eighth twenty-ninth thirtieth
            thirty-first
        """),
        start=1,
    )
}
_ORDINAL = g.any_of(ORDINALS)
_NTH = rf"(?:(?P<d>{g.DAY_NUMBER})(?:st|nd|rd|th)|(?P<word>{_ORDINAL}))"

HOLIDAYS: dict[str, tuple[int, int]] = {
    r"christmas\s+eve": (12, 24),
    r"christmas(?:\s+day)?": (12, 25),
    r"boxing\s+day": (12, 26),
    r"new\s+year['\u2019]?s\s+eve": (12, 31),
    r"new\s+year['\u2019]?s(?:\s+day)?": (1, 1),
    r"valentine['\u2019]?s(?:\s+day)?": (2, 14),
    r"halloween": (10, 31),
}


def _clock(hour: str, minute: str | None, half: str | None) -> timedelta:
    """Return the time of day that the parts of a clock time say."""
    hours, minutes = int(hour), int(minute or 0)
    if half:
        if not 1 <= hours <= HALF_DAY:
            raise ValueError(hour)
        hours = hours % HALF_DAY + (HALF_DAY if half.lower().startswith("p") else 0)
    if hours >= 2 * HALF_DAY:
        raise ValueError(hour)
    return timedelta(hours=hours, minutes=minutes)


def _at(m: re.Match[str], c: Calendar) -> Found:
    start = c.today + _clock(m["h"], m["min"], m["half"])
    return Found((start, start + (_MINUTE if m["min"] else _HOUR)), "clock", needs_cue=True)


def _vague_hour(m: re.Match[str], c: Calendar) -> Found:
    """Read "at 7", which is a time only beside words such as "tonight"."""
    start = c.today + timedelta(hours=int(m["h"]))
    return Found((start, start + _HOUR), "clock", needs_cue=True, only="never")


def _named_hour(m: re.Match[str], c: Calendar) -> Found:
    start = c.today + timedelta(hours=NOON if "n" in m[0].lower()[:1] else 2 * HALF_DAY)
    return Found((start, start + _HOUR), "clock", needs_cue=True)


def _hours(m: re.Match[str], c: Calendar) -> Found:
    until = _clock(m["h2"], m["min2"], m["half2"])
    since = _clock(m["h"], m["min"], m["half"] or m["half2"])
    if since >= until and not m["half"]:
        since -= HALF_DAY * _HOUR
    if not timedelta(0) <= since < until:
        raise ValueError(m[0])
    return Found((c.today + since, c.today + until), "clock", needs_cue=True)


def _nth(m: re.Match[str], c: Calendar) -> Found:
    day = int(m["d"]) if m["d"] else ORDINALS[m["word"].lower()]
    options = []
    for shift in range(-5, 6):
        start, end = c.months(c.now.year, c.now.month + shift)
        if start + (day - 1) * DAY < end:
            options.append((start + (day - 1) * DAY, start + day * DAY))
    return Found(options[0], "day", needs_cue=True, options=tuple(options))


def _weekday_nth(m: re.Match[str], c: Calendar) -> Found:
    said = m["wd"].lower()
    number = next(day for word, day in g.WEEKDAYS.items() if word.startswith(said))
    found = _nth(m, c)
    options = tuple(bounds for bounds in found.options if bounds[0].isoweekday() == number)
    if not options:
        raise ValueError(m[0])
    return replace(found, options=options, needs_cue=False)


def _nth_of_month(m: re.Match[str], c: Calendar) -> Found:
    month, day = (g.MONTHS | g.SHORT_MONTHS)[m["m"].lower()], ORDINALS[m["word"].lower()]
    return yearly(m, c, lambda year: _one_day(c, year, month, day))


def _one_day(c: Calendar, year: int, month: int, day: int) -> Bounds:
    start = c.date(year, month, day)
    return start, start + DAY


def yearly(m: re.Match[str], c: Calendar, in_year: Callable[[int], Bounds]) -> Found:
    """Place a day that recurs each year: in the year said, or wherever the tense puts it."""
    if m["y"]:
        return Found(in_year(int(m["y"])), "day")
    return Found(c.latest(in_year), "day", in_year=in_year)


def _month_day(m: re.Match[str], c: Calendar) -> Found:
    month = (g.MONTHS | g.SHORT_MONTHS)[m["m"].lower()]
    return yearly(m, c, lambda year: _one_day(c, year, month, int(m["d"])))


def _slashed(m: re.Match[str], c: Calendar) -> Found | None:
    first, second = int(m["a"]), int(m["b"])
    if first != second and max(first, second) <= _MONTHS_A_YEAR:
        message = "day and month cannot be told apart"
        raise ValueError(message)
    month, day = (first, second) if second > _MONTHS_A_YEAR else (second, first)
    return yearly(m, c, lambda year: _one_day(c, year, month, day))


def _holiday(m: re.Match[str], c: Calendar) -> Found:
    text = m["holiday"]
    month, day = next(
        date for name, date in HOLIDAYS.items() if re.fullmatch(name, text, re.IGNORECASE)
    )

    def in_year(year: int) -> Bounds:
        return _one_day(c, year, month, day)

    if m["shift"]:
        return Found(c.shifted(in_year, g.SHIFTS[m["shift"].lower()]), "day")
    found = yearly(m, c, in_year)
    return Found(found.bounds, "day", needs_cue=m["y"] is None, in_year=found.in_year)


def _in_units(m: re.Match[str], c: Calendar) -> Found:
    unit, low, high = span_of(m)
    return Found(c.around(unit, low, high), unit, only="future")


def _day_before_last(m: re.Match[str], c: Calendar) -> Found:
    number, today = g.WEEKDAYS[m["day"].lower()], c.today.isoweekday()
    if m["way"].lower() == "before last":
        return Found(c.days((number - today) % 7 - 14), "weekday")
    return Found(c.days((number - today - 1) % 7 + 8), "weekday")


def _after_next(m: re.Match[str], c: Calendar) -> Found:
    unit = g.UNITS[m["u"].lower()]
    return Found(c.unit(unit, 2), unit)


def _weekend(m: re.Match[str], c: Calendar) -> Found:
    begun = c.today.isoweekday() >= _SATURDAY
    options = (c.unit("weekend", 0 if begun else -1), c.unit("weekend", 0))
    if m["this"]:
        return Found(options[1], "weekend", options=options)
    return Found(options[1], "weekend", needs_cue=True, options=options)


def _last_weekend(_: re.Match[str], c: Calendar) -> Found:
    return Found(c.unit("weekend", -1), "weekend")


def _last_week(_: re.Match[str], c: Calendar) -> Found:
    start, end = c.unit("week", -1)
    # On a Sunday, those whose weeks begin on Sundays mean the six days before as well.
    return Found((start, end if c.today.isoweekday() < _SUNDAY else c.today), "week")


def _part_of_year(m: re.Match[str], c: Calendar) -> Found:
    month = {"e": 1, "b": 1, "s": 1, "m": 5, "l": 9}[m["part"].lower()[0]]
    if m["part"].lower().startswith("end"):
        month = 9
    return Found(c.months(int(m["y"]), month, 4), "span")


def _part_of_unit(m: re.Match[str], c: Calendar) -> Found:
    unit = g.UNITS[m["u"].lower()]
    shift = g.SHIFTS.get(m["shift"].lower(), 0)
    start, end = c.unit(unit, shift)
    third = max(1, round((end - start) / DAY / 3)) * DAY
    part = m["part"].lower()
    if part == "end":
        return Found((end - third, end), "span")
    if part == "middle":
        return Found((start + third, end - third), "span")
    return Found((start, start + third), "span")


def _short_day(m: re.Match[str], c: Calendar) -> Found:
    said = m["day"].lower()
    number = next(day for word, day in g.WEEKDAYS.items() if word.startswith(said))
    return weekday(number, c)


def weekday(number: int, c: Calendar) -> Found:
    """Return a weekday that the tense will place: the last one or the next one."""
    today = c.today.isoweekday()
    options = (c.days((number - today) % 7 - 7), c.days((number - today - 1) % 7 + 1))
    return Found(options[0], "weekday", needs_cue=True, options=options)


def _weekday_of_week(m: re.Match[str], c: Calendar) -> Found:
    number = g.WEEKDAYS[m["day"].lower()]
    start = c.unit("week", g.SHIFTS[m["shift"].lower()])[0] + (number - 1) * DAY
    return Found((start, start + DAY), "day")


def _rest_of_unit(m: re.Match[str], c: Calendar) -> Found:
    start, end = c.unit(g.UNITS[m["u"].lower()], g.SHIFTS[m["shift"].lower()])
    if m["part"].lower() == "later":
        return Found((max(start, c.today), end), "span")
    return Found((start, min(end, c.today + DAY)), "span")


def _coming(m: re.Match[str], c: Calendar) -> Found:
    return Found(weekday(g.WEEKDAYS[m["day"].lower()], c).options[1], "day")


def _next_units(m: re.Match[str], c: Calendar) -> Found:
    unit, _, count = span_of(m)
    start = c.today + DAY
    if unit in g.SUB_DAY:
        raise ValueError(m[0])
    if unit == "weekend":
        return Found((start, c.unit(unit, count)[1]), "span")
    if unit in {"day", "week"}:
        return Found((start, start + count * (7 if unit == "week" else 1) * DAY), "span")
    months = count * {"month": 1, "quarter": 3, "year": 12}[unit]
    first, end = c.months(start.year, start.month + months)
    return Found((start, min(first + (start.day - 1) * DAY, end)), "span")


def _month(word: str) -> int:
    return (g.MONTHS | g.SHORT_MONTHS)[word.lower()]


def _spread(
    first: Callable[[int], Bounds], last: Callable[[int], Bounds]
) -> Callable[[int], Bounds]:
    """Return a stretch of each year that may reach into the next one."""

    def in_year(year: int) -> Bounds:
        since, until = first(year)[0], last(year)[1]
        return since, until if until > since else last(year + 1)[1]

    return in_year


def _stretched(m: re.Match[str], c: Calendar, in_year: Callable[[int], Bounds]) -> Found:
    if not m["y"]:
        return Found(c.latest(in_year), "span", in_year=in_year)
    bounds = in_year(int(m["y"]))
    # "Nov-Feb 2017" ends in 2017.
    return Found(
        bounds if bounds[1] <= c.date(int(m["y"]) + 1) else in_year(int(m["y"]) - 1), "span"
    )


def _months(m: re.Match[str], c: Calendar) -> Found:
    one, two = _month(m["m"]), _month(m["m2"])
    return _stretched(m, c, _spread(lambda y: c.months(y, one), lambda y: c.months(y, two)))


def _days(m: re.Match[str], c: Calendar) -> Found:
    one, two = _month(m["m"]), _month(m["m2"])
    return _stretched(
        m,
        c,
        _spread(
            lambda y: _one_day(c, y, one, int(m["d"])), lambda y: _one_day(c, y, two, int(m["e"]))
        ),
    )


def _years(m: re.Match[str], c: Calendar) -> Found:
    first, last = int(m["y"]), int(m["y2"])
    return Found((c.date(first), c.date(last + 1)), "span", needs_cue=False)


def _month_of_year(m: re.Match[str], c: Calendar) -> Found:
    return Found(c.months(int(m["y"]), _month(m["m"])), "month")


def _year(m: re.Match[str], c: Calendar) -> Found:
    return Found(c.months(int(m["y"]), 1, 12), "year")


def _part_by_number(m: re.Match[str], c: Calendar) -> Found:
    length = 3 if m["part"].lower() == "q" else 6
    return Found(c.months(int(m["y"]), length * (int(m["k"]) - 1) + 1, length), "span")


def _now(_: re.Match[str], c: Calendar) -> Found:
    return Found(c.days(0), "day", only="never")


def _refuse(m: re.Match[str], _: Calendar) -> Found:
    """Refuse words that hold a time only by half: "three and a half weeks ago"."""
    raise ValueError(m[0])


_TIME = r"(?P<h>[0-9]{1,2})(?:[:.](?P<min>[0-5][0-9]))?"
_TIME2 = r"(?P<h2>[0-9]{1,2})(?:[:.](?P<min2>[0-5][0-9]))?"
_HALF, _HALF2 = (rf"(?P<{name}>[ap](?:\.\s?m\.|\s?m\b))" for name in ("half", "half2"))
_ZONED = r"(?:\s+(?-i:[ECMP][SD]?T|UTC|GMT|CET|CEST|BST))?"
_M = rf"(?P<m>{g.ANY_MONTH})\.?"
_SURE_MONTH = g.any_of(
    {
        word: n
        for word, n in (g.MONTHS | g.SHORT_MONTHS).items()
        if word not in {"may", "march", "mar", "mars"}
    }
)
_CLOCK = (
    r"[0-9]{1,2}(?::[0-9]{2}|\s?(?:[ap]\.?m|uhr)|"
    r"\s?[-\u2013]\s?[0-9]{1,2}(?::[0-9]{2})?\s?[ap]\.?m)"
)
_M2 = _M.replace("<m>", "<m2>")
_HYPHEN = r"\s*(?:-|\u2013|\bto\b|\buntil\b|\bthrough\b)\s*"
_ANY = rf"(?:[0-9]{{1,3}}|{g.any_of(g.NUMBERS)})\s+{g.UNIT}"
_SHIFT = rf"(?P<shift>{g.SHIFT})"
_HOLIDAY = "(?P<holiday>" + "|".join(HOLIDAYS) + ")"
_UNTIL = r"\s*(?:-|\u2013|to|until|till)\s*"

RULES: list[tuple[str, Resolver]] = [
    (rf"{_TIME}\s*{_HALF}?{_UNTIL}{_TIME2}\s*{_HALF2}{_ZONED}", _hours),
    (rf"{_TIME}\s*{_HALF}{_ZONED}", _at),
    (r"(?P<h>[01]?[0-9]|2[0-3]):(?P<min>[0-5][0-9])(?P<half>(?!))?(?:\s?(?:uhr|h))?(?!:)", _at),
    (r"(?P<h>[01]?[0-9]|2[0-3])\s?(?:uhr|h|heures)(?P<min>[0-5][0-9])?(?P<half>(?!))?", _at),
    (r"(?<=\bat )(?P<h>1[0-2]|[1-9])", _vague_hour),
    (
        rf"(?P<wd>{g.WEEKDAY})\s+(?P<d>{g.DAY_NUMBER})(?P<word>(?!))?(?!:){g.ENDS}",
        _weekday_nth,
    ),
    (rf"(?P<y>(?:19|20)[0-9]{{2}})(?P<s>[-/]){_M}(?P=s)(?P<d>{g.DAY_NUMBER})", _month_day),
    (rf"{_M}(?P<s>[-/])(?P<d>{g.DAY_NUMBER})(?P=s)(?P<y>(?:19|20)[0-9]{{2}})", _month_day),
    (r"noon|midnight|midday", _named_hour),
    (rf"the\s+{_NTH}{g.ENDS}", _nth),
    (
        rf"(?P<wd>{g.WEEKDAY}|(?-i:Mon|Tues?|Wed|Thu(?:rs?)?|Fri|Sat|Sun))\.?,?\s+(?:the\s+)?{_NTH}",
        _weekday_nth,
    ),
    (
        rf"{_M}\s+(?:the\s+)?(?P<d>{g.DAY_NUMBER})(?:st|nd|rd|th)?{_UNTIL}(?:the\s+)?(?P<e>{g.DAY_NUMBER})(?:st|nd|rd|th)(?:{g.OF_YEAR})?",
        month_day,
    ),
    (rf"(?:the\s+)?(?P<word>{_ORDINAL})\s+of\s+{_M}(?:{g.OF_YEAR})?", _nth_of_month),
    (rf"(?:the\s+)?(?P<word>{_ORDINAL})\s+(?P<m>{_SURE_MONTH})(?:{g.OF_YEAR})?", _nth_of_month),
    (rf"(?P<m>{_SURE_MONTH})\.?\s+(?:the\s+)?(?P<word>{_ORDINAL})(?:{g.OF_YEAR})?", _nth_of_month),
    (
        rf"(?P<m>(?-i:May|March))\s+(?:the\s+)?(?P<word>{_ORDINAL})(?:{g.OF_YEAR}|{g.ENDS})",
        _nth_of_month,
    ),
    (
        rf"(?P<m>{_SURE_MONTH})\.?[\s/]\s*(?:the\s+)?(?P<d>{g.DAY_NUMBER})(?:st|nd|rd|th)?(?![\d:.,%]\d|\s?%|\s*[ap]\.?m\b)(?P<y>(?!))?",
        _month_day,
    ),
    (rf"(?P<d>{g.DAY_NUMBER})[-/\s]?(?P<m>{_SURE_MONTH})\.?[-/\s]?{g.YEAR}", _month_day),
    (rf"(?<=\bon )(?P<a>{g.DAY_NUMBER})/(?P<b>{g.DAY_NUMBER})(?P<y>(?!))?(?!/)", _slashed),
    (
        rf"(?:{_SHIFT}\s+)?{_HOLIDAY}(?:{g.OF_YEAR})?(?!\s+(?:tree|card|music|song|movie|present|gift|party|dinner|market|cookie|costume|lights|decoration)s?\b)",
        _holiday,
    ),
    (
        rf"in\s+(?:about\s+|around\s+)?{g.COUNT}(?:['\u2019]s?\s+time)?(?!\s+(?:from|after|before|of)\b){g.ENDS}",
        _in_units,
    ),
    (rf"{g.COUNT}\s+(?:hence|from\s+now)", _in_units),
    (rf"(?:the\s+)?(?P<day>{g.WEEKDAY})\s+(?P<way>before\s+last|after\s+next)", _day_before_last),
    (rf"(?:the\s+)?(?P<u>{g.LONG_UNIT})\s+after\s+next{g.ENDS}", _after_next),
    (r"(?:(?:this|the)\s+)?(?:past|last)\s+(?P<u>weekend|week-end)", _last_weekend),
    (r"last\s+week", _last_week),
    (rf"(?:(?P<this>this)|the)\s+(?:weekend|week-end){g.ENDS}", _weekend),
    (
        rf"(?:the\s+)?(?P<part>early|mid|late|(?:beginning|start|middle|end)\s+of)[\s-]+(?:in\s+)?{g.YEAR}",
        _part_of_year,
    ),
    (
        rf"(?:the\s+)?(?P<part>beginning|start|middle|end)\s+of\s+(?P<shift>the|{g.SHIFT})\s+(?P<u>week|month|quarter|year)",
        _part_of_unit,
    ),
    (rf"(?P<day>{g.WEEKDAY})(?=,?\s+{_CLOCK})", _short_day),
    (r"(?P<day>(?-i:Mon|Tues?|Wed|Thu(?:rs?)?|Fri|Sat|Sun))\b\.?", _short_day),
    (rf"(?P<day>{g.WEEKDAY}),?\s+(?:of\s+)?{_SHIFT}\s+week", _weekday_of_week),
    (rf"{_SHIFT}\s+week\s+(?:on\s+)?(?P<day>{g.WEEKDAY})", _weekday_of_week),
    (rf"(?P<part>earlier|later)\s+{_SHIFT}\s+(?P<u>week|month|quarter|year)", _rest_of_unit),
    (rf"(?:(?:this|the)\s+)?(?:coming|upcoming)\s+(?P<day>{g.WEEKDAY})", _coming),
    (rf"(?:the\s+)?(?:previous|following|same)\s+(?:{g.WEEKDAY}|{g.UNIT}|{g.ANY_MONTH})", _refuse),
    (rf"{g.SHIFT}\s+(?:weeks|weekends|months|quarters|years)", _refuse),
    (rf"{_ANY}\s+(?:and\s+|,\s*)+{_ANY}(?:\s+(?:ago|from\s+now|before|after|from))?", _refuse),
    (
        rf"(?:over|under|(?:more|less|fewer|longer)\s+than|at\s+least)\s+{_ANY}\s+(?:ago|before|after|from)\b[^.]{{0,20}}",
        _refuse,
    ),
    (rf"(?:(?:in|over|during|within|for)\s+)?(?:the\s+)?next\s+{g.COUNT}(?!\s+of\b)", _next_units),
    (
        r"(?:in|over|during|within|for)\s+the\s+next\s+(?P<u>week|month|year)(?P<n>(?!))?",
        _next_units,
    ),
    (rf"{_M}{_HYPHEN}{_M2}(?:{g.OF_YEAR})?", _months),
    (
        rf"{_M}\s+(?P<d>{g.DAY_NUMBER})(?:st|nd|rd|th)?{_HYPHEN}{_M2}\s+(?P<e>{g.DAY_NUMBER})(?:st|nd|rd|th)?(?:{g.OF_YEAR})?",
        _days,
    ),
    (
        rf"(?P<d>{g.DAY_NUMBER})\.?\s+{_M}{_HYPHEN}(?P<e>{g.DAY_NUMBER})\.?\s+{_M2}(?:{g.OF_YEAR})?",
        _days,
    ),
    (rf"(?P<y>(?:19|20)[0-9]{{2}}){_HYPHEN}(?P<y2>(?:19|20)[0-9]{{2}})", _years),
    (rf"{_M}[-/\s]{g.YEAR}", _month_of_year),
    (rf"(?P<y>(?:19|20)[0-9]{{2}})[-/\s]{_M}", _month_of_year),
    (rf"(?:the\s+)?year\s+(?:of\s+)?{g.YEAR}", _year),
    (r"(?P<y>(?:19|20)[0-9]{2})[-\s](?P<part>[QH])(?P<k>[1-4])", _part_by_number),
    (rf"(?:fiscal|school|academic|tax|financial)\s+year(?:\s+{g.YEAR})?", _refuse),
    (r"now|the\s+present", _now),
    (rf"(?:and\s+a\s+half|half\s+an?|(?<=\d)\.\d)\s+{g.UNIT}(?:\s+(?:ago|from\s+now))?", _refuse),
]
