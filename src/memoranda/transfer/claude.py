"""The data export of claude.ai: ``conversations.json``, or the ZIP archive around it.

What the person and Claude wrote is imported, and what the person pasted instead of writing.
Thoughts, the use of tools and attached files stay out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from memoranda.model.checks import located
from memoranda.text.json_values import list_of, words_of
from memoranda.transfer.conversations import ForeignMessage, joined
from memoranda.transfer.json_files import NAMES, LeftOut, moment_of, text_of

# Where a conversation has its id, its time and its title.
KEYS = ("uuid", "created_at", "name")
SENDERS = {"human": "user", "assistant": "assistant"}
NO_TALK: Mapping[str, str] = NAMES["claude"]["no_talk"]


def read_messages(
    talk: Mapping[str, Any], place: str, left_out: LeftOut
) -> Iterator[ForeignMessage]:
    """Return the messages of a conversation.

    Raises:
        InvalidInput: one is not in the form of claude.ai; the error names its number.
    """
    for number, message in enumerate(list_of(talk, "chat_messages"), 1):
        with located(f"message {number}"):
            key, role = text_of(message, "uuid"), SENDERS.get(str(message.get("sender")))
            pasted = list_of(message, "attachments")
            attached = len(pasted) + len(list_of(message, "files"))
            at = moment_of(message.get("created_at"), "created_at")
        text = _text(message, left_out)
        if not text.strip():  # All of it was pasted.
            pastes = [words_of(each, "extracted_content") for each in pasted]
            pastes = [each for each in pastes if each.strip()]
            text, attached = joined(pastes), attached - len(pastes)
        left_out.add("attached files", attached)
        if role is None:
            left_out.add("messages of others")
        elif text.strip():
            where = f"{place}, message {number}"
            yield ForeignMessage(place=where, key=key, role=role, text=text, at=at)


def _text(message: Mapping[str, Any], left_out: LeftOut) -> str:
    """Return what was written; older exports have it in ``text`` alone."""
    blocks = message.get("content")
    if not isinstance(blocks, list) or not blocks:
        return words_of(message, "text")
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
