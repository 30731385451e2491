"""Reads for the Markdown layer: what MEMORY.md last said, and the facts worth a line in it."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from weakref import WeakKeyDictionary

from memoranda.model.life import believed
from memoranda.model.models import Kind, Record, Trust
from memoranda.model.notes import NotesBase
from memoranda.model.scope import Scope
from memoranda.model.times import to_ms
from memoranda.store.chroma.filters import owned, sees
from memoranda.store.chroma.rows import Stored, joined
from memoranda.store.chroma.state import State


def base(state: State, scope: Scope, folder: str) -> NotesBase | None:
    """Return what was kept for exactly this scope and folder."""
    row = state.notes.get(joined(scope.agent or None, folder))
    return None if row is None else NotesBase(row.folder, tuple(row.lines))


def kept(state: State, scope: Scope) -> list[tuple[Scope, str]]:
    """Return the scopes and folders of what was kept."""
    rows = state.notes.values()
    found = [row for row in rows if scope.agent is None or row.agent == scope.agent]
    found.sort(key=lambda row: (row.agent or "", row.folder))
    return [(Scope(scope.user, row.agent), row.folder) for row in found]


def standing(state: State, scope: Scope, now: datetime, limit: int) -> list[Record]:
    """Return the facts that are worth a line, those first that are most worth it."""
    rows = [row for row in owned(state, scope) if _stands(row.record) and believed(row.record, now)]
    rows.sort(key=_worth, reverse=True)
    return [row.record for row in rows[:limit]]


def _stands(item: Record) -> bool:
    """Return whether a record is worth a line while it is believed."""
    return (
        item.kind is Kind.FACT and item.superseded_by is None and item.trust is not Trust.EXTERNAL
    )


def _worth(row: Stored) -> tuple[bool, bool, float, datetime, int]:
    item = row.record
    by_person, lasting = item.trust is Trust.PERSON, item.decay_rate == 0
    return by_person, lasting, item.confidence, item.created_at, row.ordinal


# The version


@dataclass(frozen=True, slots=True)
class Ends:
    """When the facts of one moment of a state end by themselves.

    Attributes:
        version: the state's.
        of_agents: for each agent (or none) the moments, in order.
    """

    version: int
    of_agents: Mapping[str | None, list[datetime]]

    def following(self, scope: Scope, now: datetime) -> datetime | None:
        """Return the next end of a fact that the scope sees, if there is one."""
        seen = (ends for agent, ends in self.of_agents.items() if sees(scope, agent))
        return min((end for ends in seen for end in _first_after(ends, now)), default=None)


# Of each state that lives, as asking for a version is to cost next to nothing.
_ENDS: WeakKeyDictionary[State, Ends] = WeakKeyDictionary()


def version(state: State, scope: Scope, now: datetime) -> str:
    """Return a text that is another whenever other facts are standing.

    What is done to facts is counted. While the count stays, those standing later are some of
    those standing before, and the next end tells which: where it is the same, so are they.
    """
    counted = sum(times for agent, times in state.counters.standing if sees(scope, agent or None))
    ends = _ENDS.get(state)
    if ends is None or ends.version != state.version:
        ends = _ENDS[state] = _ends(state)
    end = ends.following(scope, now)
    return f"{counted}-{'never' if end is None else to_ms(end)}"


def _ends(state: State) -> Ends:
    found: defaultdict[str | None, list[datetime]] = defaultdict(list)
    for row in state.records.values():
        item = row.record
        if item.valid_until is not None and _stands(item):
            found[item.agent].append(item.valid_until)
    return Ends(state.version, {agent: sorted(ends) for agent, ends in found.items()})


def _first_after(ends: list[datetime], now: datetime) -> Iterator[datetime]:
    place = bisect_right(ends, now)
    yield from ends[place : place + 1]
