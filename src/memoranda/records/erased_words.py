"""Tells which erased texts a text repeats: the one rule for all that keeps text.

A text repeats an erased one if it has five words or more of it in a row, or all of a shorter one.
Words are compared without case, accents, punctuation, markup and line ends; of scripts without
spaces, two signs count as a word. JSON is read with its escapes and without them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache

from memoranda.model.erasure import ERASED
from memoranda.text.patterns import LinearMatch, compile_pattern, compile_scanner
from memoranda.text.recalled import statements
from memoranda.text.terms import fold, normalize

LEAST_WORDS = 5
# One word of fewer characters is a repetition only where a text says nothing else.
SHORTEST = 4
_SIGNS = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
)
UNSPACED = compile_pattern(f"[{_SIGNS}]")
WORD = compile_scanner(f"(?:[^\\W{_SIGNS}]|[\u0300-\u036f])++|\\w")
ESCAPE = compile_pattern(r'\\(?:u([0-9a-fA-F]{4})|([nrtbf"\\/]))')
# JSON in JSON in JSON: the arguments of a call, in an item of a provider, in the result of a tool.
MOST_ESCAPED = 4

Words = tuple[str, ...]


class ErasedWords:
    """The words of erased texts.

    Args:
        texts: what is erased.
        quoting: texts whose sentences are of others: only all of one repeats it.
    """

    def __init__(self, texts: Iterable[str], *, quoting: Collection[str] = ()) -> None:
        """Look at the words of each text."""
        self._runs: defaultdict[Words, set[str]] = defaultdict(set)
        self._phrases: defaultdict[str, list[tuple[Words, str]]] = defaultdict(list)
        for text in dict.fromkeys((*texts, *quoting)):
            words = split_words(text)
            runs = () if text in quoting else tuple(_long_runs(words))
            for run in runs:
                self._runs[run].add(text)
            if words and not runs:
                self._phrases[words[0]].append((words, text))

    def _phrases_in(self, words: Words) -> Iterator[tuple[Words, str]]:
        """Yield the short texts that stand in these words, as words and as texts."""
        for start, word in enumerate(words):
            for phrase, text in self._phrases.get(word, ()):
                if words[start : start + len(phrase)] == phrase:
                    yield phrase, text

    def repeated_in(self, text: str) -> frozenset[str]:
        """Return the erased texts that a text repeats."""
        found: set[str] = set()
        for plain in _unescape(text):
            words = split_words(plain)
            for run in _long_runs(words):
                found |= self._runs.get(run, frozenset())
            for phrase, erased in self._phrases_in(words):
                tiny = len(phrase) == 1 and len(phrase[0]) < SHORTEST
                if phrase == words or not tiny:
                    found.add(erased)
        return frozenset(found)

    def are_told_in(self, answer: str) -> bool:
        """Return whether an answer that memory gave without a model tells one, at any length."""
        words = split_words(answer)
        if not self._runs.keys().isdisjoint(_long_runs(words)):
            return True
        return any(self._phrases_in(words)) and any(map(self.are_all_of, statements(answer)))

    def are_all_of(self, text: str) -> bool:
        """Return whether a text says nothing but what was erased."""
        words = split_words(text)
        runs = {*_long_runs(words)}
        if runs and runs <= self._runs.keys():
            return True
        return any(phrase == words for phrase, _ in self._phrases_in(words))

    def replace_lines(
        self, lines: Sequence[str], *, spare: Collection[int] = ()
    ) -> tuple[list[str], int]:
        """Return lines, ``[erased]`` for each that repeats an erased text; and how many did.

        What stands in a row over two lines goes with both.

        Args:
            lines: the lines with their ends.
            spare: places of lines that stay as they are.
        """
        gone = {at for at, line in enumerate(lines) if at not in spare and self.repeated_in(line)}
        for at in range(len(lines) - 1):
            both = {at, at + 1}
            if not both & {*gone, *spare} and self.repeated_in(lines[at] + lines[at + 1]):
                gone |= both
        ends = [line[len(line.rstrip("\r\n")) :] for line in lines]
        left = [ERASED + ends[at] if at in gone else line for at, line in enumerate(lines)]
        return left, len(gone)


def split_words(text: str) -> Words:
    """Return the words of a text as they are compared; of a script without spaces, its signs."""
    return tuple(_folded(word) for word in WORD.findall(text))


def is_long(text: str) -> bool:
    """Return whether a text has so many words that it is hardly said twice by chance."""
    return next(_long_runs(split_words(text)), None) is not None


@lru_cache(maxsize=8192)
def _folded(word: str) -> str:
    """Return a word as it is compared; remembered, because words come again and again."""
    return fold(normalize(word))


def _length(word: str) -> float:
    return 0.5 if not word.isascii() and UNSPACED.match(word) else 1


def _long_runs(words: Words) -> Iterator[Words]:
    """Yield from each word on the shortest run that is hardly said twice by chance."""
    length, end = 0.0, 0
    for start, word in enumerate(words):
        while length < LEAST_WORDS and end < len(words):
            length += _length(words[end])
            end += 1
        if length < LEAST_WORDS:
            return
        yield words[start:end]
        length -= _length(word)


def _unescape(text: str) -> Iterator[str]:
    """Yield a text, and what it says where it is JSON, or JSON in JSON."""
    yield text
    for _ in range(MOST_ESCAPED if "\\" in text else 0):
        plain = ESCAPE.sub(_character, text)
        if plain == text:
            return
        yield plain
        text = plain


def _character(found: LinearMatch) -> str:
    """Return the character of an escape; a space for those of layout."""
    if found[1]:
        return chr(int(found[1], 16))
    return found[2] if found[2] in '"\\/' else " "
