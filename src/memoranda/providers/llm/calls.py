"""One call of a model through pydantic-ai: a question goes out, an answer or a failure comes back.

The libraries take two seconds to load, which only those who ask a model shall wait for: they load
with the first call, and off the event loop. :func:`attempt` is what all calls have in common: a
connection, a time-out, and failures as values.
"""

# Imports stand in functions here, as the docstring says.
# ruff: noqa: PLC0415

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from memoranda.model.life import Usage
from memoranda.providers.llm.spec import KEY_VARIABLES, ModelSpec

if TYPE_CHECKING:
    import httpx2
    from pydantic_ai import ModelResponse
    from pydantic_ai.models import Model, ModelRequestParameters
    from pydantic_ai.settings import ModelSettings

T = TypeVar("T")

LIBRARIES = (
    "pydantic_ai.direct",
    "pydantic_ai.models.{provider}",
    "pydantic_ai.providers.{provider}",
    "pydantic_ai.providers.openai_compatible",
)
NO_KEY = "no-key"
ANSWER = "answer"
EXCERPT = 300  # characters of a server's own words
UNAUTHORIZED, FORBIDDEN, NOT_FOUND, TOO_LONG_ASKED, TOO_MANY = 401, 403, 404, 408, 429
REFUSED, UNPROCESSABLE, SERVER_FAULT = 400, 422, 500
SCHEMA_REFUSED = re.compile(r"response_format|schema|structured|guided|grammar|tool", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked in one call.

    Attributes:
        instructions: the system prompt.
        prompt: the user's message.
        schema: the JSON schema of the answer.
        plain: whether the schema is not handed to the server, which refuses it.
        timeout: seconds in which the whole answer must be there.
        max_tokens: the longest answer; ``None`` is the model's own limit.
    """

    instructions: str
    prompt: str
    schema: Mapping[str, Any]
    plain: bool = False
    timeout: float
    max_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Answered:
    """What came back, its tokens and cost, whether it was cut off and whether it is a refusal."""

    text: str
    usage: Usage
    cut: bool
    refused: bool


@dataclass(frozen=True, slots=True)
class Failed:
    """Why nothing came back.

    Attributes:
        why: what happened and what to do, for the user.
        again: whether the same call may succeed later.
        wait: seconds after which the server wants to be asked again, if it said.
        schema_refused: whether the server may answer if it is not given the schema.
        usage: what was spent all the same, as far as the server said.
    """

    why: str
    again: bool = False
    wait: float | None = None
    schema_refused: bool = False
    usage: Usage = field(default_factory=Usage)


Act = Callable[["Model", asyncio.Timeout], Awaitable[T]]
"""What to do with a model; it may put the end of its time off."""


async def call(spec: ModelSpec, key: str | None, question: Question) -> Answered | Failed:
    """Ask once. Nothing is raised but the cancellation of the task."""

    async def ask(model: Model, _: asyncio.Timeout) -> Answered:
        return await _asked(spec, model, question)

    return await attempt(spec, key, question.timeout, ask)


async def attempt(spec: ModelSpec, key: str | None, seconds: float, act: Act[T]) -> T | Failed:
    """Return what ``act`` makes of the model ``spec``, or why it failed.

    Nothing is raised but the cancellation of the task. The connection is closed afterwards.

    Args:
        spec: the model.
        key: the key to send, if any.
        seconds: until ``act`` is given up, unless it puts that off.
        act: what to do with the model.
    """
    try:
        await asyncio.to_thread(_load, spec)
        import httpx2

        # A client of its own for each call: connections belong to the event loop of their making.
        async with (
            asyncio.timeout(seconds) as limit,
            httpx2.AsyncClient(verify=_certificates()) as http,
        ):
            return await act(_model(spec, key or NO_KEY, http), limit)
    except TimeoutError:
        return Failed(
            f"no answer from {spec} within {seconds:g} s; raise llm.timeout, or name a "
            f"faster model",
            again=True,
        )
    # The SDKs and their HTTP library have error trees of their own, and let others pass.
    except Exception as error:  # noqa: BLE001 - whatever it is becomes a value with a remedy
        return _failure(spec, key, error)


def _load(spec: ModelSpec) -> None:
    for library in LIBRARIES:
        import_module(library.format(provider=spec.provider))


async def _asked(spec: ModelSpec, model: Model, question: Question) -> Answered:
    from pydantic_ai import ModelRequest, UserPromptPart
    from pydantic_ai.direct import model_request

    response = await model_request(
        model,
        [ModelRequest(parts=[UserPromptPart(question.prompt)], instructions=question.instructions)],
        model_settings=limits(question.timeout, question.max_tokens),
        model_request_parameters=_parameters(model, question),
    )
    return _answer(spec, response)


def limits(timeout: float, max_tokens: int | None) -> ModelSettings:
    """Return the settings of a call: seconds of silence on the line, and the longest answer."""
    settings: ModelSettings = {"timeout": timeout}
    if max_tokens is not None:
        settings["max_tokens"] = max_tokens
    return settings


@cache
def _certificates() -> ssl.SSLContext:
    """Return what servers are known by; reading it takes longer than all else about a client."""
    import httpx2

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


def _parameters(model: Model, question: Question) -> ModelRequestParameters:
    """Let the provider itself hold the model to the schema, in the best way it has."""
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.output import OutputObjectDefinition
    from pydantic_ai.tools import ToolDefinition

    schema = dict(question.schema)
    if question.plain:
        return ModelRequestParameters()
    if model.profile.get("supports_json_schema_output"):
        wanted = OutputObjectDefinition(json_schema=schema, name=ANSWER, strict=True)
        return ModelRequestParameters(output_mode="native", output_object=wanted)
    tool = ToolDefinition(name=ANSWER, parameters_json_schema=schema, kind="output")
    return ModelRequestParameters(output_mode="tool", output_tools=[tool], allow_text_output=False)


def _answer(spec: ModelSpec, response: ModelResponse) -> Answered:
    from pydantic_ai import TextPart, ToolCallPart

    calls = [part.args_as_json_str() for part in response.parts if isinstance(part, ToolCallPart)]
    texts = [part.content for part in response.parts if isinstance(part, TextPart)]
    return Answered(
        calls[0] if calls else "".join(texts),
        usage_of(spec, response),
        cut=response.finish_reason == "length",
        refused=response.finish_reason == "content_filter",
    )


def usage_of(spec: ModelSpec, response: ModelResponse) -> Usage:
    """Return what one response took."""
    return Usage(
        requests=1,
        input_tokens=response.usage.input_tokens,
        output_tokens=response.usage.output_tokens,
        cost=_cost(spec, response),
    )


def _cost(spec: ModelSpec, response: ModelResponse) -> float | None:
    """Return the price in US dollars; a server by URL has one only if the price list knows it."""
    from genai_prices import calc_price

    if response.usage.unmeasured_requests:
        return None
    name, at = response.model_name or spec.model, response.timestamp
    try:
        if spec.url is None:
            known = calc_price(
                response.usage, name, provider_id=spec.provider, genai_request_timestamp=at
            )
        else:
            known = calc_price(
                response.usage, name, provider_api_url=spec.url, genai_request_timestamp=at
            )
    except (LookupError, ValueError):
        return None
    return float(known.total_price)


def _failure(spec: ModelSpec, key: str | None, error: Exception) -> Failed:
    """Say what an exception of the libraries means to the user, and whether to try again."""
    from pydantic_ai import exceptions as known

    said = _said(error, key)
    if isinstance(error, known.ModelHTTPError):
        return _status_failure(spec, error, said)
    if isinstance(error, known.ModelConnectionError):
        where = "start the server or correct its URL" if spec.url else "check the network"
        return Failed(f"the connection to {spec} failed: {said}; {where}", again=True)
    if isinstance(error, known.ModelAPIError) and error.in_stream:
        return Failed(f"{spec} broke its answer off: {said}; try again later", again=True)
    if isinstance(error, known.ModelAPIError):
        return Failed(
            f"{spec} sent what cannot be read: {said}; check that its URL is that of a "
            f"{spec.provider} API",
            again=True,
        )
    return Failed(
        f"{spec} gave no answer that can be used: {said}; check the model and its URL",
        again=isinstance(error, known.UnexpectedModelBehavior),
    )


def _status_failure(spec: ModelSpec, error: Any, said: str) -> Failed:
    from pydantic_ai import exceptions as known

    status = error.status_code
    told = f"{spec} answered {status}: {said}"
    if isinstance(error, known.ModelQuotaExceededError):
        return Failed(f"{told}; raise the quota or the credit of the key")
    if isinstance(error, known.ModelContextWindowExceededError):
        return Failed(f"{told}; the prompt is too long for it: name a model with more room")
    if status in {UNAUTHORIZED, FORBIDDEN}:
        return Failed(f"{told}; check llm.api_key or {KEY_VARIABLES[spec.provider]}")
    if status == NOT_FOUND:
        ending = ", and that its URL ends as its server wants it, often in /v1" if spec.url else ""
        return Failed(f"{told}; check the name of the model{ending}")
    if status in {TOO_LONG_ASKED, TOO_MANY} or status >= SERVER_FAULT:
        remedy = "wait, or raise the limits of the key" if status == TOO_MANY else "try again later"
        return Failed(f"{told}; {remedy}", again=True, wait=error.retry_after)
    schema = status in {REFUSED, UNPROCESSABLE} and spec.url is not None
    refused = schema and bool(SCHEMA_REFUSED.search(f"{error} {error.body}"))
    return Failed(f"{told}; check the model and its limits", schema_refused=refused)


def _said(error: Exception, key: str | None) -> str:
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
