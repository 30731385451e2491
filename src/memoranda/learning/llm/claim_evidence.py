"""Reads the words, numbers, names and days of turns, to check whether they support a claim.

The checks are coarse and know no grammar. They catch what models invent: a number nobody named,
a day that does not follow from what was said, a sentence about something else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cache

from memoranda.learning.claims import Turn
from memoranda.model.ports import DateReader
from memoranda.text.calendar import calendar_numbers
from memoranda.text.languages import LanguageData, load
from memoranda.text.patterns import compile_pattern
from memoranda.text.terms import without_accents

ENGLISH = LanguageData("en", "evidence")
GERMAN = LanguageData("de", "evidence")
COMPARISON = LanguageData("en", "comparison")
WORD = compile_pattern(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
NUMBER = compile_pattern(r"\d+(?:[.,:]\d+)*")
# Scripts that set no blanks between words: two signs stand for a word.
UNSPACED = compile_pattern(
    r"[\u3040-\u30ff\u3400-\u9fff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]{2,}"
)
STEM = 4
OPENING = " \"'(\u201c\u2018\u00ab"
"""What may stand between a sentence and a name in it."""


NEAR = timedelta(days=400)
"""How far from the moment of speaking a relative time may lie, where no reader resolves it."""
MOST_DAYS = 62


@cache
def months() -> tuple[str, ...]:
    """Return the English names of the months in small letters, January first."""
    return tuple(calendar_numbers("months", "en"))


@cache
def weekdays() -> tuple[str, ...]:
    """Return the English names of the weekdays in small letters, Monday first."""
    return tuple(calendar_numbers("weekdays", "en"))


@cache
def _named_numbers() -> Mapping[str, int]:
    data = load("en", "evidence")
    return {
        **{word: number for number, word in enumerate(data["units"])},
        **{word: 20 + 10 * place for place, word in enumerate(data["tens"])},
        **{word: number for number, word in enumerate(data["ordinals"], 1)},
        **data["counts"],
    }


def stems(text: str) -> set[str]:
    """Return the words of ``text`` that say something, cut to their beginnings."""
    folded = without_accents(text)
    words = {word.split("'")[0].split("’")[0] for word in WORD.findall(folded)}
    pairs = {
        run[place : place + 2] for run in UNSPACED.findall(folded) for place in range(len(run) - 1)
    }
    return {
        word[:STEM]
        for word in words
        if len(word) > 1 and word not in COMPARISON.words("stop_words")
    } | pairs


def names(text: str) -> set[str]:
    """Return the capitalized words inside of sentences of ``text``, cut to their beginnings."""
    found = set()
    for match in WORD.finditer(text):
        word = match.group()
        before = text[: match.start()].rstrip(OPENING)[-1:]
        inside = bool(before) and before not in ".!?\n:"
        long = len(word) > 1  # The K of 5K is no name.
        if (
            inside
            and long
            and word[0].isupper()
            and without_accents(word)
            not in {*months(), *weekdays(), *COMPARISON.words("stop_words")}
        ):
            found.add(without_accents(word).split("'")[0].split("’")[0][:STEM])
    return found


def is_german(text: str) -> bool:
    """Return whether the function words of ``text`` are German: its nouns are capitalized."""
    words = {match.group().lower() for match in WORD.finditer(text)}
    return len(words & GERMAN.words("function_words")) > len(
        words & ENGLISH.words("function_words")
    )


def german_names(text: str) -> set[str]:
    """Return the names of a German ``text``, cut to their beginnings.

    Every noun is capitalized: a name is one that stands right after another, after a title or
    after a word for where, and is no word for the user or kin.
    """
    found = set()
    last = None
    for match in WORD.finditer(text):
        word = match.group()
        between = text[last.end() : match.start()] if last else "."
        joined = last is not None and not between.strip(OPENING + ".")
        before = last.group() if last else ""
        opens = before.lower() in GERMAN.words("before_names") or (
            before[:1].isupper()
            and before.lower() not in GERMAN.words("function_words")
            and "." not in between
        )
        if joined and opens and word[0].isupper() and not _is_plain(word):
            found.add(without_accents(word)[:STEM])
        last = match
    return found


def _is_plain(word: str) -> bool:
    lowered = word.lower()
    return (
        len(word) == 1
        or lowered in GERMAN.words("persons") | GERMAN.words("function_words")
        or without_accents(word) in COMPARISON.words("stop_words")
    )


def own_names(text: str, said: str) -> set[str]:
    """Return the words capitalized in ``text`` and wherever they are ``said``, as stems."""
    small = {word[:STEM] for word in map(without_accents, _small_words(said))}
    large = {
        without_accents(word).split("'")[0].split("\u2019")[0]
        for word in WORD.findall(text)
        if word[0].isupper()
    }
    return {word[:STEM] for word in large} - small


def _small_words(text: str) -> list[str]:
    return [word for word in WORD.findall(text) if not word[0].isupper()]


def digits(text: str) -> set[str]:
    """Return the numbers of ``text`` that stand in digits, whole and in parts."""
    found = NUMBER.findall(text)
    parts = {part for match in found for part in re.split(r"[.,:]", match)}
    return {_plain(number) for number in [*found, *parts]}


def numbers(text: str) -> set[str]:
    """Return the numbers of ``text`` in digits, without separators; named ones too."""
    found, named, tens = digits(text), _named_numbers(), ENGLISH.words("tens")
    ten = 0
    for word in WORD.findall(text.lower()):
        value = named.get(word.removesuffix("s"), named.get(word))
        if value is not None:
            found |= {str(value), str(ten + value)}
        ten = value if value is not None and word in tens else 0
    return found


def _plain(number: str) -> str:
    return re.sub(r"[.,:]", "", number).lstrip("0") or "0"


@dataclass(frozen=True, slots=True)
class DateSpan:
    """A span of days that a source mentions; its end is exclusive."""

    since: date
    until: date


class Evidence:
    """The words, numbers, names and days that some turns contain together.

    Args:
        turns: the turns a claim may rest on.
        reader: finds the times they speak of; without one, relative times are only guessed at.
    """

    def __init__(self, turns: Sequence[Turn], reader: DateReader | None = None) -> None:
        """Read the turns."""
        self.text = "\n".join(turn.text for turn in turns)
        self.stems = stems(self.text)
        self.numbers = numbers(self.text)
        self._days = {turn.at.date() for turn in turns}
        self._relative = bool(ENGLISH.pattern("relative_time").search(self.text))
        self._known = reader is not None
        self._spans = [DateSpan(day, day + timedelta(days=1)) for day in sorted(self._days)]
        if reader is not None:
            self._spans += [
                DateSpan(mention.since.date(), _after(mention.until))
                for turn in turns
                for mention in reader.read(turn.text, turn.at)
            ]

    def covers(self, day: date) -> bool:
        """Return whether the turns mention ``day``, or a time that it follows from."""
        if any(span.since <= day < span.until for span in self._spans):
            return True
        said = {str(day.year), str(day.day)} & self.numbers
        named = months()[day.month - 1] in without_accents(self.text)
        if named and (said or self._near(day)):
            return True
        return not self._known and self._relative and self._near(day)

    def _near(self, day: date) -> bool:
        return any(abs(day - said) <= NEAR for said in self._days)

    def unfounded(self, content: str, day: date | None) -> str | None:
        """Return a number, month or weekday of ``content`` that is not in the turns, if any.

        Args:
            content: what is claimed.
            day: when it is claimed to have happened, if that is covered.
        """
        days = list(self._dated(day))
        dated = {str(value) for one in days for value in (one.year, one.month, one.day)}
        dated |= {str(year) for span in self._spans for year in _years(span)} | self._years_ago()
        for match in NUMBER.findall(content):
            parts = {_plain(part) for part in re.split(r"[.,:]", match)}
            if _plain(match) not in self.numbers | dated and not parts <= (
                self.numbers | dated | {"0"}
            ):
                return str(match)
        told = without_accents(self.text)
        for word in _named(ENGLISH.pattern("month", 0), content):
            if word[:3] not in told and word not in {months()[one.month - 1] for one in days}:
                return word
        for word in _named(ENGLISH.pattern("weekday", 0), content):
            if word[:3] not in told and word not in {weekdays()[one.weekday()] for one in days}:
                return word
        return None

    def _dated(self, day: date | None) -> Iterable[date]:
        if day is not None:
            yield day
        for span in self._spans:
            length = min((span.until - span.since).days, MOST_DAYS)
            yield from (span.since + timedelta(days=step) for step in range(length))
            # Of a longer time, what it begins and ends with.
            yield span.until - timedelta(days=1)

    def _years_ago(self) -> set[str]:
        """Return the years that "four years ago" may mean, where nobody read that."""
        if self._known or not self._relative:
            return set()
        counts = {int(number) for number in self.numbers if len(number) < STEM} | {1}
        return {str(day.year - count) for day in self._days for count in counts}


def _after(until: datetime) -> date:
    """Return the first day that is not part of what ends at ``until``."""
    midnight = until.time() == until.time().min
    try:
        return until.date() if midnight else until.date() + timedelta(days=1)
    except OverflowError:
        return until.date()


def _years(span: DateSpan) -> range:
    return range(span.since.year, min(span.until.year, span.since.year + 100) + 1)


def _named(pattern: re.Pattern[str], text: str) -> list[str]:
    return [next(filter(None, match.groups())).lower() for match in pattern.finditer(text)]
