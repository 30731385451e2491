"""Which facts stay in MEMORY.md when it would be larger than it may be (seed 002).

By rules: of near duplicates only the better one, then what was superseded goes, then what ranks
lowest. What a person wrote there by hand is never asked about. The choice is steady: what is in
the file has an advantage, so a new fact does not reshuffle it, and choosing again changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from memoranda.model.models import Record, Trust
from memoranda.notes.likeness import shared, words

NEAR = 0.75
"""Share of common words (Jaccard index) from which two lines say the same."""
ADVANTAGE = 0.2
"""How much more a fact must be believed than one in the file of its class to take its place."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A fact that may stand in the file.

    Attributes:
        record: the fact.
        cost: bytes of its line or lines.
        present: whether it is in the file already.
        heading: the heading that it needs and that would have to be made.
    """

    record: Record
    cost: int
    present: bool
    heading: str | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """What stays, best first, and which of the others say nearly what another line says."""

    kept: tuple[str, ...]
    near: frozenset[str]


def choose(
    candidates: Sequence[Candidate],
    *,
    room: int,
    fixed: Iterable[str] = (),
    preferred: AbstractSet[str] | None = None,
) -> Choice:
    """Return which candidates fit into ``room`` bytes.

    Args:
        candidates: the facts, ranked, best first.
        room: bytes for their lines and for headings that they need.
        fixed: lines that stay in any case: what nearly repeats one of them goes.
        preferred: ids that are to stay before all others.
    """
    seen = [frozenset(words(text)) for text in fixed]
    headings: set[str] = set()
    kept: list[str] = []
    near: set[str] = set()
    for one in _ordered(candidates, preferred):
        cost = one.cost
        if one.heading is not None and one.heading not in headings:
            cost += (
                len(f"## {one.heading}".encode()) + 3
            )  # Its line end, a blank line on each side.
        if cost > room:
            continue
        said = frozenset(words(one.record.content))
        if any(shared(said, other) >= NEAR for other in seen):
            near.add(one.record.id)
            continue
        room -= cost
        seen.append(said)
        kept.append(one.record.id)
        headings.update([one.heading] if one.heading is not None else [])
    return Choice(tuple(kept), frozenset(near))


def _ordered(
    candidates: Sequence[Candidate], preferred: AbstractSet[str] | None
) -> list[Candidate]:
    """Return the candidates in the order in which they are taken."""

    def order(rank: int) -> tuple[bool, int, float, bool, int]:
        one = candidates[rank]
        others = preferred is not None and one.record.id not in preferred
        belief = one.record.confidence + (ADVANTAGE if one.present else 0.0)
        return others, _class_of(one.record), -round(belief, 6), not one.present, rank

    return [candidates[rank] for rank in sorted(range(len(candidates)), key=order)]


def _class_of(record: Record) -> int:
    """Return how well a fact is founded, the best first: as a store ranks what is standing."""
    if record.superseded_by is not None:
        return 3
    if record.trust is not Trust.PERSON:
        return 2
    return 0 if record.decay_rate == 0 else 1
