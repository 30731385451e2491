"""Whether a statement is about another thing of the same sort as a question.

That is where it has another word in the place of one of the question's: "the red bicycle" is
not "the blue bicycle", and "the flight to Rome" is not "the flight to Oslo".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memoranda.model.ports import Analyzer
from memoranda.search.questions import ParsedQuestion, generic_words
from memoranda.search.statements import is_part_of_date, speaks_of_change, values
from memoranda.text.languages import LanguageData, load
from memoranda.text.patterns import compile_pattern
from memoranda.text.terms import DEFAULT, stop_words

VERB_ENDINGS = ("ed", "ing")
SHORT = 4  # letters up to which an ending like a verb's is by chance: "red"
_ENGLISH = LanguageData("en", "statements")
_NUMBERED = _ENGLISH.pattern("numbered")
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
        and word.text.lower() not in generic_words()
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
    for match in _NUMBERED.finditer(text):
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
    while 0 <= place < len(words) and words[place].text.lower() in _ENGLISH.words("links"):
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
        or lower in generic_words()
        or lower in stop_words(DEFAULT)
        or not word.terms.isdisjoint(question.weights)
        or is_part_of_date(text)
        or lower == "new"
        or speaks_of_change(text)
        or values(text)
        or (len(text) > SHORT and lower.endswith(VERB_ENDINGS))
    )
