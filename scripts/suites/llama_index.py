"""Times our chat store beside LlamaIndex's own on SQLite."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from llama_index.core.llms import ChatMessage
from llama_index.core.storage.chat_store.sql import SQLAlchemyChatStore

from memoranda import Memory, Settings
from memoranda.integrations.llama_index import MemorandaChatStore


def speeds(place: Path) -> dict[str, tuple[Callable[[int], Any], Callable[[int], Any]]]:
    """Return operations on stores with 300 messages, ours and LlamaIndex's own."""
    loop = asyncio.new_event_loop()
    memory = Memory(place, settings=Settings(embedding={"model": "none"}))
    ours = MemorandaChatStore(memory=memory)
    theirs = SQLAlchemyChatStore(
        table_name="chat", async_database_uri=f"sqlite+aiosqlite:///{place.parent}/theirs.db"
    )

    def add(number: int) -> tuple[str, ChatMessage]:
        return "chat", ChatMessage(f"Trip {number} goes to Lisbon.")

    return {
        "add_message": (
            lambda number: ours.add_message(*add(number)),
            lambda number: loop.run_until_complete(theirs.add_message(*add(number))),
        ),
        "get_messages": (
            lambda _: ours.get_messages("chat"),
            lambda _: loop.run_until_complete(theirs.get_messages("chat")),
        ),
    }
