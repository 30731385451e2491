"""An embedder for tests: no model, no download, the same vectors everywhere."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from memoranda.model.checks import limited
from memoranda.providers.embedding.cache import well_formed

WORD = re.compile(r"\w+")
GRAM_SIZES = (2, 3)


class HashEmbedder:
    """Feature hashing of words and the character pairs and triples in them.

    Texts that share words or parts of words have similar vectors; synonyms do
    not. Deterministic across processes and machines (Weinberger et al. 2009).

    Attributes:
        dimensions: how many numbers a vector has.
        name: the name that was given.
    """

    def __init__(self, dimensions: int = 64, name: str = "hash") -> None:
        """Make vectors of ``dimensions`` numbers under the model name ``name``.

        Raises:
            InvalidInput: ``dimensions`` is no whole number of at least one.
        """
        self.dimensions = limited(dimensions, "dimensions")
        self.name = name

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return a float32 array of shape ``(len(texts), dimensions)``, rows of unit length.

        Raises:
            InvalidInput: ``texts`` is one string, or holds something that is no string.
        """
        rows = [self._row(text) for text in well_formed(texts)]
        return np.array(rows, dtype=np.float32).reshape(len(rows), self.dimensions)

    def _row(self, text: str) -> npt.NDArray[np.float64]:
        row = np.zeros(self.dimensions)
        for feature, count in _features(text).items():
            digest = hashlib.blake2b(feature.encode(), digest_size=8).digest()
            number = int.from_bytes(digest, "little")
            # The sign makes collisions cancel on average, instead of adding up.
            sign = 1.0 if number & 1 else -1.0
            row[(number >> 1) % self.dimensions] += sign * count**0.5
        if not row.any():
            row[0] = 1.0
        return row / np.linalg.norm(row)


def _features(text: str) -> Counter[str]:
    """Count the words of ``text``, and the character n-grams inside each word."""
    counts: Counter[str] = Counter()
    for word in WORD.findall(unicodedata.normalize("NFKC", text).casefold()):
        counts[f"word:{word}"] += 1
        for size in GRAM_SIZES:
            counts.update(
                f"gram:{word[start : start + size]}" for start in range(len(word) - size + 1)
            )
    if not counts:
        counts[f"text:{text.strip()}"] = 1
    return counts
