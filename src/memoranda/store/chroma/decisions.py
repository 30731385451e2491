"""What persons decided about names: which mean the same thing, and which stand alone.

Kept by folded names, not by entities, so that they outlive a rebuild and an export. A name with a
target belongs to the entity that the target names. A name that is its own target stands alone:
no rule of names links another to it.
"""

from __future__ import annotations

from collections.abc import Iterable

from memoranda.model.scope import Scope
from memoranda.store.chroma.filters import sees
from memoranda.store.chroma.rows import Decided
from memoranda.store.chroma.state import State

Place = tuple[str, str]
"""A folded name, and the id of the entity in which it is."""


def target(state: State, folded: str) -> str | None:
    """Return the name to whose entity ``folded`` was given, if it was."""
    row = state.decisions.get(folded)
    return None if row is None else row.target


def alone(state: State, folded: str) -> bool:
    """Return whether a name stands alone, or is one with such a name."""
    leader = target(state, folded)
    return leader is not None and target(state, leader) == leader


def first(state: State, entities: Iterable[str]) -> str | None:
    """Return the oldest of some entities."""
    return min(entities, key=lambda entity: state.things[entity].number, default=None)


def holder(state: State, folded: str) -> str | None:
    """Return the entity of the names that were decided to be one with ``folded``, if it is."""
    leader = target(state, folded) or folded
    things = state.indexes.things
    if (found := first(state, things[leader])) is not None:
        return found
    return first(state, [held for name in group(state, leader) for held in things[name]])


def read(state: State, scope: Scope) -> dict[str, str]:
    """Return all decisions; for an agent, those about names in what it sees."""
    return {
        folded: row.target
        for folded, row in sorted(state.decisions.items())
        if scope.agent is None or _is_seen(state, scope, {folded, row.target})
    }


def _is_seen(state: State, scope: Scope, names: Iterable[str]) -> bool:
    return all(
        any(
            sees(scope, state.records[record].record.agent)
            for entity in state.indexes.things[name]
            for record in state.indexes.uses[entity, name]
        )
        for name in names
    )


def names(state: State) -> set[str]:
    """Return the folded names of which decisions speak."""
    return {*state.decisions, *state.indexes.targets}


def group(state: State, leader: str) -> set[str]:
    """Return ``leader`` and the folded names that were given to it."""
    return {leader, *state.indexes.targets[leader]}


def apart(state: State) -> list[Place]:
    """Return the names of which others of their group are in another entity."""
    things = state.indexes.things
    found: list[Place] = []
    for folded, row in sorted(state.decisions.items()):
        if folded not in things:
            continue
        together = {held for name in group(state, row.target) for held in things[name]}
        found += [(folded, entity) for entity in things[folded] if together != {entity}]
    return found


def not_alone(state: State) -> list[Place]:
    """Return the names that stand alone and yet have names of others in their entity."""
    found: list[Place] = []
    for folded, row in sorted(state.decisions.items()):
        if row.target != folded:
            continue
        own = group(state, folded)
        found += [
            (folded, entity)
            for entity in state.indexes.things[folded]
            if any(name not in own for name, _ in state.things[entity].names)
        ]
    return found


def unite(state: State, leader: str, others: Iterable[str]) -> None:
    """Decide that ``others``, and what was one with them, mean what ``leader`` does."""
    _lead(state, leader)
    for name in others:
        for other in {name, target(state, name) or name} - {leader}:
            _give(state, other, leader)
            _write(state, other, leader)


def _lead(state: State, folded: str) -> None:
    """Let ``folded`` be the target of the group in which it is."""
    before = target(state, folded)
    if before is None or before == folded:
        return
    state.drop(state.decisions[folded])
    _give(state, before, folded)
    _write(state, before, folded)


def _give(state: State, leader: str, to: str) -> None:
    """Let what belongs to one name belong to another."""
    for folded in list(state.indexes.targets[leader]):
        _write(state, folded, to)


def _write(state: State, folded: str, to: str) -> None:
    state.put(Decided(folded=folded, target=to))


def part(state: State, folded: str) -> None:
    """Decide that ``folded`` stands alone; what was one with it stays so without it."""
    _leave(state, folded)
    _write(state, folded, folded)


def forget(state: State, folded: Iterable[str]) -> None:
    """Drop what was decided of those of these names that no record uses any more."""
    for name in sorted(folded):
        if name not in state.indexes.things:
            _leave(state, name)


def _leave(state: State, folded: str) -> None:
    """Take a name out of its group; where it was the target, the longest other name is."""
    _drop(state, folded)
    left = sorted(state.indexes.targets[folded], key=lambda name: (-len(name), name))
    if left:
        _drop(state, left[0])
        _give(state, folded, left[0])


def _drop(state: State, folded: str) -> None:
    if (row := state.decisions.get(folded)) is not None:
        state.drop(row)
