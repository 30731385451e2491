"""Embeddings from any server that speaks OpenAI's format, hosted or on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from memoranda.errors import (
    ConfigError,
    EmbeddingError,
    InvalidInput,
    MissingExtra,
    ModelUnavailable,
)
from memoranda.providers.embedding.cache import Vectors, unit_rows, well_formed

try:
    import openai
except ImportError as error:
    feature = "an OpenAI-compatible embedding server"
    raise MissingExtra(feature, "openai") from error

NO_KEY = "no-key"
BAD_REQUEST, UNAUTHORIZED, FORBIDDEN, NOT_FOUND, TOO_MANY = 400, 401, 403, 404, 429
SERVER_FAULT = 500
EXCERPT = 300


class OpenAIEmbedder:
    """A model behind an OpenAI-compatible ``/embeddings`` endpoint. Thread-safe.

    Args:
        model: its name on the server.
        dimensions: how many numbers a vector has.
        base_url: the server, for example ``http://localhost:11434/v1``; by
            default OpenAI's, or that of ``OPENAI_BASE_URL``.
        api_key: the key. Without one, OpenAI's own server gets that of
            ``OPENAI_API_KEY``; a ``base_url`` given here never does.
        batch_size: how many texts go into one request, at most.
        timeout: seconds for one request.
        send_dimensions: whether to ask for ``dimensions``; false for servers and
            models that refuse the parameter.
        max_retries: how often a busy, failing or silent server is asked again.
    """

    def __init__(
        self,
        model: str = "text-embedding-3-large",
        *,
        dimensions: int = 256,
        base_url: str | None = None,
        api_key: str | None = None,
        batch_size: int = 128,
        timeout: float = 30.0,
        send_dimensions: bool = True,
        max_retries: int = 2,
    ) -> None:
        """Make a client; nothing is sent yet.

        Raises:
            InvalidInput: ``dimensions``, ``batch_size``, ``timeout`` or ``max_retries``
                is impossible.
            ConfigError: there is no key for OpenAI's server, or the URL is not one.
        """
        if dimensions < 1 or batch_size < 1 or timeout <= 0 or max_retries < 0:
            message = (
                f"dimensions={dimensions} and batch_size={batch_size} must be at least 1, "
                f"timeout={timeout} above 0 and max_retries={max_retries} not below 0"
            )
            raise InvalidInput(message)
        self._client = _client(base_url, api_key, timeout=timeout, max_retries=max_retries)
        self._model = model
        self._dimensions = dimensions
        self._batch_size = batch_size
        self._options: dict[str, Any] = {"dimensions": dimensions} if send_dimensions else {}

    @property
    def name(self) -> str:
        """Model and dimensions, for example ``text-embedding-3-large@256``."""
        return f"{self._model}@{self._dimensions}"

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has."""
        return self._dimensions

    def close(self) -> None:
        """Close the connections. The embedder cannot be used afterwards."""
        self._client.close()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return a float32 array of shape ``(len(texts), dimensions)``, rows of unit length.

        Raises:
            ModelUnavailable: the server cannot be reached, is busy or failed.
            EmbeddingError: it refused the request, or answered something else.
        """
        # These servers refuse an empty text, though every text has to have a row.
        cleaned = [text or " " for text in well_formed(texts)]
        result = np.empty((len(cleaned), self._dimensions), dtype=np.float32)
        for start in range(0, len(cleaned), self._batch_size):
            batch = cleaned[start : start + self._batch_size]
            result[start : start + len(batch)] = self._request(batch)
        return result

    def _request(self, batch: list[str]) -> Vectors:
        try:
            response = self._client.embeddings.create(
                model=self._model, input=batch, encoding_format="float", **self._options
            )
        except openai.APIConnectionError as error:
            message = (
                f"no answer from {self._client.base_url}: {error.__cause__ or error}; "
                f"start the server, or correct base_url or timeout"
            )
            raise ModelUnavailable(message) from error
        except openai.APIStatusError as error:
            raise self._refused(error) from error
        # Bodies that are no JSON come out of the SDK as whatever its parser raises.
        except Exception as error:
            message = f"{self._client.base_url} gave no embeddings for {self._model}: {error}"
            raise EmbeddingError(message) from error
        rows = self._rows(response, len(batch))
        return unit_rows(rows, count=len(batch), dimensions=self._dimensions, model=self._model)

    def _rows(self, response: object, count: int) -> list[Any]:
        """Return the vectors in the order of the texts; the server may send them in any."""
        # The SDK checks no types: an answer of another shape arrives as it is.
        data = getattr(response, "data", None)
        items = data if isinstance(data, list) else []
        rows = {
            index: getattr(item, "embedding", None)
            for item in items
            if isinstance(index := getattr(item, "index", None), int)
        }
        if len(items) != count or rows.keys() != set(range(count)):
            message = (
                f"{self._client.base_url} gave {len(items)} embeddings for {count} texts of "
                f"{self._model}, or did not number them from 0; does base_url end in /v1?"
            )
            raise EmbeddingError(message)
        return [rows[index] for index in range(count)]

    def _refused(self, error: openai.APIStatusError) -> EmbeddingError:
        status = error.status_code
        said = f"{self._client.base_url} answered {status}: {error.message[:EXCERPT]}"
        if status in {UNAUTHORIZED, FORBIDDEN}:
            return EmbeddingError(f"{said}; check api_key or OPENAI_API_KEY")
        if status == NOT_FOUND:
            return EmbeddingError(f"{said}; check the model {self._model!r} and base_url")
        if status == TOO_MANY:
            return ModelUnavailable(f"{said}; wait, or check the quota of the key")
        if status >= SERVER_FAULT:
            return ModelUnavailable(f"{said}; try again later")
        if status == BAD_REQUEST and self._options:
            return EmbeddingError(
                f"{said}; check the model {self._model!r}, or set send_dimensions=False "
                f"if the server refuses that parameter"
            )
        return EmbeddingError(f"{said}; check the model {self._model!r} and its limits")


def _client(
    base_url: str | None, api_key: str | None, *, timeout: float, max_retries: int
) -> openai.OpenAI:
    try:
        return openai.OpenAI(
            # A key from the environment belongs to OpenAI, not to another server.
            api_key=api_key or (NO_KEY if base_url else None),
            base_url=base_url,
            timeout=timeout,
            max_retries=max_retries,
        )
    except openai.OpenAIError as error:
        message = (
            "OpenAI's server needs a key: set OPENAI_API_KEY or give api_key; "
            "for another server give base_url"
        )
        raise ConfigError(message) from error
    except Exception as error:
        message = f"base_url={base_url!r} cannot be used: {error}; write http://host:port/v1"
        raise ConfigError(message) from error
