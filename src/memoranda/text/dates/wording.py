"""Words a time absolutely, as a sentence without context needs it.

What an English text says relatively ("yesterday") is replaced ("on 7 May 2023"); other
languages keep their words, with the date after them ("gestern (2023-05-07)").
"""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import cache

from memoranda.model.models import DateMention
from memoranda.text.calendar import month_names
from memoranda.text.dates.expressions import DAY, EARLIEST_YEAR
from memoranda.text.dates.tense import is_of_a_life, recurs
from memoranda.text.patterns import LanguageData, compile_pattern, load

_DATA = LanguageData("en", "date_wording")
_SEASONS = {3: "spring", 6: "summer", 9: "autumn", 12: "winter"}
_QUARTERS = {1: "first", 4: "second", 7: "third", 10: "fourth"}
_PARTS = {(0, 12): "morning", (12, 18): "afternoon", (17, 6): "night"}
_THIRDS = ((1, 11, "early "), (11, 21, "mid-"), (21, 1, "late "))
_WEEK, _WEEKEND, _THIRD, _SATURDAY = 7, 2, 11, 5  # days, and the number of one
_QUARTER, _YEAR, _DECADE = 3, 12, 10  # months, months, years
_HOUR = timedelta(hours=1)

# How far before a time the word that governs it is looked for.
REACH = 20

_ABSOLUTE = compile_pattern(r"(?<![0-9])(?:1[5-9]|20)[0-9]{2}(?![0-9])")
_NOTED = compile_pattern(r"\s\((?:\u2013 )?[0-9]{4}")
_WORDS = compile_pattern(r"[^\W\d_]+")


@cache
def _replaceable() -> frozenset[str]:
    """Return the English words of a time that can be replaced."""
    months = [name.lower() for name in month_names()]
    return _DATA.words("words").union(months, (month[:3] for month in months))


def replace_time(text: str, mention: DateMention) -> str:
    """Return the text that replaces ``mention``, so that ``text`` can be understood alone."""
    written = mention.text
    if _ABSOLUTE.search(written):
        return written
    if not all(word.lower() in _replaceable() for word in _WORDS.findall(written)):
        return written if _NOTED.match(text, mention.end) else f"{written} ({_numbers(mention)})"
    if completed := _complete(mention):
        return completed
    preposition, said = absolute_wording(mention)
    governed = _DATA.governed.search(text, max(0, mention.start - REACH), mention.start)
    verb = _DATA.subject.match(text, mention.end)
    starts = _starts(text, mention.start)
    as_noun = governed or (verb and (starts or verb[0][1:] == "s"))
    # "The exam is tomorrow" is on a day; "it was in May" was not the month.
    if governed and _DATA.being.search(governed[0]):
        as_noun = mention.precision == "day" and not said.startswith("the ")
    placed = _DATA.placed.match(written) or preposition not in {"on", "in", "around"}
    if placed or not as_noun:
        said = f"{preposition} {said}"
    if governed and governed["owner"]:
        said = said.removeprefix("the ")
    return said[0].upper() + said[1:] if written[:1].isupper() and starts else said


def _complete(mention: DateMention) -> str:
    """Return "at Christmas 2025", "by the end of June 2026": the words, with the year they mean.

    Empty where the time is no such part of a year.
    """
    written, since, until = mention.text, mention.since, mention.until
    if found := _DATA.holiday.fullmatch(written):
        ends = (found["lead"] or "").lower().startswith(("until", "till"))
        year = (until - DAY if ends else until if since.year == EARLIEST_YEAR else since).year
        lead = "at " if found["shift"] else found["lead"] or ""
        return f"{lead}{found['name']} {year}"
    if (found := _DATA.part_of_unit.fullmatch(written)) and since.year > EARLIEST_YEAR:
        whole = f"{(until - DAY).year}" if found["year"] else _month(until - DAY)
        return f"{found['lead'] or 'at '}the {found['part'].lower()} of {whole}"
    return ""


def note_day(text: str, said_at: datetime) -> str:
    """Return a sentence with the day it was said on, where words of time are left that need it.

    A day of every year, and what is told years later, need none.
    """
    plain = _DATA.noted.search(text) or is_of_a_life(text)
    habit = recurs(text, ahead=True) and _DATA.shift.search(text) is None
    if plain or habit or _DATA.unplaced.search(text) is None:
        return text
    return f"{text.removesuffix('.')} (said on {_day(said_at)})."


def _starts(text: str, start: int) -> bool:
    """Return whether a sentence or a clause begins at ``start``."""
    return _DATA.beginning.search(text, max(0, start - REACH), start) is not None or start == 0


def absolute_wording(mention: DateMention) -> tuple[str, str]:
    """Return the time of a mention in absolute words: its preposition, if any, and the rest.

    ``on 7 May 2023``, ``in May 2023``, ``in the week of 1 May 2023``, ``in 2022``,
    ``since 8 May 2023``, ``on 8 May 2023 at 17:00``.
    """
    opening = _DATA.opening.match(mention.text)
    name = load("en", "date_wording")["openings"].get(opening[0].lower(), "by") if opening else ""
    since, until = mention.since, mention.until
    if since.year == EARLIEST_YEAR and mention.precision == "span" and name != "before":
        name = "until"
    edges = {
        "since": (since, False),
        "after": (since, True),
        "before": (until, False),
        "until": (until, True),
    }
    if name in edges:
        moment, last = edges[name]
        return name, _edge(moment, last=last, written=mention.text)
    preposition, said = _closed(mention)
    return name or preposition, said


def _edge(moment: datetime, *, last: bool, written: str) -> str:
    """Return the year, month or day that begins, or with ``last`` ends, at ``moment``.

    "Since January" is told by its month, though the year begins then too.
    """
    day = moment - DAY if last else moment
    named = any(each in written.lower() for each in load("en", "date_wording")["edge_months"])
    if moment.day == 1:
        return f"{day.year}" if moment.month == 1 and not named else _month(day)
    return _day(day)


def _closed(mention: DateMention) -> tuple[str, str]:
    """Return the preposition and the words of a stretch with two ends."""
    since = mention.since
    part = _DATA.part_of_day.search(mention.text)
    units = {
        "day": ("on", f"the {part[1].lower()} of {_day(since)}" if part else _day(since)),
        "week": ("in", f"the week of {_day(since)}"),
        "month": ("in", _month(since)),
        "year": ("in", f"{since.year}"),
    }
    if mention.precision == "time":
        return _hours(mention)
    if mention.precision == "week" and since.weekday():
        return "around", _day(since + _WEEK // 2 * DAY)
    if mention.precision in units:
        return units[mention.precision]
    named = _DATA.named_day.search(mention.text) is not None
    preposition, said = _span(since, mention.until, named=named)
    # What was done "last week", "a few weeks ago" took no such time: it was at some time in it.
    if preposition == "from" and _DATA.some_time.search(mention.text):
        return "between", said.replace(" to ", " and ")
    return preposition, said


def _span(since: datetime, until: datetime, *, named: bool) -> tuple[str, str]:
    """Return the words of a stretch that is no calendar unit; ``named`` if by its days."""
    days, last = (until.date() - since.date()).days, until - DAY
    if days == _WEEKEND and since.weekday() == _SATURDAY:
        return "on", f"the weekend of {_day(since)}"
    if since.day == until.day == 1 and not named:
        return _months(since, until)
    for first, end, name in _THIRDS:
        if (since.day, until.day) == (first, end) and days <= _THIRD:
            return "in", f"{name}{_month(since)}"
    start = _day(since)
    if since.year == last.year:
        start = f"{since.day}" if since.month == last.month else f"{since.day} {_name(since)}"
    return "from", f"{start} to {_day(last)}"


def _months(since: datetime, until: datetime) -> tuple[str, str]:
    """Return the words of a stretch of whole months."""
    months = _YEAR * (until.year - since.year) + until.month - since.month
    last, year = until - DAY, since.year
    if months == _QUARTER and since.month in _SEASONS:
        named = f"{year}/{until.year % 100:02}" if until.year > year else f"{year}"
        return "in", f"the {_SEASONS[since.month]} of {named}"
    if months == _QUARTER and since.month in _QUARTERS:
        return "in", f"the {_QUARTERS[since.month]} quarter of {year}"
    if months == _DECADE * _YEAR and since.month == 1 and year % _DECADE == 0:
        return "in", f"the {year}s"
    if since.month == until.month == 1:
        return "between", f"{year} and {last.year}"
    first = _name(since) if year == last.year else _month(since)
    return "from", f"{first} to {_month(last)}"


def _hours(mention: DateMention) -> tuple[str, str]:
    """Return the words of a time of day."""
    since, until = mention.since, mention.until
    part = _PARTS.get((since.hour, until.hour)) if not since.minute + until.minute else None
    if part and (until - since) > _HOUR:
        name = "evening" if _DATA.this_evening.match(mention.text) else part
        return "on", f"the {name} of {_day(since)}"
    if (until - since) <= _HOUR:
        return "on", f"{_day(since)} at {since:%H:%M}"
    if since.date() == until.date():
        return "on", f"{_day(since)} between {since:%H:%M} and {until:%H:%M}"
    return "between", f"{_day(since)} at {since:%H:%M} and {_day(until)} at {until:%H:%M}"


def _name(day: datetime) -> str:
    return month_names()[day.month - 1]


def _day(day: datetime) -> str:
    return f"{day.day} {_name(day)} {day.year}"


def _month(day: datetime) -> str:
    return f"{_name(day)} {day.year}"


def _numbers(mention: DateMention) -> str:
    """Return the time in figures, which every language reads."""
    since, last = mention.since, mention.until - DAY
    forms = {"time": "%Y-%m-%d %H:%M", "day": "%Y-%m-%d", "month": "%Y-%m", "year": "%Y"}
    if mention.precision in forms:
        return since.strftime(forms[mention.precision])
    start = "" if since.year == EARLIEST_YEAR else f"{since:%Y-%m-%d} "
    return f"{start}\u2013 {last:%Y-%m-%d}"
