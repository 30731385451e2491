"""Makes long tool results short: their head and tail, and where to find the whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from memoranda.conversation.markers import reference
from memoranda.conversation.units import Unit
from memoranda.model.models import Message
from memoranda.model.ports import MessageMeter

SHORTEST = 80  # tokens that a result keeps at least
HEAD_SHARE = 2 / 3  # of what is kept; the rest is its tail, where totals and errors stand


def shortest(unit: Unit) -> int:
    """Return the tokens of a unit after all that can be shortened in it was."""
    return sum(min(item.tokens, SHORTEST) if _can(item) else item.tokens for item in unit.messages)


def fitted(units: Sequence[Unit], budget: int, meter: MessageMeter) -> list[Unit]:
    """Return the units with their longest tool results cut to one length, so that they fit.

    ``budget`` is at least the sum of their :func:`shortest`.
    """
    cap = _cap(units, budget)
    return [
        Unit.of(*(_shortened(item, cap, meter) for item in unit.messages))
        if any(_can(item) and item.tokens > cap for item in unit.messages)
        else unit
        for unit in units
    ]


def _can(message: Message) -> bool:
    return message.tool_result is not None and not message.pinned and not message.images


def _cap(units: Sequence[Unit], budget: int) -> int:
    # The largest length to which the results must be cut, found from the shortest up.
    left = budget - sum(i.tokens for unit in units for i in unit.messages if not _can(i))
    sizes = sorted(i.tokens for unit in units for i in unit.messages if _can(i))
    for index, size in enumerate(sizes):
        share = left // (len(sizes) - index)
        if size > share:
            return max(share, SHORTEST)
        left -= size
    return max(sizes, default=0)


def _shortened(message: Message, cap: int, meter: MessageMeter) -> Message:
    if not _can(message) or message.tokens <= cap:
        return message
    text = message.content
    kept = len(text) * cap // message.tokens
    while True:
        content = _head_and_tail(text, kept, message.position or 0)
        tokens = meter.message(content)
        if tokens <= cap or kept == 0:
            return replace(message, content=content, tokens=tokens)
        kept = min(kept - 1, kept * cap // tokens)


def _head_and_tail(text: str, kept: int, place: int) -> str:
    head = int(kept * HEAD_SHARE)
    tail = kept - head
    cut = len(text) - kept
    end = text[len(text) - tail :] if tail else ""
    whole = reference(place, place)
    return f"{text[:head]}\n... [{cut} characters removed] ... (expand {whole})\n{end}"
