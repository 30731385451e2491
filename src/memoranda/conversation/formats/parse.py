"""Messages that come in: in our words, or in the form of a provider.

Mappings are understood as well as the objects of the SDKs, whole or in parts. What is said becomes
the fields of a message: text, pictures, calls and results. Where these do not say exactly what was
given, as with a model's reasoning, files and whatever is not known here, the item itself is kept
beside them, in ``raw``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields, replace
from datetime import datetime
from typing import Any, Unpack

from pydantic import ConfigDict, TypeAdapter

from memoranda.conversation.formats import anthropic, chat, responses
from memoranda.conversation.formats.content import (
    REASONING,
    ROLES,
    SHOWABLE,
    ItemContent,
    Json,
    count_parts,
)
from memoranda.errors import InvalidInput
from memoranda.model.checks import clean, json_text, refuse_unknown, require_json, several, too_deep
from memoranda.model.models import Image, Message, NewMessage, ToolResult
from memoranda.model.ports import MessageOptions
from memoranda.text.json_values import object_of, parse_as
from memoranda.tokens.catalog import ChatMeter

# In the order in which they are asked whose an item is: blocks that no form knows are Anthropic's.
FORMS: Mapping[str, Any] = {"responses": responses, "openai": chat, "anthropic": anthropic}
ANYTHING: TypeAdapter[Any] = TypeAdapter(Any, config=ConfigDict(ser_json_inf_nan="constants"))


def own_fields(message: NewMessage) -> dict[str, Any]:
    """Return what a message says, by the names of the fields, without what a transcript adds."""
    return {each.name: getattr(message, each.name) for each in fields(NewMessage)}


def new_message(role: str, content: str, **given: Unpack[MessageOptions]) -> NewMessage:
    """Return the message of the arguments of ``Conversation.add``.

    Raises:
        InvalidInput: one cannot be used.
    """
    refuse_unknown(given, MessageOptions.__annotations__, "argument")
    result, pictures = given.get("tool_result"), several(given.get("images", ()), "images")
    new = NewMessage(
        role=parse_role(role),
        content=content,
        tool_calls=tuple(chat.parse_calls(given.get("tool_calls", ()))),
        tool_result=ToolResult(result) if isinstance(result, str) else result,
        images=tuple(Image(each) if isinstance(each, str) else each for each in pictures),
        timestamp=given.get("timestamp"),
        task=given.get("task"),
    )
    name = given.get("name")
    if name is None:
        return new
    # The item of OpenAI's chat form is what holds a name.
    return replace(new, raw=chat.plain_item(new, clean(name, "name")))


def check_message(new: NewMessage) -> None:
    """Refuse a message that cannot be kept.

    Raises:
        InvalidInput: a part of it cannot be stored; the message says which.
    """
    given = own_fields(new)
    try:
        if new.tool_calls or new.tool_result or new.images:
            given = asdict(new)  # What is within is checked, too.
        parse_as(NewMessage, given)
    except RecursionError:
        raise too_deep("a message") from None
    if not (says(new) or new.raw):
        raise InvalidInput("content is empty; give the message some text or a tool call")
    for name, role in (("tool_calls", "assistant"), ("tool_result", "tool")):
        if getattr(new, name) and new.role != role:
            raise InvalidInput(f"role={new.role!r} cannot have {name}; use role={role!r}")
    for image in new.images:
        if not SHOWABLE.match(image.url):
            kinds = "https://…, data:image/png;base64,… nor data:application/pdf;base64,…"
            raise InvalidInput(f"the image {image.url!r:.60} is neither {kinds}")


def says(message: NewMessage) -> bool:
    """Whether the fields of a message say anything."""
    said = message.content.strip() or message.images or message.tool_calls or message.tool_result
    return bool(said)


def parse_role(role: object) -> str:
    """Return the role of that name; ``developer`` is a system message, and so on.

    Raises:
        InvalidInput: there is no such role.
    """
    refuse_unknown([role], ROLES, "role")
    return ROLES[str(role)]


def parse_messages(messages: Iterable[object]) -> list[NewMessage]:
    """Return the messages in a list of messages or items of any form, in order.

    Raises:
        InvalidInput: a message has no known form; the message names the part.
    """
    return [new for each in several(messages, "messages") for new in parse_message(each)]


def parse_message(message: object) -> list[NewMessage]:
    """Return the messages in one message, or in one item of OpenAI's responses form.

    An Anthropic user message with several tool results gives one message for each. An item that
    is not known gives a message of the assistant without a text, with the item in ``raw``.

    Args:
        message: a mapping or an object of a provider's SDK; a message of ours.

    Raises:
        InvalidInput: it has no known form; the message names the part.
    """
    if isinstance(message, NewMessage):
        return [NewMessage(**own_fields(message))]
    item = object_of(_json_of(message))
    if responses.is_message(item):
        parse_role(item.get("role"))
    items = anthropic.split(item)
    return [_read(item, part if len(items) > 1 else 0) for part, item in enumerate(items, 1)]


def _json_of(message: object) -> Any:
    """Return a copy of what was given, with objects of SDKs as the JSON they stand for."""
    try:
        found = ANYTHING.dump_python(message, mode="json", exclude_unset=True, fallback=dict)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"a message is not JSON ({error}): {message!r:.80}") from error
    json_text(found, "a message")  # NaN is no JSON.
    return require_json(found, "a message")


def _read(item: Mapping[str, Any], part: int) -> NewMessage:
    found, said = _content_of(item), item.get("timestamp")
    new = NewMessage(
        role=found.role,
        content="\n".join(text for text in found.texts if text),
        tool_calls=tuple(found.calls),
        tool_result=found.result,
        timestamp=None if said is None else parse_as(datetime, said),
        images=tuple(found.images),
        part=part,
    )
    return new if says(new) and item == chat.plain_item(new) else replace(new, raw=item)


# The given item


def form_of(item: Mapping[str, Any]) -> str | None:
    """Return the form of an item; ``None`` for a role and a text, which are the same in all."""
    return next((name for name, form in FORMS.items() if form.owns(item)), None)


def _content_of(item: Mapping[str, Any]) -> ItemContent:
    found = ItemContent(ROLES.get(str(item.get("role")), "assistant"))
    FORMS[form_of(item) or "openai"].read(item, found)
    return found


def unread_parts(raw: Mapping[str, Any] | None) -> list[Mapping[str, Any]]:
    """Return what a given item holds that the fields do not, such as reasoning and files."""
    return [] if raw is None else _content_of(raw).unread


def count_message(meter: ChatMeter, message: NewMessage) -> int:
    """Return the tokens of a message with all that is sent of it, in the form it came in."""
    tokens = meter.message(message.content, message.tool_calls, message.images)
    return tokens + count_parts(unread_parts(message.raw), meter.counter.count)


def replace_result(raw: Mapping[str, Any], text: str) -> Json | None:
    """Return the item of a tool's result with this text; ``None`` where it cannot be replaced."""
    if "output" not in raw:
        return {"role": "tool", "content": text}
    return {**raw, "output": text} if isinstance(raw["output"], str | list) else None


def is_opening(message: Message) -> bool:
    """Whether a model's message says nothing itself: what it holds belongs to what follows."""
    return message.role == "assistant" and message.raw is not None and not says(message)


def is_reasoning(message: Message) -> bool:
    """Whether a message is a model's reasoning alone, which no provider takes alone."""
    parts = unread_parts(message.raw) if is_opening(message) else []
    return bool(parts) and all(part["type"] in REASONING for part in parts)


def continues(before: Message, message: Message) -> bool:
    """Whether a message goes on with the answer of which ``before`` is the part just before it.

    So do the items of one answer in OpenAI's responses form, and what follows reasoning that was
    given as a message of its own. Where something between them was removed, nothing goes on.
    """
    if not before.role == message.role == "assistant" or before.raw is None or message.raw is None:
        return False
    if message.position != (before.position or 0) + 1:
        return False
    return form_of(before.raw) == form_of(message.raw) == "responses" or is_opening(before)
