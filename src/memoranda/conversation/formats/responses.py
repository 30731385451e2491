"""The form of OpenAI's responses: items, of which a message is one.

An assistant's text is written as one plain text, as the API takes it from a caller, and empty
texts are left out. A tool's result can hold pictures; those of an assistant or system message
follow in a user's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from memoranda.conversation.formats.content import (
    ItemContent,
    Json,
    arguments_text,
    block_kinds,
    function_of,
    is_chat_only,
    known_detail,
    name_refused,
    role_of,
    sent_again,
    spoken_text,
)
from memoranda.model.models import Image, Message, ToolCall, ToolResult
from memoranda.text.patterns import compile_pattern

SENDABLE_ID = compile_pattern(r"[a-zA-Z0-9_-]{1,64}")
ROLES = ("system", "developer", "user", "assistant")
KINDS = {"input_text", "output_text", "refusal", "input_image", "input_file", "input_audio"}
# The input of calls that are no functions, by the names under which items have it.
INPUTS = ("arguments", "input", "action", "operation", "code")


def is_item(item: Mapping[str, Any]) -> bool:
    """Whether it is an item that is no message."""
    kind = item.get("type")
    if not isinstance(kind, str) or kind == "message":
        return False
    return not (isinstance(item.get("role"), str) and ("content" in item or is_chat_only(item)))


def owns(item: Mapping[str, Any]) -> bool:
    """Whether an item is one of this form."""
    fits = item.get("role") in ROLES and not is_chat_only(item)
    return is_item(item) or (fits and block_kinds(item) <= KINDS)


def read(item: Mapping[str, Any]) -> ItemContent:
    """Return what an item says.

    Raises:
        InvalidInput: a part of it is not understood.
    """
    found = ItemContent(role_of(item), read_image)
    if not is_item(item):
        found.add_content(item.get("content"))
        found.special = "id" in item
        return found
    kind, call = str(item["type"]), item.get("call_id", item.get("id"))
    found.special = True
    if kind.endswith("_output") and isinstance(call, str):
        found.add_output(ToolResult(call), item.get("output", item.get("result")))
    elif isinstance(item.get("call_id"), str):
        given = next((item[name] for name in INPUTS if item.get(name) is not None), None)
        found.calls.append(
            ToolCall(str(call), str(item.get("name") or kind), arguments_text(given))
        )
    else:
        found.unread.append({name: item[name] for name in item if name != "id"})
    return found


def read_image(block: Mapping[str, Any]) -> Image | None:
    """Return the picture in a block, ``None`` where there is none."""
    match block:
        case {"type": "input_image" | "computer_screenshot", "image_url": str(url)} if url:
            return Image(url, known_detail(block.get("detail")))
    return None


def given_item(message: Message) -> Json | None:
    """Return the given item to send again; ``None`` where what the fields say is sent."""
    item = message.raw
    return sent_again(item, read(item)) if item is not None and owns(item) else None


def write(sent: Iterable[tuple[tuple[Message, ...], Mapping[str, str]]]) -> list[Json]:
    """Return the items of an answer with its calls and results, and so on."""
    items: list[Json] = []
    for part, ids in sent:
        images: list[Json] = []
        for message in part:
            given = given_item(message)
            items += [_with_id(message, given, ids)] if given else _write_message(message, ids)
            if not given and message.role in ("assistant", "system"):
                images += map(write_image, message.images)
        items += _write_input("user", images)
    return items


def _with_id(message: Message, item: Json, ids: Mapping[str, str]) -> Json:
    """Return a given item with the id under which its call is sent."""
    for call in message.tool_calls:
        function = function_of(call) if item["type"] == "function_call" else {}
        item |= {"call_id": ids[call.id], **function}
    if message.tool_result is not None and "call_id" in item:
        item["call_id"] = ids[message.tool_result.call_id]
    return item


def _write_message(message: Message, ids: Mapping[str, str]) -> list[Json]:
    text, images = spoken_text(message), list(map(write_image, message.images))
    texts = [{"type": "input_text", "text": text}] if text else []
    if message.role == "assistant":
        calls = [
            {"type": "function_call", "call_id": ids[call.id], **function_of(call)}
            for call in message.tool_calls
        ]
        return [
            *([{"type": "message", "role": "assistant", "content": text}] if text else []),
            *calls,
        ]
    if message.role == "tool":
        known = ids[message.tool_result.call_id if message.tool_result else ""]
        output = texts + images if images else text
        return [{"type": "function_call_output", "call_id": known, "output": output}]
    return (
        _write_input("user", texts + images)
        if message.role == "user"
        else _write_input("developer", texts)
    )


def _write_input(role: str, content: Sequence[Json]) -> list[Json]:
    return [{"type": "message", "role": role, "content": content}] if content else []


def write_image(image: Image) -> Json:
    """Return a picture as a part of a message; its name where the provider would refuse it."""
    if name := name_refused(image):
        return {"type": "input_text", "text": name}
    return {"type": "input_image", "image_url": image.url, "detail": known_detail(image.detail)}
