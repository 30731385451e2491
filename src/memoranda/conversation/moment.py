"""A conversation at the moment in which a context of it is asked for."""

from __future__ import annotations

from dataclasses import dataclass

from memoranda.conversation.context import ContextBuilder, Order
from memoranda.conversation.ledger import Ledger
from memoranda.model.ports import TokenCounter


@dataclass(frozen=True, slots=True)
class Moment:
    """A conversation as it is while its lock is held, and what is asked of it.

    Attributes:
        builder: builds its contexts.
        ledger: its live messages, without the prompt.
        order: the context that is asked for.
        question: what memory is asked.
        said: the episode of the prompt, if that is in the transcript already.
        recapped: the episodes that the recap tells.
    """

    builder: ContextBuilder
    ledger: Ledger
    order: Order
    question: str | None
    said: frozenset[str]
    recapped: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Asking:
    """What memory is asked for a context.

    Attributes:
        question: what the user says.
        budget: most tokens of the answer.
        seen: the ids of episodes that are in view anyway.
        counter: what counts tokens.
    """

    question: str
    budget: int
    seen: frozenset[str]
    counter: TokenCounter


def last_question(ledger: Ledger) -> str | None:
    """Return what the user said last."""
    said = (item.content for item in reversed(ledger.messages) if item.role == "user")
    return next(said, None)
