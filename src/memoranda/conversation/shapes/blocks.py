"""Content blocks of all providers, read into what they say.

A model's reasoning is not part of what is kept: blocks of it are passed over. A block that is
not understood is refused by name rather than lost, except in a tool's result: that is data, and
stays there as JSON.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from memoranda.conversation.shapes.images import image_of
from memoranda.conversation.shapes.values import arguments_text, json_text, unwrapped
from memoranda.errors import InvalidInput
from memoranda.model.models import Image, ToolCall, ToolResult

REASONING = ("thinking", "redacted_thinking", "reasoning")
SUPPORTED = "text, images, tool_use, tool_result and reasoning, which is passed over"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a tool gave back."""

    result: ToolResult
    text: str
    images: tuple[Image, ...]


@dataclass(slots=True)
class Said:
    """What a message says, gathered from its blocks in their order."""

    texts: list[str] = field(default_factory=list)
    images: list[Image] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The texts, a line break between two."""
        return "\n".join(text for text in self.texts if text)

    def __bool__(self) -> bool:
        """Whether it says anything beside tool results."""
        return bool(self.texts or self.images or self.calls)


def said(content: object) -> Said:
    """Return what the content of a message says, a text or a list of blocks.

    Raises:
        InvalidInput: it is neither, or a block is not understood.
    """
    found = Said()
    match content:
        case None:
            pass
        case str():
            found.texts.append(content)
        case list() | tuple():
            for block in content:
                _add(unwrapped(block), found)
        case _:
            text = f"content must be text or a list of blocks, got {content!r:.80}"
            raise InvalidInput(text)
    return found


def _add(block: object, found: Said) -> None:
    match block:
        case {"type": "text" | "input_text" | "output_text", "text": str(text)}:
            found.texts.append(text)
        case {"type": "refusal", "refusal": str(text)}:
            found.texts.append(text)
        case {"type": kind} if kind in REASONING:
            pass
        case {"type": "tool_use", "id": str(id), "name": str(name), **rest}:
            found.calls.append(ToolCall(id, name, arguments_text(rest.get("input"))))
        case {"type": "tool_result", "tool_use_id": str(id), **rest}:
            result = ToolResult(id, bool(rest.get("is_error")))
            found.outcomes.append(outcome(result, rest.get("content")))
        case Mapping() if image := image_of(block):
            found.images.append(image)
        case _:
            text = (
                f"a content block of this form is not supported: {block!r:.80}; "
                f"take it out (supported are {SUPPORTED})"
            )
            raise InvalidInput(text)


def outcome(result: ToolResult, content: object) -> Outcome:
    """Return the text and the pictures that a tool gave back; what else there is, as JSON."""
    match content:
        case None:
            return Outcome(result, "", ())
        case str():
            return Outcome(result, content, ())
        case list() | tuple():
            pass
        case _:
            return Outcome(result, json_text(unwrapped(content)), ())
    texts: list[str] = []
    images: list[Image] = []
    for block in map(unwrapped, content):
        if isinstance(block, Mapping) and (image := image_of(block)):
            images.append(image)
        elif isinstance(block, Mapping) and isinstance(block.get("text"), str):
            texts.append(block["text"])
        else:
            texts.append(json_text(block))
    return Outcome(result, "\n".join(text for text in texts if text), tuple(images))


def chat_calls(calls: object) -> list[ToolCall]:
    """Return the ``tool_calls`` of OpenAI's chat form.

    Raises:
        InvalidInput: they are no list of function calls.
    """
    if isinstance(calls, str | Mapping) or not isinstance(calls, Iterable):
        text = f"tool_calls must be a list, got {calls!r:.80}"
        raise InvalidInput(text)
    return [_chat_call(unwrapped(call)) for call in calls]


def _chat_call(call: object) -> ToolCall:
    function = unwrapped(call.get("function")) if isinstance(call, Mapping) else None
    if not isinstance(call, Mapping) or not isinstance(function, Mapping) or "name" not in function:
        text = f"a tool call needs function.name, got {call!r:.80}"
        raise InvalidInput(text)
    return ToolCall(
        str(call.get("id") or ""), str(function["name"]), arguments_text(function.get("arguments"))
    )


def legacy_call(function: Mapping[str, Any]) -> ToolCall:
    """Return a ``function_call``: it has no id, and its answer comes under its name.

    Raises:
        InvalidInput: it has no name.
    """
    name = function.get("name")
    if not isinstance(name, str):
        text = f"a function_call needs a name, got {function!r:.80}"
        raise InvalidInput(text)
    return ToolCall(name, name, arguments_text(function.get("arguments")))
