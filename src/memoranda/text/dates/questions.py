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

from memoranda.text.dates import grammar as g
from memoranda.text.dates.atoms import Atom, find_atoms
from memoranda.text.dates.grammar import DAY, Bounds, Calendar, within_calendar
from memoranda.text.dates.joining import ARTICLE, REACH, has_offset, offset, stretch, together

QUERY_LIMIT = 2_000
"""Only so many characters of a query are looked at; a longer one is a document."""

ATOM_LIMIT = 8
"""A text with more time expressions than this is a list of dates, not a question."""

EARLIEST_YEAR = 1900
"""Where an open past ("before 2020") begins."""

_CUES = {
    name: re.compile(pattern, re.IGNORECASE)
    for name, pattern in {
        "since": rf"\b(?:ever\s+)?(?:since|seit|depuis|desde)\s+{ARTICLE}$|自从?$",
        "before": rf"\b(?:before|prior\s+to|vor|avant|antes\s+del?)\s+{ARTICLE}$",
        "after": rf"\b(?:after|nach|après|después\s+del?)\s+{ARTICLE}$",
        "until": rf"\b(?:until|till|up\s+to|bis|jusqu['\u2019](?:à|en|au)|hasta)\s+{ARTICLE}$",
        "from": r"(?:\b(?:between|from|zwischen|von|vom|entre|de|del|du)\s+|从|從|在)(?:the\s+)?$",
        "in": r"\b(?:in|during|throughout|im|en|durante|month\s+of|au\s+mois\s+de)\s+"
        rf"{ARTICLE}$",
        "on": r"\b(?:on|am|el|der|of|de|del|le)\s+(?:the\s+)?$",
    }.items()
}
_LINK = re.compile(
    r"\s*(?:\b(?:and|to|until|till|through|und|bis|zum|et|à|au|y|a|al|hasta)\b|[-~\u2013到至和])\s*"
    + ARTICLE,
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
    if not within_calendar(now, "now"):
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


def question_range(question: str, now: datetime) -> Bounds | None:
    """Return the bounds of the :func:`time_range` of ``question``."""
    found = time_range(question, now)
    return None if found is None else (found.start, found.end)


def _resolve(query: str, atoms: list[Atom], calendar: Calendar) -> Atom | None:
    """Join what the query says about time into one range."""
    atoms = _with_cues(query, atoms) if len(atoms) <= ATOM_LIMIT else []
    if not atoms:
        return None
    atoms[0] = offset(query, atoms[0])
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
            or has_offset(query, atom)
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
    cue = _cue(query, first)
    begin = cue[1] if cue else first.begin
    return Atom(begin, second.finish, stretch(first.found, second.found))


def _narrow(one: Atom, other: Atom) -> Atom | None:
    """Return what two expressions for the same time mean together, if they agree."""
    found = together(one.found, other.found)
    if found is None:
        return None
    return Atom(min(one.begin, other.begin), max(one.finish, other.finish), found)


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
