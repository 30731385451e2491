"""Pydantic AI: a history that fits a budget, and the tools of a memory as a toolset."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic_ai import FunctionToolset, Tool
from pydantic_ai import messages as sdk

from memoranda.aio import AsyncMemory
from memoranda.conversation.conversation import Conversation
from memoranda.integrations import blocks
from memoranda.memory import Memory
from memoranda.model.models import Message


class FittingHistory:
    """A history processor: keeps all messages in a conversation, and sends those that fit.

    A tool call is never sent without its result. With a stored conversation a run goes on where
    the last one ended, in another process, too.
    """

    def __init__(self, chat: Conversation, budget: int) -> None:
        """Send at most ``budget`` tokens of ``chat``."""
        self.chat, self.budget = chat, budget
        self._sent: list[sdk.ModelMessage] = []

    def __call__(self, messages: list[sdk.ModelMessage]) -> list[sdk.ModelMessage]:
        """Add what is new in ``messages``, and return what is to be sent."""
        known = len(self._sent) if messages[: len(self._sent)] == self._sent else 0
        self.chat.extend(map(as_item, messages[known:]))
        self._sent = read_messages(self.chat.view(self.budget).messages)
        return list(self._sent)


def as_item(message: sdk.ModelMessage) -> dict[str, Any]:
    """Return a message as memory reads it, with the whole of it beside that."""
    said = []
    for part in message.parts:
        match part.part_kind:
            case "user-prompt" | "text" if isinstance(part.content, str):
                said.append(blocks.text_block(part.content))
            case "tool-call":
                call = part.tool_call_id, part.tool_name, part.args_as_dict()
                said.append(blocks.call_block(*call))
            case "tool-return":
                said.append(blocks.result_block(part.tool_call_id, part.model_response_str()))
    role = "user" if message.kind == "request" else "assistant"
    whole = sdk.ModelMessagesTypeAdapter.dump_json([message]).decode()
    return blocks.keep_whole(role, said, whole)


def read_messages(messages: Iterable[Message]) -> list[sdk.ModelMessage]:
    """Return messages as Pydantic AI gave them; those from elsewhere by what was said."""
    return blocks.read_whole(
        messages, lambda kept: sdk.ModelMessagesTypeAdapter.validate_json(kept)[0], as_model_message
    )


def as_model_message(message: Message) -> sdk.ModelMessage | None:
    """Return what a user or a model said elsewhere."""
    if message.role == "assistant":
        return sdk.ModelResponse([sdk.TextPart(message.content)], timestamp=message.timestamp)
    said = sdk.UserPromptPart(message.content, timestamp=message.timestamp)
    return sdk.ModelRequest([said]) if message.role == "user" else None


def make_toolset(memory: Memory | AsyncMemory) -> FunctionToolset[Any]:
    """Return the tools of a memory for ``Agent(…, toolsets=[…])``."""
    return FunctionToolset(
        [
            Tool.from_schema(tool.__call__, tool.name, tool.description, dict(tool.parameters))
            for tool in memory.tools()
        ]
    )
