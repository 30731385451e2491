"""The port of a chat model: messages in, a reply with text and tool calls out.

And what the providers of models have in common: which ids and pictures they take, and what not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from memoranda.model.checks import content_hash
from memoranda.model.models import ToolCall
from memoranda.model.usage import Usage

# Called with each piece of a reply as it comes.
OnText = Callable[[str], None]

# Stands for the user where a conversation would begin with the assistant.
OPENING = "(start)"
# Stands for the text of an error without any.
FAILED = "(The tool failed and said nothing.)"
# The pictures and documents that all take, by what these may be called.
MEDIA = {f"image/{name}": f"image/{name}" for name in ("png", "jpeg", "gif", "webp")}
MEDIA |= {"image/jpg": "image/jpeg", "application/pdf": "application/pdf"}


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as a model is told of it: its name, what it does, a JSON schema of its arguments."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ChatReply:
    """What a model replied.

    Attributes:
        text: its words; may be empty where it calls tools.
        tool_calls: the calls it makes, in order.
        usage: what the reply took.
        complete: whether it was not cut off by a limit of tokens.
    """

    text: str
    tool_calls: tuple[ToolCall, ...]
    usage: Usage
    complete: bool = True


class ChatModel(Protocol):
    """A large language model that holds a conversation and can call tools."""

    @property
    def name(self) -> str:
        """The model, such as ``anthropic:claude-…``; no secrets."""

    async def chat(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[ToolSpec] = (),
        on_text: OnText | None = None,
    ) -> ChatReply:
        """Return what the model replies to ``messages``.

        Args:
            messages: a conversation in the form of OpenAI's chat completions, as
                ``Context.messages`` gives it: system messages first, calls with their results.
            tools: what it may call.
            on_text: called with each piece of its words as they come; they are streamed then. It
                is called on the thread of the event loop, and must not block.

        Raises:
            LLMError: it failed beyond the retries, or took too long; ``error.usage`` says what
                was spent all the same. Once words were told, nothing is tried again.
        """


def sendable_id(given: str, taken: set[str], accepts: Callable[[str], object]) -> str:
    """Return the id under which a call is sent, and take it.

    One that the provider accepts stays as it is; any other, and one that is ``taken``, becomes a
    hash of itself.
    """
    chosen = given
    while chosen in taken or not accepts(chosen):
        chosen = f"call_{content_hash(chosen)}"
    taken.add(chosen)
    return chosen
