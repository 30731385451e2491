"""The data exports of ChatGPT and claude.ai: ``conversations.json``, or the archive around it.

A conversation of ChatGPT is a tree of messages; the branch that ends in ``current_node`` is what
was on the screen last, and it alone is imported. No talk are: the messages of the system and of
tools, calls of tools, what is hidden on the screen (custom instructions, what ChatGPT remembers),
thoughts, and pictures. Of claude.ai, what a person pasted instead of writing is imported, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from memoranda.model.checks import ErrorPrefix
from memoranda.model.models import ConversationInfo, NewMessage
from memoranda.text.json_values import list_of, object_of, value_of, words_of
from memoranda.text.patterns import compile_pattern
from memoranda.transfer import sources

ROLES = {"user": "user", "assistant": "assistant", "human": "user"}
TEXTS = {"text", "multimodal_text"}
HIDDEN = "is_visually_hidden_from_conversation"
# A reference to a source, in characters for private use.
CITATION = compile_pattern("\ue200[^\ue200\ue201]*\ue201")


def _read_export(
    keys: tuple[str, str, str],
    read_messages: Callable[[Any, sources.ImportCounts], Iterable[sources.ForeignMessage]],
    path: Path,
    target: sources.ImportTarget,
    counts: sources.ImportCounts,
) -> Iterator[sources.ForeignConversation]:
    """Yield the conversations of an export; count those without talk, and what cannot be read.

    Args:
        keys: where a conversation has its id, its time and its title.
        read_messages: reads its messages.
        path: the export.
        target: where it goes.
        counts: what is no talk.
    """
    name, begun, title = keys
    for place, talk in sources.read_values(path, counts):
        with counts.reading(place):
            own = words_of(talk, "conversation_id") or sources.text_of(talk, name)
            at = sources.moment_of(talk.get(begun), begun)
            messages = list(read_messages(talk, counts))
            if not messages:
                counts.leave_out("conversations without talk")
                continue
            task = words_of(talk, title).strip() or None
            messages[0] = sources.ForeignMessage(
                messages[0].key, replace(messages[0].said, task=task)
            )
            info = ConversationInfo(id=own, created_at=at or target.records.now())
            yield sources.ForeignConversation(place, info, messages)


def _chatgpt_messages(
    talk: Mapping[str, Any], counts: sources.ImportCounts
) -> Iterator[sources.ForeignMessage]:
    """Yield the messages of the branch of a conversation that was current."""
    nodes = object_of(talk.get("mapping"))
    for key in reversed(list(_branch(nodes, talk.get("current_node")))):
        message = value_of(nodes[key], "message")
        content, metadata = value_of(message, "content"), value_of(message, "metadata")
        role = words_of(value_of(message, "author"), "role")
        kind = words_of(content, "content_type")
        is_talk = role in ROLES and value_of(message, "recipient") in (None, "all")
        if not is_talk or kind not in TEXTS or value_of(metadata, HIDDEN):
            counts.leave_out(f"messages of {role} ({kind})", bool(message))
        elif text := _text(value_of(content, "parts"), counts):
            with ErrorPrefix(f"message {key}"):
                at = sources.moment_of(message.get("create_time"), "create_time")
            yield sources.ForeignMessage(key, NewMessage(role=role, content=text, timestamp=at))


def _branch(nodes: Mapping[str, Any], current: object) -> dict[str, None]:
    """Return the ids from the current node to the root."""
    found: dict[str, None] = {}
    while isinstance(current, str) and current in nodes and current not in found:
        found[current] = None
        current = value_of(nodes[current], "parent")
    return found


def _text(parts: object, counts: sources.ImportCounts) -> str:
    """Return what was written or spoken in the parts of a message."""
    texts = []
    for part in parts if isinstance(parts, list) else ():
        if isinstance(part, str):
            texts.append(CITATION.sub("", part))
        elif isinstance(value_of(part, "text"), str):
            texts.append(part["text"])
        else:
            kind = words_of(part, "type") or words_of(part, "content_type")
            counts.leave_out(f"parts of the type {kind}")
    return sources.joined(texts)


def _claude_messages(
    talk: Mapping[str, Any], counts: sources.ImportCounts
) -> Iterator[sources.ForeignMessage]:
    """Yield the messages of a conversation."""
    for number, message in enumerate(list_of(talk, "chat_messages"), 1):
        with ErrorPrefix(f"message {number}"):
            key, role = sources.text_of(message, "uuid"), ROLES.get(words_of(message, "sender"))
            at = sources.moment_of(message.get("created_at"), "created_at")
            pasted = [words_of(it, "extracted_content") for it in list_of(message, "attachments")]
        # Older exports have what was written in ``text`` alone.
        content, written = message.get("content"), [words_of(message, "text")]
        parts = content if content and isinstance(content, list) else written
        text = _text(parts, counts).strip() or sources.joined(pasted)
        if role is None:
            counts.leave_out("messages of others")
        elif text:
            yield sources.ForeignMessage(key, NewMessage(role=role, content=text, timestamp=at))


read_chatgpt = partial(_read_export, ("id", "create_time", "title"), _chatgpt_messages)
read_claude = partial(_read_export, ("uuid", "created_at", "name"), _claude_messages)
