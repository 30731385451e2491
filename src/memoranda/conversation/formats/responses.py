"""The form of OpenAI's responses: items, of which a message is one.

An assistant's text is written as one plain text, as the API takes it from a caller.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from typing import Any

from memoranda.conversation.formats.content import DOCUMENT, ItemContent, Json, blocks_of
from memoranda.model.models import Image, Message, ToolResult
from memoranda.text.patterns import compile_pattern

SENDABLE_ID = compile_pattern(r"[a-zA-Z0-9_-]{1,64}")
KINDS = {"input_text", "output_text", "input_image", "input_file"}


def is_message(item: Mapping[str, Any]) -> bool:
    """Whether an item is a message of any form, and none of what is between messages here."""
    return item.get("type") in (None, "message") or {"role", "content"} <= item.keys()


def owns(item: Mapping[str, Any]) -> bool:
    """Whether an item is one that no other form has."""
    kinds = {block.get("type") for block in blocks_of(item)}
    plain = item.get("type") == "message" and kinds <= {"refusal"}
    return plain or not is_message(item) or bool(kinds & KINDS)


def read(item: Mapping[str, Any], found: ItemContent) -> None:
    """Add what an item says; one that is no message, call or result says nothing."""
    call, kind = item.get("call_id"), str(item.get("type"))
    if is_message(item):
        found.add(item.get("content"))
    elif not isinstance(call, str):
        found.unread.append(item)
    elif kind.endswith("_output"):
        found.role, found.result = "tool", ToolResult(call)
        found.add(item.get("output"))
    else:
        given = item.get("arguments", item.get("input", item.get("action")))
        found.call(call, item.get("name", kind), given)


def write(messages: Iterable[Message]) -> list[Json]:
    """Return the items of messages, those that were given in this form as they were."""
    return [item for message in messages for item in _items_of(message)]


def _items_of(message: Message) -> Iterator[Json]:
    text, result = message.content, message.tool_result
    ids = [{"call_id": call.id} for call in message.tool_calls]
    ids += [{"call_id": result.call_id}] if result else []
    if message.raw is not None:
        yield deepcopy(dict(message.raw)) | (ids[0] if ids else {})
        return
    parts = [{"type": "input_text", "text": text}] if text else []
    parts += [_image_part(image) for image in message.images]
    if result:
        yield {"type": "function_call_output", "output": parts if message.images else text} | ids[0]
    elif parts:
        content = text if message.role == "assistant" else parts
        yield {"type": "message", "role": message.role, "content": content}
    for call in message.tool_calls:
        function = {"name": call.name, "arguments": call.arguments}
        yield {"type": "function_call", "call_id": call.id, **function}


def _image_part(image: Image) -> Json:
    if image.is_pdf:
        return {"type": "input_file", "filename": DOCUMENT, "file_data": image.url}
    return {"type": "input_image", "image_url": image.url, "detail": image.detail}
