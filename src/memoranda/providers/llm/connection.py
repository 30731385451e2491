"""Connects to a model through pydantic-ai; failures come back as values with a remedy.

pydantic-ai and the SDKs take two seconds to load, which only those who ask a model shall wait
for: :mod:`memoranda.providers.llm.pydantic_ai_model` loads this module with the first call, off
the event loop. The SDK of the one provider that is used is loaded here, in functions.
"""

# ruff: noqa: PLC0415 - as the docstring says

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import cache
from http import HTTPStatus
from typing import Any, TypeVar

import httpx2
from genai_prices import calc_price
from pydantic_ai import ModelResponse, exceptions
from pydantic_ai.models import Model

from memoranda.model.usage import Usage
from memoranda.providers.llm.retrying import CallFailure, ModelConnection
from memoranda.providers.llm.spec import KEY_VARIABLES, ModelSpec
from memoranda.text.patterns import compile_pattern

T = TypeVar("T")

NO_KEY = "no-key"
EXCERPT = 300  # characters of a server's own words
REFUSED = {HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY}
SCHEMA_REFUSED = compile_pattern(
    r"response_format|schema|structured|guided|grammar|tool", re.IGNORECASE
)


@asynccontextmanager
async def connected(to: ModelConnection) -> AsyncIterator[Model]:
    """Give the model, with a client of its own: connections belong to one event loop."""
    async with httpx2.AsyncClient(verify=_certificates()) as http:
        yield await asyncio.to_thread(_model, to.spec, to.key or NO_KEY, http)


async def attempt(
    to: ModelConnection, call: Callable[[asyncio.Timeout], Awaitable[T]]
) -> T | CallFailure:
    """Run ``call``; return its result, or why it failed.

    Nothing is raised but the cancellation of the task.

    Args:
        to: the model that is called.
        call: is given up after the model's time-out, unless it puts that off.
    """
    try:
        async with asyncio.timeout(to.timeout) as limit:
            return await call(limit)
    except TimeoutError:
        return CallFailure(
            f"no answer from {to.spec} within {to.timeout:g} s; raise llm.timeout, or name a "
            f"faster model",
            again=True,
        )
    # The SDKs and their HTTP library have error trees of their own, and let others pass.
    except Exception as error:  # noqa: BLE001 - whatever it is becomes a value with a remedy
        return _failure(to.spec, to.key, error)


@cache
def _certificates() -> ssl.SSLContext:
    """Return what servers are known by; reading it takes longer than all else about a client."""
    return httpx2.create_ssl_context()


def _model(spec: ModelSpec, key: str, http: httpx2.AsyncClient) -> Model:
    if spec.provider == "anthropic":
        from anthropic import AsyncAnthropic
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        claude = AsyncAnthropic(api_key=key, base_url=spec.url, http_client=http, max_retries=0)
        return AnthropicModel(spec.model, provider=AnthropicProvider(anthropic_client=claude))
    from openai import AsyncOpenAI
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    client = AsyncOpenAI(api_key=key, base_url=spec.url, http_client=http, max_retries=0)
    if spec.url is None:
        return OpenAIChatModel(spec.model, provider=OpenAIProvider(openai_client=client))
    # Who pays at OpenAI is nobody else's business.
    client.organization = client.project = None
    provider = OpenAICompatibleProvider("server", openai_client=client)
    return OpenAIChatModel(spec.model, provider=provider)


def usage_of(spec: ModelSpec, response: ModelResponse) -> Usage:
    """Return the usage of one response."""
    return Usage(
        requests=1,
        input_tokens=response.usage.input_tokens,
        output_tokens=response.usage.output_tokens,
        cost=_cost(spec, response),
    )


def _cost(spec: ModelSpec, response: ModelResponse) -> float | None:
    """Return the price in US dollars; a server by URL has one only if the price list knows it."""
    if response.usage.unmeasured_requests:
        return None
    server: Any = {"provider_id": spec.provider} if spec.url is None else {}
    try:
        known = calc_price(
            response.usage,
            response.model_name or spec.model,
            provider_api_url=spec.url,
            genai_request_timestamp=response.timestamp,
            **server,
        )
    except (LookupError, ValueError):
        return None
    return float(known.total_price)


def _failure(spec: ModelSpec, key: str | None, error: Exception) -> CallFailure:
    """Say what an exception of the libraries means to the user, and whether to try again."""
    said = _server_words(error, key)
    match error:
        case exceptions.ModelHTTPError():
            return _status_failure(spec, error, f"{spec} answered {error.status_code}: {said}")
        case exceptions.ModelConnectionError():
            where = "start the server or correct its URL" if spec.url else "check the network"
            why = f"the connection to {spec} failed: {said}; {where}"
        case exceptions.ModelAPIError(in_stream=True):
            why = f"{spec} broke its answer off: {said}; try again later"
        case exceptions.ModelAPIError():
            api = f"a {spec.provider} API"
            why = f"{spec} sent what cannot be read: {said}; check that its URL is that of {api}"
        case _:
            why = f"{spec} gave no answer that can be used: {said}; check the model and its URL"
    known = exceptions.ModelAPIError | exceptions.UnexpectedModelBehavior
    return CallFailure(why, again=isinstance(error, known))


def _status_failure(spec: ModelSpec, error: Any, answer: str) -> CallFailure:
    status = error.status_code
    later = status >= HTTPStatus.INTERNAL_SERVER_ERROR or status == HTTPStatus.REQUEST_TIMEOUT
    if isinstance(error, exceptions.ModelQuotaExceededError):
        remedy = "raise the quota or the credit of the key"
    elif isinstance(error, exceptions.ModelContextWindowExceededError):
        remedy = "the prompt is too long for it: name a model with more room"
    elif status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        remedy = f"check llm.api_key or {KEY_VARIABLES[spec.provider]}"
    elif status == HTTPStatus.NOT_FOUND:
        ending = ", and that its URL ends as its server wants it, often in /v1" if spec.url else ""
        remedy = f"check the name of the model{ending}"
    elif status == HTTPStatus.TOO_MANY_REQUESTS:
        remedy, later = "wait, or raise the limits of the key", True
    else:
        remedy = "try again later" if later else "check the model and its limits"
    refused = status in REFUSED and spec.url is not None
    return CallFailure(
        f"{answer}; {remedy}",
        again=later,
        wait=error.retry_after if later else None,
        schema_refused=refused and bool(SCHEMA_REFUSED.search(f"{error} {error.body}")),
    )


def _server_words(error: Exception, key: str | None) -> str:
    """Return the server's own words, or the library's, in short and without the key."""
    body = getattr(error, "body", None)
    inner = body.get("error", body) if isinstance(body, dict) else body
    message = inner.get("message") if isinstance(inner, dict) else inner
    said = message if isinstance(message, str) and message.strip() else str(error)
    cause = error.__cause__
    while cause is not None and not isinstance(message, str):
        said, cause = str(cause) or said, cause.__cause__
    said = " ".join(said.split()) or type(error).__name__
    if key:
        said = said.replace(key, "…")
    return said if len(said) <= EXCERPT else f"{said[: EXCERPT - 1]}…"
