"""The data export of claude.ai: ``conversations.json``, or the ZIP archive around it.

What the person and Claude wrote is imported. Thoughts, the use of tools and attached files stay
out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from memoranda.model.checks import located
from memoranda.model.json_object import JsonObject
from memoranda.transfer.conversations import ForeignMessage, joined
from memoranda.transfer.json_files import NAMES, LeftOut, moment_of

# Where a conversation has its id, its time and its title.
KEYS = ("uuid", "created_at", "name")
SENDERS = {"human": "user", "assistant": "assistant"}
NO_TALK: Mapping[str, str] = NAMES["claude"]["no_talk"]


def read_messages(talk: JsonObject, place: str, left_out: LeftOut) -> Iterator[ForeignMessage]:
    """Return the messages of a conversation.

    Raises:
        InvalidInput: one is not in the form of claude.ai; the error names its number.
    """
    for number, value in enumerate(talk.list("chat_messages"), 1):
        with located(f"message {number}"):
            message = JsonObject(value)
            key, sender = message.text("uuid"), message.get("sender")
            attached = len(message.list("attachments")) + len(message.list("files"))
            at = moment_of(message.get("created_at"), "created_at")
        text = _text(message, left_out)
        left_out.add("attached files", attached)
        role = SENDERS.get(sender) if isinstance(sender, str) else None
        if role is None:
            left_out.add("messages of others")
        elif text.strip():
            where = f"{place}, message {number}"
            yield ForeignMessage(place=where, key=key, role=role, text=text, at=at)


def _text(message: JsonObject, left_out: LeftOut) -> str:
    """Return what was written; older exports have it in ``text`` alone."""
    blocks, text = message.get("content"), message.get("text")
    if not isinstance(blocks, list) or not blocks:
        return text if isinstance(text, str) else ""
    texts = []
    for block in blocks:
        match block:
            case {"type": "text", "text": str(text)}:
                texts.append(text)
            case {"type": str(kind)} if kind in NO_TALK:
                left_out.add(NO_TALK[kind])
            case _:
                left_out.add("parts of other kinds")
    return joined(texts)
