"""Tells whether a text repeats what was erased: the one rule of law 7 for all that keeps text.

A text repeats an erased one if it has five words or more of it in a row, or all of a shorter one.
Words are compared without case, accents, punctuation, markup and line ends; of scripts without
spaces, two signs count as a word.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from memoranda.text.erased import ERASED, is_long, split_words

# One word of fewer characters is a repetition only where a text says nothing else.
SHORTEST = 4


class ErasedWords:
    """The words of erased texts.

    Args:
        texts: what is erased.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        """Look at the words of each text."""
        self._runs: set[tuple[str, ...]] = set()
        self._short: set[tuple[str, ...]] = set()
        for text in texts:
            words = [word.folded for word in split_words(text)]
            self._runs.update(_long_runs(words))
            if words and not is_long(words):
                self._short.add(tuple(words))

    def are_in(self, text: str) -> bool:
        """Return whether a text repeats one of the erased texts."""
        words = [word.folded for word in split_words(text)]
        if not self._runs.isdisjoint(_long_runs(words)):
            return True
        return any(self._has_short(words, short) for short in self._short)

    @staticmethod
    def _has_short(words: list[str], short: tuple[str, ...]) -> bool:
        if len(short) == 1 and len(short[0]) < SHORTEST:
            return tuple(words) == short
        ends = range(len(short), len(words) + 1)
        return any(tuple(words[end - len(short) : end]) == short for end in ends)

    def replace_lines(
        self, lines: Sequence[str], *, spare: Collection[int] = ()
    ) -> tuple[list[str], int]:
        """Return lines, ``[erased]`` for each that repeats an erased text; and how many did.

        What stands in a row over two lines goes with both.

        Args:
            lines: the lines with their ends.
            spare: places of lines that stay as they are.
        """
        gone = {at for at, line in enumerate(lines) if at not in spare and self.are_in(line)}
        for at in range(len(lines) - 1):
            both = {at, at + 1}
            if not both & {*gone, *spare} and self.are_in(lines[at] + lines[at + 1]):
                gone |= both
        ends = [line[len(line.rstrip("\r\n")) :] for line in lines]
        left = [ERASED + ends[at] if at in gone else line for at, line in enumerate(lines)]
        return left, len(gone)


def _long_runs(words: list[str]) -> Iterator[tuple[str, ...]]:
    """Yield from each word on the shortest run that is hardly said twice by chance."""
    for start in range(len(words)):
        end = start + 1
        while end <= len(words) and not is_long(words[start:end]):
            end += 1
        if end > len(words):
            return
        yield tuple(words[start:end])
