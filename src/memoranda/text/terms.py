"""From a text to the terms under which it is found, in any language.

A text in Latin script is indexed under the English stem (Snowball's Porter2) of
each of its words. If its function words show another language, also under the
stem of that language where this differs. A query is read in the same way. So

- an English query over English texts is plain Porter2;
- a query and a text in one language find each other through its inflections, if
  both show which language it is. A word alone does not: it finds its own form,
  and what English stemming makes of it;
- whatever the guesses, a word finds every text that holds the same word, accents
  and case aside, because its English stem is in both. A name needs no language.

A word of another script is stemmed by its script alone: Cyrillic as Russian,
Greek, Armenian, Arabic, Devanagari as Hindi, Tamil.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Sequence

import Stemmer

from memoranda.text.folding import fold, normalize
from memoranda.text.segmentation import LONGEST, ascii_words, segment
from memoranda.text.stop_words import DEFAULT, guess_language, stop_words

_LATIN = "latin"
_SCRIPTS: list[tuple[int, str]] = [
    (0x0000, _LATIN),
    (0x0370, "greek"),
    (0x0400, "russian"),
    (0x0530, "armenian"),
    (0x0590, ""),
    (0x0600, "arabic"),
    (0x0700, ""),
    (0x0900, "hindi"),
    (0x0980, ""),
    (0x0B80, "tamil"),
    (0x0C00, ""),
    (0x1E00, _LATIN),
    (0x1F00, "greek"),
    (0x2000, ""),
    (0x2C60, _LATIN),
    (0x2C80, ""),
]
"""Where the scripts begin, with the language whose stemmer each one takes."""
_STARTS = [start for start, _ in _SCRIPTS]


class TermAnalyzer:
    """Snowball stems for the languages of the world, bigrams for those without spaces.

    Terms hold lower-case letters, digits and vowel signs only, at most 64 of them.
    Safe to share between threads.
    """

    def __init__(self) -> None:
        """Make an analyzer; stemmers are loaded when their language first occurs."""
        self._stemmers = threading.local()

    @property
    def name(self) -> str:
        """Name and version: another Snowball may give other stems."""
        return f"snowball-{Stemmer.version()}-1"

    def terms(self, text: str) -> list[str]:
        """Return the terms of ``text`` in order, repeated as often as they occur.

        A word gives one term, or two where the language of the text is not English
        and stems the word differently. No text is refused.
        """
        text = normalize(text)
        words = ascii_words(text)
        if words is not None and guess_language(words) == DEFAULT:
            return list(self._stemmer(DEFAULT).stemWords(words))
        return [term for _, terms in self._analyze(text, query=False) for term in terms]

    def query_terms(self, text: str) -> list[str]:
        """Return the distinct terms worth searching, in order.

        As :meth:`terms`, less the function words of the query's language, unless it
        has no others.
        """
        words = self._analyze(normalize(text), query=True)
        telling = [terms for stop, terms in words if not stop] or [terms for _, terms in words]
        return list(dict.fromkeys(term for terms in telling for term in terms))

    def _analyze(self, text: str, *, query: bool) -> list[tuple[bool, Sequence[str]]]:
        """Return for each word of a normalised text whether it is a stop word, and its terms."""
        words = segment(text, query=query)
        folded = [plain for _, plain in words]
        language = guess_language(folded, () if text.isascii() else set(text.lower()))
        english = self._stems(DEFAULT, folded)
        own = english
        if language != DEFAULT:
            own = self._stems(language, [word for word, _ in words])
        stop = stop_words(language)
        return [
            (False, (word,))
            if not plain
            else (plain in stop, (first,) if first == second else (first, second))
            if plain.isascii()
            else self._foreign(plain, first)
            for (word, plain), first, second in zip(words, english, own, strict=True)
        ]

    def _foreign(self, folded: str, english: str) -> tuple[bool, Sequence[str]]:
        """Return whether a word beyond ASCII is a stop word, and its term."""
        script = _script(folded)
        if script == _LATIN:
            return False, (english,)
        if script:
            return folded in stop_words(script), self._stems(script, [folded])
        return False, (folded,)

    def _stems(self, language: str, words: list[str]) -> list[str]:
        """Return the folded stems; the word itself where a stemmer would leave nothing of it."""
        stems = self._stemmer(language).stemWords(words)
        return [
            stem if stem.isascii() and stem else (fold(stem) or fold(word))[:LONGEST]
            for stem, word in zip(stems, words, strict=True)
        ]

    def _stemmer(self, language: str) -> Stemmer.Stemmer:
        """Return this thread's stemmer: they keep state, so threads cannot share one."""
        stemmer = getattr(self._stemmers, language, None)
        if stemmer is None:
            stemmer = Stemmer.Stemmer(language)
            setattr(self._stemmers, language, stemmer)
        return stemmer


def _script(word: str) -> str:
    """Return the language whose stemmer a word takes by its script, or nothing."""
    letter = next((char for char in word if not char.isdigit()), word[0])
    return _SCRIPTS[bisect_right(_STARTS, ord(letter)) - 1][1]
