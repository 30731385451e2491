"""The data export of ChatGPT: ``conversations.json``, or the ZIP archive around it.

A conversation is a tree of messages; the branch that ends in ``current_node`` is what was on the
screen last, and it alone is imported. No talk are: the messages of the system and of tools, calls
of tools, what is hidden on the screen (custom instructions, what ChatGPT remembers), thoughts,
and pictures.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from memoranda.model.checks import located
from memoranda.model.json_object import JsonObject
from memoranda.transfer.conversations import (
    ForeignConversation,
    ForeignMessage,
    distinct,
    each_conversation,
)
from memoranda.transfer.json_files import JsonItem, JsonValues, LeftOut, moment_of

SPEAKERS = {"user": "user", "assistant": "assistant"}
TEXTS = frozenset({"text", "multimodal_text"})
EVERYONE = frozenset({None, "all"})
"""To whom a message is that is no call of a tool."""
CITATION = re.compile("\ue200[^\ue200\ue201]*\ue201")
"""A reference to a source, in characters for private use."""


def is_chatgpt(value: object) -> bool:
    """Return whether a value of a file is a conversation of ChatGPT."""
    return isinstance(value, Mapping) and isinstance(value.get("mapping"), Mapping)


def read_conversations(file: JsonValues, left_out: LeftOut) -> Iterator[ForeignConversation]:
    """Return the conversations of an export, each by its branch that was current.

    Raises:
        InvalidInput: a conversation is not in ChatGPT's form; the message names it.
    """
    return each_conversation(file, _conversation, left_out)


def _conversation(item: JsonItem, left_out: LeftOut) -> ForeignConversation:
    fields = JsonObject(item.value)
    name = fields.optional_text("conversation_id") or fields.text("id")
    nodes = fields.get("mapping")
    JsonObject(nodes)  # It must be an object.
    at = moment_of(fields.get("create_time"), "create_time")
    title = fields.get("title")
    branch = _branch(nodes, fields.get("current_node"))
    aside = sum(map(_speaks, nodes.values())) - sum(_speaks(nodes[key]) for key in branch)
    left_out.add("messages of branches that were given up", aside)
    said = []
    for key in branch:
        place = f"{item.place}, message {key}"
        with located(f"message {key}"):
            found = _message_of(nodes[key], key, place, left_out)
        if found is not None:
            said.append(found)
    return ForeignConversation(
        id=name, messages=distinct(said, at), at=at, title=title if isinstance(title, str) else None
    )


def _branch(nodes: Mapping[str, Any], current: object) -> list[str]:
    """Return the ids from the root to the current node; to the last leaf, where none is named."""
    if not isinstance(current, str) or current not in nodes:
        parents = {_parent(node) for node in nodes.values()}
        current = next((key for key in reversed(list(nodes)) if key not in parents), None)
    found: dict[str, None] = {}
    while isinstance(current, str) and current in nodes and current not in found:
        found[current] = None
        current = _parent(nodes[current])
    return list(reversed(found))


def _parent(node: object) -> str | None:
    parent = node.get("parent") if isinstance(node, Mapping) else None
    return parent if isinstance(parent, str) else None


def _message(node: object) -> Mapping[str, Any] | None:
    message = node.get("message") if isinstance(node, Mapping) else None
    return message if isinstance(message, Mapping) else None


def _role(message: Mapping[str, Any]) -> str | None:
    author = message.get("author")
    role = author.get("role") if isinstance(author, Mapping) else None
    return SPEAKERS.get(role) if isinstance(role, str) else None


def _speaks(node: object) -> bool:
    message = _message(node)
    return message is not None and _role(message) is not None


def _message_of(node: object, key: str, place: str, left_out: LeftOut) -> ForeignMessage | None:
    message = _message(node)
    if message is None:
        return None
    role, content = _role(message), message.get("content")
    kind = content.get("content_type") if isinstance(content, Mapping) else None
    metadata = message.get("metadata")
    hidden = isinstance(metadata, Mapping) and metadata.get("is_visually_hidden_from_conversation")
    recipient = message.get("recipient")
    if role is None:
        left_out.add("messages of the system and of tools")
    elif hidden or not isinstance(kind, str) or kind not in TEXTS:
        left_out.add("hidden messages and thoughts")
    elif not (recipient is None or recipient in EVERYONE):
        left_out.add("calls of tools")
    elif text := _text(content, left_out):
        return ForeignMessage(place=place, key=key, role=role, text=text, at=_time(message))
    return None


def _time(message: Mapping[str, Any]) -> datetime | None:
    return moment_of(message.get("create_time"), "create_time")


def _text(content: Any, left_out: LeftOut) -> str:
    texts = []
    parts = content.get("parts")
    for part in parts if isinstance(parts, list) else ():
        match part:
            case str():
                texts.append(CITATION.sub("", part))
            case {"content_type": "audio_transcription", "text": str(text)}:
                texts.append(text)
            case {"content_type": "image_asset_pointer"}:
                left_out.add("pictures")
            case _:
                left_out.add("parts of other kinds")
    return "\n".join(text for text in texts if text.strip())
