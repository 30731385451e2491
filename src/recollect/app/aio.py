"""The asynchronous faces: the same verbs, each one hop to a worker thread.

No logic is here. What a verb does, takes and raises stands in :class:`recollect.Memory` and
:class:`recollect.Conversation`; a test holds the signatures together.
"""

from __future__ import annotations

from asyncio import to_thread
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from recollect.app.conversation import Conversation
from recollect.app.memory import Memory
from recollect.app.porting import PortingReport
from recollect.app.settings import Settings
from recollect.app.talk_stats import ConversationStats
from recollect.app.upkeep import MemoryStats
from recollect.conversation.view import View
from recollect.core.clock import Clock
from recollect.core.events import Callback
from recollect.core.models import (
    Change,
    Context,
    ConversationInfo,
    Entity,
    ForgetReceipt,
    Hit,
    Image,
    Marker,
    Message,
    Pruning,
    Recall,
    Record,
    ToolCall,
    ToolResult,
)
from recollect.core.ports import Embedder, Progress, Summarizer


class AsyncConversation:
    """A :class:`recollect.Conversation` for code that must not block."""

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

    async def window(self, turns: int = 5) -> tuple[Message, ...]:
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

    async def start_session(self) -> Pruning | None:
        """Start a new session: all but system messages and pins leave the view (R6.5)."""
        return await to_thread(self._conversation.start_session)

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
        """Call ``callback`` after each ``event`` of :meth:`recollect.Conversation.on`."""
        self._conversation.on(event, callback)

    async def length(self) -> int:
        """Return how many messages there are since the last clear; ``len()`` cannot wait."""
        return await to_thread(len, self._conversation)


class AsyncMemory:
    """A :class:`recollect.Memory` for code that must not block; it takes the same arguments."""

    def __init__(
        self,
        location: str | Path | None = None,
        *,
        user: str = "default",
        agent: str | None = None,
        settings: Settings | None = None,
        embedder: Embedder | None = None,
        llm: object | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Open the store, making it if it is not there. Loads no model yet."""
        self._memory = Memory(
            location,
            user=user,
            agent=agent,
            settings=settings,
            embedder=embedder,
            llm=llm,
            clock=clock,
        )

    async def __aenter__(self) -> Self:
        """Return the memory itself."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the memory."""
        await self.close()

    def as_user(self, user: str, *, agent: str | None = None) -> AsyncMemory:
        """Return the memory of another user in the same store, sharing all its parts."""
        other = object.__new__(AsyncMemory)
        other._memory = self._memory.as_user(user, agent=agent)
        return other

    async def close(self) -> None:
        """Stop the background work and release the store. Nothing is lost; twice is harmless."""
        await to_thread(self._memory.close)

    @property
    def user(self) -> str:
        """Whose memory this is."""
        return self._memory.user

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self._memory.settings

    async def users(self) -> list[str]:
        """Return every user of the store. For its administration, not for agents."""
        return await to_thread(self._memory.users)

    def on(self, event: str, callback: Callback) -> None:
        """Call ``callback`` after each ``event``: remembered, corrected or forgotten."""
        self._memory.on(event, callback)

    async def remember(
        self,
        content: str,
        *,
        kind: str = "fact",
        tags: Iterable[str] = (),
        metadata: Mapping[str, Any] | None = None,
        event_time: datetime | None = None,
        session: str | None = None,
        role: str | None = None,
        confidence: float = 1.0,
        decay_rate: float | None = None,
    ) -> Record:
        """Store one record and return it. Waits for no model."""
        return await to_thread(
            self._memory.remember,
            content,
            kind=kind,
            tags=tags,
            metadata=metadata,
            event_time=event_time,
            session=session,
            role=role,
            confidence=confidence,
            decay_rate=decay_rate,
        )

    async def remember_many(self, items: Iterable[str | Mapping[str, Any]]) -> list[Record]:
        """Store many records in one transaction: all of them, or none."""
        return await to_thread(self._memory.remember_many, items)

    async def correct(self, id: str, content: str) -> Record:
        """Replace what a record says; return the record that supersedes it."""
        return await to_thread(self._memory.correct, id, content)

    async def confirm(self, id: str) -> Record:
        """Believe a record fully and for ever; return it."""
        return await to_thread(self._memory.confirm, id)

    async def forget(self, id: str, *, erase: bool = False) -> ForgetReceipt:
        """Stop believing a record, or remove every trace of it."""
        return await to_thread(self._memory.forget, id, erase=erase)

    async def set_context(self, key: str, value: str) -> Record:
        """Keep ``value`` under ``key`` until the day ends in the user's time zone (seed 001)."""
        return await to_thread(self._memory.set_context, key, value)

    async def get_context(self, key: str) -> str | None:
        """Return the newest value of ``key``, ``None`` if there is none or its day is over."""
        return await to_thread(self._memory.get_context, key)

    async def search(
        self,
        query: str,
        *,
        kind: str | None = None,
        limit: int = 5,
        min_score: float | None = None,
        session: str | None = None,
        exclude_session: str | None = None,
        tags: Iterable[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        as_of: datetime | None = None,
    ) -> list[Hit]:
        """Return the records that best answer ``query``, best first, each with its reasons."""
        return await to_thread(
            self._memory.search,
            query,
            kind=kind,
            limit=limit,
            min_score=min_score,
            session=session,
            exclude_session=exclude_session,
            tags=tags,
            metadata=metadata,
            since=since,
            until=until,
            as_of=as_of,
        )

    async def recall(
        self, prompt: str, *, budget: int = 1000, exclude_session: str | None = None
    ) -> Recall:
        """Return what memory has for ``prompt``, as a Markdown block within ``budget``."""
        return await to_thread(
            self._memory.recall, prompt, budget=budget, exclude_session=exclude_session
        )

    async def get(self, id: str) -> Record | None:
        """Return a record, active or not; ``None`` if there is none, or it is another user's."""
        return await to_thread(self._memory.get, id)

    async def records(
        self,
        *,
        kind: str | None = None,
        session: str | None = None,
        limit: int = 100,
        after: str | None = None,
    ) -> list[Record]:
        """Return a page of active records in the order they were recorded."""
        return await to_thread(
            self._memory.records, kind=kind, session=session, limit=limit, after=after
        )

    async def history(self, id: str) -> list[Change]:
        """Return what was done to a record, oldest first; empty if nothing is known of it."""
        return await to_thread(self._memory.history, id)

    async def entity(self, name: str) -> Entity | None:
        """Return the person, place or thing of that name or alias, with records about it."""
        return await to_thread(self._memory.entity, name)

    async def entities(self, *, type: str | None = None, limit: int = 100) -> list[Entity]:
        """Return what records speak of, most mentioned first."""
        return await to_thread(self._memory.entities, type=type, limit=limit)

    async def conversation(
        self,
        id: str,
        *,
        system: str | None = None,
        model: str | None = None,
        context_limit: int | None = None,
        max_tokens: int | None = None,
        max_messages: int | None = None,
        keep_recent: int | None = None,
        strategy: str | None = None,
        summarizer: Summarizer | None = None,
    ) -> AsyncConversation:
        """Open the conversation ``id``, or start it. It goes on where it was left."""
        opened = await to_thread(
            self._memory.conversation,
            id,
            system=system,
            model=model,
            context_limit=context_limit,
            max_tokens=max_tokens,
            max_messages=max_messages,
            keep_recent=keep_recent,
            strategy=strategy,
            summarizer=summarizer,
        )
        return AsyncConversation(opened)

    async def conversations(self) -> list[ConversationInfo]:
        """Return the stored conversations, the newest first."""
        return await to_thread(self._memory.conversations)

    async def stats(self) -> MemoryStats:
        """Return what the memory holds, and whether all its parts work."""
        return await to_thread(self._memory.stats)

    async def verify(self) -> list[str]:
        """Return a line for each problem in the whole store; none if it is sound."""
        return await to_thread(self._memory.verify)

    async def rebuild(self) -> list[str]:
        """Derive index, entity links and vector queue anew; return what was different."""
        return await to_thread(self._memory.rebuild)

    async def purge(self) -> bool:
        """Overwrite what erased text left in free space; false while others read the file."""
        return await to_thread(self._memory.purge)

    async def embed_pending(self, progress: Progress | None = None) -> int:
        """Give vectors to all records of the store that wait for them; return how many did."""
        return await to_thread(self._memory.embed_pending, progress)

    async def reembed(self, progress: Progress | None = None) -> int:
        """Make every vector of the store anew with the present model; return how many."""
        return await to_thread(self._memory.reembed, progress)

    async def export(self, path: str | Path, *, conversation: str | None = None) -> PortingReport:
        """Write all of the user's records and conversations to a JSON Lines file."""
        return await to_thread(self._memory.export, path, conversation=conversation)

    async def import_(
        self, path: str | Path, format: str | None = None, *, progress: Progress | None = None
    ) -> PortingReport:
        """Read a file of recollect, a session, OpenAI messages or LoCoMo talks into memory."""
        return await to_thread(self._memory.import_, path, format, progress=progress)

    async def backup(self, path: str | Path) -> None:
        """Write a consistent copy of the whole store, while others go on using it."""
        await to_thread(self._memory.backup, path)
