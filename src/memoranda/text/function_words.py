"""Function words by language: what a query leaves out, and by what a language is known.

The lists are short on purpose. They hold the words that carry grammar rather
than meaning, and leave out those that are also names, months or countries
("may", "us"), because a memory is asked about these.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import resources
from types import MappingProxyType

from memoranda.text.folding import fold

DEFAULT = "english"
"""The language of text in Latin script that gives no evidence of another."""

_SCRIPTS_OF_THEIR_OWN = frozenset({"russian", "greek"})


def _read() -> tuple[dict[str, frozenset[str]], dict[str, list[str]]]:
    """Return the folded function words of each language, and the languages of each mark."""
    text = resources.files(__package__).joinpath("function_words.txt").read_text("utf-8")
    words: dict[str, set[str]] = {}
    marks: dict[str, list[str]] = {}
    language = DEFAULT
    for line in text.splitlines():
        if line.startswith(" "):
            words[language].update(fold(word.replace("'", "")) for word in line.split())
        elif line and not line.startswith("#"):
            language, _, signs = line.partition(":")
            words[language] = set()
            for sign in signs.split():
                marks.setdefault(sign, []).append(language)
    return {language: frozenset(found) for language, found in words.items()}, marks


_words, _MARKS = _read()
STOP_WORDS = MappingProxyType(_words)
"""The function words of each language, folded: lower case and without diacritics."""

_CERTAIN = 360_360
"""The evidence of a word that only one language has; every number up to 15 divides it."""


def _evidence() -> dict[str, dict[str, int]]:
    """Return what each word or mark says for each language: less, where several share it."""
    latin = {k: v for k, v in STOP_WORDS.items() if k not in _SCRIPTS_OF_THEIR_OWN}
    spoken = {mark: list(languages) for mark, languages in _MARKS.items()}
    for language, words in latin.items():
        for word in words:
            spoken.setdefault(word, []).append(language)
    return {
        sign: dict.fromkeys(languages, _CERTAIN // len(languages))
        for sign, languages in spoken.items()
    }


_EVIDENCE = _evidence()


def guess_language(words: Iterable[str], marks: Iterable[str] = ()) -> str:
    """Return the language of a text in Latin script by its function words.

    English unless another language has more evidence, and at least that of one
    word which only it has.

    Args:
        words: the words of the text, folded. Of a long text the first few hundred do.
        marks: the distinct lower-case characters of the text beyond ASCII.
    """
    found = [_EVIDENCE[word] for word in words if word in _EVIDENCE]
    found += [_EVIDENCE[mark] for mark in marks if mark in _MARKS]
    tally = {DEFAULT: 0}
    for evidence in found:
        for language, weight in evidence.items():
            tally[language] = tally.get(language, 0) + weight
    best = max(tally, key=lambda language: (tally[language], language == DEFAULT, language))
    return best if tally[best] >= _CERTAIN else DEFAULT
