"""Items of the providers as they were given: whose they are, and what of them is sent again.

A message keeps the given item in ``Message.raw`` where its fields do not say it exactly. A view
sends that item to the provider in whose form it came; any other gets what the fields say.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any

from memoranda.model.models import Message
from memoranda.tokens.documents import count_document

FORMS = ("openai", "responses", "anthropic")
TIMES = ("timestamp", "created_at", "create_time")
REASONING = ("thinking", "redacted_thinking", "reasoning")
# The roles that a message of each form can have.
FORM_ROLES = {
    "openai": ("system", "developer", "user", "assistant", "tool", "function"),
    "responses": ("system", "developer", "user", "assistant"),
    "anthropic": ("system", "user", "assistant"),
}
# What only messages of OpenAI's chat form have.
CHAT_KEYS = ("name", "tool_calls", "tool_call_id", "function_call", "refusal", "audio")
# Under these names servers of that form give a model's reasoning.
CHAT_REASONING = ("reasoning", "thinking")
BLOCK_FORMS: Mapping[str, tuple[str, ...]] = {
    "text": ("openai", "anthropic"),
    "refusal": ("openai", "responses"),
    "input_audio": ("openai", "responses"),
    **dict.fromkeys(("image_url", "file"), ("openai",)),
    **dict.fromkeys(("input_text", "output_text", "input_image", "input_file"), ("responses",)),
    **dict.fromkeys(
        (
            "tool_use",
            "tool_result",
            "thinking",
            "redacted_thinking",
            "image",
            "document",
            "search_result",
            "server_tool_use",
            "mcp_tool_use",
            "container_upload",
        ),
        ("anthropic",),
    ),
}
# Results whose text can be put in the place of what the tool gave.
TEXT_OUTPUTS = ("function_call_output", "custom_tool_call_output")
Json = dict[str, Any]


def is_item(raw: Mapping[str, Any]) -> bool:
    """Whether it is an item of OpenAI's responses form that is no message."""
    kind = raw.get("type")
    if not isinstance(kind, str) or kind == "message":
        return False
    said = "content" in raw or any(name in raw for name in CHAT_KEYS)
    return not (said and isinstance(raw.get("role"), str))


# A message that is a role and a text is the same in all forms.
TEXT_ALONE = 2
ROLES_OF_ALL_FORMS = ("user", "assistant", "system")


def forms_of(raw: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the forms in which a provider can have given this; none where parts contradict."""
    if is_item(raw):
        return ("responses",)
    found = list(FORMS)
    role, content = raw.get("role"), raw.get("content")
    if role in ("tool", "function") or any(
        name in CHAT_KEYS or name.startswith(CHAT_REASONING) for name in raw
    ):
        found = ["openai"]
    if role == "developer":
        found = [form for form in found if form != "anthropic"]
    if raw.get("type") == "message":
        found = [form for form in found if form != "openai"]
    for block in content if isinstance(content, list) else ():
        kind = block.get("type") if isinstance(block, Mapping) else None
        if isinstance(kind, str):
            known = ("anthropic",) if kind.endswith("_tool_result") else BLOCK_FORMS.get(kind)
            found = [form for form in found if known is None or form in known]
    return tuple(found)


def plain_item(message: Any) -> Json | None:
    """Return the item that the fields of a message say exactly; ``None`` where they do not.

    It is one of OpenAI's chat form. That of a text alone is the same in all forms.
    """
    if message.images:
        return None
    item: Json = {"role": message.role, "content": message.content}
    if message.tool_calls:
        item["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in message.tool_calls
        ]
    if message.tool_result is not None:
        if message.tool_result.is_error:
            return None
        item["tool_call_id"] = message.tool_result.call_id
    return item


def same_json(one: object, other: object) -> bool:
    """Whether two values are the same JSON, whatever the order of keys."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def exact_item(message: Message, form: str) -> Json | None:
    """Return the item of this form that was given, or that the fields say exactly."""
    if message.raw is not None:
        fits = form in (forms_of(message.raw) or FORMS)
        return deepcopy(dict(message.raw)) if fits else None
    if message.role == "tool" and message.tool_result is None:
        return None
    item = plain_item(message)
    if item is None or (len(item) == TEXT_ALONE and message.role in ROLES_OF_ALL_FORMS):
        return item  # Most messages: as a form has them, without a look at each.
    return item if form in forms_of(item) else None


# Views


def is_opening(message: Message) -> bool:
    """Whether a model's message says nothing itself: what it holds belongs to what follows."""
    said = message.content.strip() or message.tool_calls or message.images
    return message.role == "assistant" and message.raw is not None and not said


def is_reasoning(message: Message) -> bool:
    """Whether a message is a model's reasoning alone, which no provider takes alone."""
    raw = message.raw
    if raw is None or not is_opening(message):
        return False
    if is_item(raw):
        return raw["type"] in REASONING
    blocks = raw.get("content")
    if isinstance(blocks, list) and blocks:
        kinds = [block.get("type") for block in blocks if isinstance(block, Mapping)]
        return any(kind in REASONING for kind in kinds) and all(
            kind in (*REASONING, "text") for kind in kinds
        )
    return any(name.startswith(CHAT_REASONING) and raw[name] for name in raw)


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
        forms_of(raw) == ("responses",) for raw in (before.raw, message.raw)
    )


def send_item(raw: Mapping[str, Any], form: str) -> Json:
    """Return a given item as it is sent: without what only the caller or an answer has.

    That is times, marks for a cache, counts, and blank texts where they are refused.
    """
    item = deepcopy({name: value for name, value in raw.items() if name not in TIMES})
    if form == "openai":
        kept = ("role", "content", *CHAT_KEYS)
        item = {key: item[key] for key in item if key in kept or key.startswith(CHAT_REASONING)}
    elif form == "anthropic":
        content = item.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        item = {"role": item["role"], "content": [block for block in blocks or () if _says(block)]}
        for block in item["content"]:
            block.pop("cache_control", None)
    return item


def _says(block: Mapping[str, Any]) -> bool:
    """Whether a block is more than a blank text, which Anthropic refuses."""
    return block.get("type") != "text" or bool(str(block.get("text") or "").strip())


def replace_result(raw: Mapping[str, Any], text: str) -> Json | None:
    """Return the item of a tool's result with this text; ``None`` where it cannot be replaced."""
    if raw.get("role") in ("tool", "function"):
        return {**raw, "content": text}
    if raw.get("type") in TEXT_OUTPUTS or isinstance(raw.get("output"), str):
        return {**raw, "output": text}
    blocks = raw.get("content")
    if isinstance(blocks, list) and [block.get("type") for block in blocks] == ["tool_result"]:
        return {**raw, "content": [{**blocks[0], "content": text}]}
    return None


# Counting

SEALED = ("encrypted", "signature")
LETTERS_IN_SEAL = 4  # of what a provider encrypted, for each token of it at most
LETTERS_IN_FILE = 16  # of a file in base64, for each token that it is taken to cost
# Of a recording: a second takes 10 tokens (OpenAI) or 32 (Gemini), and 8 (MP3) or 32 kB (WAV).
LETTERS_IN_AUDIO = 1_000
LONGEST_WORD = 400  # letters without a space; what is longer is a file, and no text


def is_opaque(text: str) -> bool:
    """Whether a text is a file in base64, or sealed: nothing that could be read."""
    return len(text) > LONGEST_WORD and not any(map(str.isspace, text))


def holds_file(value: object) -> bool:
    """Whether a part of an item holds a file, of which its JSON says nothing to a reader."""
    match value:
        case Mapping():
            return any(map(holds_file, value.values()))
        case list():
            return any(map(holds_file, value))
    return isinstance(value, str) and is_opaque(value)


def count_parts(value: object, count: Callable[[str], int], letters: int = LETTERS_IN_FILE) -> int:
    """Return the tokens of parts of an item.

    A PDF counts by its pages, and anything else that cannot be read by its length: ``letters``
    for a token.
    """
    match value:
        case Mapping():
            if value.get("type") in REASONING:
                letters = LETTERS_IN_SEAL
            return 2 + sum(
                count(name) + count_parts(item, count, _letters_under(name, letters))
                for name, item in value.items()
            )
        case list():
            return sum(count_parts(item, count, letters) for item in value)
        case str() if is_opaque(value):
            if value.startswith("data:audio/"):
                letters = LETTERS_IN_AUDIO
            return count_document(value) or 1 + len(value) // letters
        case None:
            return 0
    return count(str(value))


def _letters_under(name: str, letters: int) -> int:
    """Return how many letters of what stands under a name make a token."""
    if name.startswith(SEALED):
        return LETTERS_IN_SEAL
    return LETTERS_IN_AUDIO if name == "input_audio" else letters
