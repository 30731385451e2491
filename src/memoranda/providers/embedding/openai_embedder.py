"""Embeddings from any server that speaks OpenAI's format, hosted or on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from http import HTTPStatus

import numpy as np

from memoranda.errors import ConfigError, EmbeddingError, MissingExtra, ModelUnavailable
from memoranda.model.passwords import hide_password
from memoranda.model.processes import follow_forks
from memoranda.model.query import Vectors
from memoranda.providers.embedding.cache import unit_rows, well_formed
from memoranda.text.secrets import mask_secrets

try:
    import openai
except ImportError as error:
    raise MissingExtra("an OpenAI-compatible embedding server", "openai") from error

NO_KEY = "no-key"
EXCERPT = 300
BATCH = 128  # texts of one request
WAIT = "try again later, or check the quota of the key"
CHECK = "check the name of the model, embedding.base_url, and embedding.api_key or OPENAI_API_KEY"


class OpenAIEmbedder:
    """A model behind an OpenAI-compatible ``/embeddings`` endpoint. Thread-safe.

    Args:
        model: its name on the server.
        dimensions: how many numbers a vector has.
        base_url: the server, for example ``http://localhost:11434/v1``; by
            default OpenAI's, or that of ``OPENAI_BASE_URL``.
        api_key: the key. Without one, OpenAI's own server gets that of
            ``OPENAI_API_KEY``; a ``base_url`` given here never does.
        timeout: seconds for one request.
        masks: whether ``[…]`` is sent in the place of secrets.

    Attributes:
        name: model and dimensions, for example ``text-embedding-3-large@256``.
        dimensions: how many numbers a vector has.
    """

    def __init__(
        self,
        model: str,
        *,
        dimensions: int,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float = 30.0,
        masks: bool = False,
    ) -> None:
        """Make a client; nothing is sent yet, and no request is sent twice.

        Raises:
            ConfigError: there is no key for OpenAI's server, or the URL is not one.
        """
        self._connect = partial(_client, base_url, api_key, timeout)
        self.after_fork()
        follow_forks(self)
        self._model, self._masks = model, masks
        self.dimensions = dimensions
        self.name = f"{model}@{dimensions}"

    def after_fork(self) -> None:
        """Have no connection yet, as in a process that was forked."""
        self._client = self._connect()
        self._server = hide_password(str(self._client.base_url))

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
        shown = map(mask_secrets if self._masks else str, well_formed(texts))
        cleaned = [text or " " for text in shown]
        result = np.empty((len(cleaned), self.dimensions), dtype=np.float32)
        for start in range(0, len(cleaned), BATCH):
            batch = cleaned[start : start + BATCH]
            result[start : start + len(batch)] = self._request(batch)
        return result

    def _request(self, batch: list[str]) -> Vectors:
        try:
            response = self._client.embeddings.create(
                model=self._model, input=batch, encoding_format="float", dimensions=self.dimensions
            )
            # The server may send the vectors in any order.
            found = {int(each.index): each.embedding for each in response.data}
            rows = [found[place] for place in range(len(batch))]
        except openai.APIConnectionError as error:
            raise ModelUnavailable(
                f"no answer from {self._server}: {error.__cause__ or error}; "
                f"start the server, or correct base_url"
            ) from error
        except openai.APIStatusError as error:
            status = error.status_code
            is_busy = (
                status == HTTPStatus.TOO_MANY_REQUESTS or status >= HTTPStatus.INTERNAL_SERVER_ERROR
            )
            kind = ModelUnavailable if is_busy else EmbeddingError
            said = f"{self._server} answered {status}: {error.message[:EXCERPT]}"
            raise kind(f"{said}; {WAIT if is_busy else CHECK}") from error
        # Bodies that are no JSON come out of the SDK as whatever its parser raises, and it checks
        # no types: an answer of another shape arrives as it is.
        except Exception as error:
            message = f"{self._server} gave no embeddings for {self._model}: {error}"
            raise EmbeddingError(message) from error
        return unit_rows(rows, count=len(batch), dimensions=self.dimensions, model=self._model)


def _client(base_url: str | None, api_key: str | None, timeout: float) -> openai.OpenAI:
    try:
        return openai.OpenAI(
            # A key from the environment belongs to OpenAI, not to another server.
            api_key=api_key or (NO_KEY if base_url else None),
            base_url=base_url,
            timeout=timeout,
            max_retries=0,  # Whoever asks decides when to ask again.
        )
    except Exception as error:
        raise ConfigError(
            f"the embedding server {hide_password(base_url or '')} cannot be used: {error}; write "
            f"embedding.base_url like http://host:port/v1, or for OpenAI's own set OPENAI_API_KEY "
            f"or embedding.api_key"
        ) from error
