"""Google's ADK: its memory services and ours, by the calls that all of them have."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from google.adk.events.event import Event
from google.adk.memory import BaseMemoryService, InMemoryMemoryService, SqliteMemoryService
from google.adk.memory.memory_entry import MemoryEntry
from google.genai.types import Content, Part

from benchmarks.kit.adapter import Embed, Turn, WithoutKeys
from memoranda import AsyncMemory, Settings
from memoranda.integrations.google_adk import MemorandaMemoryService

APP = "kit"


class Service(WithoutKeys):
    """A turn is an event, and each service has its own way to tell which event an entry was."""

    packages: tuple[str, ...] = ("google-adk",)

    def __init__(self, folder: Path, _: Embed) -> None:
        """Open a service; it makes its vectors itself, if it has any."""
        self._runner = asyncio.Runner()
        self._service = self._run(self._open(folder))

    def _run(self, work: Any) -> Any:
        return self._runner.run(work)

    async def _open(self, folder: Path) -> BaseMemoryService:
        raise NotImplementedError

    def add(self, user: str, turns: Sequence[Turn]) -> None:
        """Add the events of each session."""
        for session in dict.fromkeys(turn.session for turn in turns):
            said = [turn for turn in turns if turn.session == session]
            self._run(
                self._service.add_events_to_memory(
                    app_name=APP,
                    user_id=user,
                    session_id=session,
                    events=[event_of(turn) for turn in said],
                )
            )

    def search(self, user: str, query: str, limit: int) -> list[str]:
        """Return the turns of the entries."""
        asked = self._service.search_memory(app_name=APP, user_id=user, query=query)
        return [self._event(user, entry) for entry in self._run(asked).memories[:limit]]

    def _event(self, user: str, entry: MemoryEntry) -> str:
        raise NotImplementedError

    def close(self) -> None:
        """Close the service."""
        self._runner.close()


def event_of(turn: Turn) -> Event:
    """Return a turn as an event; to the ADK, whoever is no agent is the user."""
    stamp = {} if turn.time is None else {"timestamp": turn.time.timestamp()}
    content = Content(role="user", parts=[Part(text=turn.text)])
    return Event(id=turn.id, author="user", content=content, **stamp)


class InMemory(Service):
    """The ADK's service in memory."""

    about = "number of shared words"

    async def _open(self, _: Path) -> BaseMemoryService:
        return InMemoryMemoryService()

    def _event(self, _: str, entry: MemoryEntry) -> str:
        return str(entry.id)


class Sqlite(Service):
    """The ADK's service on SQLite."""

    about = "BM25 (FTS5)"

    async def _open(self, folder: Path) -> BaseMemoryService:
        return SqliteMemoryService(folder / "memory.db", fts="on")

    def _event(self, _: str, entry: MemoryEntry) -> str:
        return str(entry.custom_metadata["event_id"])


class Memoranda(Service):
    """Our service for the ADK."""

    about = "as memoranda, of what an event tells"
    packages = ("google-adk", "memoranda")

    async def _open(self, folder: Path) -> BaseMemoryService:
        settings = Settings(timezone="UTC", consolidation={"automatic": False})
        self._memory = AsyncMemory(folder / "memory.db", settings=settings)
        return MemorandaMemoryService(await self._memory.__aenter__())

    def _event(self, user: str, entry: MemoryEntry) -> str:
        record = self._run(self._memory.as_user(user, agent=APP).get(entry.id))
        return str(record.metadata["event"])

    def add(self, user: str, turns: Sequence[Turn]) -> None:
        """Add the events, and wait for their vectors."""
        super().add(user, turns)
        self._run(self._memory.as_user(user, agent=APP).derive())

    def close(self) -> None:
        """Close the memory, then the loop."""
        self._run(self._memory.close())
        super().close()
