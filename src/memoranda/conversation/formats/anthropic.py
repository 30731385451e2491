"""The form of Anthropic's messages.

User and assistant alternate, the user begins, and results come first in the message after their
calls. What would stand twice in a row under one role becomes one message of several blocks. Blank
texts are left out: they are refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from memoranda.conversation.formats import chat, responses
from memoranda.conversation.formats.content import (
    INLINE,
    REASONING,
    ItemContent,
    Json,
    arguments_object,
    arguments_text,
    block_kinds,
    function_of,
    is_chat_only,
    name_refused,
    role_of,
    sent_again,
    spoken_text,
)
from memoranda.model.chat import FAILED, MEDIA, OPENING
from memoranda.model.models import Image, Message, ToolCall, ToolResult

SENDABLE_ID = responses.SENDABLE_ID
ROLES = ("system", "user", "assistant")
OTHERS_KINDS = (chat.KINDS | responses.KINDS) - {"text"}
CACHED = {"cache_control": {"type": "ephemeral"}}


def owns(item: Mapping[str, Any]) -> bool:
    """Whether an item is a message of this form; so is one of blocks that no form knows."""
    content, kinds = item.get("content"), block_kinds(item)
    if item.get("role") not in ROLES or is_chat_only(item) or kinds & OTHERS_KINDS:
        return False
    return isinstance(content, list) or (isinstance(content, str) and "type" not in item)


def split(item: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the items of one message each: every result of a tool stands alone."""
    if "tool_result" not in block_kinds(item):
        return [item]

    def key(placed: tuple[int, Any]) -> int:
        place, block = placed
        is_result = isinstance(block, Mapping) and block.get("type") == "tool_result"
        return place if is_result else -1

    groups = [list(group) for _, group in groupby(enumerate(item["content"]), key)]
    return [{**item, "content": [block for _, block in group]} for group in groups]


def read(item: Mapping[str, Any]) -> ItemContent:
    """Return what a message says, of which a result of a tool is the only block.

    Raises:
        InvalidInput: a part of it is not understood.
    """
    found, content = ItemContent(role_of(item), read_image), item.get("content")
    if not isinstance(content, list):
        found.add_content(content)
        return found
    for block in content:
        match block:
            case {"type": "tool_use", "id": str(id), "name": str(name), **rest}:
                found.calls.append(ToolCall(id, name, arguments_text(rest.get("input"))))
            case {"type": "tool_result", "tool_use_id": str(id), **rest}:
                found.add_output(ToolResult(id, bool(rest.get("is_error"))), rest.get("content"))
            case _:
                found.add_block(block)
    return found


def read_image(block: Mapping[str, Any]) -> Image | None:
    """Return the picture in a block, ``None`` where there is none."""
    match block.get("type"), block.get("source"):
        case "image", {"type": "url", "url": str(url)} if url:
            return Image(url)
        case "image", {"type": "base64", "media_type": str(media), "data": str(data)}:
            return Image(f"data:{media};base64,{data}")
    return None


def given_item(message: Message) -> Json | None:
    """Return the given item to send again; ``None`` where what the fields say is sent.

    Marks for a cache and blank texts are left out.
    """
    item = message.raw
    found = sent_again(item, read(item)) if item is not None and owns(item) else None
    if found is None:
        return None
    blocks = [block for block in found["content"] if _text_blocks(block.get("text", "-"))]
    for block in blocks:
        block.pop("cache_control", None)
    return {"role": found["role"], "content": blocks}


def write(
    sent: Iterable[tuple[tuple[Message, ...], Mapping[str, str]]], messages: list[Json]
) -> list[Json]:
    """Add answers with their calls and results, and so on, to messages that alternate."""
    for part, ids in sent:
        answer = [message for message in part if message.role != "tool"]
        results = [message for message in part if message.role == "tool"]
        for message in answer:
            _say(messages, message.role, _message_blocks(message, ids))
        _say(messages, "user", [_tool_result(message, ids) for message in results])
        # Results come first, and that of an error holds text alone.
        apart = [each for each in answer if given_item(each) is None]
        apart += [each for each in results if each.tool_result and each.tool_result.is_error]
        _say(messages, "user", [write_image(image) for each in apart for image in each.images])
    return messages


def complete(messages: list[Json]) -> list[Json]:
    """Return the messages of a request: the user begins, and no white space ends them."""
    if messages and messages[0]["role"] == "assistant":
        messages = [{"role": "user", "content": _text_blocks(OPENING)}, *messages]
    if messages and messages[-1]["role"] == "assistant":
        last = messages[-1]["content"][-1]
        if last["type"] == "text":
            last["text"] = last["text"].rstrip()
    return messages


def mark_cached(messages: Iterable[Json]) -> None:
    """Put a breakpoint of the prompt cache at the end of ``messages``; reasoning takes none."""
    blocks = [block for message in messages for block in message["content"]]
    for block in reversed(blocks):
        if block["type"] not in REASONING:
            block.update(CACHED)
            return


def write_system(texts: Iterable[str | None]) -> list[Json] | None:
    """Return the system prompt with a breakpoint at its end; ``None`` if it says nothing."""
    text = "\n\n".join(text for text in texts if text and text.strip())
    return [block | CACHED for block in _text_blocks(text)] or None


def _say(messages: list[Json], role: str, blocks: Sequence[Json]) -> None:
    """Add blocks to the last message if it has that role, or as the next one."""
    if blocks and (not messages or messages[-1]["role"] != role):
        messages.append({"role": role, "content": []})
    if blocks:
        messages[-1]["content"] += blocks


def _message_blocks(message: Message, ids: Mapping[str, str]) -> list[Json]:
    uses: list[Json] = [
        {
            "type": "tool_use",
            "id": ids[call.id],
            "name": function_of(call)["name"],
            "input": arguments_object(call.arguments),
        }
        for call in message.tool_calls
    ]
    given = given_item(message)
    if given is None:
        return _text_blocks(spoken_text(message)) + uses
    left = iter(uses)
    return [
        block | next(left) if block.get("type") == "tool_use" else block
        for block in given["content"]
    ]


def _text_blocks(text: str) -> list[Json]:
    return [{"type": "text", "text": text}] if text.strip() else []


def _tool_result(message: Message, ids: Mapping[str, str]) -> Json:
    result = message.tool_result or ToolResult("")
    if given := given_item(message):
        return {**given["content"][0], "tool_use_id": ids[result.call_id]}
    block: Json = {"type": "tool_result", "tool_use_id": ids[result.call_id]}
    content = _text_blocks(message.content)
    if result.is_error:
        block["is_error"] = True
        content = content or _text_blocks(FAILED)
    else:
        content += map(write_image, message.images)
    return block | ({"content": content} if content else {})


def write_image(image: Image) -> Json:
    """Return a picture as a block; its name where the provider would refuse it."""
    if name := name_refused(image, ("https://",)):
        return {"type": "text", "text": name}
    if inline := INLINE.match(image.url):
        media, data = MEDIA[inline[1].lower()], image.url[inline.end() :]
        return {"type": "image", "source": {"type": "base64", "media_type": media, "data": data}}
    return {"type": "image", "source": {"type": "url", "url": image.url}}
