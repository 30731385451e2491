"""What the given item of a message holds, and whose it is.

A message keeps the item that was given in ``Message.raw`` where its fields do not say it exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from memoranda.conversation.formats import anthropic, chat, responses
from memoranda.conversation.formats.content import REASONING, ItemContent, Json
from memoranda.model.models import Message

FORMS = MappingProxyType({"openai": chat, "responses": responses, "anthropic": anthropic})
# Results whose text can be put in the place of what the tool gave.
TEXT_OUTPUTS = ("function_call_output", "custom_tool_call_output")


def forms_of(item: Mapping[str, Any]) -> list[str]:
    """Return the forms that an item is of; one of no form is taken for OpenAI's chat form.

    A text alone is of all of them.
    """
    return [name for name, form in FORMS.items() if form.owns(item)] or ["openai"]


def read_item(item: Mapping[str, Any]) -> ItemContent:
    """Return what an item of any form says.

    Raises:
        InvalidInput: a part of it is not understood.
    """
    found: ItemContent = FORMS[forms_of(item)[0]].read(item)
    return found


def unread_parts(raw: Mapping[str, Any] | None) -> list[object]:
    """Return what a given item holds that the fields do not, such as reasoning and files."""
    return [] if raw is None else read_item(raw).unread


def is_opening(message: Message) -> bool:
    """Whether a model's message says nothing itself: what it holds belongs to what follows."""
    says = message.content.strip() or message.tool_calls or message.images
    return message.role == "assistant" and message.raw is not None and not says


def is_reasoning(message: Message) -> bool:
    """Whether a message is a model's reasoning alone, which no provider takes alone."""
    parts = unread_parts(message.raw) if is_opening(message) else []
    return bool(parts) and all(
        isinstance(part, Mapping) and part.get("type") in REASONING for part in parts
    )


def continues(before: Message, message: Message) -> bool:
    """Whether a message goes on with the answer of which ``before`` is the part just before it.

    So do the items of one answer in OpenAI's responses form, and what follows reasoning that was
    given as a message of its own. Where something between them was removed, nothing goes on.
    """
    if not before.role == message.role == "assistant" or before.raw is None:
        return False
    placed = before.position is not None and message.position is not None
    if placed and (message.position or 0) - (before.position or 0) != 1:
        return False
    if is_opening(before):
        return True
    return message.raw is not None and all(
        forms_of(raw) == ["responses"] for raw in (before.raw, message.raw)
    )


def replace_result(raw: Mapping[str, Any], text: str) -> Json | None:
    """Return the item of a tool's result with this text; ``None`` where it cannot be replaced."""
    if raw.get("role") == "tool":
        return {**raw, "content": text}
    if raw.get("type") in TEXT_OUTPUTS or isinstance(raw.get("output"), str):
        return {**raw, "output": text}
    blocks = raw.get("content")
    if isinstance(blocks, list) and [block.get("type") for block in blocks] == ["tool_result"]:
        return {**raw, "content": [{**blocks[0], "content": text}]}
    return None
