"""What the words of a sentence tell: names, figures and matters much, courtesies nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from memoranda.learning.parsed_text import stems
from memoranda.text.languages import LanguageData

_COMPARISON = LanguageData("en", "comparison")
_EN = LanguageData("en", "history")
_EXTRACTION = LanguageData("en", "extraction")


_TOKEN = re.compile(
    r"(?P<unspaced>[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]+)"
    r"|(?P<number>\d+(?:[.,:/]\d+)*)|(?P<word>[^\W\d_]+(?:['’][^\W\d_]+)*)"
)
_NOTHING = (
    _EXTRACTION.words("stop")
    | _COMPARISON.words("stop_words")
    | _EXTRACTION.words("second")
    | _EXTRACTION.words("pronouns")
)
_LITTLE = (
    _EXTRACTION.words("vague")
    | _EXTRACTION.words("evaluative")
    | _EXTRACTION.words("adverbs")
    | _EXTRACTION.words("light")
    | _EXTRACTION.words("mental")
    | _EXTRACTION.words("fillers")
)
_FIGURE, _NAME, _COUNT, _PAIR, _SMALL = 1.5, 1.6, 1.2, 0.4, 0.2
# By length: in any language the words that hold a sentence together are short.
_BY_LENGTH = (0.0, 0.1, 0.2, 0.5, 0.8)


class Word(NamedTuple):
    """A word of a sentence.

    Attributes:
        stem: by which it is compared.
        written: as it stands there.
        weight: how much it tells.
        noun: whether it stands there as a name or a noun, as far as its neighbours show.
    """

    stem: str
    written: str
    weight: float
    noun: bool = True


def read_words(text: str) -> list[Word]:
    """Return the words of a sentence that tell anything, in order."""
    found: list[Word] = []
    before = ""
    for place, match in enumerate(_TOKEN.finditer(text)):
        kind, token = match.lastgroup, match[0]
        if kind == "unspaced":
            pairs = [token[at : at + 2] for at in range(max(1, len(token) - 1))]
            found += [Word(pair, pair, _PAIR) for pair in pairs]
        elif kind == "number":
            found.append(Word(token, token, _FIGURE))
        else:
            weight = _weight(token, first=place == 0)
            found.append(Word(_folded(token), token, weight, _is_noun(token, before)))
        before = token.lower()
    stemmed = stems([word.stem for word in found])
    return [
        word._replace(stem=stem) for word, stem in zip(found, stemmed, strict=True) if word.weight
    ]


def _is_noun(token: str, before: str) -> bool:
    """Return whether a word is a name or a noun: by a capital, its ending or what leads to it."""
    low = token.lower()
    if token[0].isupper() and before:
        return True
    if before in _EN.words("determiners"):
        return True
    doing = low.endswith(("ing", "ed", "ly"))
    return not doing and (
        low.endswith(tuple(_EN.words("noun_endings"))) or before in _EN.words("noun_leads")
    )


def weights(text: str) -> Mapping[str, float]:
    """Return how much each word of a sentence tells, by its stem."""
    found: dict[str, float] = {}
    for word in read_words(text):
        found[word.stem] = max(word.weight, found.get(word.stem, 0))
    return found


def _folded(token: str) -> str:
    low = token.lower().replace("’", "'")
    return low.removesuffix("'s")


def _weight(token: str, *, first: bool) -> float:
    low = _folded(token)
    if low in _NOTHING or low.partition("'")[0] in _NOTHING:
        return _COUNT if low in _EN.words("number_words") else 0
    if low in _LITTLE:
        return _SMALL
    if low in _EN.words("number_words"):
        return _COUNT
    if token[0].isupper() and not first:
        return _NAME
    return _BY_LENGTH[len(low)] if len(low) < len(_BY_LENGTH) else 1.0
