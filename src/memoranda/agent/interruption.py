"""A language model whose reply can be stopped by the person who waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from threading import Event
from typing import Any

from memoranda.errors import LLMError
from memoranda.model.chat import ChatModel, ChatReply
from memoranda.model.usage import Usage

PATIENCE = 0.1  # seconds until it is seen that a reply was stopped


class AnswerStopped(LLMError):
    """The person did not want to hear the rest."""


class InterruptibleModel:
    """Implements :class:`~memoranda.model.chat.ChatModel`: another one, whose reply can be stopped.

    Args:
        model: the one that replies.
    """

    def __init__(self, model: ChatModel) -> None:
        """Ask nothing yet."""
        self._model, self._stopped = model, Event()

    @property
    def name(self) -> str:
        """The model."""
        return self._model.name

    def begin(self) -> None:
        """Let it reply again after it was stopped."""
        self._stopped.clear()

    def stop(self) -> None:
        """End the reply that is under way, and every one until :meth:`begin`."""
        self._stopped.set()

    async def chat(self, messages: Sequence[Mapping[str, Any]], **options: Any) -> ChatReply:
        """Return what the model replies.

        Raises:
            LLMError: it failed, or was stopped.
        """
        reply = asyncio.ensure_future(self._model.chat(messages, **options))
        try:
            while not reply.done():
                await asyncio.wait([reply], timeout=PATIENCE)
                if self._stopped.is_set():
                    raise AnswerStopped("the answer was stopped", Usage(requests=1))
            return reply.result()
        finally:
            reply.cancel()
