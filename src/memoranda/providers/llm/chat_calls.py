"""Calls a model with a conversation and tools through pydantic-ai, streamed or not.

Loaded with the first call, for the reason that :mod:`memoranda.providers.llm.connection` states.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, cast

from pydantic_ai import (
    CachePoint,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    UserPromptPart,
)
from pydantic_ai.direct import model_request, model_request_stream
from pydantic_ai.messages import ModelResponseStreamEvent
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from memoranda.errors import LLMError
from memoranda.model.chat import ChatReply, OnText, ToolSpec
from memoranda.model.models import ToolCall
from memoranda.providers.llm.answer_reading import storable
from memoranda.providers.llm.connection import ModelCalls, connected
from memoranda.providers.llm.message_conversion import to_model_messages
from memoranda.providers.llm.spec import ModelConnection

# The definitions of tools and the system prompt, as each request begins with them.
CACHED = cast(
    "ModelSettings",
    {"anthropic_cache_tool_definitions": True, "anthropic_cache_instructions": True},
)
LONGER = "ask for less at once, or name a model with longer replies"


async def call_chat(
    to: ModelConnection,
    messages: Sequence[Mapping[str, Any]],
    tools: Sequence[ToolSpec],
    on_text: OnText | None,
) -> ChatReply:
    """Return what a model says to a conversation, and pass on the words as they come.

    Raises:
        LLMError: the call failed, or the reply cannot be used. What the listener raises comes
            out, too.
        InvalidInput: a message is in no known form.
    """
    sent, calls = to_model_messages(messages), ModelCalls(to)
    parameters = ModelRequestParameters(
        function_tools=[
            ToolDefinition(
                name=tool.name,
                description=tool.description,
                parameters_json_schema=dict(tool.parameters),
            )
            for tool in tools
        ]
    )
    settings = None
    if to.provider == "anthropic":
        settings = CACHED
        mark_cached(sent)
    faults: list[Exception] = []  # of the listener

    def tell(text: str) -> None:
        if on_text is not None and (piece := storable(text)):
            try:
                on_text(piece)
            except Exception as fault:
                faults.append(fault)
                raise

    async def read(model: Model, limit: asyncio.Timeout) -> ModelResponse:
        if on_text is None:
            return await model_request(
                model, sent, model_settings=settings, model_request_parameters=parameters
            )
        clock = asyncio.get_running_loop().time
        async with model_request_stream(
            model, sent, model_settings=settings, model_request_parameters=parameters
        ) as stream:
            async for event in stream:
                limit.reschedule(clock() + to.timeout)
                tell(_piece(event))
        return stream.get()

    async with connected(to) as model:
        try:
            response = await calls.make(lambda limit: read(model, limit))
        except LLMError as error:
            raise (faults or [error])[0] from error.__cause__
    if on_text is not None and _breaks_off(response):
        raise calls.failure(f"the reply of {to} broke off; try again later")
    return _reply(to, calls, response)


def mark_cached(messages: Sequence[ModelMessage]) -> None:
    """Mark how far the next request will begin with what this one says.

    That is up to the last text of the user before the newest request, which alone has with it
    what memory recalls for it.
    """
    for message in reversed(messages[:-1]):
        if not isinstance(message, ModelRequest):
            continue
        for part in message.parts:
            if isinstance(part, UserPromptPart):
                content = [part.content] if isinstance(part.content, str) else part.content
                part.content = [*content, CachePoint()]
                return


def _piece(event: ModelResponseStreamEvent) -> str:
    match event:
        case PartStartEvent(part=TextPart(content=text)):
            return text
        case PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
            return text
    return ""


def _breaks_off(response: ModelResponse) -> bool:
    """Return whether a stream ended without any sign of its end.

    Some servers leave the reason out; the count of tokens that was asked for ends theirs.
    """
    details = response.provider_details or {}
    ended = details.get("finish_reason") or response.finish_reason == "content_filter"
    counted = response.finish_reason is not None and not response.usage.unmeasured_requests
    return not (ended or counted)


def _reply(to: ModelConnection, calls: ModelCalls, response: ModelResponse) -> ChatReply:
    """Return what a response says.

    Raises:
        LLMError: it is a refusal without words, or its limit of tokens left nothing of use.
    """
    text, parts = response.text or "", response.tool_calls
    if response.finish_reason == "content_filter":
        parts = []
        if not text:
            why = (response.provider_details or {}).get("refusal") or "it does not say why"
            raise calls.failure(f"{to} refused to answer: {why}; name another model")
    elif response.finish_reason == "length":
        # Arguments that do not come as text cannot be told to be all there.
        half = [part.tool_name for part in parts if not _is_object(part.args)]
        if half or not (text or parts):
            where = f"while it called {half[0]}" if half else "before it said a word"
            raise calls.failure(f"{to} was cut off by its limit of tokens {where}; {LONGER}")
    made = [ToolCall(part.tool_call_id, part.tool_name, _arguments(part.args)) for part in parts]
    complete = response.finish_reason != "length"
    return ChatReply(storable(text), tuple(made), calls.usage, complete)


def _is_object(arguments: object) -> bool:
    """Return whether the arguments of a call are the text of a whole JSON object."""
    with suppress(ValueError, RecursionError):
        return isinstance(arguments, str) and isinstance(json.loads(arguments), dict)
    return False


def _arguments(given: object) -> str:
    if isinstance(given, str):
        return storable(given) if given.strip() else "{}"
    return storable(json.dumps(given or {}, ensure_ascii=False))
