"""OpenAI Agents SDK: a session on a conversation, and memory beside what a model is asked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from agents import SessionSettings, TResponseInputItem
from agents.memory.session import SessionABC
from agents.memory.session_settings import coerce_session_settings, resolve_session_limit
from agents.run import CallModelData, ModelInputData

from memoranda.aio import AsyncConversation, AsyncMemory
from memoranda.conversation.formats.parse import parse_messages
from memoranda.conversation.formats.render import dump_messages

FORM = "responses"


class MemorandaSession(SessionABC):
    """The items of a conversation: what the SDK gives comes back as it was, whatever its type.

    Args:
        conversation: keeps them, by its id.
        session_settings: of the SDK, such as how many items a run gets.
    """

    def __init__(
        self,
        conversation: AsyncConversation,
        session_settings: SessionSettings | dict[str, Any] | None = None,
    ) -> None:
        """Read nothing yet."""
        self.conversation, self.session_id = conversation, conversation.id
        self.session_settings = coerce_session_settings(session_settings or {})

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return all items in order, or the newest ``limit``."""
        most = resolve_session_limit(limit, self.session_settings)
        items: list[Any] = [] if most == 0 else await self.conversation.dump(FORM, most)
        return items

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Add items at the end, all or none."""
        await self.conversation.extend(items)

    async def pop_item(self) -> TResponseInputItem | None:
        """Take the newest item back and return it; ``None`` where there is none."""
        items: list[Any] = dump_messages(await self.conversation.pop(), FORM)
        return items[0] if items else None

    async def clear_session(self) -> None:
        """Begin afresh; nothing is erased."""
        await self.conversation.clear()


def recall_beside(
    memory: AsyncMemory, session: MemorandaSession | None = None, *, budget: int = 1_000
) -> Callable[[CallModelData[Any]], Awaitable[ModelInputData]]:
    """Return a ``call_model_input_filter`` that puts memory before what the user said last.

    It is in the request alone: no session keeps it, as it would what a
    ``session_input_callback`` adds.

    Args:
        memory: what is asked.
        session: whose items the model gets anyway.
        budget: the most tokens that it may take.
    """
    known = None if session is None else session.session_id

    async def put_recalled(data: CallModelData[Any]) -> ModelInputData:
        given = data.model_data
        items = list(given.input)
        asked = [at for at, item in enumerate(items) if item.get("role") == "user"][-1:]
        for at in asked:
            prompt = parse_messages([items[at]])[0].content
            recalled = prompt.strip() and await memory.recall(
                prompt, budget=budget, exclude_session=known
            )
            if recalled and recalled.text:
                items.insert(at, {"role": "system", "content": recalled.text})
        return replace(given, input=items)

    return put_recalled
