"""Cuts a text into sentences, in any language: the one place that says where a sentence ends.

A sentence ends at its mark, with the quotes and brackets that close behind it, and at the end of
a line. The full stop of "Dr.", "5 p.m. on", "J. Smith" or the German "am 3. Mai" ends none.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from memoranda.text.calendar import month_numbers
from memoranda.text.patterns import compile_pattern, load

_END = compile_pattern(
    r"[.!?\u2026]+[\"'\u201d\u2019\u00bb)\]*_~]*(?:\s+|$)|[\u3002\uff01\uff1f]+[\u300d\u300f\u201d\uff09)\"]*|\s*\n\s*"
)
_CONCRETE = compile_pattern(r"\d|[^.!?] [A-Z]\w")
_ASKS = frozenset("?\uff1f\u061f")
_MARKS = ".!?\u2026\u3002\uff01\uff1f\u061f"
_CLOSING = "\"'\u201d\u2019\u00bb)]*_~\u300d\u300f\uff09"
_OPENING = "\"'([{*_\u201c\u2018\u00ab\u201e-"
# Characters before a full stop that hold the word it may shorten; digits of a day.
_LONGEST_SHORT, _LONGEST_DAY = 12, 2


class Sentence(NamedTuple):
    """A sentence of a text, without the white space around it.

    Attributes:
        start: where it begins.
        end: where it ends, with its mark and what closes behind it.
        question: whether its mark asks.
    """

    start: int
    end: int
    question: bool


def split_sentences(text: str) -> Iterator[Sentence]:
    """Yield the sentences of a text in order; everything but white space is in one of them."""
    start = 0
    for found in _END.finditer(text):
        if not _goes_on(text, start, found.start(), found.end()):
            yield from _trimmed(text, start, found.end())
            start = found.end()
    yield from _trimmed(text, start, len(text))


def is_concrete(sentence: str) -> bool:
    """Return whether a sentence holds a number, or the name of somebody or something within."""
    return _CONCRETE.search(sentence) is not None


def sentence_texts(text: str) -> list[str]:
    """Return the words of each sentence of a text, in order."""
    return [text[each.start : each.end] for each in split_sentences(text)]


def _trimmed(text: str, start: int, end: int) -> Iterator[Sentence]:
    """Yield what stands between two places as a sentence, unless it is white space."""
    said = text[start:end]
    bare = said.strip()
    if bare:
        start += len(said) - len(said.lstrip())
        marks = bare[len(bare.rstrip(_MARKS + _CLOSING)) :]
        yield Sentence(start, start + len(bare), not _ASKS.isdisjoint(marks))


def _goes_on(text: str, start: int, stop: int, following: int) -> bool:
    """Return whether the mark at ``stop`` is the full stop of a shortened word or an ordinal."""
    if text[stop:following].rstrip() != "." or "\n" in text[stop:following]:
        return False
    words = text[max(start, stop - _LONGEST_SHORT) : stop].split()
    rest = text[following : following + _LONGEST_SHORT].lstrip(_OPENING)
    if not words or not rest:
        return False
    word, data = words[-1].lstrip(_OPENING).lower(), load("mul", "sentences")
    if word in data["titles"]:
        return True
    if word in data["numbers"] or word in data["abbreviations"]:
        return rest[0].isdigit() or (word in data["abbreviations"] and rest[0].islower())
    if word.isdecimal() and len(word) <= _LONGEST_DAY and start < stop - len(word):
        return rest[0].islower() or rest.split()[0].lower().strip(".,") in month_numbers()
    initial = len(word) == 1 and words[-1][-1].isupper() and word != "i" and rest[0].isupper()
    return initial and (len(words) == 1 or not words[-2].islower())
