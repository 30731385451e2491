"""One turn of a talk with a model through pydantic-ai: messages go out, words and calls come.

The libraries load with the first call, for the reason that
:mod:`memoranda.providers.llm.calls` states.
"""

# Imports stand in functions here, as the docstring says.
# ruff: noqa: PLC0415

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memoranda.model.chat import Told, ToolSpec
from memoranda.model.life import Usage
from memoranda.model.models import ToolCall
from memoranda.providers.llm.calls import Failed, attempt, limits, usage_of
from memoranda.providers.llm.chat_messages import Heard, Picture, Result, System, Turn, Words
from memoranda.providers.llm.spec import ModelSpec

if TYPE_CHECKING:
    from pydantic_ai import ModelMessage, ModelResponse
    from pydantic_ai.messages import (
        ModelRequestPart,
        ModelResponsePart,
        ModelResponseStreamEvent,
        UserContent,
    )
    from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse

FIRST_HALF = ("\ud800", "\udbff")
"""The first and the last character that is the first half of another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Talk:
    """What is sent in one call.

    Attributes:
        turns: the conversation.
        tools: what the model may call.
        timeout: seconds in which the whole reply must be there; where words are told as they
            come, the longest silence between two pieces.
        max_tokens: the longest reply; ``None`` is the model's own limit.
    """

    turns: Sequence[Turn]
    tools: Sequence[ToolSpec]
    timeout: float
    max_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Talked:
    """What came back.

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


class Voice:
    """Tells words as they come, each character whole.

    Attributes:
        words: what was told so far.
        usage: what the server said that was spent so far.
        error: what the listener raised.
    """

    def __init__(self, told: Told) -> None:
        """Tell ``told``."""
        self._told = told
        self._half = ""
        self.words = ""
        self.usage = Usage()
        self.error: Exception | None = None

    def say(self, text: str) -> None:
        """Tell ``text``, but keep half a character at its end until the other half is there."""
        text = self._half + text
        self._half = text[-1:] if FIRST_HALF[0] <= text[-1:] <= FIRST_HALF[1] else ""
        self._tell(_whole(text[: len(text) - len(self._half)]))

    def end(self) -> None:
        """Tell what was kept."""
        kept, self._half = self._half, ""
        self._tell(_whole(kept))

    def _tell(self, piece: str) -> None:
        if not piece:
            return
        self.words += piece
        try:
            self._told(piece)
        except Exception as error:
            self.error = error
            raise


async def talk(
    spec: ModelSpec, key: str | None, said: Talk, voice: Voice | None
) -> Talked | Failed:
    """Call once, and tell ``voice`` the words as they come.

    Nothing is raised but the cancellation of the task, and what the listener raises.
    """

    async def act(model: Model, limit: asyncio.Timeout) -> Talked | Failed:
        if voice is None:
            return _reply(spec, await _plain(model, said))
        return await _streamed(spec, model, said, voice, limit)

    outcome = await attempt(spec, key, said.timeout, act)
    if voice is None or not isinstance(outcome, Failed):
        return outcome
    if voice.error is not None:
        raise voice.error
    spoken = f"; {len(voice.words)} characters of its reply had come" if voice.words else ""
    return replace(
        outcome,
        why=outcome.why + spoken,
        again=outcome.again and not voice.words,
        usage=voice.usage,
    )


async def _plain(model: Model, said: Talk) -> ModelResponse:
    from pydantic_ai.direct import model_request

    return await model_request(
        model,
        _messages(said.turns),
        model_settings=limits(said.timeout, said.max_tokens),
        model_request_parameters=_parameters(said.tools),
    )


async def _streamed(
    spec: ModelSpec, model: Model, said: Talk, voice: Voice, limit: asyncio.Timeout
) -> Talked | Failed:
    from pydantic_ai.direct import model_request_stream

    clock = asyncio.get_running_loop().time
    opening = model_request_stream(
        model,
        _messages(said.turns),
        model_settings=limits(said.timeout, said.max_tokens),
        model_request_parameters=_parameters(said.tools),
    )
    async with opening as stream:
        try:
            async for event in stream:
                limit.reschedule(clock() + said.timeout)
                voice.say(_piece(event))
            voice.end()
        finally:
            voice.usage = _so_far(spec, stream)
    response = stream.get()
    if _breaks_off(response):
        return Failed(f"the reply of {spec} broke off; try again later", again=True)
    reply = _reply(spec, response)
    if not voice.words:
        # OpenAI says a refusal beside the words, and only in the end.
        voice.say(reply.text)
        voice.end()
    return replace(reply, text=voice.words)


def _piece(event: ModelResponseStreamEvent) -> str:
    from pydantic_ai import PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta

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


def _reply(spec: ModelSpec, response: ModelResponse) -> Talked:
    from pydantic_ai import TextPart, ToolCallPart

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
    return Talked(
        _whole(text),
        tuple(calls),
        usage_of(spec, response),
        cut=cut,
        broken=next((p.tool_name for p in parts if cut and not _is_whole_object(p.args)), None),
        refused=refused,
    )


def _arguments(given: object) -> str:
    if isinstance(given, str):
        return _whole(given) if given.strip() else "{}"
    return _whole(json.dumps(given or {}, ensure_ascii=False))


def _is_whole_object(given: object) -> bool:
    """Return whether arguments are all there. Those that do not come as text cannot be told."""
    if not isinstance(given, str):
        return False
    try:
        return isinstance(json.loads(given), dict)
    except (ValueError, RecursionError):
        return False


def _whole(text: str) -> str:
    """Return ``text`` as any store can hold it: pairs of halves are one, and NUL is none."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\x00", "")


def _parameters(tools: Sequence[ToolSpec]) -> ModelRequestParameters:
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.tools import ToolDefinition

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


def _messages(turns: Sequence[Turn]) -> list[ModelMessage]:
    from pydantic_ai import ModelRequest, ModelResponse, TextPart, ToolCallPart

    found: list[ModelMessage] = []
    for turn in turns:
        if isinstance(turn, Heard):
            found.append(ModelRequest(parts=[_request_part(part) for part in turn.parts]))
            continue
        parts: list[ModelResponsePart] = [TextPart(turn.text)] if turn.text else []
        parts += [ToolCallPart(c.name, dict(c.arguments), tool_call_id=c.id) for c in turn.calls]
        found.append(ModelResponse(parts=parts))
    return found


def _request_part(part: System | Result | Words) -> ModelRequestPart:
    from pydantic_ai import SystemPromptPart, ToolReturnPart, UserPromptPart

    match part:
        case System(text):
            return SystemPromptPart(text)
        case Result(id, name, text, is_error):
            # Anthropic refuses an empty text, and takes no text at all.
            return ToolReturnPart(
                name, text or [], tool_call_id=id, outcome="failed" if is_error else "success"
            )
    texts = [item for item in part.content if isinstance(item, str)]
    if len(texts) == len(part.content):
        return UserPromptPart("\n\n".join(texts))
    return UserPromptPart(
        [item if isinstance(item, str) else _image(item) for item in part.content]
    )


def _image(picture: Picture) -> UserContent:
    from pydantic_ai import BinaryContent, ImageUrl

    detail = {"detail": picture.detail} if picture.detail else None
    if picture.url:
        return ImageUrl(picture.url, vendor_metadata=detail)
    return BinaryContent(picture.data, media_type=picture.media_type, vendor_metadata=detail)
