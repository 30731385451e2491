"""The asynchronous face of a memory: the same verbs, each one hop to a worker thread.

No logic is here. What a verb does, takes and raises stands in :class:`memoranda.Memory` and
:class:`memoranda.Conversation`; a test holds the signatures together.
"""

from __future__ import annotations

from asyncio import to_thread
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from memoranda.aio_conversation import AsyncConversation
from memoranda.aio_notes import AsyncNotes
from memoranda.maintenance.audit import Audit
from memoranda.memory import Memory
from memoranda.memory_upkeep import MemoryStats
from memoranda.model.clock import Clock
from memoranda.model.events import Callback
from memoranda.model.life import SessionInfo, StageUsage
from memoranda.model.models import (
    Change,
    ConversationInfo,
    Entity,
    ForgetReceipt,
    Hit,
    Recall,
    Record,
)
from memoranda.model.ports import Embedder, LanguageModel, Progress, Summarizer
from memoranda.model.reports import MaintenanceReport, StageReport
from memoranda.settings.settings import Settings
from memoranda.tools import AsyncTool
from memoranda.transfer.porting import PortingReport


class AsyncMemory:
    """A :class:`memoranda.Memory` for code that must not block; it takes the same arguments."""

    def __init__(
        self,
        location: str | Path | None = None,
        *,
        user: str = "default",
        agent: str | None = None,
        settings: Settings | None = None,
        embedder: Embedder | None = None,
        llm: LanguageModel | str | None = None,
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
        """Read a file of memoranda, a session, OpenAI messages or LoCoMo talks into memory."""
        return await to_thread(self._memory.import_, path, format, progress=progress)

    async def backup(self, path: str | Path) -> None:
        """Write a consistent copy of the whole store, while others go on using it."""
        await to_thread(self._memory.backup, path)

    async def consolidate(
        self, session: str | None = None, *, dry_run: bool = False
    ) -> StageReport:
        """Turn what was said in sessions into facts; report what was done."""
        return await to_thread(self._memory.consolidate, session, dry_run=dry_run)

    async def expire(self, *, dry_run: bool = False) -> StageReport:
        """Retire what is past its retention; ``count`` says how many records."""
        return await to_thread(self._memory.expire, dry_run=dry_run)

    async def decay(self, *, dry_run: bool = False) -> StageReport:
        """Let facts fade that nobody asked for; retire those below ``decay.threshold``."""
        return await to_thread(self._memory.decay, dry_run=dry_run)

    async def enrich(self, *, dry_run: bool = False) -> StageReport:
        """Find names anew, accurately, in records with few of them (seed 004)."""
        return await to_thread(self._memory.enrich, dry_run=dry_run)

    async def reflect(self, *, dry_run: bool = False) -> StageReport:
        """Write the weekly insight, if one is due and there is something to say."""
        return await to_thread(self._memory.reflect, dry_run=dry_run)

    async def maintain(
        self, stages: Iterable[str] | None = None, *, dry_run: bool = False
    ) -> MaintenanceReport:
        """Run all stages of upkeep, or some, in the order of a night."""
        return await to_thread(self._memory.maintain, stages, dry_run=dry_run)

    async def sessions(self, *, pending: bool = False) -> list[SessionInfo]:
        """Return the sessions and how far they became facts; only those that wait, if asked."""
        return await to_thread(self._memory.sessions, pending=pending)

    async def usage(self) -> list[StageUsage]:
        """Return what the stages have used of language models, by stage and model."""
        return await to_thread(self._memory.usage)

    async def merge_entities(self, name: str, other: str) -> Entity:
        """Make two entities one, which keeps the name of the first; return it."""
        return await to_thread(self._memory.merge_entities, name, other)

    async def split_entity(self, name: str, alias: str) -> Entity:
        """Make an alias of an entity an entity of its own, for good; return the new one."""
        return await to_thread(self._memory.split_entity, name, alias)

    async def audit(self, path: str | Path | None = None) -> Audit:
        """Look for junk: duplicates, contradictions, loops, secrets and more; change nothing."""
        return await to_thread(self._memory.audit, path)

    @property
    def notes(self) -> AsyncNotes:
        """The Markdown notes that a person can read and edit: MEMORY.md and the history."""
        return AsyncNotes(self._memory.notes)

    def tools(self) -> list[AsyncTool]:
        """Return the six tools by which an agent uses this memory (seed 004), to be awaited."""
        return [AsyncTool(tool) for tool in self._memory.tools()]

    def consolidator_tools(self) -> list[AsyncTool]:
        """Return the tools by which an agent of your own consolidates (seed 004)."""
        return [AsyncTool(tool) for tool in self._memory.consolidator_tools()]
