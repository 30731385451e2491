"""Connects to a model through pydantic-ai; a failure is one error with a remedy.

pydantic-ai and the SDKs take two seconds to load, which only those who ask a model shall wait
for: :mod:`memoranda.providers.llm.pydantic_ai_model` loads this module with the first call, off
the event loop. The SDK of the one provider that is used is loaded here, in functions.
"""

# ruff: noqa: PLC0415 - as the docstring says

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import httpx2
from pydantic_ai import ModelResponse, exceptions
from pydantic_ai.models import Model
from pydantic_ai.models.instrumented import InstrumentationSettings, instrument_model

from memoranda.errors import LLMError
from memoranda.model.usage import Usage
from memoranda.providers.llm.spec import KEY_VARIABLES, ModelConnection

NO_KEY = "no-key"
EXCERPT = 300  # characters of a server's own words
# The first kind that an error is of says what to do.
REMEDIES: tuple[tuple[type[Exception], str], ...] = (
    (exceptions.ModelQuotaExceededError, "raise the quota or the credit of the key"),
    (exceptions.ModelContextWindowExceededError, "its prompt is too long: name a larger model"),
    (exceptions.ModelAuthenticationError, "check llm.api_key or {variable}"),
    (
        exceptions.ModelNotFoundError,
        "check the name of the model, and that the URL of a server ends as it wants it, often /v1",
    ),
    (exceptions.ModelRateLimitError, "wait, or raise the limits of the key"),
    (exceptions.ModelConnectionError, "start the server, correct its URL, or check the network"),
    (exceptions.ModelRequestRejectedError, "check the model, its limits and which files it takes"),
    (exceptions.ModelHTTPError, "try again later"),
)
OTHERWISE = "try again later, or check the model and its URL"
# Of spans for OpenTelemetry, where it is configured: names and numbers, no text.
TRACING = InstrumentationSettings(include_content=False)
# What servers are known by: reading it takes longer than all else about a client.
read_certificates = cache(httpx2.create_ssl_context)


@asynccontextmanager
async def connected(to: ModelConnection) -> AsyncIterator[Model]:
    """Give the model, with a client of its own: connections belong to one event loop."""
    async with httpx2.AsyncClient(verify=read_certificates()) as http:
        yield instrument_model(await asyncio.to_thread(_model, to, http), TRACING)


def _model(to: ModelConnection, http: httpx2.AsyncClient) -> Model:
    """Return the model; its SDK asks a busy, failing or unreachable server again."""
    options: dict[str, Any] = {
        "api_key": to.key or NO_KEY,
        "base_url": to.url,
        "http_client": http,
        "max_retries": to.retries,
        "timeout": None,  # ModelCalls has one for the whole call.
    }
    if to.provider == "anthropic":
        from anthropic import AsyncAnthropic
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        claude = AnthropicProvider(anthropic_client=AsyncAnthropic(**options))
        return AnthropicModel(to.model, provider=claude)
    from openai import AsyncOpenAI
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    client = AsyncOpenAI(**options)
    if to.url is None:
        return OpenAIChatModel(to.model, provider=OpenAIProvider(openai_client=client))
    # Who pays at OpenAI is nobody else's business.
    client.organization = client.project = None
    provider = OpenAICompatibleProvider("server", openai_client=client)
    return OpenAIChatModel(to.model, provider=provider)


@dataclass(slots=True)
class ModelCalls:
    """The calls that are made for one answer.

    Attributes:
        to: the model.
        usage: what they took so far.
    """

    to: ModelConnection
    usage: Usage = field(default_factory=Usage)

    async def make(
        self, send: Callable[[asyncio.Timeout], Awaitable[ModelResponse]]
    ) -> ModelResponse:
        """Return the response that ``send`` brings within the model's time-out.

        Args:
            send: sends the call; may put the time-out off.

        Raises:
            LLMError: it failed in whatever way, or took too long.
        """
        started = time.monotonic()
        try:
            async with asyncio.timeout(self.to.timeout) as limit:
                response = await send(limit)
        # The SDKs and their HTTP library have error trees of their own, and let others pass.
        except Exception as error:
            self.usage += Usage(requests=1, seconds=time.monotonic() - started)
            raise self.failure(explain_failure(self.to, error)) from error
        taken = response.usage
        self.usage += Usage(
            requests=1,
            input_tokens=taken.input_tokens,
            cached_tokens=taken.cache_read_tokens,
            written_tokens=taken.cache_write_tokens,
            output_tokens=taken.output_tokens,
            cost=_cost(response),
            seconds=time.monotonic() - started,
        )
        return response

    def failure(self, why: str, kind: type[LLMError] = LLMError) -> LLMError:
        """Count the last call as one that brought nothing, and return the error that says why."""
        self.usage = replace(self.usage, failures=self.usage.failures + 1)
        return kind(why, self.usage)


def _cost(response: ModelResponse) -> float | None:
    """Return the price in US dollars, where the price list knows it."""
    try:
        return float(response.cost().total_price)
    except (AssertionError, LookupError, ValueError):
        return None


def explain_failure(to: ModelConnection, error: Exception) -> str:
    """Return what an exception of the libraries means to the user, with a remedy, without the key.

    Args:
        to: the model that was called.
        error: what was raised.
    """
    if isinstance(error, TimeoutError):
        return (
            f"no answer from {to} within {to.timeout:g} s, retries included; raise "
            f"llm.timeout, or name a faster model"
        )
    cause: BaseException = error
    while cause.__cause__ is not None:
        cause = cause.__cause__
    said = " ".join(f"{cause}".split()) or type(error).__name__
    said = said.replace(to.key, "…") if to.key else said
    remedy = next((text for kind, text in REMEDIES if isinstance(error, kind)), OTHERWISE)
    status = getattr(error, "status_code", None)
    answered = "gave no answer" if status is None else f"answered {status}"
    variable = KEY_VARIABLES[to.provider]
    return f"{to} {answered}: {said[:EXCERPT]}; {remedy.format(variable=variable)}"
