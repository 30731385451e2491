"""The view: which messages a model sees, as a pure function of transcript and budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from recollect.conversation.strategies import recency, rolling_window
from recollect.conversation.units import Unit, units
from recollect.core.errors import InvalidInput
from recollect.core.models import Message

Strategy = Callable[[Sequence[Unit], int], list[bool]]
NAMES = ("recency", "rolling_window")


@dataclass(frozen=True, slots=True)
class View:
    """What stays and what is left out.

    Attributes:
        messages: the messages of the view, in order.
        pruned: those that did not fit, in order; they stay in the transcript.
        orphans: tool calls without all their results, and results without a call.
        tokens: the tokens of ``messages``.
    """

    messages: tuple[Message, ...]
    pruned: tuple[Message, ...]
    orphans: tuple[Message, ...]
    tokens: int


def strategy_named(name: str, *, max_messages: int, keep_recent: int) -> Strategy:
    """Return the strategy of that name.

    Raises:
        InvalidInput: there is none.
    """
    match name:
        case "recency":
            return recency.keep
        case "rolling_window":
            return lambda units, budget: rolling_window.keep(
                units, budget, max_messages=max_messages, keep_recent=keep_recent
            )
    message = f"strategy={name!r} is unknown; use one of {', '.join(NAMES)}"
    raise InvalidInput(message)


def view(transcript: Sequence[Message], budget: int, strategy: Strategy) -> View:
    """Return the part of ``transcript`` that ``strategy`` keeps within ``budget`` tokens.

    System and pinned messages stay even where they alone exceed the budget; the caller,
    who knows what else must fit, judges that.
    """
    whole, orphans = units(transcript)
    kept = strategy(whole, budget)
    stay = tuple(
        message
        for unit, stays in zip(whole, kept, strict=True)
        if stays
        for message in unit.messages
    )
    go = tuple(
        message
        for unit, stays in zip(whole, kept, strict=True)
        if not stays
        for message in unit.messages
    )
    return View(stay, go, tuple(orphans), sum(message.tokens for message in stay))
