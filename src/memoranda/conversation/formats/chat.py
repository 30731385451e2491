"""The form of OpenAI's chat completions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any

from memoranda.conversation.formats.content import DOCUMENT, ItemContent, Json, blocks_of
from memoranda.errors import InvalidInput
from memoranda.model.checks import several
from memoranda.model.models import Message, ToolCall, ToolResult
from memoranda.text.patterns import compile_pattern

SENDABLE_ID = compile_pattern(r"(?s).{1,40}")
KINDS = ("refusal", "image_url", "input_audio", "file")
# What only messages of this form have; some servers give reasoning beside them.
KEYS = ("name", "tool_calls", "tool_call_id", "refusal", "audio")
REASONING_KEYS = ("reasoning", "thinking")
SPEAKER_NAME = compile_pattern(r"[\s<|\\/>]")
LONGEST_NAME = 64


def owns(item: Mapping[str, Any]) -> bool:
    """Whether an item is a message that no other form has."""
    kinds = any(block.get("type") in KINDS for block in blocks_of(item))
    return kinds or item.get("role") == "tool" or any(map(_is_own, item))


def _is_own(key: str) -> bool:
    return key in KEYS or key.startswith(REASONING_KEYS)


def read(item: Mapping[str, Any], found: ItemContent) -> None:
    """Add what a message says.

    Raises:
        InvalidInput: a call of a tool has no form that is known.
    """
    if found.role == "tool":
        found.result = ToolResult(str(item.get("tool_call_id") or ""))
    found.add(item.get("content"))
    found.add(item.get("refusal"))
    found.calls = parse_calls(item.get("tool_calls") or ())
    found.unread += [
        {"type": "reasoning" if key.startswith(REASONING_KEYS) else key, key: value}
        for key, value in item.items()
        if value and key.startswith(("name", "audio", *REASONING_KEYS))
    ]


def parse_calls(calls: Iterable[Any]) -> list[ToolCall]:
    """Return calls of tools: our own, or those of this form.

    Raises:
        InvalidInput: one has no form that is known.
    """
    found = ItemContent("assistant")
    for call in several(calls, "tool_calls"):
        match call:
            case ToolCall():
                found.calls.append(call)
            case {"function": {"name": name, **rest}} | {"custom": {"name": name, **rest}}:
                found.call(call.get("id"), name, rest.get("arguments", rest.get("input")))
            case _:
                raise InvalidInput(f"a tool call needs function.name, got {call!r:.80}")
    return found.calls


def plain_item(message: Any, name: str | None = None) -> Json:
    """Return the message of this form that says what the fields say, as they say it."""
    item: Json = {"role": message.role, "content": message.content}
    if message.images:
        text = [{"type": "text", "text": message.content}] if message.content else []
        item["content"] = text + [_image_part(image) for image in message.images]
    if message.tool_calls:
        item["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in message.tool_calls
        ]
    if message.tool_result is not None:
        item["tool_call_id"] = message.tool_result.call_id
    return item | ({"name": name} if name else {})


def _image_part(image: Any) -> Json:
    if image.is_pdf:
        return {"type": "file", "file": {"filename": DOCUMENT, "file_data": image.url}}
    detail = {} if image.detail == "auto" else {"detail": image.detail}
    return {"type": "image_url", "image_url": {"url": image.url, **detail}}


def write(messages: Iterable[Message]) -> list[Json]:
    """Return messages in this form, those that were given in it as they were."""
    return [plain_item(each) if each.raw is None else _given_item(each) for each in messages]


def _given_item(message: Message) -> Json:
    given = deepcopy(dict(message.raw or {}))
    known = (key for key in given if key in ("role", "content") or _is_own(key))
    item = {key: given[key] for key in known if given[key] is not None}
    for call, sent in zip(message.tool_calls, item.get("tool_calls") or (), strict=False):
        sent |= {"id": call.id, "type": sent.get("type", "function")}
    item.pop("name", None)
    if message.tool_result is not None:
        item["tool_call_id"] = message.tool_result.call_id
    elif message.name:
        item["name"] = SPEAKER_NAME.sub("_", message.name)[:LONGEST_NAME]
    return item
