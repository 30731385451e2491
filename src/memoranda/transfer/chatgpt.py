"""The data export of ChatGPT: ``conversations.json``, or the ZIP archive around it.

A conversation is a tree of messages; the branch that ends in ``current_node`` is what was on the
screen last, and it alone is imported. No talk are: the messages of the system and of tools, calls
of tools, what is hidden on the screen (custom instructions, what ChatGPT remembers), thoughts,
and pictures.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from memoranda.model.checks import located
from memoranda.text.json_values import object_of, value_of, words_of
from memoranda.text.patterns import compile_pattern
from memoranda.transfer.conversations import ForeignMessage, joined
from memoranda.transfer.json_files import LeftOut, moment_of

# Where a conversation has its id, its time and its title.
KEYS = ("id", "create_time", "title")
SPEAKERS = frozenset({"user", "assistant"})
TEXTS = frozenset({"text", "multimodal_text"})
# A reference to a source, in characters for private use.
CITATION = compile_pattern("\ue200[^\ue200\ue201]*\ue201")


def read_messages(
    talk: Mapping[str, Any], place: str, left_out: LeftOut
) -> Iterator[ForeignMessage]:
    """Return the messages of a conversation, those of the branch that was current.

    Raises:
        InvalidInput: the conversation is not in ChatGPT's form; the error names the message.
    """
    nodes = object_of(talk.get("mapping"))
    branch = _branch(nodes, talk.get("current_node"))
    speaking = {
        key
        for key in nodes
        if words_of(value_of(value_of(nodes[key], "message"), "author"), "role") in SPEAKERS
    }
    left_out.add("messages of branches that were given up", len(speaking.difference(branch)))
    for key in branch:
        message = value_of(nodes[key], "message")
        if not isinstance(message, Mapping):
            continue
        content = message.get("content")
        kind = value_of(content, "content_type")
        hidden = value_of(message.get("metadata"), "is_visually_hidden_from_conversation")
        if key not in speaking:
            left_out.add("messages of the system and of tools")
        elif hidden or not isinstance(kind, str) or kind not in TEXTS:
            left_out.add("hidden messages and thoughts")
        elif message.get("recipient") not in (None, "all"):
            left_out.add("calls of tools")
        elif text := _text(value_of(content, "parts"), left_out):
            with located(f"message {key}"):
                at = moment_of(message.get("create_time"), "create_time")
            where, role = f"{place}, message {key}", words_of(message.get("author"), "role")
            yield ForeignMessage(place=where, key=key, role=role, text=text, at=at)


def _branch(nodes: Mapping[str, Any], current: object) -> list[str]:
    """Return the ids from the root to the current node; to the last leaf, where none is named."""
    if not isinstance(current, str) or current not in nodes:
        parents = {str(value_of(node, "parent")) for node in nodes.values()}
        current = next((key for key in reversed(list(nodes)) if key not in parents), None)
    found: dict[str, None] = {}
    while isinstance(current, str) and current in nodes and current not in found:
        found[current] = None
        current = value_of(nodes[current], "parent")
    return list(reversed(found))


def _text(parts: object, left_out: LeftOut) -> str:
    texts = []
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
    return joined(texts)
