"""The characters that a pattern takes, and the classes of those that it cannot tell apart.

A text is written with one byte for each character: that of its class. RE2 then needs no automata
for letters beyond ASCII. A class of word characters is written as an ASCII letter or digit, so
that RE2's word boundaries are right in every script.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from re import _constants as c  # type: ignore[attr-defined]
from typing import Any, Final

_ASCII: Final = 0x80
# The flags that change what an element takes, as an integer: enumerations are slow.
_CHANGING: Final = int(re.IGNORECASE | re.ASCII | re.DOTALL)
_CASES_LISTED: Final = 512
_MOST_KNOWN: Final = 4_096
# Letters that lower() and upper() do not lead to, and :mod:`re` reads as these.
_MORE_CASES: Final = {"i": "\u0130\u0131", "s": "\u017f", "k": "\u212a"}
_WORD_BYTES: Final = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
# What a character can be: digit, another word character, space, something else.
_KINDS: Final = "dwso"
_CATEGORIES: Final = {
    c.CATEGORY_DIGIT: "d",
    c.CATEGORY_WORD: "dw",
    c.CATEGORY_SPACE: "s",
    c.CATEGORY_NOT_DIGIT: "wso",
    c.CATEGORY_NOT_WORD: "so",
    c.CATEGORY_NOT_SPACE: "dwo",
}


class PatternError(RuntimeError):
    """A pattern that cannot be run in linear time."""


@dataclass(frozen=True, slots=True, eq=False)
class CharacterSet:
    """Characters that an element of a pattern takes: ASCII as bits, others by range and kind.

    Compared by identity, which is fast: one that is made twice divides nothing more.
    """

    ascii: int = 0
    ranges: tuple[tuple[int, int], ...] = ()
    kinds: frozenset[str] = frozenset()
    negated: bool = False

    def taken(self, starts: Sequence[int]) -> Iterator[str]:
        """Yield for each range beyond ASCII 1 or 0 for each kind of its characters.

        Args:
            starts: where the ranges begin; none is cut in two by a range of the set.
        """
        inside = bytearray(len(starts))
        for low, high in self.ranges:
            for place in range(bisect_left(starts, low), bisect_right(starts, high)):
                inside[place] = 1
        all_kinds = "01"[not self.negated] * len(_KINDS)
        kinds = "".join("01"[(kind in self.kinds) != self.negated] for kind in _KINDS)
        return (all_kinds if each else kinds for each in inside)

    def __invert__(self) -> CharacterSet:
        """Return the characters that are not in the set."""
        outside = (1 << _ASCII) - 1 & ~self.ascii
        return CharacterSet(outside, self.ranges, self.kinds, not self.negated)


def read_characters(operation: Any, value: Any, flags: int) -> CharacterSet:
    """Return the characters that an element of a parsed pattern takes.

    Args:
        operation: ``ANY``, ``LITERAL``, ``NOT_LITERAL`` or ``IN`` of :mod:`re`.
        value: what belongs to it.
        flags: as :func:`re.compile` takes them.
    """
    key = tuple(value) if operation is c.IN else value
    return _read_set(operation, key, flags & _CHANGING)


@lru_cache(maxsize=4096)
def _read_set(operation: Any, value: Any, flags: int) -> CharacterSet:
    if operation is c.ANY:
        return ~(CharacterSet() if flags & re.DOTALL else NEWLINE)
    items = value if operation is c.IN else [(c.LITERAL, value)]
    negated = operation is c.NOT_LITERAL or items[0][0] is c.NEGATE
    found = [_read_item(item, what, flags) for item, what in items if item is not c.NEGATE]
    mask = 0
    for each in found:
        mask |= each.ascii
    ranges = tuple(sorted({span for each in found for span in each.ranges}))
    joined = CharacterSet(mask, ranges, frozenset().union(*(each.kinds for each in found)))
    return ~joined if negated else joined


def _read_item(item: Any, what: Any, flags: int) -> CharacterSet:
    """Return the characters of one item of a set in a pattern."""
    if item is c.CATEGORY:
        return _category(what, flags)
    low, high = (what, what) if item is c.LITERAL else what
    return _range(low, high, flags)


def _range(low: int, high: int, flags: int) -> CharacterSet:
    """Return the characters of a range, and their other case where the pattern ignores case."""
    codes: set[int] = set()
    if flags & re.IGNORECASE and high - low < _CASES_LISTED:
        for character in map(chr, range(low, high + 1)):
            cases = (character.lower(), character.upper(), *_MORE_CASES.get(character.lower(), ""))
            codes.update(ord(each) for each in cases if character in _folded(each))
    mask = sum(1 << code for code in codes if code < _ASCII)
    if low < _ASCII:
        mask |= (1 << min(high + 1, _ASCII)) - (1 << low)
    ranges = {(code, code) for code in codes if code >= _ASCII and not low <= code <= high}
    if high >= _ASCII:
        ranges.add((max(low, _ASCII), high))
    return CharacterSet(mask, tuple(sorted(ranges)))


def _folded(case: str) -> tuple[str, ...]:
    """Return the characters as which :mod:`re` reads one without regard to case."""
    lower = case.lower()[:1]
    return (lower, lower.upper()) if len(case) == 1 else ()


@lru_cache(maxsize=32)
def _category(category: Any, flags: int) -> CharacterSet:
    """Return the characters of a category such as digits."""
    kinds = _CATEGORIES[category]
    mask = sum(1 << code for code in range(_ASCII) if _kind(chr(code)) in kinds)
    if flags & re.ASCII:
        return CharacterSet(mask, kinds=frozenset(_KINDS if "o" in kinds else ""))
    return CharacterSet(mask, kinds=frozenset(kinds))


def _kind(character: str) -> str:
    """Return what a character is: digit, another word character, space, something else."""
    if character.isdecimal():
        return "d"
    if character.isalnum() or character == "_":
        return "w"
    return "s" if character.isspace() else "o"


NEWLINE: Final = CharacterSet(1 << ord("\n"))
WORDS: Final = _category(c.CATEGORY_WORD, 0)

# For each set 1 if it takes a class, and 0 if not.
_Taken = tuple[str, ...]


class Alphabet(dict[int, int]):
    """The classes of characters that the sets of a pattern tell apart, each with its byte.

    As a dictionary it holds the bytes of the characters that were met beyond texts of ASCII.
    """

    def __init__(self, sets: set[CharacterSet]) -> None:
        """Divide all characters into classes.

        Args:
            sets: what the elements of the pattern take.

        Raises:
            PatternError: there are more classes than bytes.
        """
        super().__init__()
        told = [*sets, WORDS, NEWLINE]
        cuts = {end for each in told for low, high in each.ranges for end in (low, high + 1)}
        self._starts = sorted({_ASCII, *cuts})
        # First the characters of ASCII; then of each range those of each kind. The members of a
        # class are in the same sets.
        members = [*_members(told, self._starts)]
        classes: dict[_Taken, list[int]] = {}
        for member, taken in enumerate(members):
            classes.setdefault(taken, []).append(member)
        codes = self._assign(classes, told.index(WORDS))
        self._codes = bytes(codes[taken] for taken in members)
        self._of_ascii = self._codes[:_ASCII] + bytes(_ASCII)
        self._of_set = {
            each: bytes(sorted(code for taken, code in codes.items() if taken[place] == "1"))
            for place, each in enumerate(told)
        }

    def _assign(self, classes: dict[_Taken, list[int]], word: int) -> dict[_Taken, int]:
        """Return the byte of each class, and note which are left."""
        codes: dict[_Taken, int] = {}
        words, others = [*_WORD_BYTES], [*range(_ASCII, 2 * _ASCII)]
        for taken, members in classes.items():
            # A letter for itself, where it can be: so RE2 finds words fast.
            own = [each for each in members if each < _ASCII]
            if own:
                codes[taken] = max(own, key=lambda code: (chr(code).islower(), code))
        words = [code for code in words if code not in codes.values()]
        #: Whether all word characters are word characters to RE2, too.
        self.knows_words = True
        for taken in classes.keys() - codes.keys():
            is_word = taken[word] == "1" and bool(words)
            self.knows_words &= is_word or taken[word] == "0"
            if not (words if is_word else others):
                raise PatternError("a pattern tells more than 256 classes of characters apart")
            codes[taken] = (words if is_word else others).pop(0)
        #: The bytes that no class has.
        self.free = bytes(others)
        return codes

    def encode(self, text: str) -> bytes:
        """Return a text with the byte of its class for each character."""
        if text.isascii():
            return text.encode("ascii").translate(self._of_ascii)
        return text.translate(self).encode("latin-1")

    def __missing__(self, code: int) -> int:
        """Return the byte of a character's code, as :meth:`str.translate` asks for it."""
        member = code
        if code >= _ASCII:
            place = bisect_right(self._starts, code) - 1
            member = _ASCII + place * len(_KINDS) + _KINDS.index(_kind(chr(code)))
        found = self._codes[member]
        if len(self) < _MOST_KNOWN:
            self[code] = found
        return found

    def bytes_of(self, characters: CharacterSet) -> bytes:
        """Return the bytes of the classes in one of the sets."""
        return self._of_set[characters]


def _members(sets: Sequence[CharacterSet], starts: Sequence[int]) -> Iterator[_Taken]:
    """Yield of what no set divides by which of the sets it is taken."""
    columns = zip(*(f"{each.ascii:0{_ASCII}b}" for each in sets), strict=True)
    yield from reversed([*columns])
    for taken in zip(*(each.taken(starts) for each in sets), strict=True):
        yield from zip(*taken, strict=True)
