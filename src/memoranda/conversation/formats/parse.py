"""Messages that come in: in our words, or in OpenAI's chat and responses and Anthropic's form.

Mappings are understood as well as the objects of the SDKs, whole or in parts. A model's reasoning
is not part of what is kept: blocks of it are passed over. A block that is not understood is
refused by name rather than lost, except in a tool's result: that is data, and stays as JSON.
A picture is kept as one address, which is where it is or the picture itself.
"""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from memoranda.errors import InvalidInput
from memoranda.model.checks import clean, known, several, storable
from memoranda.model.models import Image, Message, ToolCall, ToolResult

ROLES = ("system", "user", "assistant", "tool")
SAME_ROLE = {"developer": "system", "function": "tool", "model": "assistant", "human": "user"}
DETAILS = ("auto", "low", "high", "original")
PLACES = ("https://", "http://", "data:image/")
TIMES = ("timestamp", "created_at", "create_time")
REASONING = ("thinking", "redacted_thinking", "reasoning")
SUPPORTED = "text, images, tool_use, tool_result and reasoning, which is passed over"
# Holds arguments that are no JSON object where a provider takes nothing else.
UNPARSED = "unparsed_arguments"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMessage:
    """A message that is not yet in a transcript.

    Attributes:
        role: ``system``, ``user``, ``assistant`` or ``tool``.
        content: the text.
        tool_calls: the calls it makes (assistant only).
        tool_result: the call it answers (tool only).
        timestamp: when it was said, where that is known.
        images: the pictures in it.
        task: the title of the task that starts with it.
    """

    role: str
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_result: ToolResult | None = None
    timestamp: datetime | None = None
    images: tuple[Image, ...] = ()
    task: str | None = None

    def check(self) -> None:
        """Refuse a message that cannot be kept.

        Raises:
            InvalidInput: a part of it cannot be stored; the message says which.
        """
        storable(self.content, "content")
        self._check_tools()
        for image in self.images:
            _check_image(image)
        if self.task is not None:
            clean(self.task, "task")
        known(self.timestamp, "timestamp")
        said = self.content.strip() or self.images or self.tool_calls
        if not said and self.tool_result is None:
            raise InvalidInput("content is empty; give the message some text or a tool call")

    def _check_tools(self) -> None:
        if self.tool_calls and self.role != "assistant":
            raise InvalidInput(
                f"role={self.role!r} cannot make tool calls; only the assistant does"
            )
        for call in self.tool_calls:
            for name in ("id", "name", "arguments"):
                storable(getattr(call, name), f"{name} of a tool call")
        result: object = self.tool_result
        if result is None:
            return
        if not isinstance(result, ToolResult):
            raise InvalidInput(
                f"tool_result must be a ToolResult or the id of the call, got {result!r:.80}"
            )
        if self.role != "tool":
            raise InvalidInput(f"role={self.role!r} cannot answer a tool call; use role='tool'")
        storable(result.call_id, "tool_result")


def _check_image(image: object) -> None:
    if not isinstance(image, Image) or not isinstance(image.url, str):
        raise InvalidInput(f"images must be Image values or their addresses, got {image!r:.80}")
    storable(image.url, "url of an image")
    if not image.url.startswith(PLACES):
        raise InvalidInput(
            f"the image {image.url!r:.60} is no address; "
            f"use https://… or data:image/png;base64,… with the picture in it"
        )
    if image.detail not in DETAILS:
        names = ", ".join(DETAILS)
        raise InvalidInput(f"detail={image.detail!r} of an image is unknown; use one of {names}")


def parse_role(role: object) -> str:
    """Return the role of that name; ``developer`` is a system message, and so on.

    Raises:
        InvalidInput: there is no such role.
    """
    name = SAME_ROLE.get(role, role) if isinstance(role, str) else role
    if name not in ROLES:
        raise InvalidInput(f"role={role!r} is unknown; use one of {', '.join(ROLES)}")
    return str(name)


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
    for message in several(messages, "messages"):
        shape = _unwrap(message)
        new = parse_message(shape)
        if found and new and _continues(found[-1], shape, new[0]):
            before, after = found[-1], new[0]
            found[-1] = replace(
                before,
                content=_join([before.content, after.content]),
                tool_calls=before.tool_calls + after.tool_calls,
                images=before.images + after.images,
            )
        else:
            found += new
    return _with_ids(found)


def _continues(before: NewMessage, shape: object, new: NewMessage) -> bool:
    """Whether an item belongs to the answer of which ``before`` is the beginning."""
    if before.role != "assistant" or new.role != "assistant" or not isinstance(shape, Mapping):
        return False
    kind = shape.get("type")
    return kind == "function_call" or (kind == "message" and bool(before.tool_calls))


def _with_ids(found: list[NewMessage]) -> list[NewMessage]:
    """Return the messages with ids for parallel calls whose ids do not tell them apart."""
    for index, message in enumerate(found):
        old = [call.id for call in message.tool_calls]
        if len(set(old)) == len(old) and (len(old) == 1 or "" not in old):
            continue
        end = index + 1 + len(old)
        answers = [item.tool_result for item in found[index + 1 : end] if item.tool_result]
        if sorted(old) != sorted(answer.call_id for answer in answers):
            continue
        waiting: defaultdict[str, deque[str]] = defaultdict(deque)
        calls = []
        for place, call in enumerate(message.tool_calls, 1):
            calls.append(replace(call, id=f"{call.id or 'call'}_{place}"))
            waiting[call.id].append(calls[-1].id)
        found[index] = replace(message, tool_calls=tuple(calls))
        for place, answer in enumerate(answers, index + 1):
            renamed = replace(answer, call_id=waiting[answer.call_id].popleft())
            found[place] = replace(found[place], tool_result=renamed)
    return found


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
    shape = _unwrap(message)
    if not isinstance(shape, Mapping):
        raise InvalidInput(f"a message must be a mapping with role and content, got {shape!r:.80}")
    if shape.get("role") is None and "type" in shape:
        return _parse_item(shape)
    return _parse_chat(shape)


def _unwrap(value: object) -> object:
    """Return an object of a provider's SDK as the mapping it stands for, all else as it is."""
    dump = None if isinstance(value, type) else getattr(value, "model_dump", None)
    if not callable(dump):
        return value
    try:
        return dump()
    except (TypeError, ValueError) as error:
        text = f"an object of a message cannot be read ({error}): {value!r:.80}"
        raise InvalidInput(text) from error


def _parse_item(item: Mapping[str, Any]) -> list[NewMessage]:
    at = _parse_time(item)
    match item:
        case {"type": "reasoning"}:
            return []
        case {"type": "function_call", "name": str(name)}:
            own_id = str(item.get("call_id") or item.get("id") or "")
            call = ToolCall(own_id, name, _arguments_text(item.get("arguments")))
            return [NewMessage(role="assistant", content="", tool_calls=(call,), timestamp=at)]
        case {"type": "function_call_output"}:
            answered = ToolResult(str(item.get("call_id") or ""))
            return [_parse_output(answered, item.get("output"), at)]
        case {"type": "message"}:
            parse_role(item.get("role"))
    raise InvalidInput(
        f"an item of this form is not supported: {item!r:.80}; take it out (supported are "
        f"message, function_call, function_call_output and reasoning, which is passed over)"
    )


def _parse_chat(message: Mapping[str, Any]) -> list[NewMessage]:
    role, at = parse_role(message.get("role")), _parse_time(message)
    content = message.get("content")
    if role == "tool":
        # Of calls without ids, old files and some servers give the name alone.
        call = message.get("tool_call_id")
        answered = ToolResult(str(message.get("name") or "" if call is None else call))
        return [_parse_output(answered, content, at)]
    found = _MessageContent(at)
    match content:
        case None:
            pass
        case str():
            found.texts.append(content)
        case list() | tuple():
            for block in map(_unwrap, content):
                found.add(block)
        case _:
            raise InvalidInput(f"content must be text or a list of blocks, got {content!r:.80}")
    if isinstance(refusal := message.get("refusal"), str):
        found.texts.append(refusal)
    found.calls += parse_calls(message.get("tool_calls") or ())
    if isinstance(function := _unwrap(message.get("function_call")), Mapping):
        # Of the form before tools: it has no id, and its answer comes under its name.
        name = function.get("name")
        if not isinstance(name, str):
            raise InvalidInput(f"a function_call needs a name, got {function!r:.80}")
        found.calls.append(ToolCall(name, name, _arguments_text(function.get("arguments"))))
    if not (found.texts or found.images or found.calls) and isinstance(content, list | tuple):
        return found.outputs
    said = NewMessage(
        role=role,
        content=_join(found.texts),
        tool_calls=tuple(found.calls),
        timestamp=at,
        images=tuple(found.images),
    )
    return [*found.outputs, said]


@dataclass(slots=True)
class _MessageContent:
    """The content of a message, gathered from its blocks in order."""

    at: datetime | None
    texts: list[str] = field(default_factory=list)
    images: list[Image] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)
    outputs: list[NewMessage] = field(default_factory=list)

    def add(self, block: object) -> None:
        match block:
            case {"type": "text" | "input_text" | "output_text", "text": str(text)}:
                self.texts.append(text)
            case {"type": "refusal", "refusal": str(text)}:
                self.texts.append(text)
            case {"type": kind} if kind in REASONING:
                pass
            case {"type": "tool_use", "id": str(id), "name": str(name), **rest}:
                self.calls.append(ToolCall(id, name, _arguments_text(rest.get("input"))))
            case {"type": "tool_result", "tool_use_id": str(id), **rest}:
                result = ToolResult(id, bool(rest.get("is_error")))
                self.outputs.append(_parse_output(result, rest.get("content"), self.at))
            case Mapping() if image := _parse_image(block):
                self.images.append(image)
            case _:
                raise InvalidInput(
                    f"a content block of this form is not supported: {block!r:.80}; "
                    f"take it out (supported are {SUPPORTED})"
                )


def _parse_image(block: Mapping[str, Any]) -> Image | None:
    """Return the picture in a content block of any provider, ``None`` where there is none."""
    picture, source = _unwrap(block.get("image_url")), _unwrap(block.get("source"))
    match block.get("type"), picture, source:
        case "image_url", {"url": str(url), **rest}, _ if url:
            return Image(url, known_detail(rest.get("detail")))
        case "image_url" | "input_image", str(url), _ if url:
            return Image(url, known_detail(block.get("detail")))
        case "image", _, {"type": "url", "url": str(url)} if url:
            return Image(url)
        case "image", _, {"type": "base64", "media_type": str(media), "data": str(data)}:
            return Image(f"data:{media};base64,{data}")
    return None


def known_detail(given: object) -> str:
    """Return how closely a picture is to be looked at, as OpenAI knows it."""
    return str(given) if given in DETAILS else "auto"


def _parse_output(result: ToolResult, content: object, at: datetime | None) -> NewMessage:
    """Return a tool's message: its text and pictures; anything else as JSON text."""
    texts: list[str] = []
    images: list[Image] = []
    if isinstance(content, str | None):
        texts.append(content or "")
    elif not isinstance(content, list | tuple):
        texts.append(_json_text(_unwrap(content)))
    else:
        for block in map(_unwrap, content):
            if isinstance(block, Mapping) and (image := _parse_image(block)):
                images.append(image)
            elif isinstance(block, Mapping) and isinstance(block.get("text"), str):
                texts.append(block["text"])
            else:
                texts.append(_json_text(block))
    return NewMessage(
        role="tool", content=_join(texts), tool_result=result, timestamp=at, images=tuple(images)
    )


def _join(texts: Iterable[str]) -> str:
    return "\n".join(text for text in texts if text)


def parse_calls(calls: Iterable[object]) -> list[ToolCall]:
    """Return calls of tools: our own, or those of OpenAI's chat form.

    Raises:
        InvalidInput: one has no form that is known.
    """
    given = several(calls, "tool_calls")
    return [call if isinstance(call, ToolCall) else _parse_call(call) for call in given]


def _parse_call(call: object) -> ToolCall:
    """Return a tool call of OpenAI's chat form."""
    call = _unwrap(call)
    function = _unwrap(call.get("function")) if isinstance(call, Mapping) else None
    if not isinstance(call, Mapping) or not isinstance(function, Mapping) or "name" not in function:
        raise InvalidInput(f"a tool call needs function.name, got {call!r:.80}")
    arguments = _arguments_text(function.get("arguments"))
    return ToolCall(str(call.get("id") or ""), str(function["name"]), arguments)


def _arguments_text(given: object) -> str:
    """Return the arguments of a call as the JSON text that is kept.

    What :func:`arguments_object` wrapped comes out as it was.
    """
    match given:
        case None:
            return "{}"
        case str():
            return given or "{}"
        case {**rest} if rest.keys() == {UNPARSED} and isinstance(rest[UNPARSED], str):
            return str(rest[UNPARSED])
    return _json_text(given)


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


def _json_text(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"a part of a message is no JSON ({error}): {value!r:.80}") from error


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
