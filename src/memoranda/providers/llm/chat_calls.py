"""Calls a model with a conversation and tools through pydantic-ai, streamed or not.

Loaded with the first call, for the reason that :mod:`memoranda.providers.llm.connection` states.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pydantic_ai import (
    ModelMessage,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ToolCallPart,
)
from pydantic_ai.direct import model_request, model_request_stream
from pydantic_ai.messages import ModelResponseStreamEvent
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.tools import ToolDefinition

from memoranda.model.chat import OnText, ToolSpec
from memoranda.model.models import ToolCall
from memoranda.model.usage import Usage
from memoranda.providers.llm.answer_fitting import storable
from memoranda.providers.llm.connection import attempt, limits, usage_of
from memoranda.providers.llm.retrying import CallFailure, ModelConnection
from memoranda.providers.llm.spec import ModelSpec

LONGER = "ask for less at once, or name a model with longer replies"
FIRST_HALF = ("\ud800", "\udbff")
"""The first and the last character that is the first half of another."""


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """What is sent in one call: to which model, the conversation, and what it may call."""

    to: ModelConnection
    messages: Sequence[ModelMessage]
    tools: Sequence[ToolSpec]


@dataclass(frozen=True, slots=True)
class ChatOutcome:
    """The outcome of one call: text, tool calls and usage.

    Attributes:
        text: the words.
        tool_calls: the calls, in order.
        usage: tokens and cost.
        cut: whether the limit of tokens ended it.
        broken: the name of a call that the limit cut off, which is not among the calls.
        refused: what was said about a refusal beside the words; ``None`` where it is none.
    """

    text: str
    tool_calls: tuple[ToolCall, ...]
    usage: Usage
    cut: bool = False
    broken: str | None = None
    refused: str | None = None

    def problem(self) -> str | None:
        """Return why it cannot be used, if it cannot."""
        if self.refused is not None and not self.text:
            why = f": {self.refused}" if self.refused else ""
            return f"refused to answer{why}; name another model"
        if self.broken is not None:
            return f"was cut off by its limit of tokens while it called {self.broken}; {LONGER}"
        if self.cut and not (self.text or self.tool_calls):
            return f"was cut off by its limit of tokens before it said a word; {LONGER}"
        return None


class WordStream:
    """Passes words on as they come, each character whole.

    Attributes:
        text: what was passed on so far.
        usage: what the server said that was spent so far.
        error: what the listener raised.
    """

    def __init__(self, on_text: OnText) -> None:
        """Call ``on_text`` with each piece."""
        self._on_text = on_text
        self._half = ""
        self.text = ""
        self.usage = Usage()
        self.error: Exception | None = None

    def add(self, text: str) -> None:
        """Pass ``text`` on, but keep half a character at its end until the other half is there."""
        text = self._half + text
        self._half = text[-1:] if FIRST_HALF[0] <= text[-1:] <= FIRST_HALF[1] else ""
        self._pass_on(storable(text[: len(text) - len(self._half)]))

    def end(self) -> None:
        """Pass on what was kept."""
        kept, self._half = self._half, ""
        self._pass_on(storable(kept))

    def _pass_on(self, piece: str) -> None:
        if not piece:
            return
        self.text += piece
        try:
            self._on_text(piece)
        except Exception as error:
            self.error = error
            raise


async def call_chat(request: ChatRequest, words: WordStream | None) -> ChatOutcome | CallFailure:
    """Call once, and pass on the words as they come.

    Nothing is raised but the cancellation of the task, and what the listener raises.
    """
    spec = request.to.spec

    async def call(model: Model, limit: asyncio.Timeout) -> ChatOutcome | CallFailure:
        if words is None:
            return _reply(spec, await _whole_response(model, request))
        return await _streamed(model, request, words, limit)

    outcome = await attempt(request.to, call)
    if words is None or not isinstance(outcome, CallFailure):
        return outcome
    if words.error is not None:
        raise words.error
    came = f"; {len(words.text)} characters of its reply had come" if words.text else ""
    return replace(
        outcome,
        why=outcome.why + came,
        again=outcome.again and not words.text,
        usage=words.usage,
    )


async def _whole_response(model: Model, request: ChatRequest) -> ModelResponse:
    return await model_request(
        model,
        request.messages,
        model_settings=limits(request.to),
        model_request_parameters=_parameters(request.tools),
    )


async def _streamed(
    model: Model, request: ChatRequest, words: WordStream, limit: asyncio.Timeout
) -> ChatOutcome | CallFailure:
    spec, clock = request.to.spec, asyncio.get_running_loop().time
    opening = model_request_stream(
        model,
        request.messages,
        model_settings=limits(request.to),
        model_request_parameters=_parameters(request.tools),
    )
    async with opening as stream:
        try:
            async for event in stream:
                limit.reschedule(clock() + request.to.timeout)
                words.add(_piece(event))
            words.end()
        finally:
            words.usage = _so_far(spec, stream)
    response = stream.get()
    if _breaks_off(response):
        return CallFailure(f"the reply of {spec} broke off; try again later", again=True)
    reply = _reply(spec, response)
    if not words.text:
        # OpenAI says a refusal beside the words, and only in the end.
        words.add(reply.text)
        words.end()
    return replace(reply, text=words.text)


def _piece(event: ModelResponseStreamEvent) -> str:
    match event:
        case PartStartEvent(part=TextPart(content=text)):
            return text
        case PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
            return text
    return ""


def _so_far(spec: ModelSpec, stream: StreamedResponse) -> Usage:
    response = stream.get()
    return usage_of(spec, response) if response.usage.has_values() else Usage()


def _breaks_off(response: ModelResponse) -> bool:
    """Return whether a stream ended without any sign of its end.

    Some servers leave the reason out; the count of tokens that was asked for ends theirs.
    """
    details = response.provider_details or {}
    ended = details.get("finish_reason") or response.finish_reason == "content_filter"
    counted = response.finish_reason is not None and not response.usage.unmeasured_requests
    return not (ended or counted)


def _reply(spec: ModelSpec, response: ModelResponse) -> ChatOutcome:
    text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
    parts = [part for part in response.parts if isinstance(part, ToolCallPart)]
    calls = [ToolCall(part.tool_call_id, part.tool_name, _arguments(part.args)) for part in parts]
    cut = response.finish_reason == "length"
    refused = None
    if response.finish_reason == "content_filter":
        refused, calls = str((response.provider_details or {}).get("refusal") or ""), []
        # OpenAI's are the model's words; Anthropic's are about the model.
        if spec.provider == "openai":
            text = text or refused
    return ChatOutcome(
        storable(text),
        tuple(calls),
        usage_of(spec, response),
        cut=cut,
        broken=next((p.tool_name for p in parts if cut and not _is_whole_object(p.args)), None),
        refused=refused,
    )


def _arguments(given: object) -> str:
    if isinstance(given, str):
        return storable(given) if given.strip() else "{}"
    return storable(json.dumps(given or {}, ensure_ascii=False))


def _is_whole_object(given: object) -> bool:
    """Return whether arguments are all there. Those that do not come as text cannot be told."""
    if not isinstance(given, str):
        return False
    try:
        return isinstance(json.loads(given), dict)
    except (ValueError, RecursionError):
        return False


def _parameters(tools: Sequence[ToolSpec]) -> ModelRequestParameters:
    return ModelRequestParameters(
        function_tools=[
            ToolDefinition(
                name=tool.name,
                description=tool.description,
                parameters_json_schema=dict(tool.parameters),
            )
            for tool in tools
        ]
    )
