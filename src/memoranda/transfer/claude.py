"""The data export of claude.ai: ``conversations.json``, or the ZIP archive around it.

What the person and Claude wrote is imported. Thoughts, the use of tools and attached files stay
out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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

SENDERS = {"human": "user", "assistant": "assistant"}
PARTS = {
    "thinking": "thoughts of the model",
    "tool_use": "calls of tools",
    "tool_result": "results of tools",
}


def is_claude(value: object) -> bool:
    """Return whether a value of a file is a conversation of claude.ai."""
    return isinstance(value, Mapping) and isinstance(value.get("chat_messages"), list)


def read_conversations(file: JsonValues, left_out: LeftOut) -> Iterator[ForeignConversation]:
    """Return the conversations of an export.

    Raises:
        InvalidInput: a conversation is not in the form of claude.ai; the message names it.
    """
    return each_conversation(file, _conversation, left_out)


def _conversation(item: JsonItem, left_out: LeftOut) -> ForeignConversation:
    fields = JsonObject(item.value)
    name = fields.text("uuid")
    at = moment_of(fields.get("created_at"), "created_at")
    title = fields.get("name")
    said = []
    for number, value in enumerate(fields.list("chat_messages"), 1):
        with located(f"message {number}"):
            found = _message_of(value, f"{item.place}, message {number}", left_out)
        if found is not None:
            said.append(found)
    return ForeignConversation(
        id=name, messages=distinct(said, at), at=at, title=title if isinstance(title, str) else None
    )


def _message_of(value: object, place: str, left_out: LeftOut) -> ForeignMessage | None:
    message = JsonObject(value)
    key, sender = message.text("uuid"), message.get("sender")
    role = SENDERS.get(sender) if isinstance(sender, str) else None
    text = _text(message, left_out)
    left_out.add("attached files", len(message.list("attachments")) + len(message.list("files")))
    if role is None:
        left_out.add("messages of others")
    if role is None or not text.strip():
        return None
    at = moment_of(message.get("created_at"), "created_at")
    return ForeignMessage(place=place, key=key, role=role, text=text, at=at)


def _text(message: JsonObject, left_out: LeftOut) -> str:
    """Return what was written; older exports have it in ``text`` alone."""
    blocks = message.get("content")
    if not isinstance(blocks, list) or not blocks:
        text: Any = message.get("text")
        return text if isinstance(text, str) else ""
    texts = []
    for block in blocks:
        match block:
            case {"type": "text", "text": str(text)}:
                texts.append(text)
            case {"type": str(kind)} if kind in PARTS:
                left_out.add(PARTS[kind])
            case _:
                left_out.add("parts of other kinds")
    return "\n".join(text for text in texts if text.strip())
