"""Hybrid: a window on the current task, the most important of what lies before (R7)."""

from __future__ import annotations

from memoranda.conversation.selection import CURRENT, Selection, SelectionInput

WINDOW = 0.5  # share of what is free that the newest turns of the current task get first


class Hybrid:
    """Keeps the newest turns of the current task, then the rest of it by importance.

    What is left goes to earlier tasks, the newest first, each of them whole.
    """

    name = "hybrid"
    pairs = True
    description = (
        "the newest turns of the current task, then the rest of it by score, then earlier "
        "tasks, each of them whole"
    )

    def select(self, given: SelectionInput, selection: Selection) -> None:
        """Keep old mistakes, a window on the current task, its rest, then earlier tasks."""
        selection.take_old(given)
        start = given.current
        current = [turn for turn in given.turns if max(turn.all, default=-1) >= start]
        window = int(selection.tokens * WINDOW)
        saved, selection.tokens = selection.tokens - window, window
        selection.take_turns(current, CURRENT)
        selection.tokens += saved
        if selection.take_current(given):
            for task in reversed(given.tasks[:-1]):
                whole = range(task.start, task.end)
                if not selection.take(whole, "of an earlier task that fits"):
                    return
