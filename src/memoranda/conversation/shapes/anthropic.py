"""Writes Anthropic's messages form.

User and assistant alternate, the user begins, and results come first in the message after
their calls. What would stand twice in a row under one role becomes one message of several
blocks. Blank texts are left out: they are refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from memoranda.conversation.shapes.images import image_block
from memoranda.conversation.shapes.parts import (
    PLAIN_ID,
    CallIds,
    Exchange,
    Note,
    Part,
    Prompt,
    Quote,
    function_name,
)
from memoranda.conversation.shapes.values import arguments_object
from memoranda.model.models import Message, ToolCall

LONGEST_ID = 64
OPENING = "(start)"
"""Stands for the user where a view would begin with the assistant."""
FAILED = "(The tool failed and said nothing.)"
"""Stands for the text of an error without any."""
Block = dict[str, Any]


def alternating(parts: Sequence[Part]) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the messages of a context, and the system texts that were among them.

    Where nothing is said, there are no messages; Anthropic wants at least one.
    """
    talk = _Talk()
    for part in parts:
        match part:
            case Note(text) | Quote(text) | Prompt(text):
                talk.say("user", _texts(text))
            case Exchange():
                talk.exchange(part)
            case Message(role="system"):
                talk.system += [part.content] if part.content.strip() else []
                talk.say("user", _images(part))
            case Message(role="assistant"):
                talk.say("assistant", _texts(part.content))
                talk.say("user", _images(part))
            case Message():
                talk.say("user", _texts(part.content) + _images(part))
    return talk.closed(), talk.system


class _Talk:
    """Messages that alternate."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        self.system: list[str] = []
        self._ids = CallIds(PLAIN_ID, LONGEST_ID)

    def say(self, role: str, blocks: Sequence[Block]) -> None:
        """Add blocks to the last message if it has that role, or as the next one."""
        if not blocks:
            return
        if not self.messages and role == "assistant":
            self.say("user", _texts(OPENING))
        if not self.messages or self.messages[-1]["role"] != role:
            self.messages.append({"role": role, "content": []})
        self.messages[-1]["content"] += blocks

    def exchange(self, part: Exchange) -> None:
        """Add calls and their results."""
        ids = self._ids.of(part.call.tool_calls)
        calls = [_use(call, ids) for call in part.call.tool_calls]
        self.say("assistant", _texts(part.call.content) + calls)
        self.say("user", [_result(message, ids) for message in part.results])
        # Results come first, and that of an error holds text alone.
        failed = [message for message in part.results if _is_error(message)]
        for message in (part.call, *failed):
            self.say("user", _images(message))

    def closed(self) -> list[dict[str, Any]]:
        """Return the messages; an assistant's at the end must not end in white space."""
        last = self.messages[-1]["content"][-1] if self.messages else {}
        if self.messages and self.messages[-1]["role"] == "assistant" and last["type"] == "text":
            last["text"] = last["text"].rstrip()
        return self.messages


def _texts(text: str) -> list[Block]:
    return [{"type": "text", "text": text}] if text.strip() else []


def _images(message: Message) -> list[Block]:
    return [image_block(image) for image in message.images]


def _use(call: ToolCall, ids: Mapping[str, str]) -> Block:
    return {
        "type": "tool_use",
        "id": ids[call.id],
        "name": function_name(call.name),
        "input": arguments_object(call.arguments),
    }


def _is_error(message: Message) -> bool:
    return message.tool_result is not None and message.tool_result.is_error


def _result(message: Message, ids: Mapping[str, str]) -> Block:
    answered = message.tool_result.call_id if message.tool_result else ""
    block: Block = {"type": "tool_result", "tool_use_id": ids[answered]}
    content = _texts(message.content)
    if _is_error(message):
        block["is_error"] = True
        content = content or _texts(FAILED)
    else:
        content += _images(message)
    if content:
        block["content"] = content
    return block
