"""What removing messages, or replacing them, does to positions: one rule for every transcript."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count, islice

from memoranda.model.models import Message, PrunedSpan
from memoranda.model.spans import runs_of, span_of

Held = Callable[[int, int], Sequence[Message]]
"""Returns the messages from one position to another, in order."""


def split_by_holes(span: PrunedSpan, held: Held) -> list[PrunedSpan]:
    """Return the runs without gaps of what is still there of a span."""
    runs = runs_of(held(span.first, span.last))
    parts = (span_of(run, span.why) for run in runs)
    return [replace(part, summary=span.summary, named=span.named) for part in parts]


@dataclass(frozen=True, slots=True)
class Replacement:
    """Which messages are removed, and where those stand that take their place.

    New messages take the positions of those that they replace. Where they are more, and others
    follow, these others move on behind the end with the rest of the new ones, to positions that
    were never used.

    Attributes:
        removed: the positions of the removed messages, in order.
        places: those of the new messages, in order.
        following: the position from which messages move, if any do.
        shift: by how much they move.
        fresh: the first of the new positions before theirs.
    """

    removed: Sequence[int]
    places: Sequence[int] = ()
    following: int = 0
    shift: int = 0
    fresh: int = 0

    @classmethod
    def plan(
        cls, removed: Sequence[int], new: int, *, following: int | None, end: int
    ) -> Replacement:
        """Return where ``new`` messages go.

        Args:
            removed: the positions of the removed messages, in order.
            new: how many take their place.
            following: the position of the first message behind that place that stays.
            end: the first position that was never used.
        """
        if following is None:
            return cls(removed, tuple(islice(chain(removed, count(end)), new)))
        free = [place for place in removed if place < following][:new]
        more = new - len(free)
        if more == 0:
            return cls(removed, free)
        places = (*free, *range(end, end + more))
        return cls(removed, places, following, end + more - following, end)

    def change(self, cuts: Iterable[PrunedSpan], held: Held) -> tuple[PrunedSpan, ...]:
        """Return the spans of a pruning as they are after the replacement."""
        found: list[PrunedSpan] = []
        for span in cuts:
            for part in self._moved(span):
                found += [part] if part is span else split_by_holes(part, held)
        return tuple(found)

    def _moved(self, span: PrunedSpan) -> list[PrunedSpan]:
        """Return a span as it is then, or its parts; itself, where nothing in it was removed."""
        if any(span.first <= place <= span.last for place in self.removed):
            span = span.tear()
        if not self.shift or span.last < self.following:
            return [span]
        end = span.last + self.shift
        if span.first >= self.following:
            return [replace(span, first=span.first + self.shift, last=end)]
        # The new messages are in the midst of what is out of view, and so are out of view, too.
        return [replace(span, last=self.following - 1), replace(span, first=self.fresh, last=end)]
