"""Resolves times in statements: the dates of "yesterday" or "on Friday" on the day of a message.

How it works: a text is cut into sentences; patterns find time expressions in each; those that
stand side by side become one ("Friday, May 12 at 5pm", "from 3 to 5 May"); the verb nearby says
whether one without a year is the last or the next; words before it open it ("since"). What is
ambiguous, habitual ("every Friday") or impossible gives no mention: a wrong date is worse
than none. The same words mean the same days as in a question.

Microsoft's recognizers were tried (``recognizers-text-date-time`` 1.0.2a2, an alpha that only
imports with an old ``emoji``): on their own cases they find more, and say another time than
was meant twice as often; they leave it open which Friday is meant.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta, tzinfo
from functools import lru_cache

from memoranda.model.models import DateMention
from memoranda.text.calendar import within_calendar
from memoranda.text.dates import cues, tense
from memoranda.text.dates.expressions import (
    DAY,
    EARLIEST_YEAR,
    Bounds,
    RelativeCalendar,
    TimeExpression,
    TimeMeaning,
    is_empty,
    matches,
)
from memoranda.text.dates.joining import apply_offset, has_offset, intersect_times, join_stretch
from memoranda.text.dates.words import DATES
from memoranda.text.languages import is_english
from memoranda.text.patterns import compile_pattern
from memoranda.text.sentences import split_sentences

# A sentence longer than so many characters is cut: work grows with a text, not faster.
PIECE = 600

WEEK, A_YEAR = timedelta(days=8), 12  # months
# So near in the past, and so far ahead, the present tense means the date that was.
RECENT, FAR = timedelta(days=60), timedelta(days=240)
# Still farther ahead, a date without a year may be one that has just passed.
TOO_FAR = timedelta(days=330)
# So long ago, the day and month of a death or a wedding may be those of any year.
OF_LATE = timedelta(days=60)

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
_COMBINED = compile_pattern(r"(?s).[\u0300-\u036f\u3099\u309a]{0,8}")

# From a place in one form of a text to the place in another.
Places = Callable[[int], int]


class DateParser:
    """Finds the times that a statement speaks of."""

    def read(self, text: str, said_at: datetime) -> list[DateMention]:
        """Return the times in ``text``, in order, none overlapping.

        Args:
            text: what was said, in any of the five languages.
            said_at: when, in the time zone of who said it: "yesterday" is the day before.

        Raises:
            InvalidInput: ``said_at`` has no time zone.
        """
        if not within_calendar(said_at, "said_at"):
            return []
        # Moments that are equal may be on different days, each in its zone.
        return list(_read(text, said_at, said_at.isoformat(), said_at.tzinfo))

    def resolve(self, text: str, said_at: datetime) -> str:
        """Return ``text`` with the dates of its times behind them: "yesterday (7 May 2023)".

        A time with a year, and one with its date behind it, stays as it is. In another language
        than English the date is in figures: "gestern (2023-05-07)".

        Raises:
            InvalidInput: ``said_at`` has no time zone.
        """
        parts, done = [], 0
        for mention in self.read(text, said_at):
            if short := _SHORT_YEAR.search(mention.text):
                begin = mention.start + short.start()
                parts += [text[done:begin], str(mention.since.year)]
                done = begin + len("'27")
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
    del local, zone
    composed, places = _composed(text)
    masked = DATES.masked.sub(lambda found: " " * len(found[0]), composed)
    found = []
    cut = (piece for each in split_sentences(masked) for piece in _pieces(masked, *each[:2]))
    for start, end in cut:
        for mention in DatedSentence(masked[start:end], said_at).mentions():
            first, last = places(start + mention.start), places(start + mention.end)
            found.append(replace(mention, text=text[first:last], start=first, end=last))
    return tuple(found)


# --- cutting a text ----------------------------------------------------------------------


def _composed(text: str) -> tuple[str, Places]:
    """Return ``text`` in composed form, and from a place in it the place in ``text``."""
    if unicodedata.is_normalized("NFC", text):
        return text, lambda place: place
    pieces, origin = [], [0]
    for match in _COMBINED.finditer(text):
        piece = unicodedata.normalize("NFC", match[0])
        pieces.append(piece)
        origin += [match.start()] * (len(piece) - 1) + [match.end()]
    return "".join(pieces), origin.__getitem__


def _pieces(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield a sentence whole, or cut at spaces where it is too long."""
    while end - start > PIECE:
        cut = text.rfind(" ", start + PIECE // 2, start + PIECE)
        cut = cut if cut > 0 else start + PIECE
        yield start, cut
        start = cut
    if end > start:
        yield start, end


# --- one sentence ------------------------------------------------------------------------


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
        for atom in self._joined(self._offsets(self._atoms())):
            try:
                placed = self._placed(atom)
                if placed is None or placed[0] < reached or is_empty(placed[2]):
                    continue
            except (ValueError, OverflowError, LookupError):
                continue
            begin, end, bounds = placed
            reached = finish = self._without_stop(end)
            words, precision = self._text[begin:finish], find_precision(bounds)
            if precision == "week" and atom.found.grain != "week":
                precision = "span"  # "From 28 December to 3 January" are seven days, and no week.
            yield DateMention(words, begin, finish, *bounds, precision)

    def _without_stop(self, finish: int) -> int:
        """Return where a time ends, the full stop of its sentence left out."""
        ends = self._text[finish - 1] == "."
        return finish - 1 if ends and not self._text[finish:].strip() else finish

    def _atoms(self) -> list[TimeExpression]:
        """Return the time expressions, the longest first chosen, in order.

        What cannot be known ("31 February") is no time, and neither are parts of it.
        """
        taken: list[tuple[int, int]] = []
        atoms = []
        for match, resolve in matches(self._text):
            begin, finish = match.span()
            if any(begin < last and first < finish for first, last in taken):
                continue
            try:
                found = resolve(match, self._calendar)
            except (ValueError, OverflowError, LookupError):
                taken.append((begin, finish))
                continue
            if found is not None and not self._enumerates(begin, finish):
                taken.append((begin, finish))
                atoms.append(TimeExpression(begin, finish, found))
        return sorted(atoms, key=lambda atom: atom.begin)

    def _enumerates(self, begin: int, finish: int) -> bool:
        """Return whether "5 and 8 May" are two days and no stretch."""
        text = self._text
        if tense.is_moved_from(text, begin) and DATES.statement_link.search(text, begin, finish):
            return True
        between = DATES.between.search(text, max(0, begin - 20), begin)
        return between is None and DATES.joined.search(text, begin, finish) is not None

    def _offsets(self, atoms: list[TimeExpression]) -> Iterator[TimeExpression]:
        """Apply "two days before" and the like, each to the time right after it."""
        for atom in atoms:
            try:
                yield apply_offset(self._text, self._tensed(atom))
            except (ValueError, OverflowError, LookupError):
                continue

    def _tensed(self, atom: TimeExpression) -> TimeExpression:
        """Place a time that "the week before" counts from."""
        found = atom.found
        if not (found.in_year or found.options) or not has_offset(self._text, atom):
            return atom
        bounds = self._chosen(atom)
        return replace(atom, found=replace(atom.found, bounds=bounds)) if bounds else atom

    def _joined(self, atoms: Iterator[TimeExpression]) -> list[TimeExpression]:
        """Join the expressions that stand side by side, then those that a word links."""
        joined = list(atoms)
        for join in (self._beside, self._linked):
            parts, joined = joined, []
            for atom in parts:
                if joined and (whole := join(joined[-1], atom)):
                    joined[-1] = whole
                else:
                    joined.append(atom)
        return joined

    def _linked(self, one: TimeExpression, other: TimeExpression) -> TimeExpression | None:
        """Return the stretch from one time to another, if the words between them say so."""
        text = self._text
        between = DATES.between.search(text, max(0, one.begin - 20), one.begin)
        if tense.is_moved_from(text, one.begin):
            return None
        if DATES.statement_link.fullmatch(text, one.finish, other.begin) or (
            between and DATES.conjunction.fullmatch(text, one.finish, other.begin)
        ):
            if other.found.only and one.found.in_year:
                bounds = one.found.bounds[0], self._calendar.today + DAY
                return TimeExpression(one.begin, other.finish, TimeMeaning(bounds, "stretch"))
            if bool(one.found.options) != bool(other.found.options):
                # "from 3 May until Friday": no part of it is a time of its own.
                return TimeExpression(one.begin, other.finish, replace(one.found, only="never"))
            found = replace(
                join_stretch(one.found, other.found),
                grain="stretch",
                needs_cue=False,
                only=one.found.only,
            )
            return TimeExpression(one.begin, other.finish, found)
        return None

    def _beside(self, one: TimeExpression, other: TimeExpression) -> TimeExpression | None:
        """Return two expressions for the same time as one, if nothing parts them."""
        text = self._text
        if not DATES.beside.fullmatch(text, one.finish, other.begin):
            return None
        found = cues.join_beside(one.found, other.found, self._calendar)
        found = found or intersect_times(one.found, other.found)
        if found is None:
            return None
        finish = other.finish
        if "(" in text[one.finish : other.begin] and text[finish : finish + 1] == ")":
            finish += 1
        return TimeExpression(one.begin, finish, replace(found, needs_cue=False))

    # --- placing -------------------------------------------------------------------------

    def _placed(self, atom: TimeExpression) -> tuple[int, int, Bounds] | None:
        """Return where the words of an expression begin and end, and what it means here."""
        text, found = self._text, atom.found
        cue = cues.find_cue(text, atom.begin)
        if not cues.is_time(text, atom, cue):
            return None
        bounds = self._chosen(atom, cue)
        if bounds is None:
            return None
        begin, finish = (cue.begin if cue else atom.begin), atom.finish
        several = found.grain in {"stretch", "span", "day"} and bounds[1] - bounds[0] > DAY
        if cue and cue.name == "from" and several:
            begin = cue.word
        name = cue.name if cue else ""
        if after := cues.find_suffix(text, finish):
            name, finish = after
        if name == "before" and DATES.end_of.search(text, atom.begin, finish):
            name = "until"
        if name in {"since", "after", "before", "until"}:
            bounds = self._opened(bounds, name, atom)
        return None if bounds is None else (begin, finish, bounds)

    def _direction(self, atom: TimeExpression, cue: cues.TimeCue | None = None) -> str:
        if cue and cue.name == "since":
            return tense.PAST
        return tense.find_direction(self._text, atom.begin, atom.finish)

    def _chosen(self, atom: TimeExpression, cue: cues.TimeCue | None = None) -> Bounds | None:
        """Return the occurrence that the verb nearby means."""
        found, calendar = atom.found, self._calendar
        if not (found.options or found.in_year or found.only):
            return found.bounds
        if found.only == "never":
            return None
        way = self._direction(atom, cue)
        ahead = way in {tense.FUTURE, tense.PRESENT}
        later = ahead or (way == tense.UNKNOWN and tense.is_of_a_day(self._text))
        if found.only and later:
            return found.bounds
        if found.only or tense.recurs(self._text, ahead=way != tense.PAST):
            return None
        ends = cue is not None and cue.name in {"by", "until"}
        if found.in_year and (way == tense.PRESENT or (cue and cue.name == "by")):
            way = tense.UNKNOWN if way == tense.PAST else tense.PRESENT
        if ends and way == tense.UNKNOWN and not found.options:
            way = tense.FUTURE
        options = found.options or cues.occurrences(found, calendar)
        options = cues.keep_weekday(self._text[atom.begin : atom.finish], options)
        chosen = choose_occurrence(options, calendar, way)
        # "My brother drowned on 8 May" is told years later as well.
        old = found.in_year and chosen and calendar.today - chosen[1] > OF_LATE
        return None if old and tense.is_of_a_life(self._text) else chosen

    def _opened(self, bounds: Bounds, name: str, atom: TimeExpression) -> Bounds | None:
        """Apply "since", "before", "after" and "until"."""
        calendar = self._calendar
        tonight, past = calendar.today + DAY, calendar.date(EARLIEST_YEAR)
        start, end = bounds
        ahead = start >= calendar.today
        if name == "since":
            return (start, tonight) if start < tonight else None
        if name == "after":
            return (end, tonight) if end < tonight else None
        last = start if name == "before" else end
        if ahead and self._direction(atom) != tense.PAST:
            return (calendar.today, last) if last > calendar.today else None
        return past, last


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
    if way == tense.PRESENT and past and ahead and _just_over(past[-1], ahead[0], today):
        return past[-1]
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


def _just_over(past: Bounds, ahead: Bounds, today: datetime) -> bool:
    """Return whether a day of every year was lately, and is far ahead: "ends on March 29"."""
    return past[1] - past[0] <= DAY and today - past[1] < RECENT and ahead[0] - today > FAR


def find_precision(bounds: Bounds) -> str:
    """Return what a stretch of time is: day, week, month, year or span."""
    since, until = bounds
    days = (until.date() - since.date()).days
    if since.day == until.day == 1:
        months = 12 * (until.year - since.year) + until.month - since.month
        if months == 1 or (months, since.month) == (A_YEAR, 1):
            return "month" if months == 1 else "year"
    return {1: "day", 7: "week"}.get(days, "span")
