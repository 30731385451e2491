"""Writes OpenAI's chat completions form.

Only a user's message can hold pictures there, so those of any other message follow as a user
message of their own, after all results of the exchange.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from memoranda.conversation.shapes.images import chat_part
from memoranda.conversation.shapes.parts import (
    ANY_ID,
    CallIds,
    Exchange,
    Note,
    Part,
    Prompt,
    Quote,
    call_arguments,
    function_name,
)
from memoranda.model.models import Image, Message

LONGEST_ID = 40


def chat_messages(parts: Sequence[Part], *, head: str | None) -> list[dict[str, Any]]:
    """Return the messages of a context, with ``head`` as the system message before them."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": head}] if head else []
    ids = CallIds(ANY_ID, LONGEST_ID, repeated=True)
    for part in parts:
        match part:
            case Note(text):
                messages.append({"role": "system", "content": text})
            case Quote(text) | Prompt(text):
                messages.append({"role": "user", "content": text})
            case Exchange(call, results):
                known = ids.of(call.tool_calls)
                messages += [openai(message, known) for message in (call, *results)]
                messages += _shown(part.stray_images)
            case Message(role="user"):
                messages.append(openai(part))
            case Message():
                messages.append(openai(part))
                messages += _shown(part.images)
    return messages


def openai(message: Message, ids: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return ``message`` in the form of OpenAI's chat completions.

    Args:
        message: a message; its pictures come with it if it is the user's.
        ids: what to write for the ids of its calls.
    """
    known = ids or {}
    shape: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.role == "user" and message.images:
        text = [{"type": "text", "text": message.content}] if message.content else []
        shape["content"] = [*text, *map(chat_part, message.images)]
    if message.tool_calls:
        shape["tool_calls"] = [
            {
                "id": known.get(call.id, call.id),
                "type": "function",
                "function": {
                    "name": function_name(call.name),
                    "arguments": call_arguments(call.arguments),
                },
            }
            for call in message.tool_calls
        ]
    if message.tool_result is not None:
        answered = message.tool_result.call_id
        shape["tool_call_id"] = known.get(answered, answered)
    return shape


def _shown(images: Sequence[Image]) -> list[dict[str, Any]]:
    return [{"role": "user", "content": [chat_part(image) for image in images]}] if images else []
