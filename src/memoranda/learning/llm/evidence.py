"""What turns say, as words, numbers and days: whether a claim rests on them.

The checks are coarse and know no grammar. They catch what models invent: a number nobody named,
a day that does not follow from what was said, a sentence about something else.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from memoranda.learning.claims import Turn
from memoranda.model.ports import DateReader
from memoranda.text.languages import LanguageData

_COMPARISON = LanguageData("en", "comparison")


def word_set(text: str) -> frozenset[str]:
    """Return the words of ``text``."""
    return frozenset(text.split())


WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
GERMAN = word_set(
    "der die das dem den des ein eine einen einem einer eines und oder ist sind hat haben habe "
    "wird wurde nicht kein keine mit für von vom zu zum zur im am auf bei als aus nach seit "
    "sein seine seinen seinem seiner ihr ihre ihren ihrem ihrer er sie es ich mein meine wir "
    "dass weil wie auch sich heißt heisst mag möchte kann jede jeden jedes heute morgen gestern"
)
ENGLISH = word_set(
    "the a an of and is are was has have had with for to on at by user user's their they "
    "his her its it that will would who not does do"
)
# What stands right before the name of a person or place.
BEFORE_NAMES = word_set("herr herrn frau dr prof familie namens heißt heisst in nach aus")
KIN = word_set(
    "nutzer nutzerin nutzers benutzer benutzerin user mutter vater eltern tochter sohn töchter "
    "söhne schwester bruder geschwister frau mann ehefrau ehemann kind kinder freund freundin "
    "freunde partner partnerin oma opa großmutter großvater tante onkel cousin cousine nichte "
    "neffe enkel enkelin verlobte verlobter chef chefin kollege kollegin nachbar nachbarin "
    "hund katze"
)
# Scripts that set no blanks between words: two signs stand for a word.
UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]{2,}")
STEM = 4
OPENING = " \"'(\u201c\u2018\u00ab"
"""What may stand between a sentence and a name in it."""


def _words(text: str) -> list[str]:
    return text.split()


SMALL = _words(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen"
)
TENS = _words("twenty thirty forty fifty sixty seventy eighty ninety")
ORDINALS = _words("first second third fourth fifth sixth seventh eighth ninth tenth")
NAMED_NUMBERS = (
    {word: number for number, word in enumerate(SMALL)}
    | {word: 20 + 10 * place for place, word in enumerate(TENS)}
    | {word: number for number, word in enumerate(ORDINALS, 1)}
    | {"once": 1, "twice": 2, "couple": 2, "dozen": 12, "hundred": 100, "thousand": 1000}
)
MONTHS = _words(
    "january february march april may june july august september october november december"
)
WEEKDAYS = _words("monday tuesday wednesday thursday friday saturday sunday")
# The verb is not the month.
MONTH = re.compile(
    rf"\b({'|'.join(name.capitalize() for name in MONTHS if name != 'may')})\b"
    r"|(?:\b(?:in|since|until|by|of|from|on|early|late|mid|last|next|this)[ -]|\d )(May)\b"
    r"|\b(May)\b(?=,? \d)"
)
WEEKDAY = re.compile(rf"\b({'|'.join(name.capitalize() for name in WEEKDAYS)})\b")
RELATIVE = re.compile(
    r"\b(?:ago|yesterday|today|tonight|tomorrow|last|next|this|past|coming|since|recently|now|"
    rf"weekend|week|month|year|day|morning|evening|{'|'.join(WEEKDAYS)})s?\b",
    re.IGNORECASE,
)
NEAR = timedelta(days=400)
"""How far from the moment of speaking a relative time may lie, where no reader resolves it."""
MOST_DAYS = 62


def fold(text: str) -> str:
    """Return ``text`` without case and accents."""
    flat = unicodedata.normalize("NFKD", text)
    return "".join(sign for sign in flat if not unicodedata.combining(sign)).casefold()


def stems(text: str) -> set[str]:
    """Return the words of ``text`` that say something, cut to their beginnings."""
    folded = fold(text)
    words = {word.split("'")[0].split("’")[0] for word in WORD.findall(folded)}
    pairs = {
        run[place : place + 2] for run in UNSPACED.findall(folded) for place in range(len(run) - 1)
    }
    return {
        word[:STEM]
        for word in words
        if len(word) > 1 and word not in _COMPARISON.words("stop_words")
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
            and fold(word) not in {*MONTHS, *WEEKDAYS, *_COMPARISON.words("stop_words")}
        ):
            found.add(fold(word).split("'")[0].split("’")[0][:STEM])
    return found


def is_german(text: str) -> bool:
    """Return whether the function words of ``text`` are German: its nouns are capitalized."""
    words = {match.group().lower() for match in WORD.finditer(text)}
    return len(words & GERMAN) > len(words & ENGLISH)


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
        opens = before.lower() in BEFORE_NAMES or (
            before[:1].isupper() and before.lower() not in GERMAN and "." not in between
        )
        if joined and opens and word[0].isupper() and not _is_plain(word):
            found.add(fold(word)[:STEM])
        last = match
    return found


def _is_plain(word: str) -> bool:
    lowered = word.lower()
    return (
        len(word) == 1 or lowered in KIN | GERMAN or fold(word) in _COMPARISON.words("stop_words")
    )


def own_names(text: str, said: str) -> set[str]:
    """Return the words capitalized in ``text`` and wherever they are ``said``, as stems."""
    small = {word[:STEM] for word in map(fold, _small_words(said))}
    large = {
        fold(word).split("'")[0].split("\u2019")[0]
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
    found = digits(text)
    ten = 0
    for word in WORD.findall(text.lower()):
        value = NAMED_NUMBERS.get(word.removesuffix("s"), NAMED_NUMBERS.get(word))
        if value is not None:
            found |= {str(value), str(ten + value)}
        ten = value if value is not None and word in TENS else 0
    return found


def _plain(number: str) -> str:
    return re.sub(r"[.,:]", "", number).lstrip("0") or "0"


@dataclass(frozen=True, slots=True)
class DateSpan:
    """A time that a source speaks of: from a day to the day after its last."""

    since: date
    until: date


class Evidence:
    """What some turns say between them.

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
        self._relative = bool(RELATIVE.search(self.text))
        self._known = reader is not None
        self._spans = [DateSpan(day, day + timedelta(days=1)) for day in sorted(self._days)]
        if reader is not None:
            self._spans += [
                DateSpan(mention.since.date(), _after(mention.until))
                for turn in turns
                for mention in reader.read(turn.text, turn.at)
            ]

    def covers(self, day: date) -> bool:
        """Return whether ``day`` is spoken of, or follows from what is."""
        if any(span.since <= day < span.until for span in self._spans):
            return True
        said = {str(day.year), str(day.day)} & self.numbers
        named = MONTHS[day.month - 1] in fold(self.text)
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
        told = fold(self.text)
        for word in _named(MONTH, content):
            if word[:3] not in told and word not in {MONTHS[one.month - 1] for one in days}:
                return word
        for word in _named(WEEKDAY, content):
            if word[:3] not in told and word not in {WEEKDAYS[one.weekday()] for one in days}:
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
