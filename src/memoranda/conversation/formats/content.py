"""What the forms of the providers have in common: contents, arguments, pictures and tokens."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from memoranda.errors import InvalidInput
from memoranda.model.chat import MEDIA
from memoranda.model.models import Image, Message, ToolCall, ToolResult
from memoranda.text.patterns import compile_pattern
from memoranda.tokens.documents import count_document

Json = dict[str, Any]
SAME_ROLE = {"developer": "system", "model": "assistant", "ai": "assistant", "human": "user"}
ROLES = ("system", "user", "assistant", "tool")
TIMES = ("timestamp", "created_at", "create_time")
DETAILS = ("auto", "low", "high", "original")
REASONING = ("thinking", "redacted_thinking", "reasoning")
# What only messages of OpenAI's chat form have; some servers give reasoning beside them.
CHAT_KEYS = ("name", "tool_calls", "tool_call_id", "refusal", "audio")
CHAT_REASONING = ("reasoning", "thinking")
# Holds arguments that are no JSON object where a provider takes nothing else.
UNPARSED = "unparsed_arguments"
FUNCTION_NAME = compile_pattern(r"[^a-zA-Z0-9_-]")
LONGEST_NAME = 64
INLINE = compile_pattern(r"(?i)data:([\w.+-]+/[\w.+-]+)(?:;[^;,]*)*;base64,(?=.)")
WEB = ("https://", "http://")


@dataclass(slots=True)
class ItemContent:
    """What an item of a provider says, gathered from its parts in order.

    Attributes:
        role: of the message that it becomes.
        read_image: returns the picture in a block, ``None`` where there is none.
        result: the call that it answers.
        unread: its parts of which the fields of a message hold nothing, such as reasoning.
        special: whether only the item itself says all, though every part was read.
    """

    role: str
    read_image: Callable[[Mapping[str, Any]], Image | None]
    texts: list[str] = field(default_factory=list)
    images: list[Image] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)
    result: ToolResult | None = None
    unread: list[object] = field(default_factory=list)
    special: bool = False

    def add_content(self, content: object) -> None:
        """Add the content of a message: a text, or blocks."""
        if not isinstance(content, str | list | None):
            raise InvalidInput(f"content must be text or a list of blocks, got {content!r:.80}")
        for block in (
            [{"type": "text", "text": content}] if isinstance(content, str) else content or ()
        ):
            self.add_block(block)

    def add_block(self, block: object) -> None:
        """Add a block that every form may have."""
        match block:
            case {"type": "text" | "input_text" | "output_text", "text": str(text)}:
                self.texts.append(text)
            case {"type": "refusal", "refusal": str(text)}:
                self.texts.append(text)
            case Mapping() if image := self.read_image(block):
                self.images.append(image)
            case Mapping():
                self.unread.append(block)
            case _:
                raise InvalidInput(
                    f"a content block of this form is not supported: {block!r:.80}; take it out"
                )

    def add_output(self, result: ToolResult, output: object) -> None:
        """Add what a tool gave: text and pictures, and anything else as JSON text."""
        self.role, self.result = "tool", result
        for block in output if isinstance(output, list) else [output]:
            match block:
                case None:
                    continue
                case str(text) | {"text": str(text)}:
                    self.texts.append(text)
                case Mapping() if image := self.read_image(block):
                    self.images.append(image)
                case Mapping() if holds_file(block):
                    self.texts.append(f"[{block.get('type', 'file')}]")
                    self.unread.append(block)
                case _:
                    self.texts.append(json_text(block))
                    self.special = True


def role_of(item: Mapping[str, Any]) -> str:
    """Return the role of a message; of one that is not known, nobody says that a person speaks."""
    role = str(item.get("role"))
    return SAME_ROLE.get(role, role if role in ROLES else "assistant")


def block_kinds(item: Mapping[str, Any]) -> set[object]:
    """Return the types of the blocks in a message."""
    content = item.get("content")
    blocks = content if isinstance(content, list) else ()
    return {block.get("type") for block in blocks if isinstance(block, Mapping)}


def is_chat_only(item: Mapping[str, Any]) -> bool:
    """Whether a message has keys that only OpenAI's chat form has."""
    return any(key in CHAT_KEYS or key.startswith(CHAT_REASONING) for key in item)


def sent_again(item: Mapping[str, Any], content: ItemContent) -> Json | None:
    """Return a copy of a given item to send; ``None`` where the fields of its message say all."""
    if not content.unread and not content.special:
        return None
    return deepcopy({key: value for key, value in item.items() if key not in TIMES})


def spoken_text(message: Message) -> str:
    """Return the text of a message, after the name of its speaker where it has one."""
    return f"{message.name}: {message.content}" if message.name else message.content


# Calls


def arguments_text(given: object) -> str:
    """Return the arguments of a call as JSON text; what was wrapped as an object, unwrapped."""
    match given:
        case None | "":
            return "{}"
        case str():
            return given
        case {**rest} if rest.keys() == {UNPARSED} and isinstance(rest[UNPARSED], str):
            return str(rest[UNPARSED])
    return json_text(given)


def arguments_object(text: str) -> Json:
    """Return the JSON object that ``text`` is, or one that holds the text."""
    if not text.strip():
        return {}
    try:
        found = json.loads(text)
        # A number beyond all bounds or half a character can be read, but not sent.
        json.dumps(found, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        return {UNPARSED: text}
    wraps = not isinstance(found, dict) or found.keys() == {UNPARSED}
    return {UNPARSED: text} if wraps else found


def json_text(value: object) -> str:
    """Return a part of a message as JSON.

    Raises:
        InvalidInput: it is nested too deep.
    """
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError as error:
        raise InvalidInput(f"a part of a message is no JSON ({error}): {value!r:.80}") from error


def function_of(call: ToolCall) -> dict[str, str]:
    """Return name and arguments of a call, with a name that every provider takes."""
    name = FUNCTION_NAME.sub("_", call.name)[:LONGEST_NAME] or "unnamed"
    return {"name": name, "arguments": call.arguments if call.arguments.strip() else "{}"}


# Pictures


def known_detail(given: object) -> str:
    """Return how closely a picture is to be looked at, as OpenAI knows it."""
    return str(given) if given in DETAILS else "auto"


def name_refused(image: Image, links: tuple[str, ...] = WEB) -> str | None:
    """Return the text to send for a picture that a provider refuses; ``None`` if it takes it."""
    inline = INLINE.match(image.url)
    if inline[1].lower() in MEDIA if inline else image.url.lower().startswith(links):
        return None
    is_data = image.url[:5].lower() == "data:"
    return f"[image: {inline[1] if inline else 'data' if is_data else image.url}]"


# Tokens

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
