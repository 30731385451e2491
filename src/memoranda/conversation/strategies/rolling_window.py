"""Rolling window: the last messages that fit, pruned in pairs (R3.1 to R3.5)."""

from __future__ import annotations

from memoranda.conversation.selection import NEWEST, Selection, SelectionInput


class RollingWindow:
    """Keeps the newest turns that fit, and old mistakes with their corrections.

    The window opens with a question; nothing before it stays but the mistakes.
    """

    name = "rolling_window"
    pairs = True
    description = (
        "the newest turns that fit, a question together with its answer; of what is older "
        "only mistakes with their corrections, and standing rules"
    )

    def select(self, given: SelectionInput, selection: Selection) -> None:
        """Keep old mistakes, then the newest turns."""
        selection.take_old(given)
        selection.take_turns(given.turns, NEWEST)
