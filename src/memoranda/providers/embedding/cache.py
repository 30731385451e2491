"""Remembers the vectors of recent texts, so that asking again costs nothing.

What every embedder does with the texts it is given and the rows it returns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from memoranda.errors import EmbeddingError, InvalidInput
from memoranda.model.checks import content_hash
from memoranda.model.ports import Embedder, TokenEmbedder
from memoranda.model.query import EmbeddedText, Vectors
from memoranda.providers.circuit_breaker import CircuitBreaker

KEPT = 1_024  # vectors

# The hash of a text, whether its tokens get vectors, and whether it is a question.
TextKey = tuple[str, bool, bool]


def well_formed(texts: Sequence[str]) -> list[str]:
    """Return ``texts`` as UTF-8 can hold them: a lone surrogate becomes ``?``.

    A query may hold one; no tokenizer and no server takes it.

    Raises:
        InvalidInput: ``texts`` is one string.
    """
    if isinstance(texts, str):
        message = f"texts must be a list of strings, got one string: {texts!r:.80}; write [text]"
        raise InvalidInput(message)
    return [text.encode(errors="replace").decode() for text in texts]


def unit_rows(rows: Any, *, count: int, dimensions: int, model: str) -> Vectors:
    """Return ``rows`` as a float32 array of shape ``(count, dimensions)``, each of length one.

    Raises:
        EmbeddingError: another shape, a number that is not finite, or a row of zeros.
    """
    import numpy as np  # noqa: PLC0415 - it takes long to load

    try:
        array = np.asarray(rows, dtype=np.float64)
    except (TypeError, ValueError) as error:
        message = f"{model} gave rows that are not vectors of one length; is it an embedding model?"
        raise EmbeddingError(message) from error
    if array.shape != (count, dimensions):
        raise EmbeddingError(
            f"{model} gave an array of shape {array.shape} for {count} texts, {dimensions} "
            f"dimensions were expected; set embedding.dimensions or choose another model"
        )
    lengths = np.linalg.norm(array, axis=1, keepdims=True)
    if not (np.isfinite(lengths).all() and lengths.all()):
        raise EmbeddingError(f"{model} gave a vector of zeros or with numbers that are not finite")
    units: Vectors = (array / lengths).astype(np.float32)
    return units


class CachedEmbedder:
    """An embedder that keeps the last vectors of another one in memory.

    Texts are kept as hashes only; where there are too many, all go. Thread-safe; two threads may
    embed the same new text twice.

    Attributes:
        inner: the embedder that is asked.
        breaker: through which it is asked, where it is a server.
        name: the model of the inner embedder.
        dimensions: how many numbers a vector has.
        tokens: whether the inner embedder gives vectors of tokens, too.
    """

    def __init__(
        self, inner: Embedder, *, owned: bool = False, breaker: CircuitBreaker | None = None
    ) -> None:
        """Keep the vectors of ``inner``.

        Args:
            inner: the model.
            owned: whether ``inner`` and ``breaker`` end with this one.
            breaker: through which ``inner`` is asked, where it is a server.
        """
        self.inner, self.breaker = inner, breaker
        self.name, self.dimensions = inner.name, inner.dimensions
        self.tokens = isinstance(inner, TokenEmbedder)
        self._owned = owned
        self._rows: dict[TextKey, EmbeddedText] = {}

    def embed(
        self,
        texts: Sequence[str],
        *,
        tokens: bool = False,
        query: bool = False,
        hurry: bool = False,
    ) -> list[EmbeddedText]:
        """Return what the inner embedder says of texts; it gets only those it has not seen.

        These go to it in one call, each once.

        Args:
            texts: what to embed.
            tokens: whether their tokens get vectors, too, where the inner embedder gives some.
            query: whether they are questions.
            hurry: whether somebody waits at a prompt: then a server has little time.

        Raises:
            EmbeddingError: the inner model failed; nothing is kept of the call.
        """
        cleaned = well_formed(texts)
        keys = [(content_hash(text), tokens, query) for text in cleaned]
        known = {key: row for key in keys if (row := self._rows.get(key)) is not None}
        missing = {key: text for key, text in zip(keys, cleaned, strict=True) if key not in known}
        if missing:
            make = partial(self._make, missing, tokens=tokens, query=query)
            known |= self.breaker.call(make, hurry=hurry) if self.breaker else make()
        return [known[key] for key in keys]

    def clear(self) -> None:
        """Forget every vector."""
        self._rows.clear()

    def close(self) -> None:
        """Forget every vector, wait for no server, and close the inner embedder if it is owned."""
        self.clear()
        if self._owned and self.breaker is not None:
            self.breaker.close()
        close = getattr(self.inner, "close", None)
        if self._owned and close is not None:
            close()

    def _make(
        self, missing: Mapping[TextKey, str], *, tokens: bool, query: bool
    ) -> dict[TextKey, EmbeddedText]:
        """Return what the inner embedder says, and keep it, also if it comes too late."""
        texts, inner = list(missing.values()), self.inner
        if tokens and isinstance(inner, TokenEmbedder):
            made = inner.embed_tokens(texts, query=query)
        else:
            made = [EmbeddedText(row) for row in inner.embed(texts)]
        # Copies, because a view of one row would keep the whole batch in memory.
        copies = (EmbeddedText(each.vector.copy(), each.tokens, each.spans) for each in made)
        fresh = dict(zip(missing, copies, strict=True))
        if len(self._rows) + len(fresh) > KEPT:
            self._rows.clear()
        self._rows.update(fresh)
        return fresh
