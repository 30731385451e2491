"""What the forms of the providers have in common: texts, pictures, PDFs, arguments and tokens."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from memoranda.model.models import Image, ToolCall, ToolResult
from memoranda.text.patterns import compile_pattern
from memoranda.tokens.documents import count_document

Json = dict[str, Any]
# The role that each name of a role means.
ROLES = {
    **dict.fromkeys(("system", "developer"), "system"),
    **dict.fromkeys(("user", "human"), "user"),
    **dict.fromkeys(("assistant", "model", "ai", "function", "critic"), "assistant"),
    "tool": "tool",
}
REASONING = ("thinking", "redacted_thinking", "reasoning")
TEXTS = ("text", "input_text", "output_text")
# The pictures and documents that every provider takes.
SHOWABLE = compile_pattern(
    r"https://.|data:(?:image/(?:png|jpe?g|gif|webp)|application/pdf);base64,."
)
DOCUMENT = "document.pdf"  # OpenAI wants a name with each.


@dataclass(slots=True)
class ItemContent:
    """What an item of a provider says, gathered from its parts in order.

    Attributes:
        role: of the message that it becomes; the assistant's, where an item names none.
        result: the call that it answers.
        unread: its parts of which the fields of a message hold nothing, such as reasoning.
    """

    role: str
    texts: list[str] = field(default_factory=list)
    images: list[Image] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)
    result: ToolResult | None = None
    unread: list[Mapping[str, Any]] = field(default_factory=list)

    def add(self, content: Any) -> None:
        """Add a text or blocks; a file or the like in a result leaves its type in the text.

        Any other JSON is text as it is written.
        """
        for block in content if isinstance(content, list) else [content]:
            match block:
                case None:
                    pass
                case str(text) | {"refusal": str(text)}:
                    self.texts.append(text)
                case {"type": kind, "text": str(text)} if kind in TEXTS:
                    self.texts.append(text)
                case Mapping() if image := _read_image(block):
                    self.images.append(image)
                case {"type": str(kind)}:
                    self.unread.append(block)
                    self.texts += [f"[{kind}]"] if self.result else []
                case _:
                    self.texts.append(json.dumps(block, ensure_ascii=False))

    def call(self, id: object, name: object, arguments: object) -> None:
        """Add a call of a tool, its arguments as JSON text."""
        if not isinstance(arguments, str):
            arguments = json.dumps(arguments or {}, ensure_ascii=False)
        self.calls.append(ToolCall(str(id or ""), str(name), arguments or "{}"))


def blocks_of(item: Mapping[str, Any]) -> list[Json]:
    """Return the blocks of a message."""
    content = item.get("content")
    blocks = content if isinstance(content, list) else ()
    return [block for block in blocks if isinstance(block, dict)]


def _read_image(block: Mapping[str, Any]) -> Image | None:
    """Return the picture or PDF in a block; ``None`` for one that not every provider takes."""
    match block:
        case {"type": "image_url", "image_url": {"url": str(url), **more}}:
            image = Image(url, str(more.get("detail") or "auto"))
        case {"type": "input_image", "image_url": str(url)}:
            image = Image(url, str(block.get("detail") or "auto"))
        case {"type": "image", "source": {"url": str(url)}}:
            image = Image(url)
        case {"type": "image" | "document", "source": {"media_type": media, "data": data}}:
            image = Image(f"data:{media};base64,{data}")
        case {"file": {"file_data": str(url)}} | {"type": "input_file", "file_data": str(url)}:
            image = Image(url)
        case _:
            return None
    return image if SHOWABLE.match(image.url) else None


# Letters for each token, at most, of what cannot be read: what a provider sealed, and files in
# base64. A second of a recording takes 10 tokens (OpenAI) or 32 (Gemini), and 8 (MP3) or 32 kB.
SEALED = ("signature", "encrypted_content", *REASONING)
LETTERS = dict.fromkeys(SEALED, 4) | {"input_audio": 1_000}
LETTERS_IN_FILE = 16
LONGEST_WORD = 400  # letters without a space; what is longer is a file, and no text


def count_parts(value: object, count: Callable[[str], int], letters: int = LETTERS_IN_FILE) -> int:
    """Return the tokens of parts of an item.

    A PDF counts by its pages, and anything else that cannot be read by its length: ``letters``
    for a token.
    """
    match value:
        case None:
            return 0
        case list():
            return sum(count_parts(item, count, letters) for item in value)
        case dict():
            letters = LETTERS.get(value.get("type", ""), letters)
            return 2 + sum(
                count(name) + count_parts(item, count, LETTERS.get(name, letters))
                for name, item in value.items()
            )
        case str() if len(value) > LONGEST_WORD and not any(map(str.isspace, value)):
            return count_document(value) or 1 + len(value) // letters
    return count(str(value))
