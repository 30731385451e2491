"""Calls a model with a conversation and tools through pydantic-ai, streamed or not.

Loaded with the first call, for the reason that :mod:`memoranda.providers.llm.connection` states.
"""

from __future__ import annotations

import asyncio
import json
from codecs import getincrementaldecoder
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any, NamedTuple

from pydantic_ai import ModelResponse, PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta
from pydantic_ai.direct import model_request, model_request_stream
from pydantic_ai.messages import ModelResponseStreamEvent
from pydantic_ai.models import ModelRequestParameters, StreamedResponse
from pydantic_ai.tools import ToolDefinition

from memoranda.errors import LLMError
from memoranda.model.chat import ChatReply, OnText, ToolSpec
from memoranda.model.models import ToolCall
from memoranda.providers.llm.answer_reading import storable
from memoranda.providers.llm.connection import ModelCalls, connected
from memoranda.providers.llm.message_conversion import to_model_messages
from memoranda.providers.llm.spec import ModelConnection, ModelSpec

LONGER = "ask for less at once, or name a model with longer replies"


class ChatOutcome(NamedTuple):
    """The outcome of one call: text and tool calls, and why it cannot be used, if it cannot."""

    text: str
    tool_calls: tuple[ToolCall, ...]
    problem: str | None = None


class WordStream:
    """Passes words on as they come, each character whole.

    Attributes:
        text: what was passed on so far.
        error: what the listener raised.
    """

    def __init__(self, on_text: OnText) -> None:
        """Call ``on_text`` with each piece."""
        self._on_text = on_text
        self._decoder = getincrementaldecoder("utf-16-le")("replace")
        self.text = ""
        self.error: Exception | None = None

    def add(self, text: str, *, final: bool = False) -> None:
        """Pass ``text`` on, but keep half a character at its end until the other half is there."""
        halves = text.encode("utf-16-le", "surrogatepass")
        piece = self._decoder.decode(halves, final).replace("\x00", "")
        if not piece:
            return
        self.text += piece
        try:
            self._on_text(piece)
        except Exception as error:
            self.error = error
            raise


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
        InvalidInput: there are no messages, or one is in no known form.
    """
    sent, calls = to_model_messages(messages, to.spec), ModelCalls(to)
    parameters = _parameters(tools)
    async with connected(to) as model:
        if on_text is None:

            async def send(_: asyncio.Timeout) -> ModelResponse:
                return await model_request(model, sent, model_request_parameters=parameters)

            reply = _outcome(to.spec, await calls.make(send))
        else:
            opening = model_request_stream(model, sent, model_request_parameters=parameters)
            reply = await _stream(to, calls, opening, WordStream(on_text))
    if reply.problem:
        raise calls.failure(f"{to.spec} {reply.problem}")
    return ChatReply(reply.text, reply.tool_calls, calls.usage)


async def _stream(
    to: ModelConnection,
    calls: ModelCalls,
    opening: AbstractAsyncContextManager[StreamedResponse],
    words: WordStream,
) -> ChatOutcome:
    """Pass on the words of one reply; what breaks off once it is open is not asked for again."""
    clock = asyncio.get_running_loop().time

    async def read(limit: asyncio.Timeout) -> ModelResponse:
        async with opening as stream:
            async for event in stream:
                limit.reschedule(clock() + to.timeout)
                words.add(_piece(event))
            words.add("", final=True)
        return stream.get()

    try:
        response = await calls.make(read)
        if _breaks_off(response):
            raise calls.failure(f"the reply of {to.spec} broke off; try again later")
    except LLMError as error:
        if words.error is not None:
            raise words.error from None
        came = f"; {len(words.text)} characters of its reply had come" if words.text else ""
        raise LLMError(f"{error}{came}", error.usage) from error
    reply = _outcome(to.spec, response)
    if not words.text:
        # OpenAI says a refusal beside the words, and only in the end.
        words.add(reply.text, final=True)
    return reply._replace(text=words.text)


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


def _outcome(spec: ModelSpec, response: ModelResponse) -> ChatOutcome:
    text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
    parts, problem = response.tool_calls, None
    calls = [ToolCall(part.tool_call_id, part.tool_name, _arguments(part.args)) for part in parts]
    if response.finish_reason == "content_filter":
        refused, calls = str((response.provider_details or {}).get("refusal") or ""), []
        # OpenAI's are the model's words; Anthropic's are about the model.
        if spec.provider == "openai":
            text = text or refused
        if not text:
            problem = f"refused to answer{': ' * bool(refused)}{refused}; name another model"
    elif response.finish_reason == "length":
        cut = "was cut off by its limit of tokens"
        # Arguments that do not come as text cannot be told to be all there.
        half = next((part.tool_name for part in parts if not _is_object(part.args)), None)
        if half is not None:
            problem = f"{cut} while it called {half}; {LONGER}"
        elif not (text or calls):
            problem = f"{cut} before it said a word; {LONGER}"
    return ChatOutcome(storable(text), tuple(calls), problem)


def _is_object(arguments: object) -> bool:
    """Return whether the arguments of a call are the text of a whole JSON object."""
    with suppress(ValueError, RecursionError):
        return isinstance(arguments, str) and isinstance(json.loads(arguments), dict)
    return False


def _arguments(given: object) -> str:
    if isinstance(given, str):
        return storable(given) if given.strip() else "{}"
    return storable(json.dumps(given or {}, ensure_ascii=False))


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
