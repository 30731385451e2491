"""An estimate of token counts that needs no tokenizer, cautious rather than tight."""

from __future__ import annotations

import re
from functools import lru_cache

PIECES = re.compile(
    r"(?P<word>[^\W\d_]+)|(?P<digits>\d+)|(?P<space>[ \t]+)|(?P<newline>[\r\n]+)"
    r"|(?P<other>[^\w\s]+|_+|\s)"
)
LATIN_END = 0x24F
LETTERS_A_TOKEN = 7  # A common English word is one token; longer ones split about here.
DIGITS_A_TOKEN = 3
SYMBOLS_A_TOKEN = 2
CACHED_TEXTS = 4_096
LONGEST_CACHED = 4_096


class EstimatedCounter:
    """Counts words by length, digits by threes, other scripts by character (R2.1, N4.2).

    Within about a tenth of the counts of OpenAI's tokenizers on English prose, and above
    them on other scripts. It never fails, and every figure made with it says that it is an
    estimate.
    """

    exact = False

    def count(self, text: str) -> int:
        """Return the estimated number of tokens of ``text``; 0 for an empty text."""
        if len(text) <= LONGEST_CACHED:
            return _cached(text)
        return _estimate(text)


def _estimate(text: str) -> int:
    total = 0
    for piece in PIECES.finditer(text):
        size = piece.end() - piece.start()
        match piece.lastgroup:
            case "word":
                latin = ord(text[piece.start()]) <= LATIN_END
                total += 1 + (size - 1) // LETTERS_A_TOKEN if latin else size
            case "digits":
                total += -(-size // DIGITS_A_TOKEN)
            case "space":
                total += size > 1
            case "newline":
                total += 1
            case _:
                ascii_symbol = text[piece.start()].isascii()
                total += -(-size // SYMBOLS_A_TOKEN) if ascii_symbol else 2 * size
    return total


_cached = lru_cache(maxsize=CACHED_TEXTS)(_estimate)
