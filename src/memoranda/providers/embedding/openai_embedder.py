"""Embeddings from any server that speaks OpenAI's format, hosted or on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from http import HTTPStatus
from typing import Any

import numpy as np

from memoranda.errors import (
    ConfigError,
    EmbeddingError,
    InvalidInput,
    MissingExtra,
    ModelUnavailable,
)
from memoranda.model.forks import follow_forks
from memoranda.providers.embedding.cache import Vectors, unit_rows, well_formed

try:
    import openai
except ImportError as error:
    raise MissingExtra("an OpenAI-compatible embedding server", "openai") from error

NO_KEY = "no-key"
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

    Attributes:
        name: model and dimensions, for example ``text-embedding-3-large@256``.
        dimensions: how many numbers a vector has.
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
    ) -> None:
        """Make a client; nothing is sent yet, and no request is sent twice.

        Raises:
            InvalidInput: ``dimensions``, ``batch_size`` or ``timeout`` is impossible.
            ConfigError: there is no key for OpenAI's server, or the URL is not one.
        """
        if dimensions < 1 or batch_size < 1 or timeout <= 0:
            raise InvalidInput(
                f"dimensions={dimensions} and batch_size={batch_size} must be at least 1, "
                f"and timeout={timeout} above 0"
            )
        self._connect = partial(_client, base_url, api_key, timeout)
        self.after_fork()
        follow_forks(self)
        self._model = model
        self.dimensions = dimensions
        self.name = f"{model}@{dimensions}"
        self._batch_size = batch_size
        self._options: dict[str, Any] = {"dimensions": dimensions} if send_dimensions else {}

    def after_fork(self) -> None:
        """Have no connection yet, as in a process that was forked."""
        self._client = self._connect()

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
        result = np.empty((len(cleaned), self.dimensions), dtype=np.float32)
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
            raise ModelUnavailable(
                f"no answer from {self._client.base_url}: {error.__cause__ or error}; "
                f"start the server, or correct base_url"
            ) from error
        except openai.APIStatusError as error:
            raise self._refused(error) from error
        # Bodies that are no JSON come out of the SDK as whatever its parser raises.
        except Exception as error:
            message = f"{self._client.base_url} gave no embeddings for {self._model}: {error}"
            raise EmbeddingError(message) from error
        # The SDK checks no types: an answer of another shape arrives as it is. The server may
        # send the vectors in any order.
        data = getattr(response, "data", None)
        items = data if isinstance(data, list) else []
        places: list[Any] = [getattr(item, "index", None) for item in items]
        count = len(batch)
        if len(items) != count or any(place not in places for place in range(count)):
            raise EmbeddingError(
                f"{self._client.base_url} gave {len(items)} embeddings for {count} texts of "
                f"{self._model}, or did not number them from 0; does base_url end in /v1?"
            )
        rows: list[Any] = [
            getattr(items[places.index(place)], "embedding", None) for place in range(count)
        ]
        return unit_rows(rows, count=count, dimensions=self.dimensions, model=self._model)

    def _refused(self, error: openai.APIStatusError) -> EmbeddingError:
        status = error.status_code
        kind, remedy = EmbeddingError, f"check the model {self._model!r} and its limits"
        if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
            remedy = "check api_key or OPENAI_API_KEY"
        elif status == HTTPStatus.NOT_FOUND:
            remedy = f"check the model {self._model!r} and base_url"
        elif status == HTTPStatus.TOO_MANY_REQUESTS:
            kind, remedy = ModelUnavailable, "wait, or check the quota of the key"
        elif status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            kind, remedy = ModelUnavailable, "try again later"
        elif status == HTTPStatus.BAD_REQUEST and self._options:
            remedy = (
                f"check the model {self._model!r}, or set send_dimensions=False "
                f"if the server refuses that parameter"
            )
        said = f"{self._client.base_url} answered {status}: {error.message[:EXCERPT]}"
        return kind(f"{said}; {remedy}")


def _client(base_url: str | None, api_key: str | None, timeout: float) -> openai.OpenAI:
    try:
        return openai.OpenAI(
            # A key from the environment belongs to OpenAI, not to another server.
            api_key=api_key or (NO_KEY if base_url else None),
            base_url=base_url,
            timeout=timeout,
            max_retries=0,  # Whoever asks decides when to ask again.
        )
    except openai.OpenAIError as error:
        raise ConfigError(
            "OpenAI's server needs a key: set OPENAI_API_KEY or give api_key; "
            "for another server give base_url"
        ) from error
    except Exception as error:
        message = f"base_url={base_url!r} cannot be used: {error}; write http://host:port/v1"
        raise ConfigError(message) from error
