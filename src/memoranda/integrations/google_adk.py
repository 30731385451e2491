"""Google's Agent Development Kit: sessions are kept, and what they said is found, in a memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events.event import Event
from google.adk.memory import BaseMemoryService
from google.adk.memory.base_memory_service import SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.platform.time import get_time
from google.adk.sessions import BaseSessionService, State
from google.adk.sessions.base_session_service import GetSessionConfig, ListSessionsResponse
from google.adk.sessions.session import Session
from google.genai.types import Content, Part
from pydantic_core import to_jsonable_python

from memoranda.aio import AsyncMemory
from memoranda.model.checks import MOST
from memoranda.model.models import Record

# Items under the ids of events that were deleted: a session that is added again does not bring them
# back.
DELETED = ("google-adk", "deleted")
# Sessions are items here, under the name of the application.
ROOT, SESSION, NOTHING = "google-adk-sessions", "session", "-"


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
        who: dict[str, Any] = {"app_name": session.app_name, "user_id": session.user_id}
        await self.add_events_to_memory(events=session.events, session_id=session.id, **who)

    async def add_events_to_memory(
        self,
        *,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
        **who: Any,
    ) -> None:
        """Keep each event with a text, once."""
        memory = memory_of(self.memory, **who)
        said = {event.id: event for event in events if text_of(event.content).strip()}
        where: dict[str, Any] = {"metadata": {"event": {"in": list(said)}}, "limit": len(said) + 1}
        for which in ({"kind": "episode", "session": session_id}, {"namespace": DELETED}):
            for record in await memory.records(**which, **where):
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
        self, *, memories: Sequence[MemoryEntry], custom_metadata: Any = None, **who: Any
    ) -> None:
        """Keep facts that an application states."""
        given = custom_metadata or {}
        await memory_of(self.memory, **who).remember_many(
            {
                "content": text_of(entry.content),
                "role": "assistant",
                "event_time": parse_time(entry.timestamp),
                "metadata": {**given, **entry.custom_metadata, "author": entry.author or ""},
            }
            for entry in memories
        )

    async def search_memory(self, *, query: str, **who: Any) -> SearchMemoryResponse:
        """Return what best answers ``query``, best first."""
        memory = memory_of(self.memory, **who)
        hits = await memory.search(query, limit=self.limit) if query.strip() else []
        return SearchMemoryResponse(memories=[entry_of(hit.record) for hit in hits])

    async def delete_memory(self, *, memory_id: str | None = None, **who: Any) -> None:
        """Remove every trace of what a search returned."""
        memory = memory_of(self.memory, **who)
        record = await memory.get(memory_id)
        if record is not None:
            event = record.metadata.get("event")
            if event is not None:
                await memory.remember_many([as_item(DELETED, event, event=event)])
            await memory.forget(record.id, erase=True)


class MemorandaSessionService(BaseSessionService):
    """Keeps the sessions of applications, their events and their state, as items of a memory.

    Those of a user are kept for this user; the state of an application, for all of them, by the
    user whose memory this is.

    Args:
        memory: keeps them; it stays open as long as the service is used.
    """

    def __init__(self, memory: AsyncMemory) -> None:
        """Keep nothing yet."""
        self.memory = memory

    async def create_session(
        self, *, state: dict[str, Any] | None = None, session_id: str | None = None, **who: Any
    ) -> Session:
        """Begin a session.

        Raises:
            AlreadyExistsError: there is one of this id.
        """
        name = (session_id or "").strip() or str(uuid4())
        if await self.get_session(session_id=name, **who):
            raise AlreadyExistsError(f"Session with id {name} already exists.")
        await self._keep(Session(id=name, last_update_time=get_time(), **who), {}, state or {})
        return await self.get_session(session_id=name, **who) or Session(id=name, **who)

    async def get_session(
        self, *, session_id: str, config: GetSessionConfig | None = None, **who: Any
    ) -> Session | None:
        """Return a session with its state and all events, or those that ``config`` asks for."""
        memory, place = memory_of(self.memory, **who), place_of(session_id, who["app_name"])
        kept, asked = await memory.get(namespace=place, key=SESSION), config or GetSessionConfig()
        if kept is None:
            return None
        session = make_session(kept, await self._shared_state(**who), **who)
        if asked.num_recent_events != 0:
            since = asked.after_timestamp
            newest = await memory.records(
                namespace=(*place, "events"),
                metadata={} if since is None else {"at": {"gte": since}},
                limit=asked.num_recent_events or MOST,
                newest_first=True,
            )
            events = (each.metadata["event"] for each in reversed(newest))
            session.events = [Event.model_validate(each) for each in events]
        return session

    async def list_sessions(
        self, *, app_name: str, user_id: str | None = None
    ) -> ListSessionsResponse:
        """Return the sessions of a user, or of all users, without events, the newest last."""
        found = []
        place = (ROOT, app_name, SESSION)
        for user in await self.memory.admin.users() if user_id is None else [user_id]:
            who = {"app_name": app_name, "user_id": user}
            shared = await self._shared_state(**who)
            memory = memory_of(self.memory, **who)
            kept = await memory.records(namespace=place, tags=[SESSION], limit=MOST)
            found += [make_session(each, shared, **who) for each in kept]
        found.sort(key=lambda each: (each.last_update_time, each.user_id, each.id))
        return ListSessionsResponse(sessions=found)

    async def delete_session(self, *, session_id: str, **who: Any) -> None:
        """Forget a session with its events and state."""
        place = place_of(session_id, who["app_name"])
        await memory_of(self.memory, **who).forget_many(namespace=place)

    async def get_user_state(self, **who: Any) -> dict[str, Any]:
        """Return what an application has of a user in all sessions, without the prefix."""
        prefix, shared = State.USER_PREFIX, await self._shared_state(**who)
        return {key.removeprefix(prefix): shared[key] for key in shared if key.startswith(prefix)}

    async def append_event(self, session: Session, event: Event) -> Event:
        """Add an event and what it changes of the state; the same event again changes nothing.

        Raises:
            SessionNotFoundError: there is no such session.
        """
        if event.partial:
            return event
        memory = self.memory.as_user(session.user_id, agent=session.app_name)
        place = place_of(session.id, session.app_name)
        kept = await memory.get(namespace=place, key=SESSION)
        if kept is None:
            raise SessionNotFoundError(f"Session {session.id} not found.")
        if all(each.id != event.id for each in session.events):
            await super().append_event(session, event)
        session.last_update_time = event.timestamp
        await self._keep(session, kept.metadata["state"], event.actions.state_delta, event)
        return event

    async def _shared_state(self, *, app_name: str, user_id: str) -> dict[str, Any]:
        """Return what sessions share of the state of their application and their user."""
        user = self.memory.as_user(user_id, agent=app_name)
        of_app = await self.memory.records(namespace=(ROOT, app_name, "app"), limit=MOST)
        of_user = await user.records(namespace=(ROOT, app_name, "user"), limit=MOST)
        return {str(each.key): each.metadata["value"] for each in of_app + of_user}

    async def _keep(
        self, session: Session, state: Mapping[str, Any], delta: Mapping[str, Any], *events: Event
    ) -> None:
        """Keep a session with its new state and events in one transaction.

        What is the application's is in one of its own, before that.
        """
        app, place, own = session.app_name, place_of(session.id, session.app_name), dict(state)
        shared: dict[str, list[Any]] = {"app": [], "user": [], "temp": []}
        for key, value in to_jsonable_python(dict(delta), fallback=str).items():
            scope, prefixed, _ = key.partition(":")
            if prefixed and scope in shared:
                shared[scope].append(as_item((ROOT, app, scope), key, value=value))
            else:
                own[key] = value
        about = {"id": session.id, "updated": session.last_update_time, "state": own}
        items = [as_item(place, SESSION, tags=[SESSION], **about), *shared["user"]]
        for event in events:
            whole = event.model_dump(mode="json", exclude_none=True)
            items.append(as_item((*place, "events"), event.id, at=event.timestamp, event=whole))
        await self.memory.remember_many(shared["app"])
        await self.memory.as_user(session.user_id, agent=app).remember_many(items)


def place_of(session_id: str, app_name: str) -> tuple[str, ...]:
    """Return the namespace of a session."""
    return (ROOT, app_name, SESSION, session_id.strip())


def make_session(kept: Record, shared: Mapping[str, Any], **who: Any) -> Session:
    """Return a session without events, with its own state and what it shares."""
    state, updated = {**kept.metadata["state"], **shared}, kept.metadata["updated"]
    return Session(id=kept.metadata["id"], state=state, last_update_time=updated, **who)


def as_item(
    namespace: Sequence[str], key: str, *, tags: Sequence[str] = (), **metadata: Any
) -> dict[str, Any]:
    """Return an item that no search finds."""
    where = {"kind": "item", "namespace": namespace, "key": key, "content": NOTHING}
    return {**where, "metadata": metadata, "tags": tags}


def memory_of(memory: AsyncMemory, *, app_name: str, user_id: str) -> AsyncMemory:
    """Return the memory of a user of an application."""
    return memory.as_user(user_id, agent=app_name)


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
