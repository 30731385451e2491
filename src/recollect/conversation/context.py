"""Builds what a model is sent: system prompt, memory, the view and the prompt, in a budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from recollect.conversation.shapes import openai
from recollect.conversation.units import units
from recollect.conversation.view import Strategy, View, view
from recollect.core.errors import BudgetTooSmall
from recollect.core.models import (
    NO_RECALL,
    Context,
    ContextReceipt,
    Item,
    Message,
    Recall,
    ToolCall,
)
from recollect.core.ports import TokenCounter

MESSAGE_OVERHEAD = 4  # role and separators around each message in OpenAI's chat format
REPLY_OVERHEAD = 3  # what opens the model's reply
RECALL_SHARE = 0.3  # of what is left beside system prompt, pins and prompt


Recaller = Callable[[int, frozenset[str]], Recall]
"""Given a budget in tokens and the ids of episodes that are in the view anyway."""


def measure(counter: TokenCounter, content: str, calls: Sequence[ToolCall] = ()) -> int:
    """Return the tokens of a message, with what the chat format adds around it."""
    called = sum(
        counter.count(call.name) + counter.count(call.arguments) + MESSAGE_OVERHEAD
        for call in calls
    )
    return counter.count(content) + called + MESSAGE_OVERHEAD


class ContextBuilder:
    """Builds contexts that never exceed their budget (R9.1 to R9.5, N2.5)."""

    def __init__(self, counter: TokenCounter, strategy: Strategy) -> None:
        """Measure with ``counter``, choose messages with ``strategy``."""
        self._counter = counter
        self._strategy = strategy

    def build(
        self,
        transcript: Sequence[Message],
        *,
        system: str | None,
        prompt: str | None,
        budget: int,
        recall: Recaller | None,
    ) -> Context:
        """Return the context of ``transcript`` and ``prompt`` within ``budget`` tokens.

        Of what the fixed parts leave, memory gets ``RECALL_SHARE``, and what the conversation
        does not need; what it does not use goes to the conversation.

        Raises:
            BudgetTooSmall: system prompt, pinned messages and prompt do not fit.
        """
        fixed = self._fixed(transcript, system, prompt)
        if fixed > budget:
            raise BudgetTooSmall(needed=fixed, budget=budget)
        room = budget - fixed + _pinned(transcript)
        memory = NO_RECALL
        # What the conversation does not need is memory's, too.
        spare = room - sum(message.tokens for message in transcript)
        share = max(int((budget - fixed) * RECALL_SHARE), spare)
        if recall is not None and share > MESSAGE_OVERHEAD:
            first = view(transcript, room - share, self._strategy)
            seen = frozenset(item.record_id for item in first.messages if item.record_id)
            memory = recall(share - MESSAGE_OVERHEAD, seen)
        block = self._counter.count(memory.text) + MESSAGE_OVERHEAD if memory.text else 0
        chosen = view(transcript, room - block, self._strategy)
        return self._assemble(chosen, system=system, prompt=prompt, budget=budget, memory=memory)

    def view(self, transcript: Sequence[Message], *, system: str | None, budget: int) -> View:
        """Return the messages that fit ``budget`` tokens beside the system prompt."""
        said = measure(self._counter, system) if system else 0
        return view(transcript, budget - said, self._strategy)

    def _fixed(self, transcript: Sequence[Message], system: str | None, prompt: str | None) -> int:
        texts = [text for text in (system, prompt) if text]
        spoken = sum(measure(self._counter, text) for text in texts)
        return spoken + _pinned(transcript) + REPLY_OVERHEAD

    def _assemble(
        self, chosen: View, *, system: str | None, prompt: str | None, budget: int, memory: Recall
    ) -> Context:
        head = "\n\n".join(text for text in (system, memory.text) if text)
        messages: list[dict[str, Any]] = []
        included: list[Item] = []
        if head:
            messages.append({"role": "system", "content": head})
        if system:
            included.append(Item("system prompt", measure(self._counter, system), "always kept"))
        if memory.text:
            found = f"{len(memory.hits)} records that answer the prompt"
            alone = measure(self._counter, system) if system else 0
            included.append(Item("memory", measure(self._counter, head) - alone, found))
        for message in chosen.messages:
            messages.append(openai(message))
            included.append(_item(message, _reason(message)))
        if prompt:
            messages.append({"role": "user", "content": prompt})
            included.append(Item("prompt", measure(self._counter, prompt), "always kept"))
        included.append(Item("reply", REPLY_OVERHEAD, "opens the model's answer"))
        tokens = sum(item.tokens for item in included)
        out = [_item(message, "older than what fits") for message in chosen.pruned]
        out += [
            _item(message, "tool call or result without its counterpart")
            for message in chosen.orphans
        ]
        receipt = ContextReceipt(budget, tokens, self._counter.exact, tuple(included), tuple(out))
        return Context(messages, tokens, receipt, memory)


def _pinned(transcript: Sequence[Message]) -> int:
    # Of whole units: with a pinned result comes its call. An orphan is never sent.
    return sum(unit.tokens for unit in units(transcript)[0] if unit.fixed)


def _reason(message: Message) -> str:
    return "pinned" if message.pinned else "system" if message.role == "system" else "recent"


def _item(message: Message, why: str) -> Item:
    return Item(f"{message.role} message", message.tokens, why, message.id)
