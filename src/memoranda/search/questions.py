"""Questions: whether a text asks, and for what; and what a text states of that.

A text is about a rival where it has another word in the place of one of the question's: "the
flight to Rome" is not "the flight to Oslo".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice

from memoranda.text.calendar import calendar_numbers, month_numbers
from memoranda.text.languages import DEFAULT
from memoranda.text.patterns import LanguageData, WordLists, compile_pattern, load
from memoranda.text.sentences import sentence_texts
from memoranda.text.terms import TermAnalyzer, fold, normalize, stop_words

FEW_WORDS = 2
LONGEST_QUESTION = 200  # characters of a question without its mark

_TOPIC = "questions"
_WORDS = WordLists(_TOPIC)
_ASKS = ("?", "\uff1f", "\u061f")
# Around a question.
_EDGE = " .\t\n\"'”’»)]*_"

ANALYZER = TermAnalyzer()  # What makes terms, as it made those of the index.
ASKED = LanguageData("en", _TOPIC)


def asks(text: str) -> bool:
    """Return whether a text ends as a question does, or begins as one where it has no mark."""
    text = text.rstrip(_EDGE)
    if text.endswith(_ASKS):
        return True
    if len(text) > LONGEST_QUESTION or text.endswith("!"):
        return False
    if ASKED.unmarked.search(text) is not None:
        return True
    clause = ASKED.unmarked_clause.search(text)
    return clause is not None and ASKED.answered.search(text) is None


def is_keyword(question: str) -> bool:
    """Return whether a question is a word or two, which are looked for as they are: "E1047"."""
    return len(question.split()) <= FEW_WORDS and question.isascii()


def names_assistant(question: str) -> bool:
    """Return whether a question asks for what the assistant said: "What did you suggest?"."""
    words = question.casefold().replace("’", "'").rstrip("?").split()
    return not _WORDS.assistant_words.isdisjoint(words) and _WORDS.own_words.isdisjoint(words)


@lru_cache(maxsize=8_192)
def terms_of(word: str) -> frozenset[str]:
    """Return the terms of a word; remembered, because words come again and again."""
    return frozenset(ANALYZER.terms(word))


@dataclass(frozen=True)
class ParsedQuestion:
    """A question, as far as it matters which of two answers is the newer.

    Attributes:
        query: the question.
        terms: those of its terms that tell something.
    """

    query: str
    terms: frozenset[str]

    @cached_property
    def text(self) -> str:
        """The question, normalised."""
        return " ".join(normalize(self.query).split())

    @cached_property
    def words(self) -> frozenset[str]:
        """All its terms."""
        return frozenset(ANALYZER.terms(self.text))

    @cached_property
    def beginnings(self) -> tuple[str, ...]:
        """What the inflections of its telling words begin with."""
        generic = ASKED.words("generic")
        stems = [term for term in self.terms if not any(each.startswith(term) for each in generic)]
        return tuple(term.removesuffix("i") for term in stems)

    @cached_property
    def former(self) -> bool:
        """Whether it asks what was so before something changed."""
        return ASKED.before.search(self.text) is not None

    @cached_property
    def past(self) -> bool:
        """Whether it is about how things were."""
        return self.former or is_past(self.query)

    def share(self, sentence: str) -> float:
        """Return which share of its telling words ``sentence`` holds, at little cost."""
        text = fold(sentence)
        held = sum(beginning in text for beginning in self.beginnings)
        return held / max(len(self.beginnings), 1)


def is_past(query: str) -> bool:
    """Return whether a question is about how things were."""
    text = normalize(query)
    done = ASKED.done.search(text)
    if done is not None and (done["verb"] or "").strip() not in ASKED.words("telling"):
        text = f"{done['counted']}do {text[done.start('who') :]}"  # What is done goes on.
    return ASKED.past.search(text) is not None


# Statements

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
    """Return sort, plain form and place of the values in a sentence.

    Sorts are date, clock, share (of a hundred), money, version, span (of time), measure and number;
    a plain form is in lower case, in digits and without separators.
    """
    return [
        (match.lastgroup or "", _plain(match[0]), match.start())
        for match in _VALUE.finditer(sentence)
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


def competes(question: ParsedQuestion, told: StatedText) -> bool:
    """Return whether a text speaks of a rival of what is asked.

    Only words of the question that it lacks can have one.
    """
    asked = _words(question.text)
    missing = [
        place
        for place, (word, terms) in enumerate(asked)
        if terms & question.terms and not terms & told.terms
        if word.lower() not in ASKED.words("generic")
    ]
    said = _words(told.text) if missing else []
    return any(
        _replaced(asked, place, said, step, question) for place in missing for step in (-1, 1)
    )


def _words(text: str) -> list[TermedWord]:
    return [(word, terms_of(word)) for word in _WORD.findall(text)]


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


@dataclass(frozen=True)
class StatedText:
    """A text, as far as it may bring another one up to date."""

    text: str

    @cached_property
    def terms(self) -> frozenset[str]:
        """Its terms."""
        return frozenset(ANALYZER.terms(self.text))

    @cached_property
    def _values(self) -> dict[str, list[tuple[str, str, int]]]:
        """Its values by sentence."""
        return {each: values_of(each) for each in stated_sentences(self.text)}

    @cached_property
    def changes(self) -> bool:
        """Whether it says that something is not as it was."""
        return any(map(speaks_of_change, self._values))

    @cached_property
    def values(self) -> set[tuple[str, str]]:
        """Sort and plain form of its values."""
        return {found[:2] for each in self._values.values() for found in each}

    def likeness(self, other: StatedText) -> float:
        """Return how like another text this one is (0 to 1), by their words."""
        sizes = len(self.terms) * len(other.terms)
        return len(self.terms & other.terms) / sizes**0.5 if sizes else 0.0

    def renews(self, old: StatedText, question: ParsedQuestion) -> bool:
        """Return whether it has another value of a sort with which ``old`` answers a question."""
        sorts = {sort for sort, _ in self.values - old.values}
        before = old._values.items() if sorts else ()
        return any(not sorts.isdisjoint(_sorts_near(question, *each)) for each in before)


# What a search reads of a record, it reads of the same ones again soon.
read_statement = lru_cache(maxsize=2_048)(StatedText)


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
