"""Dates in a question: which stretch of time the words of a query mean.

Rules of our own over five languages (English, German, French, Spanish, Chinese).
A general date parser was tried: it takes "we" for Wednesday and "may" for the month,
knows neither "last weekend" nor "last May", and takes 0.2 s to its first answer.

How it works: patterns find *atoms* ("8 May", "last week", "2020"); a bare month or weekday
counts only behind a word that makes it a time ("in", "since"); connecting words then join
atoms ("between … and …") or open them ("since", "before"). What cannot be resolved ("two
weeks before my birthday") or contradicts itself gives no range at all: a wrong range hides
the answer, no range only fails to help.

"Three weeks ago" is the week around that day; "two months ago" and "two years ago" are
that calendar month and year. A yearless date is the latest one not after the question.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, replace
from datetime import datetime

from memoranda.text.dates.expressions import (
    DAY,
    EARLIEST_YEAR,
    Bounds,
    RelativeCalendar,
    TimeExpression,
    find_expressions,
    is_empty,
    within_calendar,
)
from memoranda.text.dates.joining import (
    REACH,
    apply_offset,
    has_offset,
    intersect_times,
    join_stretch,
)
from memoranda.text.dates.words import DATES, cues

# Only so many characters of a query are looked at; a longer one is a document.
QUERY_LIMIT = 2_000

# A text with more time expressions than this is a list of dates, not a question.
ATOM_LIMIT = 8


@dataclass(frozen=True, slots=True)
class TimeRange:
    """A stretch of time that a query names.

    Attributes:
        start: the first moment in it, in the time zone of the question.
        end: the first moment after it.
        text: the words that said it.
    """

    start: datetime
    end: datetime
    text: str


def time_range(query: str, now: datetime) -> TimeRange | None:
    """Return the stretch of time that ``query`` speaks of, or ``None``.

    Args:
        query: a question, in any of the five languages; other text gives ``None``.
        now: when it is asked, in the time zone of the person who asks: what "today"
            and "last week" are depends on it.

    Raises:
        InvalidInput: ``now`` has no time zone.
    """
    if not within_calendar(now, "now"):
        return None
    text = unicodedata.normalize("NFC", query[:QUERY_LIMIT])
    masked = DATES.quoted.sub(lambda quoted: " " * len(quoted[0]), text)
    try:
        calendar = RelativeCalendar(now)
        said = _resolve(masked, find_expressions(masked, calendar), calendar)
        if said is None:
            return None
        start, end = said.found.bounds
        if is_empty((start, end)):
            return None
    except (ValueError, OverflowError, LookupError):
        # An impossible date ("31 February"), or one outside the calendar.
        return None
    return TimeRange(start, end, text[said.begin : said.finish])


def question_range(question: str, now: datetime) -> Bounds | None:
    """Return the bounds of the :func:`time_range` of ``question``."""
    found = time_range(question, now)
    return None if found is None else (found.start, found.end)


def _resolve(
    query: str, atoms: list[TimeExpression], calendar: RelativeCalendar
) -> TimeExpression | None:
    """Join what the query says about time into one range."""
    atoms = _with_cues(query, atoms) if len(atoms) <= ATOM_LIMIT else []
    if not atoms:
        return None
    atoms[0] = apply_offset(query, atoms[0])
    if any(
        not any(atom.begin <= vague.start() < atom.finish for atom in atoms)
        for vague in DATES.unresolved.finditer(query)
    ):
        return None
    whole, *others = atoms
    if len(others) == 1 and (joined := _between(query, whole, others[0])):
        return joined
    for atom in others:
        narrower = _narrow(whole, atom)
        if narrower is None:
            return None
        whole = narrower
    return _open(query, whole, calendar)


def _cue(query: str, atom: TimeExpression) -> tuple[str, int] | None:
    """Return the kind of the word before ``atom`` and where it begins."""
    before = query[max(0, atom.begin - REACH) : atom.begin]
    for name, pattern in cues("question_cues").items():
        if match := pattern.search(before):
            return name, atom.begin - len(before) + match.start()
    return None


def _with_cues(query: str, atoms: list[TimeExpression]) -> list[TimeExpression]:
    """Drop the bare months, weekdays and seasons that nothing makes a time."""
    grains = {atom.found.grain for atom in atoms}
    kept: list[TimeExpression] = []
    for atom in atoms:
        cue, grain = _cue(query, atom), atom.found.grain
        if (
            not atom.found.needs_cue
            or (kept and DATES.question_link.fullmatch(query, kept[-1].finish, atom.begin))
            or has_offset(query, atom)
            or (cue and (cue[0] != "on" or grain == "weekday"))
            or (grain == "month" and "year" in grains)
            or (grain == "weekday" and "week" in grains)
        ):
            kept.append(atom)
    return kept


def _between(query: str, first: TimeExpression, second: TimeExpression) -> TimeExpression | None:
    """Return the range from ``first`` to ``second`` if the query links them."""
    if not DATES.question_link.fullmatch(query, first.finish, second.begin):
        return None
    cue = _cue(query, first)
    begin = cue[1] if cue else first.begin
    return TimeExpression(begin, second.finish, join_stretch(first.found, second.found))


def _narrow(one: TimeExpression, other: TimeExpression) -> TimeExpression | None:
    """Return what two expressions for the same time mean together, if they agree."""
    found = intersect_times(one.found, other.found)
    if found is None:
        return None
    return TimeExpression(min(one.begin, other.begin), max(one.finish, other.finish), found)


def _open(query: str, atom: TimeExpression, calendar: RelativeCalendar) -> TimeExpression | None:
    """Apply "since", "before", "after" and "until" to a range."""
    start, end = atom.found.bounds
    cue = _cue(query, atom)
    name, begin = cue or ("", atom.begin)
    finish = atom.finish
    if suffix := DATES.suffix.match(query, finish):
        name, finish = str(suffix.lastgroup), suffix.end()
    tonight = calendar.today + DAY
    past = calendar.date(EARLIEST_YEAR)
    bounds = {
        "since": (start, tonight),
        "after": (end, tonight),
        "before": (past, start),
        "until": (past, end),
    }.get(name, (start, end))
    if bounds[0] >= bounds[1]:
        return None
    return TimeExpression(begin, finish, replace(atom.found, bounds=bounds))
