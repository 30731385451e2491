"""Messages that come in: in our words, or in OpenAI's chat and responses and Anthropic's form.

Mappings are understood as well as the objects of the SDKs, whole or in parts. What is said becomes
the fields of a message: text, pictures, calls and results. Where these do not say exactly what was
given, as with a model's reasoning, files and whatever is not known here, the item itself is kept
beside them, in ``raw``. A picture is kept as one address, which is where it is or the picture
itself.
"""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from itertools import groupby
from math import isfinite
from typing import Any

from memoranda.conversation.formats.raw import (
    CHAT_REASONING,
    TIMES,
    count_parts,
    holds_file,
    is_item,
    plain_item,
    same_json,
)
from memoranda.errors import InvalidInput
from memoranda.model.checks import (
    DEEPEST,
    clean,
    known,
    refuse_unknown,
    several,
    storable,
    too_deep,
)
from memoranda.model.models import Image, Message, ToolCall, ToolResult
from memoranda.tokens.catalog import ChatMeter

ROLES = ("system", "user", "assistant", "tool")
SAME_ROLE = {
    "developer": "system",
    "function": "tool",
    "model": "assistant",
    "ai": "assistant",
    "human": "user",
}
DETAILS = ("auto", "low", "high", "original")
PLACES = ("https://", "http://", "data:image/")
# The input of calls that are no functions, by the names under which items have it.
INPUTS = ("arguments", "input", "action", "operation", "code")
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
        raw: the item that was given, where the fields do not say it exactly.
        part: as in :class:`~memoranda.model.models.Message`.
    """

    role: str
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_result: ToolResult | None = None
    timestamp: datetime | None = None
    images: tuple[Image, ...] = ()
    task: str | None = None
    raw: Mapping[str, Any] | None = None
    part: int = 0

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
        if not said and self.tool_result is None and self.raw is None:
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


OWN_FIELDS = tuple(each.name for each in fields(NewMessage))


def _check_image(image: object) -> None:
    if not isinstance(image, Image) or not isinstance(image.url, str):
        raise InvalidInput(f"images must be Image values or their addresses, got {image!r:.80}")
    storable(image.url, "url of an image")
    if not image.url.startswith(PLACES):
        raise InvalidInput(
            f"the image {image.url!r:.60} is no address; "
            f"use https://… or data:image/png;base64,… with the picture in it"
        )
    refuse_unknown([image.detail], DETAILS, "the detail of an image")


def parse_role(role: object) -> str:
    """Return the role of that name; ``developer`` is a system message, and so on.

    Raises:
        InvalidInput: there is no such role.
    """
    name = SAME_ROLE.get(role, role) if isinstance(role, str) else role
    refuse_unknown([name], ROLES, "role")
    return str(name)


def parse_messages(messages: Iterable[object]) -> list[NewMessage]:
    """Return the messages in a list of messages or items of any form, in order.

    Each item of OpenAI's responses form is a message of its own. Parallel calls that all came
    without an id, or under the same one, get ids by which their results, in order, find them.

    Args:
        messages: ``Message`` or ``NewMessage`` values of ours, or messages of a provider's form.

    Raises:
        InvalidInput: a message has no known form; the message names the part.
    """
    given = several(messages, "messages")
    found = _with_ids([new for message in given for new in parse_message(message)])
    return [replace(new, raw=None) if _says_exactly(new) else new for new in found]


def _says_exactly(new: NewMessage) -> bool:
    """Whether the fields of a message say all that was given."""
    if new.raw is None or new.part or not (new.content.strip() or new.tool_calls):
        return False
    item = plain_item(new)
    return item is not None and same_json(item, new.raw)


def _with_ids(found: list[NewMessage]) -> list[NewMessage]:
    """Return the messages with ids for parallel calls whose ids do not tell them apart."""
    for start, message in enumerate(found):
        if not message.tool_calls:
            continue
        answer = [start, *_more_calls(found, start)]
        calls = [(place, call) for place in answer for call in found[place].tool_calls]
        old = [call.id for _, call in calls]
        if len(set(old)) == len(old) and (len(old) == 1 or "" not in old):
            continue
        begin = answer[-1] + 1
        answers = [item.tool_result for item in found[begin : begin + len(old)] if item.tool_result]
        if sorted(old) != sorted(answer.call_id for answer in answers):
            continue
        waiting: defaultdict[str, deque[str]] = defaultdict(deque)
        renamed: defaultdict[int, list[ToolCall]] = defaultdict(list)
        for number, (place, call) in enumerate(calls, 1):
            renamed[place].append(replace(call, id=f"{call.id or 'call'}_{number}"))
            waiting[call.id].append(renamed[place][-1].id)
        for place, changed in renamed.items():
            found[place] = replace(found[place], tool_calls=tuple(changed))
        for place, result in enumerate(answers, begin):
            known_as = replace(result, call_id=waiting[result.call_id].popleft())
            found[place] = replace(found[place], tool_result=known_as)
    return found


def _more_calls(found: Sequence[NewMessage], start: int) -> list[int]:
    """Return the places of further calls that were given as items of the same answer."""
    places: list[int] = []
    for place in range(start, len(found)):
        new = found[place]
        if new.role != "assistant" or new.raw is None or "type" not in new.raw:
            break
        places += [place] if new.tool_calls and place > start else []
    return places


def parse_message(message: object) -> list[NewMessage]:
    """Return the messages in one message, or in one item of OpenAI's responses form.

    An Anthropic user message with several tool results gives one message for each. An item that
    is not known gives a message of the assistant without a text, with the item in ``raw``.

    Args:
        message: a mapping or an object of a provider's SDK; a message of ours.

    Raises:
        InvalidInput: it has no known form; the message names the part.
    """
    match message:
        case NewMessage():
            return [message]
        case Message():
            return [NewMessage(**{name: getattr(message, name) for name in OWN_FIELDS})]
    shape = _json_of(message)
    if not isinstance(shape, dict):
        raise InvalidInput(f"a message must be a mapping with role and content, got {shape!r:.80}")
    if is_item(shape):
        return [_parse_item(shape)]
    if not isinstance(shape.get("role"), str) and shape.get("type") != "message":
        parse_role(shape.get("role"))
    return _parse_chat(shape)


def _json_of(value: object, name: str = "a message", levels: int = DEEPEST) -> Any:
    """Return a copy of what was given, with objects of SDKs as the mappings they stand for."""
    if not levels:
        raise too_deep(name)
    found: Any = value
    match value:
        case str():
            found = storable(value, name)
        case datetime():
            found = value.isoformat()
        case Mapping():
            found = {
                storable(key, f"a key in {name}"): _json_of(item, f"{key} of a message", levels - 1)
                for key, item in value.items()
            }
        case list() | tuple():
            found = [_json_of(item, name, levels - 1) for item in value]
        case float() if not isfinite(value):
            raise InvalidInput(f"a part of a message is no JSON: {name} is {value}; take it out")
        case None | int() | float():
            pass
        case _ if (dumped := _unwrap(value)) is not value:
            found = _json_of(dumped, name, levels - 1)
        case _ if name != "a message":
            raise InvalidInput(f"a part of a message is no JSON: {name} is {value!r:.80}")
    return found


def _unwrap(value: object) -> object:
    """Return an object of a provider's SDK as the mapping it stands for, all else as it is."""
    dump = None if isinstance(value, type) else getattr(value, "model_dump", None)
    if not callable(dump):
        return value
    try:
        return dump(mode="json", exclude_unset=True)
    except (TypeError, ValueError) as error:
        text = f"an object of a message cannot be read ({error}): {value!r:.80}"
        raise InvalidInput(text) from error


def _parse_item(item: Mapping[str, Any]) -> NewMessage:
    """Return the message of an item of OpenAI's responses form that is no message itself."""
    kind, at = str(item["type"]), _parse_time(item)
    call = _call_of_item(kind, item)
    if call is not None:
        calls = (call,)
        return NewMessage(role="assistant", content="", tool_calls=calls, timestamp=at, raw=item)
    answered = item.get("call_id") or item.get("approval_request_id") or item.get("id")
    if kind == "function_call_output":
        answered = str(item.get("call_id") or "")
    elif kind == "mcp_approval_response":
        answered = item.get("approval_request_id")
    elif not kind.endswith("_output") or ("call_id" in item and item["call_id"] is None):
        answered = None
    if isinstance(answered, str):
        output = item.get("output", item.get("result"))
        return replace(_parse_output(ToolResult(answered), output, at), raw=item)
    return NewMessage(role="assistant", content="", timestamp=at, raw=item)


def _call_of_item(kind: str, item: Mapping[str, Any]) -> ToolCall | None:
    """Return the call in an item that waits for an answer; a provider's own tools need none."""
    own_id = item.get("id") if kind == "mcp_approval_request" else item.get("call_id")
    if kind == "function_call":
        own_id = item.get("call_id") or item.get("id") or ""
        if not isinstance(item.get("name"), str):
            return None
    elif not kind.endswith("_call") and kind not in ("program", "mcp_approval_request"):
        return None
    if not isinstance(own_id, str):
        return None
    given = next((item[name] for name in INPUTS if item.get(name) is not None), None)
    return ToolCall(own_id, str(item.get("name") or kind), _arguments_text(given))


def _parse_chat(message: Mapping[str, Any]) -> list[NewMessage]:
    given = message.get("role")
    # Of a role that is not known, nobody says that a person speaks.
    role = SAME_ROLE.get(str(given), given if given in ROLES else "assistant")
    at, content = _parse_time(message), message.get("content")
    if message.keys() <= {"role", "type", *TIMES}:
        raise InvalidInput(f"a message with a role needs content, got {message!r:.80}")
    if role == "tool":
        # Of calls without ids, old files and some servers give the name alone.
        call = message.get("tool_call_id")
        answered = ToolResult(str(message.get("name") or "" if call is None else call))
        return [replace(_parse_output(answered, content, at), raw=message)]
    if not isinstance(content, str | list | None):
        raise InvalidInput(f"content must be text or a list of blocks, got {content!r:.80}")
    blocks = content if isinstance(content, list) else []
    groups = [
        list(group) for _, group in groupby(enumerate(blocks), lambda each: _group_key(*each))
    ]
    if len(groups) <= 1:
        return [_said(role, at, message)]
    return [
        _said(role, at, {**message, "content": [block for _, block in group]}, part)
        for part, group in enumerate(groups, 1)
    ]


def _group_key(place: int, block: object) -> int:
    """Return the same for blocks that stay in one message: each result of a tool is one."""
    is_result = isinstance(block, Mapping) and block.get("type") == "tool_result"
    return place if is_result else -1


def _said(role: str, at: datetime | None, message: Mapping[str, Any], part: int = 0) -> NewMessage:
    """Return the message of a mapping whose content is text, or blocks that stay together."""
    content = message.get("content")
    found = _MessageContent(at)
    if isinstance(content, str):
        found.texts.append(content)
    for block in content if isinstance(content, list) else ():
        found.add(block)
    if found.output is not None:
        return replace(found.output, raw=message, part=part)
    if isinstance(refusal := message.get("refusal"), str):
        found.texts.append(refusal)
    found.calls += parse_calls(message.get("tool_calls") or ())
    if isinstance(function := message.get("function_call"), Mapping):
        # Of the form before tools: it has no id, and its answer comes under its name.
        name = function.get("name")
        if not isinstance(name, str):
            raise InvalidInput(f"a function_call needs a name, got {function!r:.80}")
        found.calls.append(ToolCall(name, name, _arguments_text(function.get("arguments"))))
    return NewMessage(
        role=role,
        content=_join(found.texts),
        tool_calls=tuple(found.calls),
        timestamp=at,
        images=tuple(found.images),
        raw=message,
        part=part,
    )


@dataclass(slots=True)
class _MessageContent:
    """The content of a message, gathered from its blocks in order."""

    at: datetime | None
    texts: list[str] = field(default_factory=list)
    images: list[Image] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)
    output: NewMessage | None = None
    unread: list[object] = field(default_factory=list)

    def add(self, block: object) -> None:
        match block:
            case {"type": "text" | "input_text" | "output_text", "text": str(text)}:
                self.texts.append(text)
            case {"type": "refusal", "refusal": str(text)}:
                self.texts.append(text)
            case {"type": "tool_use", "id": str(id), "name": str(name), **rest}:
                self.calls.append(ToolCall(id, name, _arguments_text(rest.get("input"))))
            case {"type": "tool_result", "tool_use_id": str(id), **rest}:
                result = ToolResult(id, bool(rest.get("is_error")))
                self.output = _parse_output(result, rest.get("content"), self.at)
            case Mapping() if image := _parse_image(block):
                self.images.append(image)
            case Mapping():
                self.unread.append(block)
            case _:
                raise InvalidInput(
                    f"a content block of this form is not supported: {block!r:.80}; take it out"
                )


def unread_parts(raw: Mapping[str, Any] | None) -> list[object]:
    """Return what a given item holds that the fields do not, such as reasoning and files."""
    if raw is None:
        return []
    if is_item(raw):
        kind = str(raw["type"])
        if kind.endswith("_output") and ("output" in raw or "result" in raw):
            return _files(raw.get("output"))
        told = _call_of_item(kind, raw) is not None
        return [] if told else [{name: raw[name] for name in raw if name != "id"}]
    found, content = _MessageContent(None), raw.get("content")
    if raw.get("role") == "tool":
        return _files(content)
    for block in content if isinstance(content, list) else ():
        found.add(block)
        if found.output is not None:
            return _files(block.get("content"))
    named = [raw[key] for key in raw if key.startswith(CHAT_REASONING) or key in ("name", "audio")]
    return found.unread + named


def _files(output: object) -> list[object]:
    """Return the parts of a tool's output that are files, and neither text nor pictures."""
    parts = output if isinstance(output, list) else [output]
    return [part for part in parts if _is_file(part)]


def _is_file(part: object) -> bool:
    return isinstance(part, Mapping) and not _parse_image(part) and holds_file(part)


def count_message(meter: ChatMeter, message: NewMessage | Message) -> int:
    """Return the tokens of a message with all that is sent of it, in the form it came in."""
    tokens = meter.message(message.content, message.tool_calls, message.images)
    if message.raw is None:
        return tokens
    return tokens + count_parts(unread_parts(message.raw), meter.counter.count)


def _parse_image(block: Mapping[str, Any]) -> Image | None:
    """Return the picture in a content block of any provider, ``None`` where there is none."""
    picture, source = block.get("image_url"), block.get("source")
    match block.get("type"), picture, source:
        case "image_url", {"url": str(url), **rest}, _ if url:
            return Image(url, known_detail(rest.get("detail")))
        case "image_url" | "input_image" | "computer_screenshot", str(url), _ if url:
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
    else:
        for block in content if isinstance(content, list | tuple) else [content]:
            if isinstance(block, Mapping) and (image := _parse_image(block)):
                images.append(image)
            elif isinstance(block, Mapping) and isinstance(block.get("text"), str):
                texts.append(block["text"])
            elif isinstance(block, Mapping) and _is_file(block):
                texts.append(f"[{block.get('type', 'file')}]")
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
    match call:
        case {"type": "custom", "custom": {"name": str(name), "input": str(text)}, **rest}:
            return ToolCall(str(rest.get("id") or ""), name, text)
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
