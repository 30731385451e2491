"""A language model through pydantic-ai, with tolerant parsing."""

# What loads pydantic-ai is imported in functions: it takes two seconds.
# ruff: noqa: PLC0415

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, TypeVar

from memoranda.model.chat import ChatReply, OnText, ToolSpec
from memoranda.model.usage import Reply
from memoranda.providers.llm.spec import ModelConnection, is_local

T = TypeVar("T")


class PydanticAIModel:
    """Implements two ports for all providers of pydantic-ai: it answers, and it talks.

    They are :class:`memoranda.model.ports.LanguageModel` and
    :class:`memoranda.model.chat.ChatModel`.
    It may be asked from any thread and any event loop, and by several tasks at once.

    Attributes:
        name: the model and its server, without the key.
    """

    def __init__(self, connection: ModelConnection) -> None:
        """Make a model; nothing is sent or loaded yet."""
        self._to = connection
        self.name = str(connection)

    @property
    def costs_money(self) -> bool:
        """Whether calls are paid for: not those of a server of one's own that has no price."""
        if not is_local(self._to.url):
            return True
        from genai_prices import Usage, calc_price

        try:
            return bool(calc_price(Usage(input_tokens=1, output_tokens=1), self._to.model))
        except LookupError:
            return False

    async def ask(self, instructions: str, prompt: str, answer: type[T]) -> Reply[T]:
        """Return what the model answers to ``prompt``, as an ``answer``, which is a dataclass.

        An answer that is not one is sent back once, with what is wrong with it. After that,
        elements of lists that cannot be used are left out where others can.

        Raises:
            LLMError: it failed beyond the retries, took too long, or gave no such answer.
        """
        await _load("answers")
        from memoranda.providers.llm.answers import ask_model

        return await ask_model(self._to, instructions, prompt, answer)

    async def chat(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[ToolSpec] = (),
        on_text: OnText | None = None,
    ) -> ChatReply:
        """Return what the model replies, as :class:`memoranda.model.chat.ChatModel` says.

        Where ``on_text`` is given, the time-out is the longest silence between two pieces. A reply
        that the limit of tokens cut off comes as far as it goes; one cut off in the middle of a
        call is an error, as is a refusal without words.

        Raises:
            LLMError: it failed beyond the retries, took too long, or gave no reply.
            InvalidInput: a message is in no known form.
        """
        await _load("chat_calls")
        from memoranda.providers.llm.chat_calls import call_chat

        return await call_chat(self._to, messages, tools, on_text)


async def _load(name: str) -> None:
    """Load what loads pydantic-ai: with the first call, and off the event loop."""
    await asyncio.to_thread(import_module, f"memoranda.providers.llm.{name}")
