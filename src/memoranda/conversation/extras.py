"""What joins the system prompt as far as there is room: notes, the recap of a session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memoranda.model.ports import TokenCounter

GLUE = "\n\n"
GLUE_TOKENS = 2
CUT = "…"


@dataclass(frozen=True, slots=True, kw_only=True)
class Extra:
    """A text for the system prompt that gives way, line by line, where the budget is small.

    Attributes:
        name: what it is, as receipts say it.
        why: why it is there.
        opening: stands before its lines, whatever of them fits.
        lines: what it says; blank ones between others are kept.
        closing: stands behind them.
        share: most it may take of what the fixed parts of a context leave, 0 to 1.
        oldest_first: whether the first lines go first, where not all fit; else the last.
    """

    name: str
    why: str
    opening: str
    lines: tuple[str, ...]
    closing: str
    share: float
    oldest_first: bool = False

    def text(self, lines: Sequence[str]) -> str:
        """Return it with only these lines."""
        return "\n".join([self.opening, *lines, self.closing])

    def fitting(self, most: int, counter: TokenCounter) -> str | None:
        """Return as much of it as ``most`` tokens hold; ``None`` if no line does."""
        whole = self.text(self.lines)
        if not self.lines or counter.count(whole) + GLUE_TOKENS <= most:
            return whole if self.lines else None
        # A longer part takes no fewer tokens, but for a few where words join: none is counted on.
        low, high = 0, len(self.lines)
        while low < high:
            middle = (low + high + 1) // 2
            if counter.count(self._part(middle)) + GLUE_TOKENS <= most:
                low = middle
            else:
                high = middle - 1
        return self._part(low) if low else None

    def _part(self, count: int) -> str:
        if self.oldest_first:
            return self.text([CUT, *self.lines[-count:]] if count else [CUT])
        return self.text([*self.lines[:count], CUT])


@dataclass(frozen=True, slots=True)
class Joined:
    """A text that joined the system prompt, and why."""

    name: str
    text: str
    why: str


def joined(system: str | None, extras: Sequence[Joined]) -> str | None:
    """Return the whole text of the system prompt."""
    return GLUE.join(text for text in [system, *(each.text for each in extras)] if text) or None
