"""The asynchronous face of a conversation: the same verbs, each one hop to a worker thread."""

from __future__ import annotations

from asyncio import to_thread
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from memoranda.conversation.conversation import Conversation
from memoranda.conversation.system_extras import Session
from memoranda.conversation.talk_stats import ConversationStats
from memoranda.conversation.view import View
from memoranda.model.events import Callback
from memoranda.model.models import (
    Context,
    Image,
    Marker,
    Message,
    Pruning,
    ToolCall,
    ToolResult,
)
from memoranda.model.ports import Summarizer
from memoranda.settings.settings import Settings


class AsyncConversation:
    """A :class:`memoranda.Conversation` for code that must not block."""

    def __init__(self, conversation: Conversation) -> None:
        """Wrap ``conversation``; both may be used."""
        self._conversation = conversation

    @classmethod
    async def open(
        cls,
        path: str | Path,
        *,
        system: str | None = None,
        model: str | None = None,
        context_limit: int | None = None,
        max_tokens: int | None = None,
        max_messages: int | None = None,
        keep_recent: int | None = None,
        strategy: str | None = None,
        settings: Settings | None = None,
        summarizer: Summarizer | None = None,
    ) -> Self:
        """Open the conversation that lives in the session file ``path``, or start it."""
        opened = await to_thread(
            Conversation.open,
            path,
            system=system,
            model=model,
            context_limit=context_limit,
            max_tokens=max_tokens,
            max_messages=max_messages,
            keep_recent=keep_recent,
            strategy=strategy,
            settings=settings,
            summarizer=summarizer,
        )
        return cls(opened)

    @property
    def id(self) -> str:
        """The name under which it is stored."""
        return self._conversation.id

    @property
    def system(self) -> str | None:
        """The system prompt."""
        return self._conversation.system

    @property
    def messages(self) -> tuple[Message, ...]:
        """All messages since the last :meth:`clear`, in order."""
        return self._conversation.messages

    @property
    def session(self) -> Session:
        """The present session: what was said since it began, and what its recap tells."""
        return self._conversation.session

    @property
    def prunings(self) -> tuple[Pruning, ...]:
        """The receipts of all prunings, oldest first: what went, when and why."""
        return self._conversation.prunings

    async def add(
        self,
        role: str,
        content: str,
        *,
        tool_calls: Iterable[ToolCall | Mapping[str, Any]] = (),
        tool_result: ToolResult | str | None = None,
        images: Iterable[Image | str] = (),
        timestamp: datetime | None = None,
        task: str | None = None,
    ) -> Message:
        """Add one message at the end and return it. Waits for no model."""
        return await to_thread(
            self._conversation.add,
            role,
            content,
            tool_calls=tool_calls,
            tool_result=tool_result,
            images=images,
            timestamp=timestamp,
            task=task,
        )

    async def extend(self, messages: Iterable[Message | Mapping[str, Any]]) -> tuple[Message, ...]:
        """Add many messages in one transaction: all of them, or none."""
        return await to_thread(self._conversation.extend, messages)

    async def recent(self, n: int) -> tuple[Message, ...]:
        """Return the last ``n`` messages in order."""
        return await to_thread(self._conversation.recent, n)

    async def by_role(self, role: str) -> tuple[Message, ...]:
        """Return the messages of one role in order."""
        return await to_thread(self._conversation.by_role, role)

    async def window(self, turns: int | None = None) -> tuple[Message, ...]:
        """Return the last ``turns`` turns: from a user's message to the next (seed 001)."""
        return await to_thread(self._conversation.window, turns)

    async def view(self, budget: int | None = None) -> View:
        """Return the messages that fit ``budget`` tokens; a pure function of the transcript."""
        return await to_thread(self._conversation.view, budget)

    async def context(
        self, prompt: str | None = None, *, budget: int | None = None, form: str = "openai"
    ) -> Context:
        """Return what to send to the model: system prompt, memory, conversation, prompt."""
        return await to_thread(self._conversation.context, prompt, budget=budget, form=form)

    async def calibrate(self, actual: object) -> None:
        """Learn from how many tokens the provider counted in the last context."""
        await to_thread(self._conversation.calibrate, actual)

    async def stats(self) -> ConversationStats:
        """Return counts and tokens, as a context without a prompt would have them."""
        return await to_thread(self._conversation.stats)

    async def pin(self, id: str, *, pinned: bool = True) -> None:
        """Keep a message in every context, or stop keeping it."""
        await to_thread(self._conversation.pin, id, pinned=pinned)

    async def prune(self, max_tokens: int | None = None) -> Pruning | None:
        """Take messages out of every later view, by the strategy; return the receipt."""
        return await to_thread(self._conversation.prune, max_tokens)

    async def start_session(self, *, recap: int = 0) -> Pruning | None:
        """Start a new session: all but system messages and pins leave the view (R6.5)."""
        return await to_thread(self._conversation.start_session, recap=recap)

    async def expand(self, marker: Marker | str) -> tuple[Message, ...]:
        """Return the messages that a marker stands for, exactly as they were said."""
        return await to_thread(self._conversation.expand, marker)

    async def recount(self) -> None:
        """Count all messages anew, as when the conversation goes on with another model."""
        await to_thread(self._conversation.recount)

    async def clear(self) -> None:
        """Start afresh: what was said so far stays out of every later context."""
        await to_thread(self._conversation.clear)

    async def end(self) -> None:
        """Mark the conversation as finished. It can still be read, and gone on with."""
        await to_thread(self._conversation.end)

    def on(self, event: str, callback: Callback) -> None:
        """Call ``callback`` after each ``event`` of :meth:`memoranda.Conversation.on`."""
        self._conversation.on(event, callback)

    async def length(self) -> int:
        """Return how many messages there are since the last clear; ``len()`` cannot wait."""
        return await to_thread(len, self._conversation)
