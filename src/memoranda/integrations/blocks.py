"""Messages of a framework in a conversation: blocks of what they say, and the whole beside that."""

from __future__ import annotations

from asyncio import to_thread
from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import Any, TypeVar

from memoranda.conversation.conversation import Conversation
from memoranda.errors import BudgetTooSmall
from memoranda.model.models import Message

T = TypeVar("T")
Block = dict[str, Any]
KEPT = "kept"  # the field of a message in which it is kept as its framework gave it


def awaited(verb: Callable[..., T]) -> Callable[..., Coroutine[Any, Any, T]]:
    """Return a method that does the same in a worker thread."""

    async def run(*given: Any, **named: Any) -> T:
        return await to_thread(verb, *given, **named)

    return run


def text_block(text: str) -> Block:
    """Return a text."""
    return {"type": "text", "text": text}


def call_block(id: str | None, name: str | None, arguments: Any) -> Block:
    """Return a call of a tool."""
    given = arguments if isinstance(arguments, dict) else {"arguments": arguments}
    return {"type": "tool_use", "id": id or "call", "name": name or "tool", "input": given}


def result_block(id: str | None, text: str) -> Block:
    """Return what a tool answered."""
    return {"type": "tool_result", "tool_use_id": id or "call", "content": text}


def keep_whole(role: str, blocks: Iterable[Block], whole: str) -> dict[str, Any]:
    """Return a message for a conversation: what it says, and the whole of it beside that."""
    return {"role": "user" if role == "tool" else role, "content": list(blocks), KEPT: whole}


def read_whole(
    messages: Iterable[Message], load: Callable[[str], T], make: Callable[[Message], T | None]
) -> list[T]:
    """Return messages as their framework gave them; those from elsewhere as ``make`` has them."""
    read = []
    last = None
    for each in messages:
        kept = (each.raw or {}).get(KEPT)
        if kept is None:
            read.append(make(each))
        elif each.part <= 1 or kept != last:  # One message with several results became several.
            read.append(load(kept))
        last = kept
    return [each for each in read if each is not None]


def read_fitting(
    chat: Conversation,
    budget: int,
    load: Callable[[str, Mapping[str, str]], T],
    make: Callable[[Message], T | None],
) -> list[T]:
    """Return the messages that fit, the newest among them, as :func:`read_whole` does.

    Args:
        chat: the conversation.
        budget: the most tokens that they may take.
        load: gets, beside what was kept, the results in it that are shortened, by their calls.
        make: returns a message from elsewhere.

    Raises:
        BudgetTooSmall: the newest message does not fit.
    """
    view = chat.view(budget)
    allowed = {each.id for each in (*view.messages, *view.orphans, *view.waiting)}
    for newest in chat.recent(1):
        if newest.id not in allowed:
            must = [each for each in view.messages if each.pinned or each.role == "system"]
            needed = sum(each.tokens for each in (*must, newest))
            raise BudgetTooSmall(needed=max(needed, budget + 1), budget=budget)
    given = {each.id: each for each in chat.messages} if view.shortened else {}
    whole = [given.get(each.id, each) for each in view.messages]
    short: dict[str, dict[str, str]] = {}
    for each, shown in zip(whole, view.messages, strict=True):
        if each is not shown and each.raw and shown.tool_result:
            short.setdefault(each.raw.get(KEPT, ""), {})[shown.tool_result.call_id] = shown.content
    return read_whole(whole, lambda kept: load(kept, short.get(kept, {})), make)
