"""Puts the session of memoranda in the place of the SDK's on SQLite, and of its tests' own list."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import agents
from agents import SQLiteSession
from agents import memory as sdk

from memoranda import Memory, Settings
from memoranda.aio import AsyncConversation
from memoranda.integrations.openai_agents import MemorandaSession

WORDLESS = Settings(embedding={"model": "none"})


class FileSession(MemorandaSession):
    """The session, made as the SDK's own is."""

    def __init__(
        self, session_id: str, db_path: str | Path = ":memory:", session_settings: Any = None
    ) -> None:
        """Open a memory of its own."""
        self.memory = Memory(db_path, settings=WORDLESS)
        conversation = AsyncConversation(self.memory.conversation(session_id))
        super().__init__(conversation, session_settings)

    def close(self) -> None:
        """Close the memory."""
        self.memory.close()


class ListSession(FileSession):
    """The session, made as the list of the tests is."""

    _ignore_ids_for_matching = False

    def __init__(self, session_id: str = "test", history: Any = ()) -> None:
        """Begin with what the list begins with."""
        super().__init__(session_id)
        self.memory.conversation(session_id).extend(history or ())

    @property
    def saved_items(self) -> list[Any]:
        """The items, for tests that look at them."""
        return self.memory.conversation(self.session_id).dump("responses")


def pytest_configure() -> None:
    """Put the sessions in their places before a test imports them."""
    agents.SQLiteSession = sdk.SQLiteSession = FileSession
    simple = import_module("tests.utils.simple_session")
    simple.SimpleListSession = ListSession


def speeds(place: Path) -> dict[str, tuple[Callable[[int], Any], Callable[[int], Any]]]:
    """Return operations on sessions of 1,000 items, ours and the SDK's own."""
    ours = FileSession("c", place)
    theirs = SQLiteSession("c", place.parent / "theirs.db")
    items = [
        {"role": role, "content": f"Message {number} of the {role} about a trip to Lisbon."}
        for number in range(500)
        for role in ("user", "assistant")
    ]
    loop = asyncio.new_event_loop()
    for session in (ours, theirs):
        loop.run_until_complete(session.add_items(items))
    steps = {
        "get_items": lambda session, _: session.get_items(),
        "get_items(10)": lambda session, _: session.get_items(10),
        "add_items": lambda session, at: session.add_items(items[at * 2 : at * 2 + 2]),
        "pop_item": lambda session, _: session.pop_item(),
    }

    def timed(step: Callable[[Any, int], Any], session: Any) -> Callable[[int], Any]:
        return lambda number: loop.run_until_complete(step(session, number))

    return {name: (timed(step, ours), timed(step, theirs)) for name, step in steps.items()}
