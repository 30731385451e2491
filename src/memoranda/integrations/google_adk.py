"""Google's Agent Development Kit: what sessions said and agents keep is found in a memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from google.adk.events.event import Event
from google.adk.memory import BaseMemoryService
from google.adk.memory.base_memory_service import SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.sessions.session import Session
from google.genai.types import Content, Part

from memoranda.aio import AsyncMemory
from memoranda.model.models import Record

# Items under the ids of events that were deleted: a session that is added again does not bring them
# back.
DELETED = ("google-adk", "deleted")


class MemorandaMemoryService(BaseMemoryService):
    """Keeps sessions in a memory, and finds what was said in them by words and by meaning.

    Each user of an application is a user of the memory, each application an agent of its own.

    Args:
        memory: keeps them; it stays open as long as the service is used.
        limit: the most that a search returns.
    """

    def __init__(self, memory: AsyncMemory, *, limit: int = 10) -> None:
        """Keep nothing yet."""
        self.memory, self.limit = memory, limit

    async def add_session_to_memory(self, session: Session) -> None:
        """Keep what is new in a session."""
        await self.add_events_to_memory(
            app_name=session.app_name,
            user_id=session.user_id,
            events=session.events,
            session_id=session.id,
        )

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Keep each event with a text, once."""
        memory = self.memory.as_user(user_id, agent=app_name)
        said = {event.id: event for event in events if text_of(event.content).strip()}
        where: dict[str, Any] = {"metadata": {"event": {"in": list(said)}}, "limit": len(said) + 1}
        known = [
            *await memory.records(kind="episode", session=session_id, **where),
            *await memory.records(namespace=DELETED, **where),
        ]
        for record in known:
            said.pop(record.metadata["event"], None)
        await memory.remember_many(
            {
                "content": text_of(event.content),
                "kind": "episode",
                "session": session_id,
                "role": "user" if event.author == "user" else "assistant",
                "event_time": datetime.fromtimestamp(event.timestamp, UTC),
                "metadata": {**(custom_metadata or {}), "event": event.id, "author": event.author},
            }
            for event in said.values()
        )

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Keep facts that an application states."""
        await self.memory.as_user(user_id, agent=app_name).remember_many(
            {
                "content": text_of(entry.content),
                "role": "assistant",
                "event_time": parse_time(entry.timestamp),
                "metadata": {
                    **(custom_metadata or {}),
                    **entry.custom_metadata,
                    "author": entry.author or "",
                },
            }
            for entry in memories
        )

    async def search_memory(
        self, *, app_name: str, user_id: str, query: str
    ) -> SearchMemoryResponse:
        """Return what best answers ``query``, best first."""
        memory = self.memory.as_user(user_id, agent=app_name)
        hits = await memory.search(query, limit=self.limit) if query.strip() else []
        return SearchMemoryResponse(memories=[entry_of(hit.record) for hit in hits])

    async def delete_memory(
        self, *, app_name: str, user_id: str, memory_id: str | None = None
    ) -> None:
        """Remove every trace of what a search returned."""
        memory = self.memory.as_user(user_id, agent=app_name)
        record = await memory.get(memory_id)
        if record is not None:
            event = record.metadata.get("event")
            if event is not None:
                place: dict[str, Any] = {"kind": "item", "namespace": DELETED, "key": event}
                await memory.remember(event, **place, metadata={"event": event})
            await memory.forget(record.id, erase=True)


def parse_time(text: str | None) -> datetime | None:
    """Return when something was, in the time zone of this machine where it names none."""
    return datetime.fromisoformat(text).astimezone() if text else None


def text_of(content: Content | None) -> str:
    """Return the text in a content; the thoughts of a model are none."""
    parts = content.parts if content and content.parts else []
    return " ".join(part.text for part in parts if part.text and not part.thought)


def entry_of(record: Record) -> MemoryEntry:
    """Return a record as the ADK has it."""
    known = dict(record.metadata)
    known.pop("event", None)
    author = known.pop("author", "") or record.source_role
    role = "user" if record.source_role == "user" else "model"
    return MemoryEntry(
        id=record.id,
        content=Content(role=role, parts=[Part(text=record.content)]),
        author=author,
        timestamp=record.event_time.isoformat(),
        custom_metadata=known,
    )
