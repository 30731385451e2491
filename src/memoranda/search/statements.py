"""What a text states: its sentences, the words of change in them, and their values.

A value is a number, a share, a price, a time or the like. Two statements about the same thing
with different values of one sort cannot both be true at the same time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from memoranda.text.calendar import calendar_numbers, month_numbers
from memoranda.text.folding import normalize
from memoranda.text.languages import LanguageData, load
from memoranda.text.patterns import compile_pattern
from memoranda.text.sentences import cut_sentences

LONGEST = 2_500  # characters of a text that are read
MOST_SENTENCES = 40

_ENGLISH = LanguageData(
    "en",
    "statements",
    {"month": lambda: month_numbers("en"), "weekday": lambda: calendar_numbers("weekdays", "en")},
)
_CODE = compile_pattern(r"```.*?(?:```|\Z)", re.DOTALL)
_ASKS = _ENGLISH.pattern("asks")
_CHANGE = _ENGLISH.pattern("change")
_NEW = _ENGLISH.pattern("new")
_PART_OF_DATE = _ENGLISH.pattern("part_of_date")
_VALUE = _ENGLISH.pattern("value", re.IGNORECASE | re.VERBOSE)
_AIM = _ENGLISH.pattern("aim")
_FIRST_NUMBER_WORD = 2
_SEPARATOR = compile_pattern(r"[\s,.-]+$|(?<=\d),(?=\d)")
_LETTERS = compile_pattern(r"[a-z]+")
_SPACE = compile_pattern(r"[\s,-]+")

LONGEST_AIM = 12


@dataclass(frozen=True, slots=True)
class StatedValue:
    """A value in a sentence.

    Attributes:
        sort: date, clock, share (of a hundred), money, version, span (of time), measure, number.
        plain: in lower case, its number in digits and without separators.
        start, end: its first character, and the character after it.
    """

    sort: str
    plain: str
    start: int
    end: int


def stated_sentences(text: str) -> Iterator[str]:
    """Yield the sentences at the beginning of ``text`` that are not questions, without code."""
    text = normalize(text[: 4 * LONGEST])
    prose = (_CODE.sub("\n", text) if "```" in text else text)[:LONGEST]
    stated = (one for one in cut_sentences(prose, closing=True) if not _ASKS.fullmatch(one))
    for _, sentence in zip(range(MOST_SENTENCES), stated, strict=False):
        yield sentence


def speaks_of_change(sentence: str, things: tuple[str, ...] = ()) -> bool:
    """Return whether a sentence says that something is not as it was.

    "New" alone may be said of anything; it counts of words that begin like ``things``.
    """
    return _CHANGE.search(sentence) is not None or any(
        word.startswith(things)
        for match in _NEW.finditer(sentence)
        for word in match[1].lower().split()
    )


def values(sentence: str) -> list[StatedValue]:
    """Return the values in a sentence, in order, without those that are only aimed at."""
    return [
        StatedValue(match.lastgroup or "", _plain(match[0]), match.start(), match.end())
        for match in _VALUE.finditer(sentence)
        if not _AIM.search(sentence, max(0, match.start() - LONGEST_AIM), match.start())
    ]


def is_part_of_date(word: str) -> bool:
    """Return whether a word is the name of a month or of a day of the week."""
    return _PART_OF_DATE.fullmatch(word) is not None


def _plain(value: str) -> str:
    plain = _SEPARATOR.sub("", value.lower())
    word = _LETTERS.match(plain)
    spelled = load("en", "statements")["number_words"]
    if word is not None and word[0] in spelled:
        plain = f"{spelled.index(word[0]) + _FIRST_NUMBER_WORD}{plain[word.end() :]}"
    return _SPACE.sub(" ", plain)
