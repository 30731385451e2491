"""Function words by language: what a query leaves out, and by what a language is known.

The lists are short on purpose. They hold the words that carry grammar rather than meaning, and
leave out those that are also names, months or countries ("may", "us"), because a memory is
asked about these. A language is called by the name of its stemmer: ``english``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache

from memoranda.text.folding import fold
from memoranda.text.languages import load, words_of

DEFAULT = "english"
"""The language of text in Latin script that gives no evidence of another."""

_SCRIPTS_OF_THEIR_OWN = frozenset({"russian", "greek"})
_CERTAIN = 360_360
"""The evidence of a word that only one language has; every number up to 15 divides it."""


@cache
def _codes() -> Mapping[str, str]:
    """Return the code of each language by the name of its stemmer."""
    return {language["stemmer"]: code for code, language in load("mul", "stemmers").items()}


@cache
def stop_words(language: str) -> frozenset[str]:
    """Return the function words of a language, folded; none where its words are not known."""
    code = _codes().get(language)
    words = () if code is None else words_of("function_words", code)
    return frozenset(fold(word.replace("'", "")) for word in words)


@cache
def _marks() -> Mapping[str, list[str]]:
    """Return the languages of each letter and sign that few languages write."""
    marks: dict[str, list[str]] = {}
    for language in load("mul", "stemmers").values():
        for sign in language.get("marks", ()):
            marks.setdefault(sign, []).append(language["stemmer"])
    return marks


@cache
def _evidence() -> Mapping[str, Mapping[str, int]]:
    """Return what each word or mark says for each language: less, where several share it."""
    speaking = {mark: list(languages) for mark, languages in _marks().items()}
    for language in _codes().keys() - _SCRIPTS_OF_THEIR_OWN:
        for word in stop_words(language):
            speaking.setdefault(word, []).append(language)
    return {
        sign: dict.fromkeys(languages, _CERTAIN // len(languages))
        for sign, languages in speaking.items()
    }


@cache
def _foreign() -> frozenset[str]:
    """Return the words and marks that say nothing for the default language."""
    return frozenset(sign for sign, evidence in _evidence().items() if DEFAULT not in evidence)


def guess_language(words: Iterable[str], marks: Iterable[str] = ()) -> str:
    """Return the language of a text in Latin script by its function words.

    English unless another language has more evidence, and at least that of one
    word which only it has.

    Args:
        words: the words of the text, folded. Of a long text the first few hundred do.
        marks: the distinct lower-case characters of the text beyond ASCII.
    """
    words, marks, known = list(words), list(marks), _evidence()
    if _foreign().isdisjoint(words) and _foreign().isdisjoint(marks):
        return DEFAULT  # What all the evidence is shared by cannot have less of it.
    found = [known[word] for word in words if word in known]
    found += [known[mark] for mark in marks if mark in _marks()]
    tally = {DEFAULT: 0}
    for evidence in found:
        for language, weight in evidence.items():
            tally[language] = tally.get(language, 0) + weight
    best = max(tally, key=lambda language: (tally[language], language == DEFAULT, language))
    return best if tally[best] >= _CERTAIN else DEFAULT
