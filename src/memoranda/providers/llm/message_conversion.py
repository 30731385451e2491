"""Converts a conversation into the messages of pydantic-ai, in the order that providers take.

What is read are messages in the form of OpenAI's chat completions. What comes out alternates as
providers want it, and every call is followed by its result, whatever went in. The system messages
at the start become one. Where a later one may stand depends on who listens:

- OpenAI itself takes it where it is.
- Anthropic takes none there, nor do the templates of many local models: it becomes a user's text,
  marked as a note of the system. These want user and assistant to alternate, too, and the user to
  begin and to end: what one says in a row becomes one message.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
from pydantic_ai.messages import ModelRequestPart, ModelResponsePart

from memoranda.errors import InvalidInput
from memoranda.model.checks import content_hash
from memoranda.providers.llm.spec import ModelSpec
from memoranda.text.patterns import compile_pattern

NOTE = "<system_note>\n{text}\n</system_note>"
"""A later system message, in the user's role."""
OPENING = "(start)"
"""Stands for the user where a conversation would begin with the assistant."""
GO_ON = "(go on)"
"""Stands for the user where a conversation would end with the assistant."""
FAILED = "(The tool failed and said nothing.)"
NO_RESULT = "(The call was interrupted; there is no result.)"
STRAY = "(Result of a tool call that is not shown:)\n{text}"
UNPARSED = "unparsed_arguments"
"""Holds arguments that are no JSON object; providers take nothing else."""

CALL_ID = compile_pattern(r"[a-zA-Z0-9_-]{1,40}")
LONGEST_ID = 40
INLINE = compile_pattern(r"data:([\w.+-]+/[\w.+-]+)(?:;[^;,]*)*;base64,", re.IGNORECASE)
MEDIA = {
    "image/png": "image/png",
    "image/jpeg": "image/jpeg",
    "image/jpg": "image/jpeg",
    "image/gif": "image/gif",
    "image/webp": "image/webp",
}
"""What all providers take, and what they call it."""


@dataclass(frozen=True, slots=True)
class MessageForm:
    """What a provider takes.

    Attributes:
        alternating: whether user and assistant alternate, without system messages in between.
        schemes: where a picture may be that is not sent along.
    """

    alternating: bool
    schemes: tuple[str, ...] = ("https://", "http://")


OPENAI = MessageForm(alternating=False)
COMPATIBLE = MessageForm(alternating=True)
ANTHROPIC = MessageForm(alternating=True, schemes=("https://",))


Message = Mapping[str, Any]
UserItem = str | ImageUrl | BinaryContent


def form_of(spec: ModelSpec) -> MessageForm:
    """Return what the provider of ``spec`` takes."""
    if spec.provider == "anthropic":
        return ANTHROPIC
    return OPENAI if spec.url is None else COMPATIBLE


def to_model_messages(messages: Sequence[Message], form: MessageForm) -> list[ModelMessage]:
    """Return ``messages`` as pydantic-ai sends them.

    A call without a result gets one that says so. A result without a call becomes a user's text.
    Ids that a provider refuses are replaced, as is the second use of one; both sides alike.

    Raises:
        InvalidInput: there are no messages, or one has no role that is known.
    """
    if not messages:
        raise InvalidInput("messages is empty; a model replies to at least one message")
    for message in messages:
        _check(message)
    start = next((n for n, m in enumerate(messages) if not _is_system(m)), len(messages))
    builder = _MessageBuilder(form)
    head = [text for message in messages[:start] if (text := _text(message, form))]
    if head:
        builder.add_request(SystemPromptPart("\n\n".join(head)))
    for segment in _segments(messages[start:]):
        builder.add(segment)
    return builder.finish()


def arguments_object(text: str) -> dict[str, Any]:
    """Return the JSON object that ``text`` is, or one that holds the text."""
    if not text.strip():
        return {}
    try:
        found = json.loads(text)
        # A number beyond all bounds or half a character can be read, but not sent.
        json.dumps(found, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        return {UNPARSED: text}
    return found if isinstance(found, dict) else {UNPARSED: text}


class _MessageBuilder:
    """Collects requests and responses in the order and shape that a provider takes."""

    def __init__(self, form: MessageForm) -> None:
        self._form = form
        self._messages: list[ModelRequest | ModelResponse] = []
        self._ids: set[str] = set()

    def add(self, segment: Sequence[Message]) -> None:
        """Add a message of the assistant, if one begins the segment, and what follows it."""
        rest = list(segment)
        if segment[0]["role"] == "assistant":
            message = rest.pop(0)
            calls = [_call(given) for given in message.get("tool_calls") or ()]
            results = [_take_result(rest, call.tool_call_id) for call in calls]
            for call in calls:
                call.tool_call_id = self._unique_id(call.tool_call_id)
            self._add_response(_text(message, self._form), calls)
            for call, result in zip(calls, results, strict=True):
                self.add_request(self._return(call, result))
            for result in results:
                self._add_user(_images(result, self._form) if result else ())
        for message in rest:
            self._add_other(message)

    def add_request(self, part: ModelRequestPart) -> None:
        """Add a part to the request at the end, which is begun after a response."""
        last = self._messages[-1] if self._messages else None
        if not isinstance(last, ModelRequest):
            last = ModelRequest(parts=[])
            self._messages.append(last)
        before = last.parts[-1] if last.parts else None
        if (
            self._form.alternating
            and isinstance(part, UserPromptPart)
            and isinstance(before, UserPromptPart)
        ):
            before.content = [*before.content, *part.content]
        else:
            last.parts = [*last.parts, part]

    def finish(self) -> list[ModelMessage]:
        """Return the messages; where that is wanted, the user speaks first and last."""
        if self._form.alternating or not self._messages:
            self._open_with_user()
            if isinstance(self._messages[-1], ModelResponse):
                self._add_user((GO_ON,))
        for message in self._messages:
            for part in message.parts:
                if isinstance(part, UserPromptPart):
                    _join_texts(part)
        return list(self._messages)

    def _open_with_user(self) -> None:
        first = self._messages[0] if self._messages else None
        if not isinstance(first, ModelRequest):
            first = ModelRequest(parts=[])
            self._messages.insert(0, first)
        if all(isinstance(part, SystemPromptPart) for part in first.parts):
            first.parts = [*first.parts, UserPromptPart([OPENING])]

    def _add_response(self, text: str, calls: Sequence[ToolCallPart]) -> None:
        last = self._messages[-1] if self._messages else None
        if not text and not calls:
            return
        parts: list[ModelResponsePart] = [TextPart(text)] if text else []
        if self._form.alternating and isinstance(last, ModelResponse):
            before = [part.content for part in last.parts if isinstance(part, TextPart)]
            joined = "\n\n".join([*before, text] if text else before)
            last.parts = [*([TextPart(joined)] if joined else []), *calls]
        else:
            self._messages.append(ModelResponse(parts=[*parts, *calls]))

    def _return(self, call: ToolCallPart, message: Message | None) -> ToolReturnPart:
        is_error = message is None or bool(message.get("is_error"))
        text = NO_RESULT if message is None else _text(message, self._form)
        return ToolReturnPart(
            call.tool_name,
            # Anthropic refuses an empty text, and takes no text at all.
            text or (FAILED if is_error else []),
            tool_call_id=call.tool_call_id,
            outcome="failed" if is_error else "success",
        )

    def _add_other(self, message: Message) -> None:
        text = _text(message, self._form)
        match message["role"]:
            case "tool":
                self._add_user((STRAY.format(text=text), *_images(message, self._form)))
            case "user":
                self._add_user(_content(message, self._form))
            case _ if text and self._form.alternating:
                self._add_user((NOTE.format(text=text),))
            case _ if text:
                self.add_request(SystemPromptPart(text))

    def _add_user(self, content: Sequence[UserItem]) -> None:
        if content:
            self.add_request(UserPromptPart(list(content)))

    def _unique_id(self, given: str) -> str:
        wanted = given if CALL_ID.fullmatch(given) else f"call_{content_hash(given)}"
        chosen, number = wanted, 1
        while chosen in self._ids:
            number += 1
            ending = f"_{number}"
            chosen = wanted[: LONGEST_ID - len(ending)] + ending
        self._ids.add(chosen)
        return chosen


def _join_texts(part: UserPromptPart) -> None:
    """Make one text of content that is text alone."""
    texts = [item for item in part.content if isinstance(item, str)]
    if len(texts) == len(part.content):
        part.content = "\n\n".join(texts)


def _check(message: object) -> None:
    role = message.get("role") if isinstance(message, Mapping) else None
    if role not in {"system", "developer", "user", "assistant", "tool"}:
        raise InvalidInput(
            f"a message is {message!r:.80}; give a mapping whose role is system, user, assistant "
            f"or tool"
        )


def _is_system(message: Message) -> bool:
    return message["role"] in {"system", "developer"}


def _segments(messages: Sequence[Message]) -> list[list[Message]]:
    """Cut before each message of the assistant, so that results stand with their calls."""
    found: list[list[Message]] = []
    for message in messages:
        if message["role"] == "assistant" or not found:
            found.append([])
        found[-1].append(message)
    return found


def _take_result(rest: list[Message], id: str) -> Message | None:
    """Take the first result of the call ``id`` out of ``rest``."""
    for place, message in enumerate(rest):
        if message["role"] == "tool" and str(message.get("tool_call_id", "")) == id:
            return rest.pop(place)
    return None


def _call(given: object) -> ToolCallPart:
    match given:
        case {"function": {"name": str(name), **rest}, **more}:
            arguments = rest.get("arguments") or ""
            text = arguments if isinstance(arguments, str) else json.dumps(arguments, default=str)
            key = str(more.get("id") or "")
            return ToolCallPart(name, arguments_object(text), tool_call_id=key)
    raise InvalidInput(f"a call is {given!r:.80}; give it an id, and a function with a name")


def _content(message: Message, form: MessageForm) -> tuple[UserItem, ...]:
    """Return what a message says and shows, without what is blank."""
    content = message.get("content")
    parts = [content or ""] if isinstance(content, str | None) else content
    if not isinstance(parts, Sequence):
        raise InvalidInput(f"a content is {content!r:.80}; give text, or a list of parts")
    found = [_part(part, form.schemes) for part in parts]
    return tuple(part for part in found if not isinstance(part, str) or part.strip())


def _text(message: Message, form: MessageForm) -> str:
    return "\n\n".join(part for part in _content(message, form) if isinstance(part, str))


def _images(message: Message, form: MessageForm) -> tuple[UserItem, ...]:
    return tuple(part for part in _content(message, form) if not isinstance(part, str))


def _part(part: object, schemes: tuple[str, ...]) -> UserItem:
    match part:
        case str(text) | {"type": "text", "text": str(text)}:
            return text
        case {"type": "refusal", "refusal": str(text)}:
            return text
        case {"type": "image_url", "image_url": {"url": str(url), **rest}}:
            return _image(url, rest.get("detail"), schemes)
        case {"type": "image_url", "image_url": str(url)}:
            return _image(url, None, schemes)
        case {"type": str(kind)}:
            return f"[{kind}]"
    raise InvalidInput(f"a part of a content is {part!r:.80}; give text, or a part with its type")


def _image(url: str, detail: object, schemes: tuple[str, ...]) -> UserItem:
    """Return an image, or its name where the provider would refuse all for it."""
    wanted = {"detail": detail} if isinstance(detail, str) else None
    if inline := INLINE.match(url):
        media = MEDIA.get(inline[1].lower())
        try:
            data = base64.b64decode("".join(url[inline.end() :].split()), validate=True)
        except (binascii.Error, ValueError):
            data = b""
        if media and data:
            return BinaryContent(data, media_type=media, vendor_metadata=wanted)
        return f"[image: {inline[1]}]"
    if url.lower().startswith(schemes):
        return ImageUrl(url, vendor_metadata=wanted)
    return f"[image: {'data' if url[:5].lower() == 'data:' else url}]"
