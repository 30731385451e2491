"""The form of OpenAI's chat completions.

Only a user's message can hold pictures: those of any other follow in a user's message of their
own, after all results of the exchange.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from memoranda.conversation.formats.content import (
    CHAT_KEYS,
    CHAT_REASONING,
    ItemContent,
    Json,
    arguments_text,
    block_kinds,
    function_of,
    known_detail,
    name_refused,
    role_of,
    sent_again,
)
from memoranda.errors import InvalidInput
from memoranda.model.checks import several
from memoranda.model.models import Image, Message, ToolCall, ToolResult
from memoranda.text.patterns import compile_pattern

SENDABLE_ID = compile_pattern(r"(?s).{1,40}")
KINDS = {"text", "refusal", "image_url", "input_audio", "file"}
CALL_KEYS = {"id", "type", "function", "index"}
SPEAKER_NAME = compile_pattern(r"[\s<|\\/>]")
LONGEST_NAME = 64


def owns(item: Mapping[str, Any]) -> bool:
    """Whether an item is a message of this form."""
    kinds, role = block_kinds(item), item.get("role")
    pictures_fit = role == "user" or "image_url" not in kinds
    known = isinstance(role, str) and role != "function"  # What was before tools is not sent again.
    return "type" not in item and known and kinds <= KINDS and pictures_fit


def read(item: Mapping[str, Any]) -> ItemContent:
    """Return what a message says.

    Raises:
        InvalidInput: a part of it is not understood.
    """
    found, content = ItemContent(role_of(item), read_image), item.get("content")
    if found.role == "tool":
        # Of calls without ids, old files and some servers give the name alone.
        call = item.get("tool_call_id")
        result = ToolResult(str(item.get("name") or "" if call is None else call))
        found.add_output(result, content)
        return found
    found.add_content(content)
    if isinstance(refusal := item.get("refusal"), str):
        found.texts.append(refusal)
    calls = item.get("tool_calls") or ()
    found.calls += parse_calls(calls)
    found.special = any(call.keys() - CALL_KEYS for call in calls)
    for key, value in item.items():
        if value and (key.startswith(CHAT_REASONING) or key == "audio"):
            found.unread.append({"type": "audio" if key == "audio" else "reasoning", key: value})
        elif value and key == "name":
            found.unread.append(f"{value}: ")
    return found


def read_image(block: Mapping[str, Any]) -> Image | None:
    """Return the picture in a block, ``None`` where there is none."""
    match block:
        case {"type": "image_url", "image_url": {"url": str(url), **rest}} if url:
            return Image(url, known_detail(rest.get("detail")))
        case {"type": "image_url", "image_url": str(url)} if url:
            return Image(url, known_detail(block.get("detail")))
    return None


def parse_calls(calls: Iterable[object]) -> list[ToolCall]:
    """Return calls of tools: our own, or those of this form.

    Raises:
        InvalidInput: one has no form that is known.
    """
    given = several(calls, "tool_calls")
    return [call if isinstance(call, ToolCall) else _parse_call(call) for call in given]


def _parse_call(call: object) -> ToolCall:
    match call:
        case {"type": "custom", "custom": {"name": str(name), "input": str(text)}, **rest}:
            return ToolCall(str(rest.get("id") or ""), name, text)
        case {"function": {"name": name, **given}, **rest}:
            text = arguments_text(given.get("arguments"))
            return ToolCall(str(rest.get("id") or ""), str(name), text)
    raise InvalidInput(f"a tool call needs function.name, got {call!r:.80}")


def plain_item(message: Any, name: str | None = None) -> Json:
    """Return the message of this form that says what the fields say, as they say it."""
    item: Json = {"role": message.role, "content": message.content}
    if message.images and message.role == "user":
        text = [{"type": "text", "text": message.content}] if message.content else []
        item["content"] = [*text, *map(write_image, message.images)]
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


def given_item(message: Message) -> Json | None:
    """Return the given item to send again; ``None`` where what the fields say is sent."""
    item = message.raw
    found = sent_again(item, read(item)) if item is not None and owns(item) else None
    return found and {
        key: value
        for key, value in found.items()
        if key in ("role", "content", *CHAT_KEYS) or key.startswith(CHAT_REASONING)
    }


def write(sent: Iterable[tuple[tuple[Message, ...], Mapping[str, str]]]) -> list[Json]:
    """Return the messages of an answer with its calls and results, and so on."""
    messages: list[Json] = []
    for part, ids in sent:
        messages += [_write_message(message, ids) for message in part]
        images = [
            write_image(image) for each in part if each.role != "user" for image in each.images
        ]
        messages += [{"role": "user", "content": images}] if images else []
    return messages


def _write_message(message: Message, ids: Mapping[str, str]) -> Json:
    item = given_item(message) or plain_item(message, message.name)
    for call, sent in zip(message.tool_calls, item.get("tool_calls") or (), strict=False):
        sent["id"] = ids[call.id]
        if "function" in sent:
            sent |= {"type": "function", "function": sent["function"] | function_of(call)}
    if message.tool_result is not None:
        item["tool_call_id"] = ids[message.tool_result.call_id]
    if message.name:
        item["name"] = SPEAKER_NAME.sub("_", message.name)[:LONGEST_NAME]
    return item


def write_image(image: Image) -> Json:
    """Return a picture as a part of a message; its name where the provider would refuse it."""
    if name := name_refused(image):
        return {"type": "text", "text": name}
    place, detail = {"url": image.url}, known_detail(image.detail)
    return {
        "type": "image_url",
        "image_url": place | ({} if detail == "auto" else {"detail": detail}),
    }
