r"""Estimates token counts without a tokenizer.

It cuts text into the pieces that no token crosses, as OpenAI's encodings do it. The patterns
stand in ``pieces.toml``. They are written for :mod:`re`, which does not know ``\p{L}``: its sets of
characters are ``\w`` without some, or are put together from :mod:`unicodedata` when first needed.

It knows which tokens an encoding has, and roughly in which order they merge, from a sketch: half
the size of the vocabulary itself, because its tokens stand in alphabetical order.
``scripts/make_token_sketch.py`` makes it, of the vocabularies that are published with tiktoken
(MIT). Where a tokenizer cannot be loaded, its estimate counts, and a warning says why.
"""

from __future__ import annotations

import logging
import math
import re
import tomllib
import unicodedata
import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from itertools import groupby
from pathlib import Path
from statistics import mean, stdev

from memoranda.text.patterns import compile_scanner, expand, join_surrogates

PATTERNS = Path(__file__).with_name("pieces.toml")
# From here to the end there are only marks that select variants, and characters without a
# meaning, which are in none of the sets.
PLANES_END = 0x40000
VARIANT_SELECTORS = r"\U000e0100-\U000e01ef"


@cache
def pieces(encoding: str) -> re.Pattern[str]:
    """Return the pattern whose matches are the pieces of a text; they cover all of it."""
    return compile_scanner(_patterns()[encoding])


@cache
def _patterns() -> Mapping[str, str]:
    """Return the patterns of ``pieces.toml``, with the sets of characters that they name."""
    read = tomllib.loads(PATTERNS.read_text("utf-8"))
    every = [unicodedata.category(chr(code)) for code in range(PLANES_END)]
    found = {name: _members(every, {*each}) for name, each in read.pop("categories").items()}
    for name, pattern in read.items():
        found[name] = expand(pattern, found)
    return found


def _members(every: Sequence[str], wanted: set[str]) -> str:
    """Return the inside of the set of the characters of some categories; ``every`` has all."""
    ranges, first = [VARIANT_SELECTORS] if "Mn" in wanted else [], 0
    for inside, run in groupby(every, wanted.__contains__):
        after = first + len([*run])
        if inside:
            ranges.append(rf"\U{first:08x}-\U{after - 1:08x}")
        first = after
    return "".join(ranges)


ENCODINGS = ("cl100k_base", "o200k_base")
SUFFIX = ".sketch"
START = 3  # bytes: one character of most scripts beyond Europe
NEVER = 255  # the level of what is no token
KNOWN_WORDS = 16_384
# A word with the spaces before and the line breaks behind it. No token reaches beyond it, but for
# the few in a text that goes on without either.
WORD = compile_scanner(r" *[^ \n]{0,1024}\n*")

# Words of alphabets are merged as the encoding would do it, that many bytes at a time. What has
# characters of three bytes and more is covered greedily: that is as near there, and many times
# faster; as are runs of few characters for which there are tokens so long (rulers, padding).
WINDOW = 64
THREE_BYTES = 0xE0
LONG_TOKEN = 16


class VocabularySketch:
    """The tokens of an encoding with their levels, and how it cuts pieces of text into them.

    Byte pair encoding (Sennrich et al. 2016) joins, again and again, the two neighbours whose
    token is lowest in rank. A level is a rank in thirds of an octave, so that now and then it
    joins another two than the encoding does; the number of tokens rarely differs.

    Attributes:
        levels: the level of each token, 0 to 254; every single byte is there.
    """

    def __init__(self, levels: Mapping[bytes, int], pieces: re.Pattern[str]) -> None:
        """Take tokens with the level of each, and what finds the pieces of a text."""
        self.levels = levels
        self._pieces = pieces
        self._longest = {token[:START]: len(token) for token in sorted(levels, key=len)}
        self._known = lru_cache(KNOWN_WORDS)(self._count_word)

    def tokens(self, text: str) -> int:
        """Return about how many tokens ``text`` has."""
        return sum(map(self._known, WORD.findall(text)))

    def _count_word(self, word: str) -> int:
        return sum(self.count(piece.encode()) for piece in self._pieces.findall(word))

    def count(self, piece: bytes) -> int:
        """Return about how many tokens ``piece`` has; takes time by its length."""
        if piece in self.levels:
            return 1
        if max(piece) >= THREE_BYTES:
            return self.covered(piece)
        if len(piece) > WINDOW and (count := self.covered(piece)) * LONG_TOKEN <= len(piece):
            return count
        return sum(self.merged(piece[at : at + WINDOW]) for at in range(0, len(piece), WINDOW))

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
        at = count = 0
        while at < len(piece):
            longest = min(self._longest.get(piece[at : at + START], START - 1), len(piece) - at)
            fitting = (n for n in range(longest, 1, -1) if piece[at : at + n] in self.levels)
            at += next(fitting, 1)
            count += 1
        return count


@cache
def load(encoding: str) -> VocabularySketch:
    """Return the sketch of one of ``ENCODINGS``, read once in a process, in 0.1 or 0.2 s."""
    file = Path(__file__).with_name(encoding + SUFFIX)
    return VocabularySketch(unpack(file.read_bytes()), pieces(encoding))


# By six bits that say which forms of a stem are tokens: what stands before it, and its case.
CASES: tuple[Callable[[bytes], bytes], ...] = (bytes, bytes.capitalize, bytes.upper)
FORMS = [(before, case) for case in CASES for before in (b"", b" ")]
FORMS_OF = [[form for at, form in enumerate(FORMS) if bits >> at & 1] for bits in range(64)]


def unpack(data: bytes) -> dict[bytes, int]:
    """Return the tokens and their levels in the content of a ``.sketch`` file.

    It is compressed by zlib. Inside are the number of stems and that of tokens (4 bytes each,
    little-endian); for each stem how many bytes it shares with the one before it, how many
    follow on these, and which forms of it are tokens (a byte each); the levels of the tokens (a
    byte each, 0 where characters of three bytes occur); at last the bytes that follow. Forms
    are six bits: as it is, with a capital, in capitals, each without and with a space before.
    """
    plain = zlib.decompress(data)
    stems, tokens = (int.from_bytes(plain[at : at + 4], "little") for at in (0, 4))
    shared, added, forms = (plain[8 + stems * part : 8 + stems * (part + 1)] for part in range(3))
    levels = iter(plain[8 + 3 * stems : 8 + 3 * stems + tokens])
    found, stem, at = dict[bytes, int](), b"", 8 + 3 * stems + tokens
    for keep, more, bits in zip(shared, added, forms, strict=True):
        stem = stem[:keep] + plain[at : at + more]
        at += more
        for before, case in FORMS_OF[bits]:
            found[before + case(stem)] = next(levels)
    return found


DEFAULT = "cl100k_base"
# Of a longer text so many samples are counted, each of so many characters. The text is taken for
# so many standard errors above their average.
SAMPLED, SAMPLES, SAMPLE, ERRORS = 131_072, 128, 512, 1.5
# One token in so many is added, so that no text of some length is counted below what it has.
MARGIN = 50


class EstimatedCounter:
    """Cuts text into pieces as OpenAI's encodings do, and knows roughly how these are merged.

    Measured against cl100k_base and o200k_base on texts of forty languages and kinds, code, JSON,
    hashes and runs of few letters: never below, and at most 3.5 % above; a text of fewer
    than a hundred tokens may be one token off. Of a text beyond ``SAMPLED`` characters samples are
    counted, so that none takes long.

    The default is cl100k_base because it has the smaller vocabulary of the two, and so the
    larger counts outside English: who does not know the tokenizer is on the safe side with it.
    The sketch of an encoding (0.2 or 0.4 MB on disk, 11 or 26 MB in memory) is read by the first
    count and shared by all counters. Thread-safe; never fails.

    Attributes:
        name: ``estimate (cl100k_base)``, with the factor if there is one.
    """

    exact = False

    def __init__(self, encoding: str = DEFAULT, *, factor: float = 1.0) -> None:
        """Estimate for ``encoding``; nothing is read yet.

        Args:
            encoding: ``cl100k_base`` or ``o200k_base``.
            factor: multiplies every count, for a tokenizer that is known to make more or fewer
                tokens of the same text.
        """
        times = "" if factor == 1 else f" × {factor:g}"
        self.name = f"estimate ({encoding}{times})"
        self._encoding = encoding
        self._factor = factor

    def count(self, text: str) -> int:
        """Return the estimated number of tokens of ``text``; 0 for an empty text only."""
        text, tokens = join_surrogates(text), load(self._encoding).tokens
        total = tokens(text) if len(text) <= SAMPLED else _extrapolate(text, tokens)
        return math.ceil((total + total // MARGIN) * self._factor)


def _extrapolate(text: str, tokens: Callable[[str], int]) -> int:
    """Return about how many tokens a long text has, by samples at equal distances."""
    step = (len(text) - SAMPLE) / (SAMPLES - 1)
    found = [tokens(text[(at := int(step * each)) : at + SAMPLE]) for each in range(SAMPLES)]
    likely: float = mean(found) + ERRORS * stdev(found) / SAMPLES**0.5
    return math.ceil(likely * len(text) / SAMPLE)


log = logging.getLogger("memoranda.tokens")


@cache
def warn_of_estimate(tokenizer: str, why: str, remedy: str) -> None:
    """Warn once a process that counts are estimates, though a tokenizer was named.

    Args:
        tokenizer: the name of what cannot be had.
        why: how that failed.
        remedy: what to do to have exact counts.
    """
    message = "no exact token counts with %s (%s); they are now estimates; for exact ones: %s"
    log.warning(message, tokenizer, why, remedy)
