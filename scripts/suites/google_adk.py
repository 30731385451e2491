"""Times our session service beside that of the ADK on SQLite."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from google.adk.events import Event, EventActions
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.genai.types import Content, Part

from memoranda import AsyncMemory, Settings
from memoranda.integrations.google_adk import MemorandaSessionService

WHO = {"app_name": "app", "user_id": "ana"}


def event(number: int) -> Event:
    """Return an event that says something and changes the state."""
    said = Content(role="user", parts=[Part(text=f"Trip {number} goes to Lisbon.")])
    actions = EventActions(state_delta={"last": number, "user:trips": number})
    return Event(author="user", content=said, actions=actions)


def speeds(place: Path) -> dict[str, tuple[Callable[[int], Any], Callable[[int], Any]]]:
    """Return operations on services with a session of 300 events, ours and the ADK's own."""
    loop = asyncio.new_event_loop()
    ours = MemorandaSessionService(
        AsyncMemory(place, settings=Settings(embedding={"model": "none"}))
    )
    theirs = SqliteSessionService(str(place.parent / "theirs.db"))
    sessions = {
        service: loop.run_until_complete(service.create_session(**WHO, session_id="s"))
        for service in (ours, theirs)
    }
    steps: dict[str, Callable[[Any, int], Any]] = {
        "append_event": lambda service, n: service.append_event(sessions[service], event(n)),
        "get_session": lambda service, _: service.get_session(**WHO, session_id="s"),
        "create_session": lambda service, n: service.create_session(**WHO, session_id=f"s{n}"),
        "list_sessions": lambda service, _: service.list_sessions(**WHO),
    }

    def call(step: Callable[[Any, int], Any], service: Any, number: int) -> Any:
        return loop.run_until_complete(step(service, number))

    return {
        name: (partial(call, step, ours), partial(call, step, theirs))
        for name, step in steps.items()
    }
