"""An estimate of token counts that needs no tokenizer, near enough to plan by."""

from __future__ import annotations

import math

from memoranda.errors import InvalidInput
from memoranda.tokens.characters import stretches, whole
from memoranda.tokens.pieces import pieces
from memoranda.tokens.sketch import ENCODINGS, Sketch, load

DEFAULT = "cl100k_base"
KNOWN_PIECES = 16_384
LONGEST_KNOWN = 32  # characters


class EstimatedCounter:
    """Cuts text into pieces as OpenAI's encodings do, and knows roughly how these are merged.

    Measured against cl100k_base and o200k_base on texts of forty languages and kinds: within
    0.5 % on English prose and talk, code, JSON, emoji, Arabic, Hindi, Japanese, Korean and the
    languages in Latin and Cyrillic script, 1.2 % on Chinese, 2.2 % on Thai and Georgian. What is
    no language is less regular: long runs of two letters can be 9 % below, rulers 13 % above.

    The default is cl100k_base because it has the smaller vocabulary of the two, and so the
    larger counts outside English: who does not know the tokenizer is on the safe side with it.
    The sketch of an encoding (0.2 or 0.4 MB on disk, 10 or 20 MB in memory) is read by the first
    count and shared by all counters. Thread-safe; never fails.
    """

    exact = False

    def __init__(self, encoding: str = DEFAULT, *, factor: float = 1.0) -> None:
        """Estimate for ``encoding``; nothing is read yet.

        Args:
            encoding: ``cl100k_base`` or ``o200k_base``.
            factor: multiplies every count, for a tokenizer that is known to make more or fewer
                tokens of the same text.

        Raises:
            InvalidInput: the encoding is another, or the factor is no number above 0.
        """
        if encoding not in ENCODINGS:
            message = f"no estimate for encoding={encoding!r}; use {' or '.join(ENCODINGS)}"
            raise InvalidInput(message)
        if not (factor > 0 and math.isfinite(factor)):
            raise InvalidInput(f"factor must be a number above 0, got {factor!r}")
        self._encoding = encoding
        self._factor = factor

    @property
    def name(self) -> str:
        """``estimate (cl100k_base)``, with the factor if there is one."""
        times = "" if self._factor == 1 else f" × {self._factor:g}"
        return f"estimate ({self._encoding}{times})"

    def count(self, text: str) -> int:
        """Return the estimated number of tokens of ``text``; 0 for an empty text only."""
        costs, find = _costs(self._encoding), pieces(self._encoding).findall
        total = sum(sum(map(costs.__getitem__, find(part))) for part in stretches(whole(text)))
        return total if self._factor == 1 else math.ceil(total * self._factor)


class Costs(dict[str, int]):
    """What pieces cost: words come again and again, so most are only looked up.

    Keeps ``KNOWN_PIECES`` short pieces, about 2 MB. Threads may share it: each operation is one
    of a dict, and what another thread has dropped is worked out again.
    """

    def __init__(self, sketch: Sketch) -> None:
        """Know nothing yet."""
        super().__init__()
        self._sketch = sketch

    def __missing__(self, piece: str) -> int:
        """Work out the cost of ``piece``, and keep it if it is short."""
        cost = self._sketch.count(piece.encode())
        if len(piece) <= LONGEST_KNOWN:
            if len(self) >= KNOWN_PIECES:
                self.clear()
            self[piece] = cost
        return cost


_SHARED: dict[str, Costs] = {}


def _costs(encoding: str) -> Costs:
    costs = _SHARED.get(encoding)
    # Two threads may both find none; both get the one that is kept.
    return _SHARED.setdefault(encoding, Costs(load(encoding))) if costs is None else costs
