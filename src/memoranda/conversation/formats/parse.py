"""Messages that come in: in our words, or in the form of a provider.

Mappings are understood as well as the objects of the SDKs, whole or in parts. What is said becomes
the fields of a message: text, pictures, calls and results. Where these do not say exactly what was
given, as with a model's reasoning, files and whatever is not known here, the item itself is kept
beside them, in ``raw``. A picture is kept as one address, which is where it is or the picture
itself.
"""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from math import isfinite
from typing import Any

from memoranda.conversation.formats import anthropic, chat
from memoranda.conversation.formats.content import DETAILS, ROLES, SAME_ROLE, TIMES, count_parts
from memoranda.conversation.formats.raw import read_item, unread_parts
from memoranda.conversation.formats.responses import is_item
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
from memoranda.model.models import Image, Message, NamedMessage, ToolCall, ToolResult
from memoranda.tokens.catalog import ChatMeter

PLACES = ("https://", "http://", "data:image/")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMessage(NamedMessage):
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
    found = [new for each in several(messages, "messages") for new in parse_message(each)]
    for place in range(len(found)):
        _number_calls(found, place)
    return [replace(new, raw=None) if _says_all(new) else new for new in found]


def _says_all(new: NewMessage) -> bool:
    """Whether the fields of a message say all that was given."""
    if new.raw is None or new.part or not (new.content.strip() or new.tool_calls or new.images):
        return False
    texts = (json.dumps(item, sort_keys=True) for item in (new.raw, chat.plain_item(new)))
    return len(set(texts)) == 1


def _number_calls(found: list[NewMessage], place: int) -> None:
    """Number the calls of a message, and their results, where their ids do not tell them apart."""
    calls = found[place].tool_calls
    old = [call.id for call in calls]
    if len(set(old)) == len(old) and (len(old) == 1 or "" not in old):
        return
    begin = place + 1
    results = [new.tool_result for new in found[begin : begin + len(old)] if new.tool_result]
    if sorted(old) != sorted(result.call_id for result in results):
        return
    new = [replace(call, id=f"{call.id or 'call'}_{n}") for n, call in enumerate(calls, 1)]
    found[place] = replace(found[place], tool_calls=tuple(new))
    waiting: defaultdict[str, deque[str]] = defaultdict(deque)
    for known_as, call in zip(old, new, strict=True):
        waiting[known_as].append(call.id)
    for at, result in enumerate(results, begin):
        numbered = replace(result, call_id=waiting[result.call_id].popleft())
        found[at] = replace(found[at], tool_result=numbered)


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
    if not is_item(shape):
        if not isinstance(shape.get("role"), str) and shape.get("type") != "message":
            parse_role(shape.get("role"))
        if shape.keys() <= {"role", "type", *TIMES}:
            raise InvalidInput(f"a message with a role needs content, got {shape!r:.80}")
    items = anthropic.split(shape)
    return [_read(item, part if len(items) > 1 else 0) for part, item in enumerate(items, 1)]


def _read(item: Mapping[str, Any], part: int) -> NewMessage:
    found = read_item(item)
    return NewMessage(
        role=found.role,
        content="\n".join(text for text in found.texts if text),
        tool_calls=tuple(found.calls),
        tool_result=found.result,
        timestamp=_parse_time(item),
        images=tuple(found.images),
        raw=item,
        part=part,
    )


def count_message(meter: ChatMeter, message: NewMessage | Message) -> int:
    """Return the tokens of a message with all that is sent of it, in the form it came in."""
    tokens = meter.message(message.content, message.tool_calls, message.images)
    if message.raw is None:
        return tokens
    return tokens + count_parts(unread_parts(message.raw), meter.counter.count)


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
