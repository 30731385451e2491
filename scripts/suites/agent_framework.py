"""Times our history beside that of the Agent Framework on files."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from agent_framework import FileHistoryProvider, Message

from memoranda import AsyncMemory, Settings
from memoranda.integrations.agent_framework import MemorandaHistoryProvider


def speeds(place: Path) -> dict[str, tuple[Callable[[int], Any], Callable[[int], Any]]]:
    """Return operations on histories with 300 turns, ours and the framework's own."""
    loop = asyncio.new_event_loop()
    memory = AsyncMemory(place, settings=Settings(embedding={"model": "none"}))
    ours = MemorandaHistoryProvider(memory)
    theirs = FileHistoryProvider(place.parent / "theirs")

    def turn(number: int) -> list[Message]:
        said = f"Trip {number} goes to Lisbon."
        return [Message("user", [said]), Message("assistant", ["Noted."])]

    steps: dict[str, Callable[[Any, int], Any]] = {
        "save_messages": lambda history, number: history.save_messages("s", turn(number)),
        "get_messages": lambda history, _: history.get_messages("s"),
    }

    def call(step: Callable[[Any, int], Any], history: Any, number: int) -> Any:
        return loop.run_until_complete(step(history, number))

    return {
        name: (partial(call, step, ours), partial(call, step, theirs))
        for name, step in steps.items()
    }
