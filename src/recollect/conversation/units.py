"""Messages that stay or go together: an assistant's tool calls and their results.

A provider refuses a call without its result and a result without its call, so no strategy
ever sees them apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from recollect.core.models import Message


@dataclass(frozen=True, slots=True)
class Unit:
    """Messages, in order, that cannot be parted; most often a single one."""

    messages: tuple[Message, ...]

    @property
    def tokens(self) -> int:
        """The tokens of all its messages."""
        return sum(message.tokens for message in self.messages)

    @property
    def fixed(self) -> bool:
        """Whether it stays whatever happens: a system message or a pinned one."""
        return any(message.role == "system" or message.pinned for message in self.messages)


def units(messages: Sequence[Message]) -> tuple[list[Unit], list[Message]]:
    """Return the units of a transcript in order, and the tool messages that fit nowhere.

    A call whose results are incomplete cannot be sent: it is kept out, with the results
    that are there, until the rest arrives.
    """
    whole: list[Unit] = []
    orphans: list[Message] = []
    index = 0
    while index < len(messages):
        message = messages[index]
        end = index + 1
        if message.tool_calls:
            while end < len(messages) and messages[end].tool_result is not None:
                end += 1
            _sort_exchange(messages[index:end], whole, orphans)
        elif message.tool_result is not None or message.role == "tool":
            orphans.append(message)
        else:
            whole.append(Unit((message,)))
        index = end
    return whole, orphans


def _sort_exchange(exchange: Sequence[Message], whole: list[Unit], orphans: list[Message]) -> None:
    call, *results = exchange
    asked = {item.id for item in call.tool_calls}
    matched: dict[str, Message] = {}
    for result in results:
        answered = result.tool_result.call_id if result.tool_result else ""
        if answered in asked and answered not in matched:
            matched[answered] = result
        else:
            orphans.append(result)
    # Two calls under one id cannot both be answered in a way that a provider takes.
    if matched.keys() == asked and len(asked) == len(call.tool_calls):
        whole.append(Unit((call, *matched.values())))
    else:
        orphans.extend((call, *matched.values()))
