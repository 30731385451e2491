"""LangChain: an agent that is told what memory has and kept in it; histories that fit a budget."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.messages import AnyMessage, HumanMessage, convert_to_openai_messages
from langgraph.config import get_config

from memoranda.conversation.conversation import Conversation
from memoranda.integrations import blocks
from memoranda.memory import Memory

NO_THREAD = "agent"  # the conversation of an agent that runs outside a thread


class MemorandaMiddleware(AgentMiddleware):
    """Puts memory before what the user said last, and keeps what an agent and its user say.

    What is recalled is in the request to the model alone. What is said is kept in the conversation
    of the thread (``thread_id``), where later conversations find it and facts are learned from it.

    Args:
        memory: what is asked and where it is kept.
        budget: the most tokens that recalled memory may take.
    """

    def __init__(self, memory: Memory, *, budget: int = 1_000) -> None:
        """Ask nothing yet."""
        super().__init__()
        self.memory, self.budget = memory, budget

    def wrap_model_call(
        self, request: ModelRequest, handler: Callable[[ModelRequest], ModelResponse]
    ) -> ModelResponse:
        """Ask the model with what memory has."""
        return handler(request.override(messages=self._recall(request.messages, thread_id())))

    async def awrap_model_call(
        self, request: ModelRequest, handler: Callable[[ModelRequest], Awaitable[ModelResponse]]
    ) -> ModelResponse:
        """Do the same without blocking."""
        messages = await asyncio.to_thread(self._recall, request.messages, thread_id())
        return await handler(request.override(messages=messages))

    def after_agent(self, state: Any, runtime: object) -> None:
        """Keep what is new in the messages of a thread."""
        del runtime
        self._keep(state["messages"], thread_id())

    aafter_agent = blocks.awaited(after_agent)

    def _recall(self, messages: Sequence[AnyMessage], thread: str) -> list[AnyMessage]:
        found = list(messages)
        for at in [at for at, each in enumerate(found) if each.type == "human"][-1:]:
            prompt = str(found[at].text).strip()
            if not prompt:
                continue
            recall = self.memory.recall(prompt, budget=self.budget, exclude_session=thread)
            if recall.text:
                # Not every provider takes a system message between others.
                found.insert(at, HumanMessage(recall.text))
        return found

    def _keep(self, messages: Sequence[AnyMessage], thread: str) -> None:
        chat = self.memory.conversation(thread)
        known = {item.get("id") for item in chat.dump("openai")}
        new = [each for each in messages if each.id not in known]
        chat.extend(convert_to_openai_messages(new, include_id=True))


def trim_history(
    messages: Sequence[AnyMessage], budget: int, *, model: str | None = None
) -> list[AnyMessage]:
    """Return the messages of a history that fit a budget, whole exchanges of them.

    System messages and the newest stay, and no call of a tool is without its result. Where not even
    the newest ones fit, long results of tools among them are shortened.

    Args:
        messages: the history.
        budget: the most tokens that the messages may take.
        model: whose tokens are counted.

    Raises:
        BudgetTooSmall: not even the newest message fits.
    """
    chat = Conversation(model=model)
    for number, item in enumerate(convert_to_openai_messages(messages)):
        chat.extend([{**item, blocks.KEPT: str(number)}])

    def load(number: str, short: Mapping[str, str]) -> AnyMessage:
        found = messages[int(number)]
        [text] = short.values() or [None]
        return found if text is None else found.model_copy(update={"content": text})

    return blocks.read_fitting(chat, budget, load, lambda _: None)


def thread_id() -> str:
    """Return the thread in which the present run is."""
    return str(get_config().get("configurable", {}).get("thread_id", NO_THREAD))
