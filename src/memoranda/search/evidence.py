"""The arms: the evidence of each retrieval method for every record of a user.

Each is a function from arrays to an array with one number a record, in a unit of its own
that does not depend on the other records found: a share of the query, a cosine. So the
numbers of different queries can be compared, and adding them up needs no normalising.

What a question asks for: how things are now, how they were, or neither for sure.

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

import numpy as np
import numpy.typing as npt

from memoranda.model.query import TermMatches, Vector
from memoranda.search.index import Floats, Rows
from memoranda.text.languages import LanguageData, load
from memoranda.text.patterns import compile_pattern
from memoranda.text.terms import fold, normalize

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


K1, B = 1.2, 0.75  # BM25 (Robertson and Zaragoza 2009), as in FTS5
FULL_LENGTH = 200.0  # characters from which a text counts as substantial

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Lexical:
    """Evidence from the words of the query.

    Attributes:
        bm25: BM25 of each record with the user's own statistics.
        coverage: share (0 to 1) of the query, weighed by how rare its words are, that
            stands in the record or around it.
    """

    bm25: Floats
    coverage: Floats


def lexical(rows: Rows, matches: TermMatches, visible: Mask, *, around: bool = True) -> Lexical:
    """Return how much of the query's words each record holds, itself or with those ``around``."""
    nothing = np.zeros(len(rows), np.float32)
    if not matches.ordinals:
        return Lexical(nothing, nothing)
    terms = len(matches.frequencies)
    places, known = rows.found(matches.ordinals)
    counts = np.frombuffer(b"".join(matches.counts), np.uint8).reshape(-1, terms)[known]
    lengths = np.asarray(matches.lengths, np.float32)[known]
    mean = rows.table["terms"][visible & ~_said_again(rows, visible)].mean() if visible.any() else 1
    saturation = K1 * (1 - B + B * lengths / max(float(mean), 1.0))
    held = np.zeros((terms, len(rows)), np.float32)
    held[:, places] = ((K1 + 1) * counts / (counts + saturation[:, None])).T
    held[:, ~visible] = 0
    weights = rarity(rows, matches, visible)
    shared = np.minimum(1, held)
    if around:
        shared = np.minimum(1, rows.surroundings.gathered(shared))
    coverage = _summed(weights, shared) / max(float(weights.sum()), 1e-9)
    return Lexical(_summed(weights, held), coverage.astype(np.float32))


def _summed(weights: Floats, of_terms: Floats) -> Floats:
    summed: Floats = np.einsum("t,tr->r", weights, of_terms)
    return summed


def rarity(rows: Rows, matches: TermMatches, visible: Mask) -> Floats:
    """Return how informative each term of the query is: the rarer, the more.

    A fact that was drawn from a turn says its words again, which makes them no more common;
    a word that facts alone use counts as used once.
    """
    frequencies = np.array(matches.frequencies, np.float64)
    least = np.minimum(frequencies, 1)
    again = _said_again(rows, visible)
    if again.any() and matches.ordinals:
        places, known = rows.found(matches.ordinals)
        counts = np.frombuffer(b"".join(matches.counts), np.uint8).reshape(-1, len(frequencies))
        frequencies -= np.count_nonzero(counts[known][again[places]], axis=0)
    # Lucene's form, which is never negative. A word that nobody used says nothing.
    population = int((visible & ~again).sum())
    held = np.minimum(np.maximum(frequencies, least), population)
    weights = np.log1p((population - held + 0.5) / (held + 0.5))
    return np.where(held > 0, weights, 0).astype(np.float32)


def held(rows: Rows, matches: TermMatches, weights: Floats) -> Floats:
    """Return the share (0 to 1) of the query, by the ``weights`` of its terms, in each record."""
    share = np.zeros(len(rows), np.float32)
    if matches.ordinals:
        places, known = rows.found(matches.ordinals)
        counts = np.frombuffer(b"".join(matches.counts), np.uint8).reshape(-1, len(weights))
        whole = np.where(counts[known] > 0, weights, np.float32(0)).sum(axis=1)
        share[places] = whole / max(float(weights.sum()), 1e-9)
    return share


def _said_again(rows: Rows, visible: Mask) -> Mask:
    """Return which records are facts beside what they were drawn from."""
    again: Mask = np.zeros(len(rows), bool)
    facts, sources = rows.sources.T
    again[facts[visible[facts] & visible[sources]]] = True
    return again


@dataclass(frozen=True, slots=True)
class Semantic:
    """Evidence from the meaning of the query.

    Attributes:
        likeness: cosine of each record's vector to the query's.
        around: mean cosine of the records around it, the nearer the heavier, itself included.
    """

    likeness: Floats
    around: Floats


def semantic(rows: Rows, vector: Vector | None, visible: Mask) -> Semantic:
    """Return how near each record is in meaning; zeros where there are no vectors."""
    found = likeness(rows, vector)
    if found is None:
        nothing = np.zeros(len(rows), np.float32)
        return Semantic(nothing, nothing)
    return Semantic(found, rows.surroundings.mean(found, visible))


def likeness(rows: Rows, vector: Vector | None) -> Floats | None:
    """Return the cosine of each record to the query, 0 at least; ``None`` without vectors."""
    if vector is None or rows.vectors.shape[1] != len(vector):
        return None
    # Not `@`: on several cores it shares the work among threads, which takes half the time on
    # an idle machine and a hundred times as long, now and then, on a busy one.
    # A negative cosine is no evidence against a record, only none for it.
    found: Floats = np.maximum(np.vecdot(rows.vectors, vector), np.float32(0))
    return found


def entities(rows: Rows, matches: Sequence[tuple[int, int]], asked: int) -> Floats:
    """Return the share (0 to 1) of the query's names that each record mentions."""
    share = np.zeros(len(rows), np.float32)
    if matches and asked:
        ordinals, counts = zip(*matches, strict=True)
        places, known = rows.found(ordinals)
        share[places] = np.minimum(1, np.asarray(counts, np.float32)[known] / asked)
    return share


def temporal(rows: Rows, since_ms: int, until_ms: int) -> Floats:
    """Return 1 for each record that happened in the time the query names, else 0."""
    event = rows.table["event"]
    named: Floats = ((event >= since_ms) & (event < until_ms)).astype(np.float32)
    return named


def substance(rows: Rows) -> Floats:
    """Return how far each text is long enough (0 to 1) to say something of its own."""
    length: Floats = rows.table["length"]
    share: Floats = np.minimum(1, length / np.float32(FULL_LENGTH)).astype(np.float32)
    return share


def said_by(rows: Rows, speaker: str) -> Floats:
    """Return 1 for each record that ``speaker`` said, else 0."""
    number = rows.speakers.get(speaker)
    if number is None:
        return np.zeros(len(rows), np.float32)
    said: Floats = (rows.table["speaker"] == number).astype(np.float32)
    return said
