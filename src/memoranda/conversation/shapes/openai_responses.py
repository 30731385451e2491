"""Writes the input items of OpenAI's responses.

An assistant's text is one plain text, as the API takes it from a caller: parts of output need
ids that only the API gives. Empty texts are left out. A tool's result can hold pictures; those
of an assistant or system message follow in a user's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from memoranda.conversation.shapes.images import input_part
from memoranda.conversation.shapes.parts import (
    PLAIN_ID,
    CallIds,
    Exchange,
    Note,
    Part,
    Prompt,
    Quote,
    call_arguments,
    function_name,
)
from memoranda.model.models import Image, Message, ToolCall

LONGEST_ID = 64
Item = dict[str, Any]


def input_items(parts: Sequence[Part]) -> list[Item]:
    """Return the input items of a context; its system text is apart, as ``instructions``."""
    items: list[Item] = []
    ids = CallIds(PLAIN_ID, LONGEST_ID)
    for part in parts:
        match part:
            case Note(text):
                items += _input("developer", text)
            case Quote(text) | Prompt(text):
                items += _input("user", text)
            case Exchange(call, results):
                known = ids.of(call.tool_calls)
                items += _output(call.content)
                items += [_call(item, known) for item in call.tool_calls]
                items += [_result(item, known) for item in results]
                items += _input("user", "", call.images)
            case Message(role="user"):
                items += _input("user", part.content, part.images)
            case Message(role="assistant"):
                items += _output(part.content) + _input("user", "", part.images)
            case Message():
                items += _input("developer", part.content) + _input("user", "", part.images)
    return items


def _input(role: str, text: str, images: Sequence[Image] = ()) -> list[Item]:
    content = [*_texts(text), *map(input_part, images)]
    return [{"type": "message", "role": role, "content": content}] if content else []


def _output(text: str) -> list[Item]:
    return [{"type": "message", "role": "assistant", "content": text}] if text else []


def _texts(text: str) -> list[Item]:
    return [{"type": "input_text", "text": text}] if text else []


def _call(call: ToolCall, ids: Mapping[str, str]) -> Item:
    return {
        "type": "function_call",
        "call_id": ids[call.id],
        "name": function_name(call.name),
        "arguments": call_arguments(call.arguments),
    }


def _result(message: Message, ids: Mapping[str, str]) -> Item:
    answered = message.tool_result.call_id if message.tool_result else ""
    output: str | list[Item] = message.content
    if message.images:
        output = [*_texts(message.content), *map(input_part, message.images)]
    return {"type": "function_call_output", "call_id": ids[answered], "output": output}
