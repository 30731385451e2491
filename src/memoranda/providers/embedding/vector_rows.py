"""What every embedder does with the texts it is given and the rows it returns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from memoranda.errors import EmbeddingError, InvalidInput

Vectors = npt.NDArray[np.float32]


def well_formed(texts: Sequence[str]) -> list[str]:
    """Return ``texts`` as UTF-8 can hold them: a lone surrogate becomes ``?``.

    A query may hold one; no tokenizer and no server takes it.

    Raises:
        InvalidInput: ``texts`` is one string, or holds something that is no string.
    """
    if isinstance(texts, str):
        message = f"texts must be a list of strings, got one string: {texts!r:.80}; write [text]"
        raise InvalidInput(message)
    given: Sequence[object] = texts
    for text in given:
        if not isinstance(text, str):
            message = f"texts must be strings, got {type(text).__name__}: {text!r:.80}"
            raise InvalidInput(message)
    return [text.encode(errors="replace").decode() for text in texts]


def unit_rows(rows: npt.ArrayLike, *, count: int, dimensions: int, model: str) -> Vectors:
    """Return ``rows`` as a float32 array of shape ``(count, dimensions)``, each of length one.

    Raises:
        EmbeddingError: another shape, a number that is not finite, or a row of zeros.
    """
    try:
        array = np.asarray(rows, dtype=np.float64)
    except (TypeError, ValueError) as error:
        message = f"{model} gave rows that are no vectors of one length; is it an embedding model?"
        raise EmbeddingError(message) from error
    if array.shape[:1] != (count,) or array.ndim != 2:  # noqa: PLR2004  # rows and columns
        message = f"{model} gave an array of shape {array.shape} for {count} texts"
        raise EmbeddingError(message)
    if array.shape[1] != dimensions:
        message = (
            f"{model} gave vectors of {array.shape[1]} dimensions, {dimensions} were expected; "
            f"set dimensions={array.shape[1]} or choose another model"
        )
        raise EmbeddingError(message)
    lengths = np.linalg.norm(array, axis=1, keepdims=True)
    if not (np.isfinite(lengths).all() and lengths.all()):
        message = f"{model} gave a vector of zeros or with numbers that are not finite"
        raise EmbeddingError(message)
    units: Vectors = (array / lengths).astype(np.float32)
    return units
