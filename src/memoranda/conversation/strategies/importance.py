"""Importance: what matters most stays, whatever its age (R4.4 and its scoring)."""

from __future__ import annotations

from memoranda.conversation.selection import Selection, SelectionInput


class Importance:
    """Keeps the groups with the highest scores, those of the current task before all others.

    A group is a question with its answer, or one exchange with tools. Completed tasks go
    before any of the current one does (R5.2); their mistakes and standing rules do not (R5.3).
    """

    name = "importance"
    pairs = True
    description = (
        "what scores highest, a question together with its answer; the current task "
        "before any earlier one"
    )

    def select(self, given: SelectionInput, selection: Selection) -> None:
        """Keep old mistakes, the current task, then the rest by score."""
        selection.take_old(given)
        if selection.take_current(given):
            for group in given.ranked:
                selection.take(group, "scores enough")
