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
from memoranda.model.checks import clean, limited

# The field of a message that says of which run of an agent it is, and its number there.
SEQUENCE = "sequence"
RESULTS, MOST = "max_search_results", 10  # results of a search, where nothing else is said


class MemorandaMemoryStore(MemoryStore):
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
        self.memory, self.session = memory, session
        self.name = clean(config["name"], "name")
        self.description = config.get("description")
        self.max_search_results = limited(config.get(RESULTS, MOST), RESULTS)
        self.writable = config.get("writable", True)
        self.extraction = config.get("extraction", self.writable)
        self._run = uuid4().hex
        self._chat: AsyncConversation | None = None

    async def initialize(self) -> None:
        """Begin a run of an agent, whose messages are numbered anew."""
        self._run = uuid4().hex

    async def search(self, query: str, options: SearchOptions | None = None) -> list[MemoryEntry]:
        """Return what best answers ``query``, best first, each with its id and score."""
        most = limited((options or {}).get(RESULTS, self.max_search_results), RESULTS)
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
