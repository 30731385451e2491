"""Precedence: of two texts that answer a question differently, the later one goes first.

Lexical and semantic evidence cannot tell what is true now from what was true before: both say
the same of the same thing, but for a value. So the best answer is compared with what the same
speaker said later, and a text that brings it up to date goes just above it.

- "Which cities did I see?" has many answers, and "What was the rent at first?" an old one: nothing
  is moved for these.
- A text brings another up to date where it is much like it, answers about as well, speaks of a
  change, or gives another value of the same sort; no single one of these is enough.
- A text is about a rival where it has another word in the place of one of the question's: "the
  flight to Rome" is not "the flight to Oslo".
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from itertools import takewhile

import numpy as np

from memoranda.model.models import Kind
from memoranda.model.ports import Analyzer
from memoranda.search.evidence import pairs_among
from memoranda.search.index import Mask, Places, Rows
from memoranda.store.sql.index_reads import KINDS
from memoranda.text.calendar import calendar_numbers, month_numbers
from memoranda.text.languages import DEFAULT
from memoranda.text.linear_patterns import LinearPattern
from memoranda.text.patterns import LanguageData, compile_pattern, load, stands_alone
from memoranda.text.sentences import sentence_texts
from memoranda.text.terms import fold, normalize, stop_words

# --- what a question asks for ---

_ASKED = LanguageData("en", "questions")
_QUESTION_WORD = compile_pattern(r"[^\W_]+")
SHORTEST_STEM = 3  # letters from which a common beginning means a common word


@cache
def _sorts() -> tuple[tuple[LinearPattern, frozenset[str]], ...]:
    """Return the sorts of values that can answer, by what is asked."""
    rows = load("en", "questions")["sorts"]
    return tuple(
        (compile_pattern(pattern, re.IGNORECASE), frozenset(sorts.split()))
        for pattern, sorts in rows
    )


class QuestionTense(Enum):
    """Which state of things a question is about."""

    NOW = "now"
    THEN = "then"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class ParsedQuestion:
    """A question, as far as it matters which of two answers is the newer.

    Attributes:
        text: normalised.
        weights: its terms, each with its share (0 to 1) of what the question tells.
        head: the terms of what is asked for: "response" and "time" in "What is the response
            time of the API?"; empty where that is not clear.
        beginnings: what the inflections of its telling words begin with.
        nouns: beginnings of the word for it, in any inflection, or of all the question's words.
        sorts: the sorts of values that can answer it; empty is any, or a text.
        many: whether it asks for several things.
    """

    text: str
    weights: Mapping[str, float]
    head: frozenset[str]
    beginnings: tuple[str, ...]
    nouns: tuple[str, ...]
    sorts: frozenset[str]
    many: bool

    def touches(self, sentence: str) -> bool:
        """Return whether ``sentence`` can hold a term of the question, at little cost."""
        text = sentence.lower() if sentence.isascii() else fold(sentence)
        return any(beginning in text for beginning in self.beginnings)


def state_of(query: str) -> QuestionTense:
    """Return which state of things ``query`` is about."""
    text = normalize(query)
    done = _ASKED.done.search(text)
    if done is not None and (done["verb"] or "").strip() not in _ASKED.words("telling"):
        text = f"{done['counted']}do {text[done.start('who') :]}"  # What is done goes on.
    if _ASKED.past.search(text):
        return QuestionTense.THEN
    now = _ASKED.state.search(text) and _ASKED.present.search(text)
    return QuestionTense.NOW if now else QuestionTense.OPEN


def _is_plural(head: str) -> bool:
    """Return whether what is asked for ends with a noun for several."""
    found = _ASKED.many.search(head)
    return found is not None and found["noun"].lower() not in _ASKED.words("singular")


def read_question(query: str, terms: Sequence[str], weights: Sequence[float]) -> ParsedQuestion:
    """Return what ``query`` asks for.

    Args:
        query: the question.
        terms: its terms.
        weights: how much each of them tells, on any scale; nothing where nobody used it.
    """
    text = " ".join(normalize(query).split())
    state = _ASKED.state.search(text)
    head = _head(state["rest"]) if state is not None else ""
    telling = {term: weight for term, weight in zip(terms, weights, strict=True) if weight}
    whole = sum(telling.values())
    named, words = _terms_of(head, telling), _terms_of(text, telling)
    beginnings = tuple({stem for _, stem in words})
    return ParsedQuestion(
        text=text,
        weights={term: weight / whole for term, weight in telling.items()},
        head=frozenset(term for term, _ in named),
        beginnings=beginnings,
        nouns=(named[-1][1],) if named else beginnings,
        sorts=next((sorts for pattern, sorts in _sorts() if pattern.search(text)), frozenset()),
        many=state is not None and bool(state["what"] and _is_plural(head)),
    )


def _head(rest: str) -> str:
    if _ASKED.does.match(rest):
        return ""
    rest = _ASKED.leads.sub("", rest)
    end = _ASKED.head_ends.search(rest)
    return rest if end is None else rest[: end.start()]


def _terms_of(text: str, terms: Collection[str]) -> list[tuple[str, str]]:
    """Return the term of each telling word of ``text``, with what its inflections begin with.

    What is not ASCII has no inflections here: such terms stand for themselves.
    """
    found = []
    for word in _QUESTION_WORD.findall(fold(text)):
        near = [term for term in terms if term[:SHORTEST_STEM] == word[:SHORTEST_STEM]]
        if near and len(word) >= SHORTEST_STEM and word not in _ASKED.words("generic"):
            stem, term = max((_common_beginning(word, term), term) for term in near)
            found.append((term, stem))
    return found + [(term, term) for term in terms if not term.isascii()]


def _common_beginning(one: str, other: str) -> str:
    """Return what both words begin with."""
    alike = takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    return "".join(letter for letter, _ in alike)


# --- what a text states ---

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
    stated = (one for one in sentence_texts(prose) if not _STATED.asks.fullmatch(one))
    for _, sentence in zip(range(MOST_SENTENCES), stated, strict=False):
        yield sentence


def speaks_of_change(sentence: str, things: tuple[str, ...] = ()) -> bool:
    """Return whether a sentence says that something is not as it was.

    "New" alone may be said of anything; it counts of words that begin like ``things``.
    """
    return _STATED.change.search(sentence) is not None or any(
        word.startswith(things)
        for match in _STATED.new.finditer(sentence)
        for word in match[1].lower().split()
    )


def things_in(text: str) -> set[str]:
    """Return the words of a text, in small letters, that may stand for a thing."""
    return {word for word in _LETTERS.findall(text.lower()) if len(word) >= SHORT}


def values(sentence: str) -> list[StatedValue]:
    """Return the values in a sentence, in order, without those that are only aimed at."""
    return [
        StatedValue(match.lastgroup or "", _plain(match[0]), match.start(), match.end())
        for match in _VALUE.finditer(sentence)
        if stands_alone(sentence[: match.end()].replace(".", "_"), *match.span())
        if not _STATED.aim.search(sentence, max(0, match.start() - LONGEST_AIM), match.start())
    ]


def _plain(value: str) -> str:
    plain = _GROUPS.sub(lambda each: each[1] + each[2], _SEPARATOR.sub("", value.lower()))
    word = _LETTERS.match(plain)
    spelled = load("en", "statements")["number_words"]
    if word is not None and word[0] in spelled:
        plain = f"{spelled.index(word[0]) + _FIRST_NUMBER_WORD}{plain[word.end() :]}"
    return _SPACE.sub(" ", plain)


VERB_ENDINGS = ("ed", "ing")
SHORT = 4  # letters up to which an ending like a verb's is by chance: "red"
_WORD = compile_pattern(r"[^\W_]+|[^\w\s']")


@dataclass(frozen=True, slots=True)
class TermedWord:
    """A word or a sign of a text, with its terms."""

    text: str
    terms: frozenset[str]


def competes(
    question: ParsedQuestion, sentence: str, held: frozenset[str], analyzer: Analyzer
) -> bool:
    """Return whether ``sentence``, which holds the terms ``held``, speaks of a rival.

    Only words of the question that it lacks can have one.
    """
    if _other_number(question.text, sentence):
        return True
    asked = _words(question.text, analyzer)
    missing = [
        place
        for place, word in enumerate(asked)
        if not word.terms.isdisjoint(question.weights)
        and word.terms.isdisjoint(held)
        and word.text.lower() not in _ASKED.words("generic")
    ]
    if not missing:
        return False
    said = _words(sentence, analyzer)
    return any(
        _replaced(asked, place, said, step, question) for place in missing for step in (-1, 1)
    )


def _other_number(question: str, sentence: str) -> bool:
    """Return whether a sentence speaks of "sprint 2" where it was asked for the first."""
    asked = _numbered(question)
    said = _numbered(sentence) if asked else {}
    return any(said.get(name, numbers) - numbers for name, numbers in asked.items())


def _numbered(text: str) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {}
    ordinals = load("en", "statements")["ordinals"]
    for match in _STATED.numbered.finditer(text):
        name = (match["of"] or match["name"]).lower()
        nth = match["nth"] and ordinals.index(match["nth"].lower()) + 1
        found.setdefault(name, set()).add(nth or int(match["n"]))
    return found


def _words(text: str, analyzer: Analyzer) -> list[TermedWord]:
    return [TermedWord(word, frozenset(analyzer.terms(word))) for word in _WORD.findall(text)]


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
    anchor, linked = _beside(asked, place, -step)
    if anchor is None or anchor.terms.isdisjoint(question.weights) or (linked and step < 0):
        return False
    spots = [spot for spot, word in enumerate(said) if word.terms & anchor.terms]
    there = [_beside(said, spot, step) for spot in spots]
    named = step > 0 and not linked
    return bool(there) and all(
        word is not None and link == linked and _is_rival(word, asked[place], question, named=named)
        for word, link in there
    )


def _beside(words: Sequence[TermedWord], place: int, step: int) -> tuple[TermedWord | None, bool]:
    """Return the nearest word in one direction that is no link, and whether links are between."""
    linked = False
    place += step
    while 0 <= place < len(words) and words[place].text.lower() in _STATED.words("links"):
        linked = True
        place += step
    return (words[place] if 0 <= place < len(words) else None), linked


def _is_rival(
    word: TermedWord, missing: TermedWord, question: ParsedQuestion, *, named: bool
) -> bool:
    """Return whether ``word`` can only mean another thing; ``named`` if just a name does."""
    text = word.text
    if named and not (text[0].isupper() and missing.text[0].isupper()):
        return False
    lower = text.lower()
    return not (
        not text.isalpha()
        or lower in _ASKED.words("generic")
        or lower in stop_words(DEFAULT)
        or not word.terms.isdisjoint(question.weights)
        or _STATED.part_of_date.fullmatch(text)
        or lower == "new"
        or speaks_of_change(text)
        or values(text)
        or (len(text) > SHORT and lower.endswith(VERB_ENDINGS))
    )


# --- what brings what up to date ---

DEPTH = 20  # of the best records, those that may bring the best one up to date
AFTER, BEFORE = 12, 4  # words from what is asked for to its value, and from a value to it
# What makes a later text the update of an earlier one: its likeness to it (0 to 1), and times these
# the share of its score, whether it speaks of a change, and whether it gives another value.
# Together they are ENOUGH. Measured on nine histories, six people and BEAM: see docs/retrieval.md.
SHARE, CHANGE, VALUE, ENOUGH = 1.8, 0.25, 0.6, 2.1
LEAST = ENOUGH - CHANGE - VALUE  # of likeness and score, without which the rest does not help
_BARE_WORD = compile_pattern(r"[^\W_]+")
_BREAK = compile_pattern(r"[,;:=()]")


@dataclass(frozen=True, slots=True)
class StatedText:
    """A text, as far as it may bring another one up to date.

    Attributes:
        terms: its terms.
        sentences: those that state something.
        values: sort and plain form of the values near what is asked for.
    """

    terms: frozenset[str]
    sentences: tuple[str, ...]
    values: frozenset[tuple[str, str]]

    @classmethod
    def read(cls, text: str, question: ParsedQuestion, analyzer: Analyzer) -> StatedText:
        """Return what a text says of what a question asks."""
        terms, sentences = frozenset(analyzer.terms(text)), tuple(stated_sentences(text))
        answering = (each for each in sentences if question.touches(each))
        found = [_answering_values(question, each) for each in answering if terms >= question.head]
        return cls(terms, sentences, frozenset[tuple[str, str]]().union(*found))

    def likeness(self, other: StatedText) -> float:
        """Return how like another text this one is (0 to 1), by their words."""
        sizes = len(self.terms) * len(other.terms)
        return len(self.terms & other.terms) / sizes**0.5 if sizes else 0.0

    def repeats(self, old: StatedText, known: frozenset[tuple[str, str]]) -> bool:
        """Return whether it says no more than ``old``, or only values that were known before."""
        return self.terms <= old.terms or (bool(self.values) and self.values <= known)

    def renews(
        self, old: StatedText, question: ParsedQuestion, known: frozenset[tuple[str, str]]
    ) -> float:
        """Return how much it speaks of a change of what ``old`` says, or of another value.

        Who says one of the values again that were ``known`` before has nothing new.
        """
        things = (*question.beginnings, *(w for each in old.sentences for w in things_in(each)))
        changes = any(speaks_of_change(each, things) for each in self.sentences)
        sorts = {sort for sort, _ in old.values}
        fresh = any(sort in sorts for sort, _ in self.values - known)
        return CHANGE * changes + VALUE * fresh


def _answering_values(question: ParsedQuestion, sentence: str) -> frozenset[tuple[str, str]]:
    """Return the values that stand near what is asked for, of the sorts that can answer."""
    words = [(word[0].lower(), word.start()) for word in _BARE_WORD.finditer(sentence)]
    heads = [place for place, (word, _) in enumerate(words) if word.startswith(question.nouns)]
    if not heads:
        return frozenset()
    return frozenset(
        (value.sort, value.plain)
        for value in values(sentence)
        if (not question.sorts or value.sort in question.sorts)
        and _near(question, value, sentence, words, heads)
    )


def _near(
    question: ParsedQuestion,
    value: StatedValue,
    sentence: str,
    words: Sequence[tuple[str, int]],
    heads: Sequence[int],
) -> bool:
    starts = [start for _, start in words]
    first, after = bisect_left(starts, value.start), bisect_left(starts, value.end)
    if any(first <= head < after for head in heads):
        return True
    following = [head for head in heads if 0 <= head - after < BEFORE]
    if following and not _BREAK.search(sentence, value.end, starts[following[0]]):
        return True
    # "How many tickets?" is not answered by the number of something else behind the tickets.
    counted = words[after][0] if question.sorts == {"number"} and after < len(words) else ""
    alone = not counted or counted in stop_words(DEFAULT) or counted.startswith(question.beginnings)
    return alone and any(0 < first - head <= AFTER for head in heads)


def find_superseded(rows: Rows, found: Mask) -> Places:
    """Return the facts that were found and whose replacements were found, too."""
    old = pairs_among(rows.replaced, found)[:, 0]
    places: Places = np.unique(old[rows.table["kind"][old] != KINDS[Kind.EPISODE]])
    return places
