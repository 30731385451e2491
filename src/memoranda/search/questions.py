"""What a question asks for: how things are now, how they were, or neither for sure.

Only what is true now can be out of date. "What is my rent?" has one answer at a time, the
newest; "Which cities did I see?" has many, and "What was the rent at first?" has an old one.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from itertools import takewhile

from memoranda.text.folding import fold, normalize
from memoranda.text.languages import LanguageData, load
from memoranda.text.patterns import compile_pattern

_ENGLISH = LanguageData("en", "questions")
_PAST = _ENGLISH.pattern("past")
_STATE = _ENGLISH.pattern("state", re.IGNORECASE | re.DOTALL)
_DONE = _ENGLISH.pattern("done")
_PRESENT = _ENGLISH.pattern("present")
_DOES = _ENGLISH.pattern("does")
_OWN = _ENGLISH.pattern("own")
_HEAD_ENDS = _ENGLISH.pattern("head_ends")
_LEADS = _ENGLISH.pattern("leads")
_MANY = _ENGLISH.pattern("many")
_WORD = compile_pattern(r"[^\W_]+")
SHORT = 3  # letters from which a common beginning means a common word


@cache
def generic_words() -> frozenset[str]:
    """Return the words that stand for anything: "number", "name", "value"."""
    return _ENGLISH.words("generic")


@cache
def _sorts() -> tuple[tuple[re.Pattern[str], frozenset[str]], ...]:
    """Return the sorts of values that can answer, by what is asked."""
    rows = load("en", "questions")["sorts"]
    return tuple(
        (compile_pattern(pattern, re.IGNORECASE), frozenset(sorts.split()))
        for pattern, sorts in rows
    )


class AskedState(Enum):
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
        own: whether it is about the one who asks.
        done: whether it asks how often something was done: what is done again is done more
            often, so only who speaks of a change has a newer answer.
        many: whether it asks for several things.
    """

    text: str
    weights: Mapping[str, float]
    head: frozenset[str]
    beginnings: tuple[str, ...]
    nouns: tuple[str, ...]
    sorts: frozenset[str]
    own: bool
    done: bool
    many: bool

    def touches(self, sentence: str) -> bool:
        """Return whether ``sentence`` can hold a term of the question, at little cost."""
        text = sentence.lower() if sentence.isascii() else fold(sentence)
        return any(beginning in text for beginning in self.beginnings)

    def share(self, terms: frozenset[str]) -> float:
        """Return how much of the question (0 to 1) is in ``terms``."""
        return sum(weight for term, weight in self.weights.items() if term in terms)


def state_of(query: str) -> AskedState:
    """Return which state of things ``query`` is about."""
    text = _DONE.sub(r"\g<counted>do ", normalize(query))
    if _PAST.search(text):
        return AskedState.THEN
    return AskedState.NOW if _STATE.search(text) and _PRESENT.search(text) else AskedState.OPEN


def read_question(query: str, terms: Sequence[str], weights: Sequence[float]) -> ParsedQuestion:
    """Return what ``query`` asks for.

    Args:
        query: the question.
        terms: its terms.
        weights: how much each of them tells, on any scale; nothing where nobody used it.
    """
    text = " ".join(normalize(query).split())
    state = _STATE.search(text)
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
        own=_OWN.search(text) is not None,
        done=_DONE.search(text) is not None,
        many=state is not None and state["what"] is not None and _MANY.search(head) is not None,
    )


def _head(rest: str) -> str:
    if _DOES.match(rest):
        return ""
    rest = _LEADS.sub("", rest)
    end = _HEAD_ENDS.search(rest)
    return rest if end is None else rest[: end.start()]


def _terms_of(text: str, terms: Collection[str]) -> list[tuple[str, str]]:
    """Return the term of each telling word of ``text``, with what its inflections begin with.

    What is not ASCII has no inflections here: such terms stand for themselves.
    """
    found = []
    for word in _WORD.findall(fold(text)):
        near = [term for term in terms if term[:SHORT] == word[:SHORT]]
        if near and len(word) >= SHORT and word not in generic_words():
            stem, term = max((_common_beginning(word, term), term) for term in near)
            found.append((term, stem))
    return found + [(term, term) for term in terms if not term.isascii()]


def _common_beginning(one: str, other: str) -> str:
    """Return what both words begin with."""
    alike = takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    return "".join(letter for letter, _ in alike)
