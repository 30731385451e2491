"""Recency: system messages always, then the newest messages that fit (requirement R1 of ADR 7)."""

from __future__ import annotations

from memoranda.conversation.selection import NEWEST, Selection, SelectionInput


class Recency:
    """Keeps messages from the newest back until one does not fit: no gaps, no pairs."""

    name = "recency"
    pairs = False
    description = "the newest messages that fit, one by one, without gaps"

    def select(self, given: SelectionInput, selection: Selection) -> None:
        """Keep the newest units."""
        for index in reversed(range(len(given.units))):
            if index not in selection.kept and not selection.take([index], NEWEST):
                return
