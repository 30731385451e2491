"""Rolling window: the last N messages that fit, pruned in pairs (seed 000, R3.1 to R3.5)."""

from __future__ import annotations

from collections.abc import Sequence

from recollect.conversation.strategies import recency
from recollect.conversation.units import Unit


def keep(units: Sequence[Unit], budget: int, *, max_messages: int) -> list[bool]:
    """Return for each unit whether it stays: the newest that fit, at most ``max_messages``.

    A window never opens with an answer whose question was pruned: the answer goes with it.
    """
    kept = recency.keep(units, budget)
    count = 0
    for index in reversed(range(len(units))):
        if units[index].fixed or not kept[index]:
            continue
        count += len(units[index].messages)
        if count > max_messages:
            kept[index] = False
    free = [index for index, unit in enumerate(units) if kept[index] and not unit.fixed]
    pruned_before = any(not stays for stays in kept)
    for index in free:
        if not pruned_before or units[index].messages[0].role == "user" or index == free[-1]:
            break
        kept[index] = False
    return kept
