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

import re
import unicodedata
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from recollect.core.times import require_aware
from recollect.retrieve import timegrammar as g
from recollect.retrieve.timeatoms import Atom, find_atoms
from recollect.retrieve.timegrammar import DAY, Bounds, Calendar

QUERY_LIMIT = 2_000
"""Only so many characters of a query are looked at; a longer one is a document."""

ATOM_LIMIT = 8
"""A text with more time expressions than this is a list of dates, not a question."""

REACH = 40
"""How far before a time expression the words that govern it are looked for."""

EARLIEST_YEAR = 1900
"""Where an open past ("before 2020") begins."""

_FRIDAY = 5
_ARTICLE = r"(?:(?:the|le|la|el|dem|der|den|l['\u2019])\s*)?"
_CUES = {
    name: re.compile(pattern, re.IGNORECASE)
    for name, pattern in {
        "since": rf"\b(?:ever\s+)?(?:since|seit|depuis|desde)\s+{_ARTICLE}$|自从?$",
        "before": rf"\b(?:before|prior\s+to|vor|avant|antes\s+del?)\s+{_ARTICLE}$",
        "after": rf"\b(?:after|nach|après|después\s+del?)\s+{_ARTICLE}$",
        "until": rf"\b(?:until|till|up\s+to|bis|jusqu['\u2019](?:à|en|au)|hasta)\s+{_ARTICLE}$",
        "from": r"(?:\b(?:between|from|zwischen|von|vom|entre|de|del|du)\s+|从|從|在)(?:the\s+)?$",
        "in": r"\b(?:in|during|throughout|im|en|durante|month\s+of|au\s+mois\s+de)\s+"
        rf"{_ARTICLE}$",
        "on": r"\b(?:on|am|el|der|of|de|del|le)\s+(?:the\s+)?$",
    }.items()
}
_LINK = re.compile(
    r"\s*(?:\b(?:and|to|until|till|through|und|bis|zum|et|à|au|y|a|al|hasta)\b|[-~\u2013到至和])\s*"
    + _ARTICLE,
    re.IGNORECASE,
)
_OFFSET = re.compile(
    rf"\b(?:the\s+)?(?:{g.COUNT}|(?P<one>{g.UNIT}|{g.WEEKDAY}))\s+(?P<way>before|after|from|of)\s+"
    rf"(?:the\s+)?$",
    re.IGNORECASE,
)
_UNRESOLVED = re.compile(
    rf"\b(?:the|[0-9]{{1,3}}|{g.any_of(g.NUMBERS)})\s+{g.UNIT}\s+(?:before|after|prior|later|following)\b",
    re.IGNORECASE,
)
_SUFFIX = re.compile(r"(?P<since>以来|以來)|(?P<after>[之以][后後])|(?P<before>[之以]?前)")
_QUOTED = re.compile(r"[\"“„][^\"“”„]{1,200}[\"”]|«[^«»]{1,200}»|[「《][^「」《》]{1,200}[」》]")


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
    try:
        require_aware(now, "now")
    except OverflowError:  # The first or the last day that there is.
        return None
    text = unicodedata.normalize("NFC", query[:QUERY_LIMIT])
    masked = _QUOTED.sub(lambda quoted: " " * len(quoted[0]), text)
    try:
        calendar = Calendar(now)
        said = _resolve(masked, find_atoms(masked, calendar), calendar)
        if said is None:
            return None
        start, end = said.found.bounds
        if start.astimezone(UTC) >= end.astimezone(UTC):
            return None
    except (ValueError, OverflowError, LookupError):
        # An impossible date ("31 February"), or one outside the calendar.
        return None
    return TimeRange(start, end, text[said.begin : said.finish])


def _resolve(query: str, atoms: list[Atom], calendar: Calendar) -> Atom | None:
    """Join what the query says about time into one range."""
    atoms = _with_cues(query, atoms) if len(atoms) <= ATOM_LIMIT else []
    if not atoms:
        return None
    atoms[0] = _offset(query, atoms[0])
    if any(
        not any(atom.begin <= vague.start() < atom.finish for atom in atoms)
        for vague in _UNRESOLVED.finditer(query)
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


def _cue(query: str, atom: Atom) -> tuple[str, int] | None:
    """Return the kind of the word before ``atom`` and where it begins."""
    before = query[max(0, atom.begin - REACH) : atom.begin]
    for name, pattern in _CUES.items():
        if match := pattern.search(before):
            return name, atom.begin - len(before) + match.start()
    return None


def _with_cues(query: str, atoms: list[Atom]) -> list[Atom]:
    """Drop the bare months, weekdays and seasons that nothing makes a time."""
    grains = {atom.found.grain for atom in atoms}
    kept: list[Atom] = []
    for atom in atoms:
        cue, grain = _cue(query, atom), atom.found.grain
        if (
            not atom.found.needs_cue
            or (kept and _LINK.fullmatch(query, kept[-1].finish, atom.begin))
            or _OFFSET.search(query, max(0, atom.begin - REACH), atom.begin)
            or (cue and (cue[0] != "on" or grain == "weekday"))
            or (grain == "month" and "year" in grains)
            or (grain == "weekday" and "week" in grains)
        ):
            kept.append(atom)
    return kept


def _between(query: str, first: Atom, second: Atom) -> Atom | None:
    """Return the range from ``first`` to ``second`` if the query links them."""
    if not _LINK.fullmatch(query, first.finish, second.begin):
        return None
    start, end = first.found.bounds[0], second.found.bounds[1]
    if first.found.in_year and second.found.in_year:
        # No year at all: the latest such stretch that has begun.
        start = first.found.bounds[0]
        end = second.found.in_year(start.year)[1]
        if end <= start:
            end = second.found.in_year(start.year + 1)[1]
    elif first.found.in_year:
        # The year is that of the second, or the one before: "November to March 2023".
        start = first.found.in_year(second.found.bounds[0].year)[0]
        if start > second.found.bounds[0]:
            start = first.found.in_year(second.found.bounds[0].year - 1)[0]
    cue = _cue(query, first)
    begin = cue[1] if cue else first.begin
    return Atom(begin, second.finish, replace(second.found, bounds=(start, end)))


def _narrow(one: Atom, other: Atom) -> Atom | None:
    """Return what two expressions for the same time mean together, if they agree."""
    begin, finish = min(one.begin, other.begin), max(one.finish, other.finish)
    for inner, outer in ((one, other), (other, one)):
        bounds: Bounds = inner.found.bounds
        if inner.found.in_year and outer.found.grain == "year":
            bounds = inner.found.in_year(outer.found.bounds[0].year)
        if inner.found.grain == "weekday" and outer.found.grain == "week":
            start = outer.found.bounds[0] + bounds[0].weekday() * DAY
            bounds = (start, start + DAY)
        if outer.found.bounds[0] <= bounds[0] and bounds[1] <= outer.found.bounds[1]:
            return Atom(begin, finish, replace(inner.found, bounds=bounds, in_year=None))
    return None


def _offset(query: str, atom: Atom) -> Atom:
    """Apply "two days before", "the Sunday after", "the week of" to a date."""
    match = _OFFSET.search(query, max(0, atom.begin - REACH), atom.begin)
    if match is None:
        return atom
    word = re.sub(r"\s+", " ", (match["one"] or match["u"]).lower())
    count = g.number(match["n"]) if match["n"] else 1
    (start, end), way = atom.found.bounds, match["way"].lower()
    if way == "from" and not match["n"]:
        return atom
    if way == "of" and (match["n"] or not start < end <= start + DAY):
        raise ValueError(match[0])
    if word in g.WEEKDAYS:
        number = g.WEEKDAYS[word]
        if way == "before":
            start -= ((start.isoweekday() - number - 1) % 7 + 1) * DAY
        else:
            start = end + (number - end.isoweekday()) % 7 * DAY
        bounds = (start, start + DAY)
    elif way == "of":
        bounds = Calendar(start).unit(g.UNITS[word], 0)
    else:
        unit = g.UNITS[word]
        bounds = _away(atom.found.bounds, unit, -count if way == "before" else count)
    return Atom(match.start(), atom.finish, replace(atom.found, bounds=bounds, in_year=None))


def _away(bounds: Bounds, unit: str, count: int) -> Bounds:
    """Return the time ``count`` units before (negative) or after ``bounds``."""
    start, end = bounds
    if unit == "weekend":
        week_has_begun = count > 0 and start.isoweekday() <= _FRIDAY
        return Calendar(start).unit(unit, count - 1 if week_has_begun else count)
    if unit in g.SUB_DAY:
        message = f"no date is known {count} {unit}s away"
        raise ValueError(message)
    if unit == "week" and abs(count) == 1:
        return (start - 7 * DAY, start) if count < 0 else (end, end + 7 * DAY)
    if unit == "day":
        return start + count * DAY, start + (count + 1) * DAY
    return Calendar(start).around(unit, count, count)


def _open(query: str, atom: Atom, calendar: Calendar) -> Atom | None:
    """Apply "since", "before", "after" and "until" to a range."""
    start, end = atom.found.bounds
    cue = _cue(query, atom)
    name, begin = cue or ("", atom.begin)
    finish = atom.finish
    if suffix := _SUFFIX.match(query, finish):
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
    return Atom(begin, finish, replace(atom.found, bounds=bounds))


_WHEN = re.compile(
    r"\bwhen(?:['\u2019]s|['\u2019]d)?\s+(?:exactly\s+)?(?:did|do|does|was|were|is|are|am|will|would|can|could|"
    r"should|has|have|had|exactly)\b|\bwhen['\u2019]s\b|\bwhen\s*\?|^\W*when\W*$|\bsince\s+when\b|"
    r"\b(?:know|tell\s+me|recall|wonder|idea|remind\s+me|find\s+out)\s+(?:exactly\s+)?when\b|"
    r"\b(?:what|which)\s+(?:exact\s+)?(?:date|day|time|month|year|week|weekday)\b|"
    r"\bhow\s+(?:long|many\s+(?:days|weeks|months|years))\s+ago\b|\bhow\s+recently\b|"
    r"(?<!dann\sund\s)\bwann\b|\b(?:welche[mnrs]?|welches)\s+(?:tag|datum|jahr|monat|woche)\b|"
    r"\bwie\s+lange\s+(?:ist\s+es\s+her|her)\b|"
    r"\bdepuis\s+quand\b|\bquand\s*\?|\bquand\s+(?:est-ce|est|a|as|ont|avons|avez|était|sera|aura|"
    r"\w+-t?-?(?:je|tu|il|elle|on|nous|vous|ils|elles))\b|"
    r"\bquel(?:le)?\s+(?:date|jour|mois|année|heure|semaine)\b|"
    r"\bcuándo\b|¿\s*(?:desde\s+)?cuando\b|\bqué\s+(?:fecha|día|mes|año|hora)\b|"
    r"什么时候|什麼時候|甚麼時候|啥时候|何时|何時|什么时间|几月|幾月|几号|幾號|哪天|哪一天|哪年|哪一年|"
    r"几点|幾點|多久以前|多久之前",
    re.IGNORECASE,
)


def when_question(query: str) -> bool:
    """Return whether ``query`` asks for a time ("When did …", "how long ago", "seit wann").

    A clause that only sets a time ("what did she say when I left?") does not.
    """
    return _WHEN.search(unicodedata.normalize("NFC", query[:QUERY_LIMIT])) is not None
