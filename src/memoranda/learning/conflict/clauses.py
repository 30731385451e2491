"""A text taken apart: clauses, what each is about, how it is meant, and its quantities."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from memoranda.learning.aspect import Aspect, aspect
from memoranda.learning.reading import Word, mark_dates, read, stems
from memoranda.learning.wording import (
    ENDINGS,
    FILLERS,
    SPANS,
    STOP_WORDS,
    STRONG_CUES,
    WEAK_CUES,
    word_set,
)

_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_LEAD = re.compile(r"\b(actually|correction|sorry|no|wait|well|oh),\s+", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_CLAUSE = re.compile(
    r"\s*;\s+|,\s+(?!which\b|not\b|\d)|\s+[-–—]\s+"
    r"|\s+(?:but|so|because|although|while|though|whereas)\s+(?!that\b)"
    r"|\s+and\s+(?=(?:I|we|he|she|they|the user)\b)",
    re.IGNORECASE,
)
_ASKED = re.compile(
    r"^(?:can|could|would|should|will|do|does|did|is|are|was|how|what|why|when|where|which|who|"
    r"maybe)\b(?!.*\bis\b.*\bnow\b)",
    re.IGNORECASE,
)
_WISHED = re.compile(
    r"\b(?:want(?:s|ed)?|need(?:s|ed)?|would like|hop(?:es?|ing)|plan(?:s|ning|ned)?|"
    r"look(?:s|ing)|intend(?:s|ing)?|going|wish(?:es)?|considering|thinking of|how|aim(?:s|ing)?)"
    r"\s+(?:to|for|of)\b|\beager to\b|'ll\b|\blet's\b"
    r"|\b(?:will|if|might|may|would|should)\b",
    re.IGNORECASE,
)
_TRIED = re.compile(
    r"\b(?:try|tries|trying|aim|aims|aiming|attempting|goal is(?: now)?|preparing|learning|ready)"
    r"\s+to\b",
    re.IGNORECASE,
)
_GOAL = re.compile(
    r"\b(?:goal|target|achieve|reach|aim|aims|aiming|at least|by|under|below)\b", re.IGNORECASE
)
_CORRECTING = re.compile(
    r"^(?:(?:oh|oops|wait|well|hmm|ah|hey|and|but|no|sorry)\b[\s,!.-]*)*"
    r"(?:actually\b|correction\b|(?:i )?meant\b|i was (?:wrong|mistaken)|i misspoke|sorry\b)"
    r"|^(?:no|sorry|wait|well),? (?=(?:the|it|its|it's|my|our|his|her|their|that|this|he|she)\b)",
    re.IGNORECASE,
)
_ADDED = re.compile(
    r"\b(?:also|as well|another|in addition|additionally|besides|on top of|both|"
    r"second (?:job|home|house|car|degree)|side (?:job|gig|business|project|hustle))\b"
    r"|\btoo\s*[.,!;]*$",
    re.IGNORECASE,
)
_PARTLY = re.compile(
    r"\b(?:part[- ]time|temporarily|freelanc\w+|volunteer\w*|sometimes|occasionally|"
    r"from time to time|once in a while|weekends?|weekdays?|evenings|at night|nights|summers|"
    r"in the (?:morning|afternoon|evening)s?|on (?:mon|tues|wednes|thurs|fri|satur|sun)days)\b",
    re.IGNORECASE,
)
_INTERJECTION = re.compile(
    r"^(?:(?:no|yes|yeah|yep|nope|well|oh|and|but|so|ok|okay|aww?|wow|cool|nice)\b[\s,!.]*)+",
    re.IGNORECASE,
)
_PAST = re.compile(
    r"\b(?:lived|worked|was|were|had|used to|formerly|previously|until|studied|resided|owned|"
    r"back then|as a child|as a kid|growing up)\b",
    re.IGNORECASE,
)
_NEVER = re.compile(r"\b(?:never|not|no|n't|without)\b|n't\b|n’t\b", re.IGNORECASE)
_YEAR = re.compile(r"(?:19|20)\d\d")


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number or date in a clause.

    Attributes:
        value: in one form.
        unit: stems of what it counts; empty where only the words before it tell.
        before: stems of the words before it in its clause, nearest first.
        kind: ``number`` or ``date``.
        near: cues of change around it: ``now``, ``increased``, ``new``.
        verb: stems of the words just before it, cues among them.
        origin: whether the clause says that it was so before: ``from 5 to 8``.
        goal: whether it is one to be reached.
    """

    value: str
    unit: tuple[str, ...]
    before: tuple[str, ...]
    kind: str
    near: frozenset[str]
    verb: frozenset[str]
    origin: bool
    goal: bool


@dataclass(frozen=True, slots=True)
class Clause:
    """A part of a text that says one thing.

    Attributes:
        text: its text, with dates in one form.
        words: its words.
        content: the stems of what it is about.
        sentence: those of the sentence it stands in.
        quantities: its numbers and dates.
        asked: whether it asks or requests.
        wished: whether it speaks of what may be or is wanted.
        tried: whether it speaks of what is tried or aimed at.
        added: whether it speaks of what comes on top of something else: ``also``, ``another``.
        partly: whether it speaks of what fills a part of the time: ``on weekends``.
        aspect: how its first verb stands to time.
        negated: whether it says what is not.
        past: whether it speaks of a time that is over.
        strong, weak, ending: which cues of change it has.
        correcting: whether it takes back what was said: ``Actually, …``.
    """

    text: str
    words: tuple[Word, ...]
    content: frozenset[str]
    sentence: frozenset[str]
    quantities: tuple[Quantity, ...]
    asked: bool
    wished: bool
    tried: bool
    added: bool
    partly: bool
    aspect: Aspect
    negated: bool
    past: bool
    strong: frozenset[str]
    weak: frozenset[str]
    ending: frozenset[str]
    correcting: bool


@lru_cache(maxsize=1024)
def clauses(text: str) -> tuple[Clause, ...]:
    """Return the clauses of ``text`` in order; program code is no part of what is said."""
    found = []
    for sentence in _SENTENCE.split(mark_dates(_CODE.sub(" . ", text))):
        content = read(sentence).content
        asked = sentence.rstrip().endswith("?")
        parts = [
            part for part in _CLAUSE.split(_LEAD.sub(r"\1 ", sentence)) if part and part.strip()
        ]
        for place, part in enumerate(parts):
            last = asked and place == len(parts) - 1
            found.append(_clause(part.strip(), content, asked=last and len(parts) == 1))
    return tuple(clause for clause in found if clause.content)


@lru_cache(maxsize=1024)
def content(text: str) -> frozenset[str]:
    """Return the stems of what a text is about, without program code."""
    return read(_CODE.sub(" . ", text)).content


def brief(text: str) -> bool:
    """Return whether a text is one short statement rather than a message."""
    return len(clauses(text)) <= BRIEF_CLAUSES and len(read(text).words) <= BRIEF_WORDS


BRIEF_WORDS = 30
BRIEF_CLAUSES = 3


def spoken(clause: Clause) -> str:
    """Return the text of a clause without the interjections that it begins with."""
    return _INTERJECTION.sub("", clause.text)


def _clause(text: str, sentence: frozenset[str], *, asked: bool) -> Clause:
    reading = read(text)
    said = frozenset(word.text for word in reading.words)
    return Clause(
        text=text,
        words=reading.words,
        content=reading.content,
        sentence=sentence,
        quantities=_quantities(text, reading.words),
        asked=asked or bool(_ASKED.match(text)),
        wished=bool(_WISHED.search(text)),
        tried=bool(_TRIED.search(text)),
        added=bool(_ADDED.search(text)),
        partly=bool(_PARTLY.search(text)),
        aspect=aspect(text),
        negated=bool(_NEVER.search(text)),
        past=bool(_PAST.search(text)),
        strong=said & STRONG_CUES,
        weak=said & WEAK_CUES,
        ending=said & ENDINGS,
        correcting=bool(_CORRECTING.match(text)),
    )


def _quantities(text: str, words: tuple[Word, ...]) -> tuple[Quantity, ...]:
    goal = bool(_GOAL.search(text))
    found = []
    for place, word in enumerate(words):
        if word.kind not in {"number", "date"} or _part_of_name(words, place):
            continue
        previous = words[place - 1].text if place else ""
        around = {each.text for each in (*words[max(place - 7, 0) : place], *words[place:][:4])}
        found.append(
            Quantity(
                value=word.text,
                unit=_unit(words, place) if word.kind == "number" else (),
                before=_before(words, place),
                kind="date" if _is_year(words, place) else word.kind,
                near=frozenset(around & (STRONG_CUES | {"new", "down"})),
                verb=frozenset(each.stem for each in words[max(place - 3, 0) : place]),
                origin=previous == "from" and "to" in _texts(words, place),
                goal=goal and previous in {"least", "by", "under", "below", "of", "achieve"},
            )
        )
    return tuple(found)


def _is_year(words: tuple[Word, ...], place: int) -> bool:
    """Return whether a number is a year: ``in 2022``, but not ``in 2000 homes``."""
    before = words[place - 1].text if place else ""
    after = words[place + 1] if place + 1 < len(words) else None
    counts = after is not None and not after.name and after.text not in STOP_WORDS
    return bool(_YEAR.fullmatch(words[place].text)) and before in _YEAR_BEFORE and not counts


_YEAR_BEFORE = word_set("in since until by from during of around year early late mid summer")


def _part_of_name(words: tuple[Word, ...], place: int) -> bool:
    """Return whether a number names a thing rather than counts: ``v2.1``, ``sprint 2``."""
    word, previous = words[place], words[place - 1] if place else None
    unit = _unit(words, place)
    if word.kind == "date":
        return False
    if word.text.count(".") > 1 or (previous is not None and previous.text == "v"):
        return True
    if previous is not None and previous.text in SPANS and set(unit[:1]) & _LENGTHS:
        return True
    return (
        previous is not None
        and not unit
        and previous.kind == "word"
        and previous.text not in STOP_WORDS | _BREAKS | FILLERS
    )


_LENGTHS = frozenset(stems(["minute", "hour", "day", "week", "month", "year"]))


def _texts(words: tuple[Word, ...], place: int) -> list[str]:
    return [word.text for word in words[place + 1 : place + 5]]


def _unit(words: tuple[Word, ...], place: int) -> tuple[str, ...]:
    """Return what a number counts: up to four words after it, or the sign before it."""
    if place and words[place - 1].kind == "sign":
        return (words[place - 1].text,)
    unit: list[str] = []
    for word in words[place + 1 : place + 5]:
        if word.text in {"per", "a", "each", "/"} and unit:
            continue
        if word.kind in {"number", "date"} or word.text in STOP_WORDS or word.text in _BREAKS:
            break
        unit.append(word.stem)
        if word.kind == "sign":
            break
    return tuple(unit)


_BREAKS = STRONG_CUES | WEAK_CUES | ENDINGS | word_set("using used merged that per")


def _before(words: tuple[Word, ...], place: int) -> tuple[str, ...]:
    return tuple(
        word.stem
        for word in reversed(words[:place])
        if word.kind == "word" and word.text not in STOP_WORDS and word.text not in FILLERS
        and word.text not in STRONG_CUES and word.text not in WEAK_CUES
    )  # fmt: skip


def years(clause: Clause) -> frozenset[str]:
    """Return the years that a clause names."""
    return frozenset(match[0] for each in clause.quantities if (match := _YEAR.match(each.value)))
