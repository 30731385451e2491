"""Reads the words, numbers, names, days and denials of turns, to check claims against them.

The checks are coarse and know no grammar. They catch what models invent: a number nobody named,
a day that does not follow from what was said, a sentence about something else, and the contrary
of what was said.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from functools import cache
from typing import NamedTuple

from memoranda.learning.claims import Turn
from memoranda.learning.parsed_text import replace_idioms
from memoranda.model.ports import DateReader
from memoranda.text.calendar import Table, calendar_numbers
from memoranda.text.patterns import LanguageData, compile_pattern
from memoranda.text.terms import without_accents

ENGLISH = LanguageData("en", "evidence")
GERMAN = LanguageData("de", "evidence")
EVIDENCE = LanguageData("mul", "evidence")
COMPARISON = LanguageData("en", "comparison")
WORD = compile_pattern(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
NUMBER = compile_pattern(r"\d+(?:[.,:]\d+)*")
# Scripts that set no blanks between words: two signs stand for a word.
UNSPACED = compile_pattern(
    r"[\u3040-\u30ff\u3400-\u9fff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]{2,}"
)
_NO = compile_pattern(r"\bno\b", re.IGNORECASE)
STEM = 4
# What may stand between a sentence and a name in it.
OPENING = " \"'(\u201c\u2018\u00ab"
# How far from the moment of speaking a day may lie whose month alone was named.
NEAR = timedelta(days=400)
MOST_DAYS = 62
_TENS = range(20, 100, 10)


@cache
def calendar_names(table: Table) -> tuple[str, ...]:
    """Return the English names of ``months`` or ``weekdays`` in small letters, in order."""
    return tuple(calendar_numbers(table, "en"))


@cache
def _named_numbers() -> Mapping[str, str]:
    return {**COMPARISON.mapping("number_words"), **ENGLISH.mapping("counts")}


def _bare(word: str) -> str:
    """Return a word without accents and what is joined to it: ``ana`` of ``Ana's``."""
    return without_accents(word).split("'")[0].split("’")[0]


def stems(text: str) -> set[str]:
    """Return the words of ``text`` that say something, cut to their beginnings."""
    folded = without_accents(text)
    words = {_bare(word) for word in WORD.findall(folded)} - COMPARISON.words("stop_words")
    pairs = {
        run[place : place + 2] for run in UNSPACED.findall(folded) for place in range(len(run) - 1)
    }
    return {word[:STEM] for word in words if len(word) > 1} | pairs


def names(text: str) -> set[str]:
    """Return the names inside of sentences of ``text``, cut to their beginnings."""
    words = {match[0].lower() for match in WORD.finditer(text)}
    german = len(words & GERMAN.words("function_words"))
    if german > len(words & ENGLISH.words("function_words")):
        return _german_names(text)
    no_names = {
        *calendar_names("months"),
        *calendar_names("weekdays"),
        *COMPARISON.words("stop_words"),
    }
    found = set()
    for match in WORD.finditer(text):
        word, before = match[0], text[: match.start()].rstrip(OPENING)[-1:]
        inside = bool(before) and before not in ".!?\n:"
        # The K of 5K is no name.
        if inside and len(word) > 1 and word[0].isupper() and without_accents(word) not in no_names:
            found.add(_bare(word)[:STEM])
    return found


def _german_names(text: str) -> set[str]:
    """Return the names of a German ``text``, cut to their beginnings.

    Every noun is capitalized: a name is one that stands right after another, after a title or
    after a word for where, and is no word for the user or kin.
    """
    found = set()
    small = GERMAN.words("function_words")
    before, end = "", 0
    for match in WORD.finditer(text):
        word, between = match[0], text[end : match.start()] if before else "."
        joined = before and not between.strip(OPENING + ".")
        noun = before[:1].isupper() and before.lower() not in small and "." not in between
        opens = noun or before.lower() in GERMAN.words("before_names")
        plain = (
            len(word) == 1
            or word.lower() in small | GERMAN.words("persons")
            or without_accents(word) in COMPARISON.words("stop_words")
        )
        if joined and opens and word[0].isupper() and not plain:
            found.add(without_accents(word)[:STEM])
        before, end = word, match.end()
    return found


def own_names(text: str, said: str) -> set[str]:
    """Return the words capitalized in ``text`` and wherever they are ``said``, as stems."""
    small = {without_accents(word)[:STEM] for word in WORD.findall(said) if not word[0].isupper()}
    return {_bare(word)[:STEM] for word in WORD.findall(text) if word[0].isupper()} - small


def digits(text: str) -> set[str]:
    """Return the numbers of ``text`` that stand in digits, whole and in parts."""
    found = NUMBER.findall(text)
    parts = {part for match in found for part in re.split(r"[.,:]", match)}
    return {_plain_number(number) for number in [*found, *parts]}


def numbers(text: str) -> set[str]:
    """Return the numbers of ``text`` in digits, without separators; named ones too."""
    found, named, ten = digits(text), _named_numbers(), 0
    for word in WORD.findall(text.lower()):
        value = int(named.get(word.removesuffix("s"), named.get(word, "-1")))
        if value >= 0:
            found |= {str(value), str(ten + value)}
        ten = value if value in _TENS else 0
    return found


def _plain_number(number: str) -> str:
    return re.sub(r"[.,:]", "", number).lstrip("0") or "0"


class Evidence:
    """The words, numbers, names and days that some turns contain together.

    Args:
        turns: the turns a claim may rest on.
        reader: finds the times they speak of.
    """

    def __init__(self, turns: Sequence[Turn], reader: DateReader) -> None:
        """Read the turns."""
        self.text = "\n".join(turn.text for turn in turns)
        self.stems = stems(self.text)
        self.numbers = numbers(self.text)
        self._days = {turn.at.date() for turn in turns}
        # The first day of each time, and the first that is no part of it.
        self._spans = [(day, day + timedelta(days=1)) for day in sorted(self._days)]
        self._spans += [
            (mention.since.date(), _after(mention.until))
            for turn in turns
            for mention in reader.read(turn.text, turn.at)
        ]

    def covers(self, day: date) -> bool:
        """Return whether the turns mention ``day``, or a time that it follows from."""
        if any(since <= day < until for since, until in self._spans):
            return True
        said = {str(day.year), str(day.day)} & self.numbers
        named = calendar_names("months")[day.month - 1] in without_accents(self.text)
        return named and (bool(said) or any(abs(day - each) <= NEAR for each in self._days))

    def is_unfounded(self, content: str, day: date | None) -> bool:
        """Return whether a number, month or weekday of ``content`` is not in the turns.

        Args:
            content: what is claimed.
            day: when it is claimed to have happened, if that is covered.
        """
        days = list(self._dated(day))
        known = self.numbers | {
            str(value) for one in days for value in (one.year, one.month, one.day)
        }
        for since, until in self._spans:
            known |= {str(y) for y in range(since.year, min(until.year, since.year + 100) + 1)}
        for match in NUMBER.findall(content):
            parts = {_plain_number(part) for part in re.split(r"[.,:]", match)}
            if _plain_number(match) not in known and not parts <= known | {"0"}:
                return True
        told = without_accents(self.text)
        dated = {
            "month": {calendar_names("months")[one.month - 1] for one in days},
            "weekday": {calendar_names("weekdays")[one.weekday()] for one in days},
        }
        for name, in_days in dated.items():
            for found in ENGLISH.pattern(name, 0).finditer(content):
                word = next(filter(None, found.groups())).lower()
                if word[:3] not in told and word not in in_days:
                    return True
        return False

    def _dated(self, day: date | None) -> Iterable[date]:
        if day is not None:
            yield day
        for since, until in self._spans:
            length = min((until - since).days, MOST_DAYS)
            yield from (since + timedelta(days=step) for step in range(length))
            # Of a longer time, what it begins and ends with.
            yield until - timedelta(days=1)


def _after(until: datetime) -> date:
    """Return the first day that is not part of what ends at ``until``."""
    midnight = until.time() == until.time().min
    try:
        return until.date() if midnight else until.date() + timedelta(days=1)
    except OverflowError:
        return until.date()


class EvidenceClause(NamedTuple):
    """A clause that was said: its stems, whether it denies, and whether it says what is over."""

    stems: set[str]
    denies: bool
    ends: bool


def is_contrary(content: str, about: set[str], texts: Sequence[str]) -> bool:
    """Return whether a claim says the contrary of the clauses that it shares words with.

    The clause that shares most words decides, and where two share as many, a claim is let be.

    Args:
        content: what is claimed.
        about: the stems of what it says.
        texts: what was said.
    """
    clauses = [clause for text in texts for clause in _clauses(text)]
    if denies(content):
        near = [clause for clause in clauses if clause.stems & about]
        # "No." and "Not anymore." say nothing else, and so belong to what they answer.
        bare = any(clause.denies and not clause.stems for clause in clauses)
        return bool(near) and not bare and not any(one.denies or one.ends for one in near)
    if EVIDENCE.pattern("ending").search(content):
        return False
    most = max((len(clause.stems & about) for clause in clauses), default=0)
    nearest = [clause for clause in clauses if most and len(clause.stems & about) == most]
    return bool(nearest) and all(clause.denies for clause in nearest)


def _clauses(text: str) -> list[EvidenceClause]:
    portuguese = EVIDENCE.pattern("portuguese").search(text) is not None
    parts = EVIDENCE.pattern("clause_end").split(_without_idioms(text))
    return [
        EvidenceClause(
            stems(EVIDENCE.pattern("negator").sub(" ", part)),
            denies(_NO.sub(" ", part) if portuguese else part),
            EVIDENCE.pattern("ending").search(part) is not None,
        )
        for part in parts
        if part.strip()
    ]


def denies(text: str) -> bool:
    """Return whether a text has a word that denies, and not in form alone."""
    plain = _without_idioms(text)
    negated = EVIDENCE.pattern("negator").search(plain)
    return negated is not None and not EVIDENCE.pattern("ends_denial").search(plain)


def _without_idioms(text: str) -> str:
    """Return ``text`` with the idioms that deny nothing, or in their own way, in other words."""
    return replace_idioms(EVIDENCE.pattern("no_denial").sub(" ", text.replace("\u2019", "'")))
