"""The strategy for pruning when one task ends and the next begins (R6.4)."""

from __future__ import annotations

from memoranda.conversation.selection import CURRENT, Selection, SelectionInput


class CurrentTask:
    """Keeps the current task, and of those before it the mistakes and standing rules."""

    name = "task_boundary"
    pairs = True
    description = "the current task, and of earlier ones mistakes and standing rules"

    def select(self, given: SelectionInput, selection: Selection) -> None:
        """Keep old mistakes, then the current task from its end."""
        selection.take_old(given)
        for index in reversed(range(given.current, len(given.units))):
            if not selection.take([index], CURRENT):
                return
