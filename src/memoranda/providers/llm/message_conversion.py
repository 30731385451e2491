"""Converts a conversation into the messages of pydantic-ai, in the order that providers take.

What is read are messages in the form of OpenAI's chat completions. What comes out alternates as
providers want it, and every call is followed by its result, whatever went in: pydantic-ai itself
answers calls that were interrupted, and joins what one says in a row. The system messages at the
start become one. Where a later one may stand depends on who listens:

- OpenAI itself takes it where it is.
- Anthropic takes none there, nor do the templates of many local models: it becomes a user's text,
  marked as a note of the system. These want user and assistant to alternate, too, and the user to
  begin and to end: what one says in a row becomes one message.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import takewhile
from typing import Any

from pydantic_ai import (
    BinaryContent,
    ImageUrl,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.messages import ModelRequestPart, repair_messages

from memoranda.errors import InvalidInput
from memoranda.model.chat import FAILED, MEDIA, OPENING, sendable_id
from memoranda.providers.llm.spec import ModelSpec
from memoranda.text.patterns import compile_pattern

# A later system message, in the user's role.
NOTE = "<system_note>\n{text}\n</system_note>"
# Stands for the user where a conversation would end with the assistant.
GO_ON = "(go on)"
STRAY = "(Result of a tool call that is not shown:)\n{text}"

CALL_ID = compile_pattern(r"[a-zA-Z0-9_-]{1,40}")
LONGEST_ID = 40
ROLES = ("system", "developer", "user", "assistant", "tool")
SYSTEM = ROLES[:2]
MEDIUM = compile_pattern(r"data:([\w.+-]+/[\w.+-]+)", re.IGNORECASE)


Message = Mapping[str, Any]
UserItem = str | ImageUrl | BinaryContent


def to_model_messages(messages: Sequence[Message], spec: ModelSpec) -> list[ModelMessage]:
    """Return ``messages`` as pydantic-ai sends them to the provider of ``spec``.

    A call without a result gets one that says so. A result without a call becomes a user's text.
    Ids that a provider refuses are replaced, as is the second use of one; both sides alike.

    Raises:
        InvalidInput: there are no messages, or one has no role that is known.
    """
    if not messages:
        raise InvalidInput("messages is empty; a model replies to at least one message")
    for message in messages:
        given: object = message
        if not isinstance(given, Mapping) or given.get("role") not in ROLES:
            raise InvalidInput(
                f"a message is {message!r:.80}; give a mapping whose role is system, user, "
                f"assistant or tool"
            )
    converter = _MessageConverter(spec)
    head = list(takewhile(lambda message: message["role"] in SYSTEM, messages))
    if texts := [text for message in head if (text := converter.text(message))]:
        converter.request(SystemPromptPart("\n\n".join(texts)))
    for message in messages[len(head) :]:
        converter.add(message)
    found = repair_messages(converter.messages)
    return _framed(found) if converter.alternating or not found else found


class _MessageConverter:
    """Turns messages into requests and responses, one by one.

    Attributes:
        messages: what has come out.
        alternating: whether user and assistant alternate, without system messages in between.
    """

    def __init__(self, spec: ModelSpec) -> None:
        self.messages: list[ModelMessage] = []
        self.alternating = spec.provider == "anthropic" or spec.url is not None
        # Where a picture may be that is not sent along.
        self._schemes = ("https://",) if spec.provider == "anthropic" else ("https://", "http://")
        self._ids: set[str] = set()
        self._open: dict[str, ToolCallPart] = {}  # By given id, calls without a result so far.

    def request(self, *parts: ModelRequestPart) -> None:
        """Add a request; what stands in a row becomes one in the end."""
        if parts:
            self.messages.append(ModelRequest(parts=parts))

    def add(self, message: Message) -> None:
        """Add a message."""
        text = self.text(message)
        match message["role"]:
            case "assistant":
                self._add_response(text, message.get("tool_calls") or ())
            case "tool":
                self._add_result(text, message)
            case "user":
                self.request(*_said(self._content(message)))
            case _ if text and self.alternating:
                self.request(UserPromptPart(NOTE.format(text=text)))
            case _ if text:
                self.request(SystemPromptPart(text))

    def _add_response(self, text: str, given: Sequence[object]) -> None:
        calls = [_call(call) for call in given]
        if not text and not calls:
            return
        self._open = {call.tool_call_id: call for call in calls}
        for call in calls:
            call.tool_call_id = sendable_id(
                call.tool_call_id, self._ids, CALL_ID.fullmatch, LONGEST_ID
            )
        words = [TextPart(text)] if text else []
        self.messages.append(ModelResponse(parts=[*words, *calls]))

    def _add_result(self, text: str, message: Message) -> None:
        shown = [item for item in self._content(message) if not isinstance(item, str)]
        call = self._open.pop(str(message.get("tool_call_id", "")), None)
        if call is None:
            self.request(*_said([STRAY.format(text=text), *shown]))
            return
        failed = bool(message.get("is_error"))
        # Anthropic refuses an empty text, and takes no text at all.
        content = text or (FAILED if failed else [])
        part = ToolReturnPart(call.tool_name, content, tool_call_id=call.tool_call_id)
        part.outcome = "failed" if failed else "success"
        self.request(part, *_said(shown))

    def text(self, message: Message) -> str:
        """Return the words of a message."""
        return "\n\n".join(item for item in self._content(message) if isinstance(item, str))

    def _content(self, message: Message) -> list[UserItem]:
        """Return what a message says and shows, without what is blank."""
        content = message.get("content")
        parts = [content or ""] if isinstance(content, str | None) else content
        if not isinstance(parts, Sequence):
            raise InvalidInput(f"a content is {content!r:.80}; give text, or a list of parts")
        found = [_part(part, self._schemes) for part in parts]
        return [part for part in found if not isinstance(part, str) or part.strip()]


def _framed(messages: list[ModelMessage]) -> list[ModelMessage]:
    """Return messages that alternate: the user begins and ends, and speaks once in a row."""
    if not messages or not isinstance(messages[0], ModelRequest):
        messages.insert(0, ModelRequest(parts=[]))
    if all(isinstance(part, SystemPromptPart) for part in messages[0].parts):
        messages[0] = ModelRequest(parts=[*messages[0].parts, UserPromptPart(OPENING)])
    if isinstance(messages[-1], ModelResponse):
        messages.append(ModelRequest(parts=[UserPromptPart(GO_ON)]))
    calls: Sequence[str] = ()
    for message in messages:
        if isinstance(message, ModelResponse):
            calls = [call.tool_call_id for call in message.tool_calls]
            continue
        said: list[Any] = []
        results: list[Any] = []  # And the system prompt, in the first.
        for part in message.parts:
            if isinstance(part, UserPromptPart):
                said += [part.content] if isinstance(part.content, str) else part.content
            else:
                results.append(part)
        results.sort(key=lambda part: calls.index(part.tool_call_id) if calls else 0)
        message.parts = [*results, *_said(said)]
    return messages


def _said(content: Sequence[UserItem]) -> list[UserPromptPart]:
    """Return what a user says; what is text alone is one text."""
    if all(isinstance(item, str) for item in content):
        return [UserPromptPart("\n\n".join(map(str, content)))] if content else []
    return [UserPromptPart(content)]


def _call(given: object) -> ToolCallPart:
    match given:
        case {"function": {"name": str(name), **rest}, **more}:
            arguments = rest.get("arguments") or ""
            text = arguments if isinstance(arguments, str) else json.dumps(arguments, default=str)
            return ToolCallPart(name, text, tool_call_id=str(more.get("id") or ""))
    raise InvalidInput(f"a call is {given!r:.80}; give it an id, and a function with a name")


def _part(part: object, schemes: tuple[str, ...]) -> UserItem:
    match part:
        case str(text) | {"text": str(text)} | {"refusal": str(text)}:
            return text
        case {"type": "image_url", "image_url": {"url": str(url), **rest}}:
            return _image(url, rest.get("detail"), schemes)
        case {"type": str(kind)}:
            return f"[{kind}]"
    raise InvalidInput(f"a part of a content is {part!r:.80}; give text, or a part with its type")


def _image(url: str, detail: object, schemes: tuple[str, ...]) -> UserItem:
    """Return an image, or its name where the provider would refuse all for it."""
    wanted = {"detail": detail} if isinstance(detail, str) else None
    if url.lower().startswith(schemes):
        return ImageUrl(url, vendor_metadata=wanted)
    if url[:5].lower() != "data:":
        return f"[image: {url}]"
    named = MEDIUM.match(url)
    media = MEDIA.get(named[1].lower()) if named else None
    with suppress(ValueError):
        data = BinaryContent.from_data_uri(url).data
        if media and data:
            return BinaryContent(data, media_type=media, vendor_metadata=wanted)
    return f"[image: {named[1] if named else 'data'}]"
