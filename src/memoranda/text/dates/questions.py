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
from datetime import datetime

from memoranda.text.calendar import within_calendar
from memoranda.text.dates.expressions import (
    DAY,
    EARLIEST_YEAR,
    Bounds,
    RelativeCalendar,
    TimeExpression,
    find_expressions,
    is_empty,
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


def question_range(query: str, now: datetime) -> Bounds | None:
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
    if not DATES.trigger.search(text):
        return None
    masked = DATES.quoted.sub(lambda quoted: " " * len(quoted[0]), text)
    try:
        calendar = RelativeCalendar(now)
        bounds = _resolve(masked, find_expressions(masked, calendar), calendar)
        return None if bounds is None or is_empty(bounds) else bounds
    except (ValueError, OverflowError, LookupError):
        # An impossible date ("31 February"), or one outside the calendar.
        return None


def _resolve(query: str, atoms: list[TimeExpression], calendar: RelativeCalendar) -> Bounds | None:
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
    first, *others = atoms
    found = first.found
    if len(others) == 1 and _linked(query, first, others[0]):
        return join_stretch(found, others[0].found).bounds
    for atom in others:
        narrower = intersect_times(found, atom.found)
        if narrower is None:
            return None
        found = narrower
    return _open(query, first.begin, max(atom.finish for atom in atoms), found.bounds, calendar)


def _cue(query: str, begin: int) -> str:
    """Return the kind of the word before a time; empty, if it is no word that matters."""
    before = query[max(0, begin - REACH) : begin]
    return next((name for name, word in cues("question_cues").items() if word.search(before)), "")


def _linked(query: str, first: TimeExpression, second: TimeExpression) -> bool:
    """Return whether the query makes one stretch of two times: "from May to June"."""
    return DATES.question_link.fullmatch(query, first.finish, second.begin) is not None


def _with_cues(query: str, atoms: list[TimeExpression]) -> list[TimeExpression]:
    """Drop the bare months, weekdays and seasons that nothing makes a time."""
    grains = {atom.found.grain for atom in atoms}
    kept: list[TimeExpression] = []
    for atom in atoms:
        cue, grain = _cue(query, atom.begin), atom.found.grain
        if (
            not atom.found.needs_cue
            or (kept and _linked(query, kept[-1], atom))
            or has_offset(query, atom)
            or (cue and (cue != "on" or grain == "weekday"))
            or (grain == "month" and "year" in grains)
            or (grain == "weekday" and "week" in grains)
        ):
            kept.append(atom)
    return kept


def _open(
    query: str, begin: int, finish: int, bounds: Bounds, calendar: RelativeCalendar
) -> Bounds | None:
    """Apply "since", "before", "after" and "until" to a range."""
    start, end = bounds
    suffix = DATES.suffix.match(query, finish)
    tonight, past = calendar.today + DAY, calendar.date(EARLIEST_YEAR)
    opened = {
        "since": (start, tonight),
        "after": (end, tonight),
        "before": (past, start),
        "until": (past, end),
    }.get(str(suffix.lastgroup) if suffix else _cue(query, begin), bounds)
    return opened if opened[0] < opened[1] else None
