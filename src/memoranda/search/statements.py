"""Statements: what a text states of what a question asks: its sentences, values, and rivals.

A text is about a rival where it has another word in the place of one of the question's: "the
flight to Rome" is not "the flight to Oslo".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice

from memoranda.search.questions import ANALYZER, ASKED, ParsedQuestion
from memoranda.text.calendar import calendar_numbers, month_numbers
from memoranda.text.languages import DEFAULT
from memoranda.text.patterns import LanguageData, compile_pattern, load
from memoranda.text.sentences import sentence_texts
from memoranda.text.terms import normalize, stop_words

LONGEST = 2_500  # characters of a text that are read
MOST_SENTENCES = 40

_STATED = LanguageData(
    "en",
    "statements",
    {"month": lambda: month_numbers("en"), "weekday": lambda: calendar_numbers("weekdays", "en")},
)
_CODE = compile_pattern(r"```.*?(?:```|\Z)", re.DOTALL)
_VALUE = _STATED.pattern("value")
_FIRST_NUMBER_WORD = 2
_SEPARATOR = compile_pattern(r"[\s,.-]+$")
_GROUPS = compile_pattern(r"(\d),(\d)")
_LETTERS = compile_pattern(r"[a-z]+")
_SPACE = compile_pattern(r"[\s,-]+")

LONGEST_AIM = 12
MOSTLY = 0.5  # of the words of a question, what is in a sentence that may answer it
AFTER, BEFORE = 8, 4  # words from what is asked for to its value, and from a value to it
_BARE_WORD = compile_pattern(r"[^\W_]+")


def stated_sentences(text: str) -> Iterator[str]:
    """Return the sentences at the beginning of ``text`` that are not questions, without code."""
    text = normalize(text[: 4 * LONGEST])
    prose = (_CODE.sub("\n", text) if "```" in text else text)[:LONGEST]
    stated = (one for one in sentence_texts(prose) if not _STATED.asks.fullmatch(one))
    return islice(stated, MOST_SENTENCES)


def speaks_of_change(sentence: str) -> bool:
    """Return whether a sentence says that something is not as it was."""
    return _STATED.change.search(sentence) is not None


def values_of(sentence: str) -> list[tuple[str, str, int]]:
    """Return sort, plain form and place of the values in a sentence, without those only aimed at.

    Sorts are date, clock, share (of a hundred), money, version, span (of time), measure and number;
    a plain form is in lower case, in digits and without separators.
    """
    return [
        (match.lastgroup or "", _plain(match[0]), match.start())
        for match in _VALUE.finditer(sentence)
        if not _STATED.aim.search(sentence, max(0, match.start() - LONGEST_AIM), match.start())
    ]


def _plain(value: str) -> str:
    plain = _GROUPS.sub(lambda each: each[1] + each[2], _SEPARATOR.sub("", value.lower()))
    word = _LETTERS.match(plain)
    spelled = load("en", "statements")["number_words"]
    if word is not None and word[0] in spelled:
        plain = f"{spelled.index(word[0]) + _FIRST_NUMBER_WORD}{plain[word.end() :]}"
    return _SPACE.sub(" ", plain)


_WORD = compile_pattern(r"[^\W_]+|[^\w\s']")


# A word or a sign of a text, and its terms.
TermedWord = tuple[str, frozenset[str]]
NO_WORD: TermedWord = "", frozenset()


def competes(question: ParsedQuestion, sentence: str, held: frozenset[str]) -> bool:
    """Return whether ``sentence``, which holds the terms ``held``, speaks of a rival.

    Only words of the question that it lacks can have one.
    """
    asked = _words(question.text)
    missing = [
        place
        for place, (word, terms) in enumerate(asked)
        if terms & question.terms and not terms & held
        if word.lower() not in ASKED.words("generic")
    ]
    said = _words(sentence) if missing else []
    return any(
        _replaced(asked, place, said, step, question) for place in missing for step in (-1, 1)
    )


def _words(text: str) -> list[TermedWord]:
    return [(word, frozenset(ANALYZER.terms(word))) for word in _WORD.findall(text)]


def _replaced(
    asked: Sequence[TermedWord],
    place: int,
    said: Sequence[TermedWord],
    step: int,
    question: ParsedQuestion,
) -> bool:
    """Return whether another word always stands where ``asked[place]`` would.

    That place is after the word before it with a step of 1 ("flight to Oslo"), and before the
    word after it with -1 ("blue bicycle").
    """
    (_, anchor), linked = _beside(asked, place, -step)
    if not anchor & question.terms or (linked and step < 0):
        return False
    there = [_beside(said, spot, step) for spot, (_, terms) in enumerate(said) if terms & anchor]
    named = step > 0 and not linked
    return bool(there) and all(
        link == linked and _is_rival(word, asked[place][0], question, named=named)
        for word, link in there
    )


def _beside(words: Sequence[TermedWord], place: int, step: int) -> tuple[TermedWord, bool]:
    """Return the nearest word in one direction that is no link, and whether links are between."""
    linked = False
    place += step
    while 0 <= place < len(words) and words[place][0].lower() in _STATED.words("links"):
        linked = True
        place += step
    return (words[place] if 0 <= place < len(words) else NO_WORD), linked


def _is_rival(word: TermedWord, other: str, question: ParsedQuestion, *, named: bool) -> bool:
    """Return whether ``word`` can only mean another thing; ``named`` if just a name does."""
    text, terms = word
    if text.isdigit() or other.isdigit():
        return text.isdigit() and other.isdigit()
    if named and not (text[:1].isupper() and other[0].isupper()):
        return False
    known = text.lower() in stop_words(DEFAULT) or terms & question.terms
    is_date = _STATED.part_of_date.fullmatch(text) is not None
    return text.isalpha() and not (known or is_date or speaks_of_change(text))


@dataclass(frozen=True, slots=True)
class StatedText:
    """A text, as far as it may bring another one up to date.

    Attributes:
        terms: its terms.
        changes: whether it says that something is not as it was.
        values: sort and plain form of its values.
        answers: the sorts of those near what is asked for.
    """

    terms: frozenset[str]
    changes: bool
    values: frozenset[tuple[str, str]]
    answers: frozenset[str]

    @classmethod
    def read(cls, text: str, question: ParsedQuestion) -> StatedText:
        """Return what a text says of what a question asks."""
        values = {each: values_of(each) for each in stated_sentences(text)}
        near = (_sorts_near(question, each, found) for each, found in values.items())
        plain = chain.from_iterable(values.values())
        return cls(
            terms=frozenset(ANALYZER.terms(text)),
            changes=any(map(speaks_of_change, values)),
            values=frozenset((sort, value) for sort, value, _ in plain),
            answers=frozenset(chain.from_iterable(near)),
        )

    def likeness(self, other: StatedText) -> float:
        """Return how like another text this one is (0 to 1), by their words."""
        sizes = len(self.terms) * len(other.terms)
        return len(self.terms & other.terms) / sizes**0.5 if sizes else 0.0

    def renews(self, old: StatedText) -> bool:
        """Return whether it has another value of the sort with which ``old`` answers."""
        return any(sort in old.answers for sort, _ in self.values - old.values)


def _sorts_near(
    question: ParsedQuestion, sentence: str, found: Sequence[tuple[str, str, int]]
) -> Iterator[str]:
    """Yield the sorts of those values of a sentence that stand near what is asked for."""
    words = [(word[0].lower(), word.start()) for word in _BARE_WORD.finditer(sentence)]
    named = [place for place, (word, _) in enumerate(words) if word.startswith(question.beginnings)]
    if question.share(sentence) < MOSTLY:
        return
    for sort, _, start in found if named else ():
        place = sum(each < start for _, each in words)
        if any(-AFTER <= each - place <= BEFORE for each in named):
            yield sort
