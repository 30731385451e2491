"""Reads messages of the providers that come in: OpenAI's chat and responses, Anthropic's messages.

Mappings are understood as well as the objects of the SDKs, whole or in parts. A model's reasoning
is not part of what is kept: blocks of it are passed over. A block that is not understood is
refused by name rather than lost, except in a tool's result: that is data, and stays as JSON.
"""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from memoranda.conversation.formats.new_message import (
    UNPARSED,
    NewMessage,
    arguments_text,
    image_of,
    json_text,
    parse_role,
    parse_tool_call,
    unwrap,
)
from memoranda.errors import InvalidInput
from memoranda.model.checks import several
from memoranda.model.models import Image, Message, ToolCall, ToolResult

TIMES = ("timestamp", "created_at", "create_time")
REASONING = ("thinking", "redacted_thinking", "reasoning")
SUPPORTED = "text, images, tool_use, tool_result and reasoning, which is passed over"


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """The output of a tool call."""

    result: ToolResult
    text: str
    images: tuple[Image, ...] = ()

    def message(self, at: datetime | None) -> NewMessage:
        """Return the tool's message."""
        return NewMessage(
            role="tool",
            content=self.text,
            tool_result=self.result,
            timestamp=at,
            images=self.images,
        )


@dataclass(slots=True)
class MessageContent:
    """The content of a message, gathered from its blocks in order."""

    texts: list[str] = field(default_factory=list)
    images: list[Image] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)
    outputs: list[ToolOutput] = field(default_factory=list)

    def __bool__(self) -> bool:
        """Whether it says anything beside tool results."""
        return bool(self.texts or self.images or self.calls)

    def add(self, block: object) -> None:
        """Add the content of one block."""
        match block:
            case {"type": "text" | "input_text" | "output_text", "text": str(text)}:
                self.texts.append(text)
            case {"type": "refusal", "refusal": str(text)}:
                self.texts.append(text)
            case {"type": kind} if kind in REASONING:
                pass
            case {"type": "tool_use", "id": str(id), "name": str(name), **rest}:
                self.calls.append(ToolCall(id, name, arguments_text(rest.get("input"))))
            case {"type": "tool_result", "tool_use_id": str(id), **rest}:
                result = ToolResult(id, bool(rest.get("is_error")))
                self.outputs.append(parse_tool_output(result, rest.get("content")))
            case Mapping() if image := image_of(block):
                self.images.append(image)
            case _:
                raise InvalidInput(
                    f"a content block of this form is not supported: {block!r:.80}; "
                    f"take it out (supported are {SUPPORTED})"
                )


def parse_messages(messages: Iterable[object]) -> list[NewMessage]:
    """Return the messages in a list of messages or items of any form, in order.

    In OpenAI's responses form the text and the calls of one answer are items of their own:
    those that follow each other become one message. Parallel calls that all came without an id,
    or under the same one, get ids by which their results, in order, find them.

    Args:
        messages: ``Message`` or ``NewMessage`` values of ours, or messages of a provider's form.

    Raises:
        InvalidInput: a message has no known form; the message names the part.
    """
    found: list[NewMessage] = []
    foreign: list[NewMessage] = []
    for message in several(messages, "messages"):
        if isinstance(message, Message):
            found += _with_ids(foreign)
            foreign = []
            found += parse_message(message)
            continue
        shape = message if isinstance(message, NewMessage) else unwrap(message)
        new = parse_message(shape)
        if foreign and new and _continues(foreign[-1], shape, new):
            foreign[-1] = _merge(foreign[-1], new[0])
        else:
            foreign += new
    return found + _with_ids(foreign)


def parse_message(message: object) -> list[NewMessage]:
    """Return the messages in one message, or in one item of OpenAI's responses form.

    An Anthropic user message with several tool results gives one message for each. A
    ``function_call`` item gives an assistant message with that call, a model's reasoning none.

    Args:
        message: a mapping or an object of a provider's SDK; a message of ours.

    Raises:
        InvalidInput: it has no known form; the message names the part.
    """
    match message:
        case NewMessage():
            return [message]
        case Message():
            names = ("role", "content", "tool_calls", "tool_result", "timestamp", "images", "task")
            return [NewMessage(**{name: getattr(message, name) for name in names})]
    shape = unwrap(message)
    if not isinstance(shape, Mapping):
        raise InvalidInput(f"a message must be a mapping with role and content, got {shape!r:.80}")
    if shape.get("role") is None and "type" in shape:
        return _parse_item(shape)
    return _parse_chat(shape)


def parse_tool_output(result: ToolResult, content: object) -> ToolOutput:
    """Return the text and the pictures of a tool's output; anything else as JSON text."""
    match content:
        case None:
            return ToolOutput(result, "")
        case str():
            return ToolOutput(result, content)
        case list() | tuple():
            pass
        case _:
            return ToolOutput(result, json_text(unwrap(content)))
    texts: list[str] = []
    images: list[Image] = []
    for block in map(unwrap, content):
        if isinstance(block, Mapping) and (image := image_of(block)):
            images.append(image)
        elif isinstance(block, Mapping) and isinstance(block.get("text"), str):
            texts.append(block["text"])
        else:
            texts.append(json_text(block))
    return ToolOutput(result, _join(texts), tuple(images))


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
    if not isinstance(found, dict) or found.keys() == {UNPARSED}:
        return {UNPARSED: text}
    return found


def _join(texts: Iterable[str]) -> str:
    return "\n".join(text for text in texts if text)


def _parse_item(item: Mapping[str, Any]) -> list[NewMessage]:
    at = _parse_time(item)
    own_id = str(item.get("call_id") or item.get("id") or "")
    match item:
        case {"type": "reasoning"}:
            return []
        case {"type": "function_call", "name": str(name)}:
            call = ToolCall(own_id, name, arguments_text(item.get("arguments")))
            return [NewMessage(role="assistant", content="", tool_calls=(call,), timestamp=at)]
        case {"type": "function_call_output"}:
            answered = ToolResult(str(item.get("call_id") or ""))
            return [parse_tool_output(answered, item.get("output")).message(at)]
        case {"type": "message"}:
            parse_role(item.get("role"))
    raise InvalidInput(
        f"an item of this form is not supported: {item!r:.80}; take it out (supported are "
        f"message, function_call, function_call_output and reasoning, which is passed over)"
    )


def _parse_chat(message: Mapping[str, Any]) -> list[NewMessage]:
    role, at, content = (
        parse_role(message.get("role")),
        _parse_time(message),
        message.get("content"),
    )
    if role == "tool":
        # Of calls without ids, old files and some servers give the name alone.
        known = message.get("tool_call_id")
        answered = ToolResult(str(message.get("name") or "" if known is None else known))
        return [parse_tool_output(answered, content).message(at)]
    found = _parse_content(content)
    if isinstance(refusal := message.get("refusal"), str):
        found.texts.append(refusal)
    found.calls += _parse_calls(message)
    outputs = [output.message(at) for output in found.outputs]
    if not found and isinstance(content, list | tuple):
        return outputs
    said = NewMessage(
        role=role,
        content=_join(found.texts),
        tool_calls=tuple(found.calls),
        timestamp=at,
        images=tuple(found.images),
    )
    return [*outputs, said]


def _parse_content(content: object) -> MessageContent:
    found = MessageContent()
    match content:
        case None:
            pass
        case str():
            found.texts.append(content)
        case list() | tuple():
            for block in content:
                found.add(unwrap(block))
        case _:
            raise InvalidInput(f"content must be text or a list of blocks, got {content!r:.80}")
    return found


def _parse_calls(message: Mapping[str, Any]) -> list[ToolCall]:
    calls = message.get("tool_calls") or ()
    if isinstance(calls, str | Mapping) or not isinstance(calls, Iterable):
        raise InvalidInput(f"tool_calls must be a list, got {calls!r:.80}")
    found = [parse_tool_call(call) for call in calls]
    if isinstance(function := unwrap(message.get("function_call")), Mapping):
        # Of the form before tools: it has no id, and its answer comes under its name.
        name = function.get("name")
        if not isinstance(name, str):
            raise InvalidInput(f"a function_call needs a name, got {function!r:.80}")
        found.append(ToolCall(name, name, arguments_text(function.get("arguments"))))
    return found


def _parse_time(message: Mapping[str, Any]) -> datetime | None:
    """Return when a message was said, by the names under which exports give it."""
    given = next((message[name] for name in TIMES if message.get(name) is not None), None)
    try:
        match given:
            case None | datetime():
                return given
            case bool():
                pass
            case int() | float():
                return datetime.fromtimestamp(given, UTC)
            case str():
                return datetime.fromisoformat(given)
    except (ValueError, OverflowError, OSError):
        pass
    raise InvalidInput(
        f"a message has the time {given!r:.80}; write it with its time zone, such as "
        f"2025-03-31T18:30:00Z, or as seconds since 1970"
    )


def _continues(before: NewMessage, shape: object, new: Sequence[NewMessage]) -> bool:
    """Whether an item belongs to the answer of which ``before`` is the beginning."""
    if before.role != "assistant" or new[0].role != "assistant" or not isinstance(shape, Mapping):
        return False
    kind = shape.get("type")
    return kind == "function_call" or (kind == "message" and bool(before.tool_calls))


def _merge(before: NewMessage, after: NewMessage) -> NewMessage:
    return replace(
        before,
        content=_join([before.content, after.content]),
        tool_calls=before.tool_calls + after.tool_calls,
        images=before.images + after.images,
    )


def _with_ids(found: list[NewMessage]) -> list[NewMessage]:
    """Return the messages with ids for parallel calls whose ids do not tell them apart."""
    for index, message in enumerate(found):
        old = [call.id for call in message.tool_calls]
        if len(set(old)) == len(old) and (len(old) == 1 or "" not in old):
            continue
        answers = [item.tool_result for item in found[index + 1 : index + 1 + len(old)]]
        if sorted(old) == sorted(answer.call_id if answer else "\0" for answer in answers):
            _rename_calls(found, index, old)
    return found


def _rename_calls(found: list[NewMessage], index: int, old: Sequence[str]) -> None:
    new = [f"{known or 'call'}_{place}" for place, known in enumerate(old, 1)]
    calls = zip(found[index].tool_calls, new, strict=True)
    found[index] = replace(
        found[index], tool_calls=tuple(replace(call, id=after) for call, after in calls)
    )
    waiting: defaultdict[str, deque[str]] = defaultdict(deque)
    for before, after in zip(old, new, strict=True):
        waiting[before].append(after)
    for place in range(index + 1, index + 1 + len(old)):
        item = found[place]
        if item.tool_result is not None:
            after = waiting[item.tool_result.call_id].popleft()
            found[place] = replace(item, tool_result=replace(item.tool_result, call_id=after))
