"""Resolves times in statements: the dates of "yesterday" or "on Friday" on the day of a message.

How it works: a text is cut into sentences; patterns find time expressions in each; those that
stand side by side become one ("Friday, May 12 at 5pm", "from 3 to 5 May"); the verb nearby says
whether one without a year is the last or the next; words before it open it ("since"). What is
ambiguous, habitual ("every Friday"), impossible or counted from another time ("two days before
my birthday") gives no mention: a wrong date is worse than none. The same words mean the same days
as in a question.

Microsoft's recognizers were tried (``recognizers-text-date-time`` 1.0.2a2, an alpha that only
imports with an old ``emoji``): on their own cases they find more, and say another time than
was meant twice as often; they leave it open which Friday is meant.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta, tzinfo
from functools import lru_cache
from operator import itemgetter

from memoranda.model.models import DateMention
from memoranda.text.calendar import within_calendar
from memoranda.text.dates import tense
from memoranda.text.dates.cues import TimeCue, find_begin, find_cue, is_time
from memoranda.text.dates.expressions import (
    DAY,
    EARLIEST_YEAR,
    Bounds,
    RelativeCalendar,
    TimeExpression,
    TimeMeaning,
    find_expressions,
    is_empty,
)
from memoranda.text.dates.words import DATES
from memoranda.text.languages import is_english
from memoranda.text.limits import LONGEST_SENTENCE
from memoranda.text.patterns import compile_pattern
from memoranda.text.sentences import split_sentences

WEEK = timedelta(days=8)
# Of a death or a wedding farther back than this, no year is certain.
RECENT = timedelta(days=60)
# Farther ahead, a date without a year may be one that has just passed.
TOO_FAR = timedelta(days=330)

_WITH_YEAR = compile_pattern(r"(?:1[5-9]|20)[0-9]{2}(?:[^0-9]|$)")
_DAY = (
    r"(?:[0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{4}-[0-9]{2}|"
    r"(?:[0-9]{1,2} )?(?:(?:Jan|Febr)uary|March|April|May|June|July|August|"
    r"(?:Septem|Octo|Novem|Decem)ber) [0-9]{4}|[0-9]{4})"
)
_ADDED = compile_pattern(rf" \({_DAY}?(?: ?\u2013 {_DAY})?\)")
_DATED = compile_pattern(rf"(?:['\u2019]s)?\s\((?:\u2013 )?{_DAY}")
_SHORT_YEAR = compile_pattern("['\u2019][0-9]{2}$")
_OWNING = frozenset({"'s", "\u2019s"})
# Years in which no day that is near to one of them is beyond the calendar.
_YEARS = range(200, 9800)


def read_times(text: str, said_at: datetime) -> list[DateMention]:
    """Return the times that a statement speaks of, in order, none overlapping.

    Args:
        text: what was said, in any of the five languages.
        said_at: when, in the time zone of who said it: "yesterday" is the day before.

    Raises:
        InvalidInput: ``said_at`` has no time zone.
    """
    if not within_calendar(said_at, "said_at") or said_at.year not in _YEARS:
        return []
    # Moments that are equal may be on different days, each in its zone.
    return list(_read(text, said_at, said_at.isoformat(), said_at.tzinfo))


def resolve_times(text: str, said_at: datetime) -> str:
    """Return ``text`` with the dates of its times behind them: "yesterday (7 May 2023)".

    A time with a year, and one with its date behind it, stays as it is. In another language
    than English the date is in figures: "gestern (2023-05-07)".

    Raises:
        InvalidInput: ``said_at`` has no time zone.
    """
    parts, done = [], 0
    for mention in read_times(text, said_at):
        if short := _SHORT_YEAR.search(mention.text):
            done, begun = mention.end, done
            parts += [text[begun : mention.start + short.start()], str(mention.since.year)]
        elif not (_WITH_YEAR.search(mention.text) or _DATED.match(text, mention.end)):
            end = mention.end + 2 * (text[mention.end :][:2] in _OWNING)
            parts += [text[done:end], f" ({write_date(mention, english=is_english(text))})"]
            done = end
    return "".join([*parts, text[done:]])


def without_dates(text: str) -> str:
    """Return a text without the dates that stand in parentheses behind its times."""
    return _ADDED.sub("", text)


def write_day(day: datetime, *, english: bool) -> str:
    """Return a day as it is written: "7 May 2023", and in figures outside English."""
    return f"{day.day} {day:%B %Y}" if english else f"{day:%Y-%m-%d}"


def write_date(mention: DateMention, *, english: bool) -> str:
    """Return the time of a mention, as exact as it is: its day, or first and last."""
    since, last = mention.since, mention.until - DAY
    if mention.precision == "day":
        return write_day(since, english=english)
    if mention.precision in {"month", "year"}:
        month = f"{since:%B %Y}" if english else f"{since:%Y-%m}"
        return month if mention.precision == "month" else f"{since:%Y}"
    start = "" if since.year == EARLIEST_YEAR else f"{write_day(since, english=english)} "
    return f"{start}\u2013 {write_day(last, english=english)}"


def write_times(text: str, mentions: Sequence[DateMention], part: tuple[int, int]) -> str:
    """Return a part of a text in which dates stand for the times that it is in.

    Args:
        text: what was said: "It's tomorrow at noon".
        mentions: those of its times that reach into the part.
        part: where it begins and ends.
    """
    (begin, end), english, written = part, is_english(text), ""
    for each in mentions:
        before = text[begin : each.end - len(each.text.removeprefix("on "))]
        written += before + write_date(each, english=english)
        begin = each.end
    return written + text[begin:end]


# The same words are read again when their times are made absolute.
@lru_cache(maxsize=256)
def _read(text: str, said_at: datetime, local: str, zone: tzinfo | None) -> tuple[DateMention, ...]:
    """Return the times of the sentences of a text; one that is too long has none."""
    del local, zone
    masked = DATES.masked.sub(lambda found: " " * len(found[0]), text)
    return tuple(
        replace(each, start=start + each.start, end=start + each.end)
        for start, end, _ in split_sentences(masked)
        if end - start <= LONGEST_SENTENCE
        for each in DatedSentence(masked[start:end], said_at).mentions()
    )


class DatedSentence:
    """One sentence, said at one moment."""

    def __init__(self, text: str, said_at: datetime) -> None:
        """Look at a text, said at a moment in the zone of who said it."""
        self._text = text
        self._calendar = RelativeCalendar(said_at)

    def mentions(self) -> Iterator[DateMention]:
        """Yield the times, their places counted from the start of the sentence."""
        if not DATES.trigger.search(self._text):
            return
        reached = 0
        for time in self._joined():
            cue = find_cue(self._text, time.begin)
            bounds = self._bounds(time, cue) if self._is_time(time, cue) else None
            if bounds is None or is_empty(bounds):
                continue
            begin = max(reached, find_begin(self._text, time, cue, bounds))
            closes = self._text[time.finish - 1] == "." and not self._text[time.finish :].strip()
            reached = end = time.finish - closes  # The full stop is of the sentence.
            precision = find_precision(bounds, time.found)
            yield DateMention(self._text[begin:end], begin, end, *bounds, precision)

    def _is_time(self, time: TimeExpression, cue: TimeCue | None) -> bool:
        return is_time(self._text, time, cue)

    def _joined(self) -> list[TimeExpression]:
        """Return the times: those that stand side by side, or that a word links, are one."""
        joined = find_expressions(self._text, self._calendar)
        for join in (self._beside, self._linked):
            parts, joined = joined, []
            for each in parts:
                if joined and (whole := join(joined[-1], each)):
                    joined[-1] = whole
                else:
                    joined.append(each)
        return joined

    def _beside(self, one: TimeExpression, other: TimeExpression) -> TimeExpression | None:
        """Return two expressions for the same time as one, if nothing parts them."""
        if not DATES.beside.fullmatch(self._text, one.finish, other.begin):
            return None
        found = agree(one.found, other.found)
        return None if found is None else TimeExpression(one.begin, other.finish, found)

    def _linked(self, one: TimeExpression, other: TimeExpression) -> TimeExpression | None:
        """Return the stretch from one time to another, if the words between them say so."""
        text, between = self._text, (one.finish, other.begin)
        is_between = DATES.between.search(text, max(0, one.begin - 20), one.begin)
        links = DATES.statement_link.fullmatch(text, *between) or (
            is_between and DATES.conjunction.fullmatch(text, *between)
        )
        if not links or DATES.moved.search(text[: one.begin]):
            return None
        ends: dict[datetime, datetime] = {}
        for start, _ in one.found.options:
            end = next((until for _, until in other.found.options if until > start), None)
            if end is not None:
                ends[end] = start
        options = tuple((start, end) for end, start in ends.items())
        return TimeExpression(one.begin, other.finish, TimeMeaning(options, "stretch"))

    # --- placing -------------------------------------------------------------------------

    def _direction(self, time: TimeExpression, cue: TimeCue | None) -> str:
        if cue and cue.name == "since":
            return tense.PAST
        return tense.find_direction(self._text, time.begin, time.finish)

    def _bounds(self, time: TimeExpression, cue: TimeCue | None) -> Bounds | None:
        """Return the stretch of days that a time means here, if that is certain."""
        found = time.found
        if found.only == "never" or not found.options:
            return None
        way = self._direction(time, cue)
        if len(found.options) > 1:
            bounds = self._choose(time, way)
        else:
            bounds = None if found.only and way == tense.PAST else found.options[0]
        return self._opened(bounds, cue.name, way) if bounds and cue else bounds

    def _choose(self, time: TimeExpression, way: str) -> Bounds | None:
        """Return the occurrence that the verb nearby means."""
        today, options = self._calendar.today, time.found.options
        if tense.recurs(self._text, ahead=way != tense.PAST):
            return None
        is_today = time.found.grain == "weekday" and any(each[0] == today for each in options)
        if way == tense.PRESENT and (is_today or time.found.grain == "season"):
            return None  # "Finally Saturday!" "He doesn't sleep well in the winter."
        if is_today:
            options = tuple(each for each in options if each[0] != today)
        chosen = choose_occurrence(options, self._calendar, way)
        if chosen is None or (time.found.grain != "weekday" and self._may_be_next(chosen, options)):
            return None
        # "My brother drowned on 8 May" is told years later as well.
        old = today - chosen[1] > RECENT
        return None if old and tense.SHARED.of_a_life.search(self._text) else chosen

    def _may_be_next(self, last: Bounds, options: Sequence[Bounds]) -> bool:
        """Return whether a time that seems past may lie ahead, which is nearer.

        "They told me to come on 9 April", said in March, is about the next one.
        """
        today = self._calendar.today
        return any(today < start < today + (today - last[1]) for start, _ in options)

    def _opened(self, bounds: Bounds, name: str, way: str) -> Bounds | None:
        """Return a stretch that "since", "before", "after" or "until" opens."""
        today, (start, end) = self._calendar.today, bounds
        if name in {"since", "after"}:
            return (start if name == "since" else end, today + DAY)
        if name not in {"before", "until"}:
            return bounds
        first = self._calendar.date(EARLIEST_YEAR)
        if start >= today and way != tense.PAST:
            first = today
        return first, start if name == "before" else end


def agree(one: TimeMeaning, other: TimeMeaning) -> TimeMeaning | None:
    """Return what two expressions for the same time mean: "Friday, May 5", "in May last year"."""
    grains = {one.grain, other.grain}
    for inner, outer in ((one, other), (other, one)):
        if inner.grain == "weekday" and not grains & {"day", "week"}:
            continue
        options = tuple(each for each in inner.options if _is_within(outer.options, each))
        if options:
            grain = "day" if "day" in grains else inner.grain
            return TimeMeaning(options, grain, only=inner.only or outer.only)
    # A weekday beside a date that falls on another one: nobody knows which is meant.
    return replace(one, only="never") if grains == {"weekday", "day"} else None


def _is_within(options: Sequence[Bounds], bounds: Bounds) -> bool:
    """Return whether a stretch lies within one of several that do not overlap, in their order."""
    place = bisect_right(options, bounds[0], key=itemgetter(0)) - 1
    return place >= 0 and bounds[1] <= options[place][1]


def choose_occurrence(
    options: tuple[Bounds, ...], calendar: RelativeCalendar, way: str
) -> Bounds | None:
    """Return the option that lies in the direction of the verb; the nearest without one.

    Without a verb, an option counts only where the next best is more than twice as far.
    """
    today, tonight = calendar.today, calendar.today + DAY
    past = [bounds for bounds in options if bounds[0] < tonight]
    ahead = [bounds for bounds in options if bounds[1] > today]
    if way == tense.PAST:
        return past[-1] if past else None
    if way in {tense.FUTURE, tense.PRESENT}:
        return ahead[0] if ahead and ahead[0][0] - today <= TOO_FAR else None
    return _nearest(past, ahead, today)


def _nearest(past: list[Bounds], ahead: list[Bounds], today: datetime) -> Bounds | None:
    """Return the nearest option if the next best is more than twice as far."""
    if not past or not ahead or past[-1] == ahead[0]:
        return next(iter(past[-1:] + ahead[:1]), None)
    behind, before = today - past[-1][1] + DAY, ahead[0][0] - today
    if max(behind, before) <= WEEK:
        return None  # The last Friday or the next one.
    if 2 * behind < before:
        return past[-1]
    return ahead[0] if 2 * before < behind else None


def find_precision(bounds: Bounds, found: TimeMeaning) -> str:
    """Return what a stretch of time is: day, week, month, year or span."""
    if found.grain == "week" and bounds[1] - bounds[0] == 7 * DAY:
        return "week"
    around = RelativeCalendar(bounds[0])
    units = (unit for unit in ("day", "month", "year") if around.unit(unit, 0) == bounds)
    return next(units, "span")
