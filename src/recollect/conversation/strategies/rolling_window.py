"""Rolling window: the last N messages that fit, pruned in pairs (seed 000, R3.1 to R3.5)."""

from __future__ import annotations

from collections.abc import Sequence

from recollect.conversation.strategies import recency
from recollect.conversation.units import Unit


def keep(units: Sequence[Unit], budget: int, *, max_messages: int, keep_recent: int) -> list[bool]:
    """Return for each unit whether it stays: the newest that fit, at most ``max_messages``.

    A window opens with a question: an answer whose question was pruned goes with it, unless
    it is among the ``keep_recent`` newest messages and all of these fit, or no question is left.
    """
    kept = recency.keep(units, budget)
    count = 0
    for index in reversed(range(len(units))):
        if units[index].fixed or not kept[index]:
            continue
        count += len(units[index].messages)
        if count > max_messages:
            kept[index] = False
    if not all(kept):
        for index in _unasked(units, kept, keep_recent):
            kept[index] = False
    return kept


def _unasked(units: Sequence[Unit], kept: Sequence[bool], keep_recent: int) -> list[int]:
    free = [index for index, unit in enumerate(units) if kept[index] and not unit.fixed]
    asked = [index for index in free if units[index].messages[0].role == "user"]
    unasked = [index for index in free if asked and index < asked[0]]
    whole = sum(len(units[index].messages) for index in free)
    rest = whole - sum(len(units[index].messages) for index in unasked)
    return unasked if rest >= keep_recent or whole < keep_recent else []
