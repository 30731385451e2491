"""The form of Anthropic's messages.

User and assistant alternate, the user begins, and results come first in the message after their
calls. What would stand twice in a row under one role becomes one message of several blocks. Blank
texts are left out: they are refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from itertools import groupby
from typing import Any

from pydantic_core import from_json

from memoranda.conversation.formats.content import REASONING, ItemContent, Json, blocks_of
from memoranda.model.chat import FAILED, OPENING
from memoranda.model.models import Image, Message, ToolCall, ToolResult
from memoranda.text.patterns import compile_pattern

SENDABLE_ID = compile_pattern(r"[a-zA-Z0-9_-]{1,64}")
CACHED = {"cache_control": {"type": "ephemeral"}}
# Holds arguments that are no JSON object: nothing else is taken.
UNPARSED = "unparsed_arguments"


def owns(item: Mapping[str, Any]) -> bool:
    """Whether an item has blocks beside text; so has one of blocks that no form knows."""
    return any(block.get("type") != "text" for block in blocks_of(item))


def split(item: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the items of one message each: every result of a tool stands alone."""
    blocks = blocks_of(item)
    results = [n for n, block in enumerate(blocks) if block.get("type") == "tool_result"]
    if not results:
        return [item]
    groups = groupby(enumerate(blocks), lambda placed: placed[0] if placed[0] in results else -1)
    return [{**item, "content": [block for _, block in group]} for _, group in groups]


def read(item: Mapping[str, Any], found: ItemContent) -> None:
    """Add what a message says, of which a result of a tool is the only block."""
    for block in blocks_of(item):
        match block:
            case {"type": "tool_use", **given}:
                found.call(given.get("id"), given.get("name"), given.get("input"))
            case {"type": "tool_result", **given}:
                is_error = bool(given.get("is_error"))
                found.role = "tool"
                found.result = ToolResult(str(given.get("tool_use_id")), is_error)
                found.add(given.get("content"))
            case _:
                found.add(block)


def request(
    history: Sequence[Message], tail: Sequence[Message]
) -> tuple[list[Json], list[Json] | None]:
    """Return messages and system prompt, with breakpoints behind what the next request repeats.

    The user begins, and no white space ends the messages.
    """
    texts = [each.content for each in history if each.role == "system" and each.content.strip()]
    messages = write(each for each in history if each.role != "system")
    blocks = [block for message in messages for block in message["content"]]
    for block in [block for block in blocks if block["type"] not in REASONING][-1:]:
        block.update(CACHED)  # Reasoning takes no breakpoint.
    messages = write(tail, messages)
    if messages and messages[0]["role"] == "assistant":
        messages.insert(0, {"role": "user", "content": _text_blocks(OPENING)})
    if messages and messages[-1]["role"] == "assistant":
        last = messages[-1]["content"][-1]
        last |= {"text": last["text"].rstrip()} if last["type"] == "text" else {}
    return messages, [block | CACHED for block in _text_blocks("\n\n".join(texts))] or None


def write(messages: Iterable[Message], before: Sequence[Json] = ()) -> list[Json]:
    """Return messages in this form behind those ``before``, such that roles alternate."""
    written = list(before)
    for message in messages:
        role = "user" if message.role == "tool" else message.role
        blocks = _new_blocks(message) if message.raw is None else _given_blocks(message)
        if blocks and (not written or written[-1]["role"] != role):
            written.append({"role": role, "content": []})
        if blocks:
            written[-1]["content"] += blocks
    return written


def _given_blocks(message: Message) -> list[Json]:
    """Return the blocks that were given, without blank texts and marks for a cache."""
    given = deepcopy(blocks_of(message.raw or {}))
    blocks = [block for block in given if str(block.get("text", "-")).strip()]
    calls = iter(message.tool_calls)
    for block in blocks:
        block.pop("cache_control", None)
        if block.get("type") == "tool_use":
            block["id"] = next(calls).id
        elif message.tool_result:
            block["tool_use_id"] = message.tool_result.call_id
    return blocks


def _new_blocks(message: Message) -> list[Json]:
    blocks = _text_blocks(message.content) + [_image_block(image) for image in message.images]
    if result := message.tool_result:
        block: Json = {"type": "tool_result", "tool_use_id": result.call_id}
        if result.is_error:
            block["is_error"], blocks = True, blocks or _text_blocks(FAILED)
        return [block | ({"content": blocks} if blocks else {})]
    return blocks + [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": _input_of(call)}
        for call in message.tool_calls
    ]


def _text_blocks(text: str) -> list[Json]:
    return [{"type": "text", "text": text}] if text.strip() else []


def _image_block(image: Image) -> Json:
    source = {"type": "url", "url": image.url}
    media, inside, data = image.url.partition(";base64,")
    if inside:
        media = media.removeprefix("data:").replace("jpg", "jpeg")
        source = {"type": "base64", "media_type": media, "data": data}
    return {"type": "document" if image.is_pdf else "image", "source": source}


def _input_of(call: ToolCall) -> Json:
    """Return the arguments of a call as an object, which holds their text if they are none."""
    try:
        found = from_json(call.arguments, allow_inf_nan=False)
    except ValueError:
        found = None
    return found if isinstance(found, dict) else {UNPARSED: call.arguments}
