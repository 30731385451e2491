"""A language model whose reply can be stopped by the person who waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from threading import Lock
from typing import Any

from memoranda.errors import LLMError
from memoranda.model.chat import ChatModel, ChatReply, OnText, ToolSpec
from memoranda.model.usage import Usage


class AnswerStopped(LLMError):
    """The person did not want to hear the rest."""


class InterruptibleModel:
    """Implements :class:`~memoranda.model.chat.ChatModel`: another one, whose reply can be stopped.

    Args:
        model: the one that replies.
    """

    def __init__(self, model: ChatModel) -> None:
        """Ask nothing yet."""
        self._model = model
        self._lock = Lock()
        self._stopped = False
        self._cancel: Callable[[], object] | None = None

    @property
    def name(self) -> str:
        """The model."""
        return self._model.name

    def begin(self) -> None:
        """Let it reply again after it was stopped."""
        self._stopped = False

    def stop(self) -> None:
        """End the reply that is under way, and every one until :meth:`begin`."""
        with self._lock:  # The loop of the reply stays until it is told.
            self._stopped = True
            if self._cancel is not None:
                self._cancel()

    async def chat(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[ToolSpec] = (),
        on_text: OnText | None = None,
    ) -> ChatReply:
        """Return what the model replies.

        Raises:
            LLMError: it failed, or was stopped.
        """
        task = asyncio.ensure_future(self._model.chat(messages, tools=tools, on_text=on_text))
        with self._lock:
            self._cancel = partial(asyncio.get_running_loop().call_soon_threadsafe, task.cancel)
            if self._stopped:
                task.cancel()
        try:
            return await task
        except asyncio.CancelledError:
            if not self._stopped:
                raise
            raise AnswerStopped("the answer was stopped", Usage(requests=1)) from None
        finally:
            with self._lock:
                self._cancel = None
