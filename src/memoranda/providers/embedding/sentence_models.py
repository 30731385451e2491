"""Any sentence-transformers model, for those who have torch anyway."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock

import numpy as np

from memoranda.errors import EmbeddingError, MissingExtra, ModelUnavailable
from memoranda.providers.embedding.cache import Vectors, unit_rows, well_formed

try:
    from sentence_transformers import SentenceTransformer
except ImportError as error:
    raise MissingExtra("a sentence-transformers model", "sentence-transformers") from error


class SentenceTransformerEmbedder:
    """A sentence-transformers model, by its name on the hub or its folder.

    The model is loaded at once, because only then its dimensions are known.
    Thread-safe: one call at a time, since the tokenizers of these models are not.

    Attributes:
        name: the name or folder that was given.
        dimensions: how many numbers a vector has, as the model says.
    """

    def __init__(self, model: str, device: str = "cpu") -> None:
        """Load ``model`` onto ``device`` (``cpu``, ``cuda``, ``mps``).

        Raises:
            ModelUnavailable: there is no such model, or it cannot be loaded.
        """
        try:
            self._model = SentenceTransformer(model, device=device)
            dimensions = _dimensions(self._model)
        except Exception as error:
            raise ModelUnavailable(
                f"sentence-transformers could not load {model!r} on {device!r}: {error}; "
                f"check the name and the connection, or give a folder that holds the model"
            ) from error
        if not dimensions:
            message = f"{model!r} does not say how many dimensions its vectors have; choose another"
            raise ModelUnavailable(message)
        self.name = model
        self.dimensions = int(dimensions)
        self._lock = Lock()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return a float32 array of shape ``(len(texts), dimensions)``, rows of unit length.

        Raises:
            EmbeddingError: the model failed.
        """
        cleaned = well_formed(texts)
        if not cleaned:
            return np.empty((0, self.dimensions), dtype=np.float32)
        try:
            with self._lock:
                rows = self._model.encode(cleaned, convert_to_numpy=True, show_progress_bar=False)
        except Exception as error:
            message = f"{self.name} could not embed {len(cleaned)} texts: {error}"
            raise EmbeddingError(message) from error
        return unit_rows(rows, count=len(cleaned), dimensions=self.dimensions, model=self.name)


def _dimensions(model: SentenceTransformer) -> int | None:
    """Ask by the name of the method since version 6, or by the one before."""
    ask = getattr(model, "get_embedding_dimension", None)
    dimensions: int | None = ask() if ask else model.get_sentence_embedding_dimension()
    return dimensions
