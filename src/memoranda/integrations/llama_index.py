"""LlamaIndex: a block of its memory that recalls, and a chat store on conversations."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from llama_index.core.llms import ChatMessage
from llama_index.core.memory import BaseMemoryBlock
from llama_index.core.storage.chat_store import BaseChatStore
from pydantic import ConfigDict, Field, PrivateAttr

from memoranda.aio import AsyncMemory
from memoranda.integrations import blocks
from memoranda.memory import Memory

OPEN = 100  # conversations that stay open
ROLES = {"model": "assistant", "chatbot": "assistant", "function": "user"}


class MemorandaMemoryBlock(BaseMemoryBlock[str]):
    """Recalls what answers the user's last message, and keeps what left the short-term memory.

    Attributes:
        memory: what is asked; it keeps messages in the conversations of their sessions.
        budget: the most tokens that recalled memory may take.
    """

    name: str = "memoranda"
    memory: AsyncMemory = Field(exclude=True)
    budget: int = 1_000

    async def _aget(self, messages: list[ChatMessage] | None = None, **_: Any) -> str:
        asked = [each.content for each in messages or () if each.role == "user" and each.content]
        return (await self.memory.recall(asked[-1], budget=self.budget)).text if asked else ""

    async def _aput(self, messages: list[ChatMessage]) -> None:
        for message in messages:
            session = message.additional_kwargs.pop("session_id", self.name)
            chat = await self.memory.conversation(session)
            await chat.extend([as_item(message)])


class MemorandaChatStore(BaseChatStore):
    """Keeps the messages of each key in the conversation of that name."""

    model_config = ConfigDict(arbitrary_types_allowed=True)
    memory: Memory = Field(exclude=True)
    _chat: Any = PrivateAttr()  # opens a conversation; what was read of it is not read again

    def model_post_init(self, context: Any, /) -> None:
        """Open nothing yet."""
        super().model_post_init(context)
        self._chat = lru_cache(OPEN)(self.memory.conversation)

    def set_messages(self, key: str, messages: list[ChatMessage]) -> None:
        """Let these be all messages of a key."""
        chat, items = self._chat(key), map(as_item, messages)
        known = [each.id for each in chat.messages]
        if known:
            chat.replace(known, items)
        else:
            chat.extend(items)

    def get_messages(self, key: str) -> list[ChatMessage]:
        """Return the messages of a key in order, as they were given."""
        if key not in self.get_keys():
            return []
        return blocks.read_whole(
            self._chat(key).messages,
            ChatMessage.model_validate_json,
            lambda each: ChatMessage(each.content, role=each.role),
        )

    def add_message(self, key: str, message: ChatMessage) -> None:
        """Add a message at the end."""
        self._chat(key).extend([as_item(message)])

    def delete_messages(self, key: str) -> list[ChatMessage] | None:
        """Delete a key with its messages, and return these; ``None`` if there is none."""
        if key not in self.get_keys():
            return None
        found = self.get_messages(key)
        self.memory.delete_conversation(key)
        self._chat.cache_clear()
        return found

    def delete_message(self, key: str, idx: int) -> ChatMessage | None:
        """Remove one message and return it; ``None`` if there is none."""
        found = self.get_messages(key)
        if not -len(found) <= idx < len(found):
            return None
        chat = self._chat(key)
        chat.remove(chat.messages[idx].id)
        return found[idx]

    def delete_last_message(self, key: str) -> ChatMessage | None:
        """Remove the newest message and return it; ``None`` if there is none."""
        return self.delete_message(key, -1)

    def get_keys(self) -> list[str]:
        """Return all keys."""
        return [each.id for each in self.memory.conversations()]


def as_item(message: ChatMessage) -> dict[str, Any]:
    """Return a message as memory reads it, with the whole of it beside that."""
    said, answers = [], message.additional_kwargs.get("tool_call_id")
    for block in message.blocks:
        if block.block_type == "text":
            text = block.text
            said.append(blocks.result_block(answers, text) if answers else blocks.text_block(text))
        elif block.block_type == "tool_call":
            call = block.tool_call_id, block.tool_name, block.tool_kwargs
            said.append(blocks.call_block(*call))
    role = ROLES.get(message.role, message.role.value)
    return blocks.keep_whole(role, said, message.model_dump_json())
