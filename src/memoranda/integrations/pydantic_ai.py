"""Pydantic AI: a history that fits a budget, and the tools of a memory as a toolset."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic_ai import FunctionToolset, Tool
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    UserPromptPart,
)

from memoranda.aio import AsyncMemory
from memoranda.conversation.conversation import Conversation
from memoranda.memory import Memory
from memoranda.model.models import Message

# The field of a message in which it is kept as Pydantic AI gave it.
KEPT = "kept"


class FittingHistory:
    """A history processor: keeps all messages in a conversation, and sends those that fit.

    A tool call is never sent without its result. With a stored conversation a run goes on where
    the last one ended, in another process, too.
    """

    def __init__(self, chat: Conversation, budget: int) -> None:
        """Send at most ``budget`` tokens of ``chat``."""
        self.chat, self.budget = chat, budget
        self._sent: list[ModelMessage] = []

    def __call__(self, messages: list[ModelMessage]) -> list[ModelMessage]:
        """Add what is new in ``messages``, and return what is to be sent."""
        known = len(self._sent) if messages[: len(self._sent)] == self._sent else 0
        self.chat.extend(map(as_item, messages[known:]))
        self._sent = read_messages(self.chat.view(self.budget).messages)
        return list(self._sent)


def as_item(message: ModelMessage) -> dict[str, Any]:
    """Return a message as memory reads it, with the whole of it beside that."""
    blocks: list[dict[str, Any]] = []
    for part in message.parts:
        match part.part_kind:
            case "user-prompt" | "text" if isinstance(part.content, str):
                blocks.append({"type": "text", "text": part.content})
            case "tool-call":
                use = {"id": part.tool_call_id, "name": part.tool_name}
                blocks.append({"type": "tool_use", "input": part.args_as_dict(), **use})
            case "tool-return":
                result = {"tool_use_id": part.tool_call_id, "content": part.model_response_str()}
                blocks.append({"type": "tool_result", **result})
    role = "user" if message.kind == "request" else "assistant"
    kept = ModelMessagesTypeAdapter.dump_json([message]).decode()
    return {"role": role, "content": blocks, KEPT: kept}


def read_messages(messages: Iterable[Message]) -> list[ModelMessage]:
    """Return messages as Pydantic AI gave them; those from elsewhere by what was said."""
    read: dict[str, ModelMessage] = {}
    for each in messages:
        kept = (each.raw or {}).get(KEPT)
        if kept is not None:
            read[kept] = ModelMessagesTypeAdapter.validate_json(kept)[0]
        elif each.role == "assistant":
            read[each.id] = ModelResponse([TextPart(each.content)], timestamp=each.timestamp)
        elif each.role == "user":
            said = UserPromptPart(each.content, timestamp=each.timestamp)
            read[each.id] = ModelRequest([said])
    return list(read.values())


def make_toolset(memory: Memory | AsyncMemory) -> FunctionToolset[Any]:
    """Return the tools of a memory for ``Agent(…, toolsets=[…])``."""
    return FunctionToolset(
        [
            Tool.from_schema(tool.__call__, tool.name, tool.description, dict(tool.parameters))
            for tool in memory.tools()
        ]
    )
