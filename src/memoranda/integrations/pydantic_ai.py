"""Pydantic AI: a history that fits a budget, and the tools of a memory as a toolset."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import takewhile
from types import MappingProxyType
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

    A tool call is never sent without its result. Where not even the newest messages fit, long
    results of tools among them are shortened. With a stored conversation a run goes on where the
    last one ended, in another process, too.
    """

    def __init__(self, chat: Conversation, budget: int) -> None:
        """Send at most ``budget`` tokens of ``chat``."""
        self.chat, self.budget = chat, budget
        self._sent: list[sdk.ModelMessage] = []

    def __call__(self, messages: list[sdk.ModelMessage]) -> list[sdk.ModelMessage]:
        """Add what is new in ``messages``, and return what is to be sent.

        Raises:
            BudgetTooSmall: the newest message does not fit.
        """
        given, sent = split_requests(messages), split_requests(self._sent)
        # By their parts: Pydantic AI joins requests that follow each other.
        pairs = zip(given, sent, strict=False)
        known = list(takewhile(lambda pair: pair[0].parts == pair[1].parts, pairs))
        self.chat.extend(map(as_item, given[len(known) :]))
        self._sent = given  # Known, also where they do not fit.
        self._sent = blocks.read_fitting(self.chat, self.budget, load_message, as_model_message)
        return list(self._sent)


def split_requests(messages: Iterable[sdk.ModelMessage]) -> list[sdk.ModelMessage]:
    """Return messages with each part of a request as one of its own, which can leave alone."""
    found: list[sdk.ModelMessage] = []
    for each in messages:
        if isinstance(each, sdk.ModelRequest) and each.parts:
            found += [replace(each, parts=[part]) for part in each.parts]
        else:
            found.append(each)
    return found


def as_item(message: sdk.ModelMessage) -> dict[str, Any]:
    """Return a message as memory reads it, with the whole of it beside that."""
    said = []
    for part in message.parts:
        match part.part_kind:
            case "user-prompt" | "text":
                texts = [part.content] if isinstance(part.content, str) else part.content
                said += [blocks.text_block(each) for each in texts if isinstance(each, str)]
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
    return blocks.read_whole(messages, load_message, as_model_message)


def load_message(kept: str, short: Mapping[str, str] = MappingProxyType({})) -> sdk.ModelMessage:
    """Return a message that was kept, with those results of tools shortened that are given."""
    [message] = sdk.ModelMessagesTypeAdapter.validate_json(kept)
    for part in message.parts:
        if part.part_kind == "tool-return" and part.tool_call_id in short:
            part.content = short[part.tool_call_id]
    return message


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
