"""The embedder that every memory gets that takes one: MiniLM, as memoranda runs it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from memoranda.providers.embedding.minilm import MiniLM

BATCH = 32
_known: dict[str, list[float]] = {}


@cache
def _model() -> MiniLM:
    return MiniLM()


def embed(texts: Sequence[str]) -> list[list[float]]:
    """Return the vectors of texts; each text is embedded once in a run, whoever asks."""
    new = [text for text in dict.fromkeys(texts) if text not in _known]
    for start in range(0, len(new), BATCH):
        batch = new[start : start + BATCH]
        _known.update(zip(batch, _model().embed(batch).tolist(), strict=True))
    return [_known[text] for text in texts]
