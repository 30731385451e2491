"""Microsoft Agent Framework: what memory has beside a run, and a history on conversations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agent_framework import ContextProvider, HistoryProvider, SessionContext
from agent_framework import Message as FrameworkMessage

from memoranda.aio import AsyncConversation, AsyncMemory
from memoranda.integrations import blocks

OPEN = 100  # conversations that stay open
NO_SESSION = "agent"  # the conversation of an agent that runs outside a session


class MemorandaContextProvider(ContextProvider):
    """Puts memory before what the user says, in the request alone.

    Args:
        memory: what is asked.
        budget: the most tokens that recalled memory may take.
        source_id: the name of the provider.
    """

    def __init__(
        self, memory: AsyncMemory, *, budget: int = 1_000, source_id: str = "memoranda"
    ) -> None:
        """Ask nothing yet."""
        super().__init__(source_id)
        self.memory, self.budget = memory, budget

    async def before_run(self, *, context: SessionContext, **_: Any) -> None:
        """Recall what answers the user's last message."""
        asked = [each.text for each in context.input_messages if each.role == "user"][-1:]
        for prompt in filter(str.strip, asked):
            known = context.session_id or NO_SESSION
            recall = await self.memory.recall(prompt, budget=self.budget, exclude_session=known)
            if recall.text:
                context.extend_messages(self, [FrameworkMessage("user", [recall.text])])


class MemorandaHistoryProvider(HistoryProvider):
    """Keeps the messages of each session in the conversation of that name.

    Args:
        memory: keeps them.
        source_id: the name of the provider.
        options: what else the framework's own providers take, such as ``store_outputs``.
    """

    def __init__(
        self, memory: AsyncMemory, *, source_id: str = "memoranda_history", **options: Any
    ) -> None:
        """Keep nothing yet."""
        super().__init__(source_id, **options)
        self.memory = memory
        self._chats: dict[str, AsyncConversation] = {}

    async def get_messages(self, session_id: str | None, **_: Any) -> list[FrameworkMessage]:
        """Return the messages of a session in order, as they were given."""
        chat = await self._open(session_id or NO_SESSION)
        return blocks.read_whole(
            await chat.messages(),
            FrameworkMessage.from_json,
            lambda each: FrameworkMessage(each.role, [each.content]),
        )

    async def save_messages(
        self, session_id: str | None, messages: Sequence[FrameworkMessage], **_: Any
    ) -> None:
        """Add messages at the end, all or none."""
        chat = await self._open(session_id or NO_SESSION)
        await chat.extend([as_item(each) for each in messages])

    async def _open(self, name: str) -> AsyncConversation:
        """Return a conversation; what was read of the last ones is not read again."""
        if name not in self._chats:
            if len(self._chats) == OPEN:
                self._chats.clear()
            self._chats[name] = await self.memory.conversation(name)
        return self._chats[name]


def as_item(message: FrameworkMessage) -> dict[str, Any]:
    """Return a message as memory reads it, with the whole of it beside that."""
    said = []
    for each in message.contents:
        match each.type:
            case "text":
                said.append(blocks.text_block(each.text or ""))
            case "function_call":
                said.append(blocks.call_block(each.call_id, each.name, each.parse_arguments()))
            case "function_result":
                said.append(blocks.result_block(each.call_id, str(each.result)))
    return blocks.keep_whole(message.role, said, message.to_json())
