"""Which tokens an encoding has, and roughly in which order they merge: enough to estimate by.

A sketch is half the size of the vocabulary itself, because its tokens stand in alphabetical
order. ``scripts/make_token_sketch.py`` makes it, of the vocabularies that are published with
tiktoken (MIT).
"""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import cache, cached_property
from pathlib import Path
from threading import Lock

ENCODINGS = ("cl100k_base", "o200k_base")
SUFFIX = ".sketch"
START = 3  # bytes: one character of most scripts beyond Europe
CASES: tuple[Callable[[bytes], bytes], ...] = (bytes, bytes.capitalize, bytes.upper)
NEVER = 255  # the level of what is no token

# Words of alphabets are merged as the encoding would do it. What is longer, or has characters of
# three bytes and more, is covered greedily: that is as near there, and many times faster.
LONGEST_WORD = 64  # bytes
THREE_BYTES = 0xE0
# Greedy cover finds longer tokens than merging does in long runs of few characters (sequences,
# rulers, padding): from here on, one token in eight more.
LONG_RUN = 8

_loading = Lock()


class Sketch:
    """The tokens of an encoding with their levels, and how it cuts text into them. Immutable.

    Byte pair encoding (Sennrich et al. 2016) joins, again and again, the two neighbours whose
    token is lowest in rank. A level is a rank in thirds of an octave, so that now and then it
    joins another two than the encoding does; the number of tokens rarely differs.
    """

    def __init__(self, levels: Mapping[bytes, int]) -> None:
        """Keep ``levels``: token → level, 0 to 254. Every single byte must be there."""
        self.levels = levels

    @cached_property
    def _lengths(self) -> dict[bytes, tuple[int, ...]]:
        """By the first bytes of a token the lengths that occur, falling: mostly two or three."""
        lengths: dict[bytes, set[int]] = defaultdict(set)
        for token in self.levels:
            if len(token) > START:
                lengths[token[:START]].add(len(token))
        shared: dict[tuple[int, ...], tuple[int, ...]] = {}
        falling = {start: tuple(sorted(found, reverse=True)) for start, found in lengths.items()}
        return {start: shared.setdefault(row, row) for start, row in falling.items()}

    def count(self, piece: bytes) -> int:
        """Return about how many tokens ``piece`` has; takes time by its length."""
        if piece in self.levels:
            return 1
        if len(piece) <= LONGEST_WORD and max(piece) < THREE_BYTES:
            return self.merged(piece)
        count = self.covered(piece)
        if count > LONG_RUN and piece.isascii():
            count += (count - LONG_RUN) // 8
        return count

    def merged(self, piece: bytes) -> int:
        """Return how many tokens remain of ``piece`` when no two neighbours can be joined."""
        level = self.levels.get
        parts = [piece[at : at + 1] for at in range(len(piece))]
        joins = [level(piece[at : at + 2], NEVER) for at in range(len(piece) - 1)]
        while joins and (lowest := min(joins)) < NEVER:
            at = joins.index(lowest)
            parts[at] += parts.pop(at + 1)
            del joins[at]
            if at < len(joins):
                joins[at] = level(parts[at] + parts[at + 1], NEVER)
            if at:
                joins[at - 1] = level(parts[at - 1] + parts[at], NEVER)
        return len(parts)

    def covered(self, piece: bytes) -> int:
        """Return how many tokens cover ``piece``, the longest that fits taken each time."""
        size = len(piece)
        at = count = 0
        while at < size:
            at = self._end(piece, at, size)
            count += 1
        return count

    def _end(self, piece: bytes, at: int, size: int) -> int:
        """Return where the longest token ends that starts at ``at``."""
        tokens = self.levels
        for length in self._lengths.get(piece[at : at + START], ()):
            if at + length <= size and piece[at : at + length] in tokens:
                return at + length
        for length in (3, 2):
            if at + length <= size and piece[at : at + length] in tokens:
                return at + length
        return at + 1


def load(encoding: str) -> Sketch:
    """Return the sketch of one of ``ENCODINGS``, read once in a process, in 0.1 or 0.2 s."""
    with _loading:
        return _load(encoding)


@cache
def _load(encoding: str) -> Sketch:
    data = Path(__file__).with_name(encoding + SUFFIX).read_bytes()
    return Sketch(dict(unpack(data)))


def unpack(data: bytes) -> Iterator[tuple[bytes, int]]:
    """Yield the tokens and their levels in the content of a ``.sketch`` file.

    It is compressed by zlib. Inside are the number of stems and that of tokens (4 bytes each,
    little-endian); for each stem how many bytes it shares with the one before it, how many
    follow on these, and which forms of it are tokens (a byte each); the levels of the tokens (a
    byte each, 0 where characters of three bytes occur); at last the bytes that follow. Forms
    are six bits: as it is, with a capital, in capitals, each without and with a space before.
    """
    plain = zlib.decompress(data)
    stems, tokens = (int.from_bytes(plain[at : at + 4], "little") for at in (0, 4))
    shared, added, forms = (plain[8 + stems * part : 8 + stems * (part + 1)] for part in range(3))
    at = 8 + 3 * stems + tokens
    levels = iter(plain[at - tokens : at])
    stem = b""
    for keep, more, form in zip(shared, added, forms, strict=True):
        stem = stem[:keep] + plain[at : at + more]
        at += more
        for number, case in enumerate(CASES):
            if form >> (2 * number) & 1:
                yield case(stem), next(levels)
            if form >> (2 * number) & 2:
                yield b" " + case(stem), next(levels)
