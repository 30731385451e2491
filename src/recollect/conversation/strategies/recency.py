"""Recency: system messages always, then the newest messages that fit (seed 003)."""

from __future__ import annotations

from collections.abc import Sequence

from recollect.conversation.units import Unit


def keep(units: Sequence[Unit], budget: int) -> list[bool]:
    """Return for each unit whether it stays.

    Working back from the newest, units are kept until one does not fit: what is kept is
    the end of the conversation without gaps, beside what is fixed.
    """
    left = budget - sum(unit.tokens for unit in units if unit.fixed)
    kept = [unit.fixed for unit in units]
    for index in reversed(range(len(units))):
        unit = units[index]
        if unit.fixed:
            continue
        left -= unit.tokens
        if left < 0:
            break
        kept[index] = True
    return kept
