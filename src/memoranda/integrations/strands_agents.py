"""Strands Agents: a store of its memory manager, on a conversation and the facts of a memory."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from strands.memory import MemoryEntry, MemoryStore
from strands.memory.types import AddMessagesContext, SearchOptions
from strands.types.content import Message

from memoranda.aio import AsyncConversation, AsyncMemory
from memoranda.errors import InvalidInput
from memoranda.integrations import blocks

# The field of a message that says of which run of an agent it is, and its number there.
SEQUENCE = "sequence"
MOST = 10  # results of a search, where nothing else is said


class MemorandaStore(MemoryStore):
    """Finds what memory has, and keeps facts, and the messages of agents in a conversation.

    Args:
        memory: what is asked, and keeps them.
        session: the conversation.
        config: what Strands' stores take: ``name``, ``description``, ``max_search_results``,
            ``writable`` and ``extraction``, which is on, if not given.
    """

    def __init__(self, memory: AsyncMemory, *, session: str = "strands", **config: Any) -> None:
        """Keep nothing yet.

        Raises:
            InvalidInput: an argument cannot be used.
        """
        self.memory, self.session, self.name = memory, session, config["name"]
        if not self.name.strip():
            raise InvalidInput("name must not be empty; give the store a name")
        self.description = config.get("description")
        self.max_search_results = check_most(config.get("max_search_results", MOST))
        self.writable = config.get("writable", True)
        self.extraction = config.get("extraction", self.writable)
        self._run = uuid4().hex
        self._chat: AsyncConversation | None = None

    async def initialize(self) -> None:
        """Begin a run of an agent, whose messages are numbered anew."""
        self._run = uuid4().hex

    async def search(self, query: str, options: SearchOptions | None = None) -> list[MemoryEntry]:
        """Return what best answers ``query``, best first, each with its id and score."""
        most = check_most((options or {}).get("max_search_results", self.max_search_results))
        hits = await self.memory.search(query, limit=most) if query.strip() else []
        about = [{"id": hit.record.id, "score": hit.score} for hit in hits]
        return [
            MemoryEntry(hit.record.content, metadata={**hit.record.metadata, **each})
            for hit, each in zip(hits, about, strict=True)
        ]

    async def add(self, content: str, metadata: dict[str, Any] | None = None) -> str:
        """Keep a fact, once, and return its id.

        Raises:
            InvalidInput: it is empty, or this store may not be written to.
        """
        if not self.writable:
            raise InvalidInput("this store is not writable; make it with writable=True")
        return (await self.memory.remember(content, role="assistant", metadata=metadata)).id

    async def add_messages(
        self, messages: list[Message], context: AddMessagesContext | None = None
    ) -> None:
        """Keep messages, each once, however often the manager tries."""
        self._chat = chat = self._chat or await self.memory.conversation(self.session)
        numbers = (context and context.sequence_numbers) or ()
        known = {(each.raw or {}).get(SEQUENCE) for each in await chat.messages()} - {None}
        items = [as_item(each) for each in messages]
        for item, number in zip(items, numbers, strict=False):
            item[SEQUENCE] = f"{self._run} {number}"
        await chat.extend(each for each in items if each.get(SEQUENCE) not in known)


def check_most(most: int) -> int:
    """Return how many results a search has at most.

    Raises:
        InvalidInput: it is less than one.
    """
    if most < 1:
        raise InvalidInput(f"max_search_results must be at least 1, not {most}")
    return most


def as_item(message: Message) -> dict[str, Any]:
    """Return a message as memory reads it."""
    said = []
    for block in message["content"]:
        match block:
            case {"text": text}:
                said.append(blocks.text_block(text))
            case {"toolUse": use}:
                said.append(blocks.call_block(use["toolUseId"], use["name"], use["input"]))
            case {"toolResult": {"toolUseId": id, "content": parts}}:
                text = "\n".join(each.get("text") or str(each) for each in parts)
                said.append(blocks.result_block(id, text))
    return {"role": message["role"], "content": said}
