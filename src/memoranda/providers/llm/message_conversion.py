"""Converts a conversation into the messages of pydantic-ai.

What is read are messages in the form of OpenAI's chat completions, as a context has them: every
call is followed by its result. What comes out is what all providers and the templates of local
models take: user and assistant alternate, the user begins, calls are numbered, and the system
speaks at the start alone. What it says later becomes a user's text, marked as a note of the system.
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
from memoranda.model.chat import FAILED, MEDIA, OPENING
from memoranda.text.patterns import compile_pattern

NOTE = "<system_note>\n{text}\n</system_note>"
SYSTEM = ("system", "developer")
MEDIUM = compile_pattern(r"data:([\w.+-]+/[\w.+-]+)", re.IGNORECASE)

Message = Mapping[str, Any]
UserItem = str | ImageUrl | BinaryContent


def to_model_messages(messages: Sequence[Message]) -> list[ModelMessage]:
    """Return ``messages`` as pydantic-ai sends them.

    Raises:
        InvalidInput: a call is none of a function, or a result is not after its call.
    """
    head = list(takewhile(lambda message: message["role"] in SYSTEM, messages))
    converter = _MessageConverter([text for each in head if (text := _text(_content(each)))])
    for message in messages[len(head) :]:
        converter.add(message)
    converter.end_request()
    # It answers calls that were interrupted, and joins what the assistant says in a row.
    return repair_messages(converter.messages)


class _MessageConverter:
    """Turns messages into requests and responses, one by one.

    Attributes:
        messages: what has come out.
    """

    def __init__(self, system: Sequence[str]) -> None:
        self.messages: list[ModelMessage] = []
        # Of the request that is not yet complete: the results, and what the user says.
        self._parts: list[ModelRequestPart] = []
        self._said: list[UserItem] = []
        self._calls: dict[str, ToolCallPart] = {}  # By given id, calls without a result so far.
        self._count = 0
        if system:
            self._parts.append(SystemPromptPart("\n\n".join(system)))

    def add(self, message: Message) -> None:
        """Add a message."""
        content = _content(message)
        match message["role"]:
            case "assistant":
                self._add_response(_text(content), message.get("tool_calls") or ())
            case "tool":
                self._add_result(content, message)
            case "user":
                self._said += content
            case _ if text := _text(content):
                self._said.append(NOTE.format(text=text))

    def end_request(self) -> None:
        """Add what stands in a row since the last response as one request."""
        if not self.messages and not self._said:
            self._said.append(OPENING)
        if self._said:
            texts = [item for item in self._said if isinstance(item, str)]
            is_text = len(texts) == len(self._said)
            self._parts.append(UserPromptPart("\n\n".join(texts) if is_text else self._said))
        if self._parts:
            self.messages.append(ModelRequest(parts=self._parts))
        self._parts, self._said = [], []

    def _add_response(self, text: str, given: Sequence[object]) -> None:
        calls = {key: call for each in given for key, call in [_call(each)]}
        if not text and not calls:
            return
        self.end_request()
        for call in calls.values():
            self._count += 1
            call.tool_call_id = f"call_{self._count}"
        self._calls = calls
        words = [TextPart(text)] if text else []
        self.messages.append(ModelResponse(parts=[*words, *calls.values()]))

    def _add_result(self, content: list[UserItem], message: Message) -> None:
        call = self._calls.pop(str(message.get("tool_call_id", "")), None)
        if call is None:
            raise InvalidInput(f"a result is {message!r:.80}; give it after its call")
        failed = bool(message.get("is_error"))
        # Anthropic refuses an empty text, and takes no text at all.
        said = _text(content) or (FAILED if failed else [])
        part = ToolReturnPart(call.tool_name, said, tool_call_id=call.tool_call_id)
        part.outcome = "failed" if failed else "success"
        self._parts.append(part)
        self._said += [item for item in content if not isinstance(item, str)]


def _content(message: Message) -> list[UserItem]:
    """Return what a message says and shows, without what is blank; its speaker's name leads."""
    content = message.get("content")
    parts = [content] if isinstance(content, str) else content or ()
    found = [part for part in map(_part, parts) if not isinstance(part, str) or part.strip()]
    name = message.get("name") if message["role"] != "tool" else None  # There, of a function.
    if name and found and isinstance(found[0], str):
        found[0] = f"{name}: {found[0]}"
    return found


def _text(content: Sequence[UserItem]) -> str:
    """Return the words of a message."""
    return "\n\n".join(item for item in content if isinstance(item, str))


def _call(given: object) -> tuple[str, ToolCallPart]:
    match given:
        case {"function": {"name": str(name), **rest}, **more}:
            arguments = rest.get("arguments") or ""
            text = arguments if isinstance(arguments, str) else json.dumps(arguments, default=str)
            return str(more.get("id") or ""), ToolCallPart(name, text)
    raise InvalidInput(f"a call is {given!r:.80}; give it an id, and a function with a name")


def _part(part: Any) -> UserItem:
    match part:
        case str(text) | {"text": str(text)} | {"refusal": str(text)}:
            return text
        case {"type": "image_url", "image_url": {"url": str(url), **rest}}:
            return _image(url, rest.get("detail"))
        case {"type": "file", "file": {"file_data": str(url)}}:
            return _image(url, None)
    return f"[{part.get('type')}]"


def _image(url: str, detail: object) -> UserItem:
    """Return an image or a PDF, or its name where a provider would refuse all for it."""
    wanted = {"detail": detail} if isinstance(detail, str) else None
    if url.lower().startswith("https://"):
        return ImageUrl(url, vendor_metadata=wanted)
    named = MEDIUM.match(url)
    media = MEDIA.get(named[1].lower()) if named else None
    with suppress(ValueError):
        data = BinaryContent.from_data_uri(url).data
        if media and data:
            return BinaryContent(data, media_type=media, vendor_metadata=wanted)
    return f"[image: {named[1] if named else url[:80]}]"
