"""Actions of persons on names: two entities are one, an alias is another, for good."""

from __future__ import annotations

from collections.abc import Iterable

from memoranda.errors import InvalidInput, NotFound
from memoranda.model.actions import Decide, MergeEntities, SplitEntity
from memoranda.store.chroma import decisions, entities
from memoranda.store.chroma.actions.transaction import Transaction, perform
from memoranda.store.chroma.filters import sees
from memoranda.store.chroma.rows import Thing


def _sees_any(tx: Transaction, records: Iterable[str]) -> bool:
    return any(sees(tx.scope, tx.state.records[key].record.agent) for key in records)


def _entity(tx: Transaction, id: str) -> Thing:
    thing = tx.state.things.get(id)
    seen = tx.scope.agent is None or _sees_any(tx, tx.state.indexes.mentions[id])
    if thing is None or not seen:
        message = f"there is no entity {id!r} for user {tx.scope.user!r}; look it up by its name"
        raise NotFound(message)
    return thing


@perform.register
def _(action: MergeEntities, tx: Transaction) -> None:
    entity, other = _entity(tx, action.entity), _entity(tx, action.other)
    if entity.id == other.id:
        message = f"{action.entity!r} is one entity already; name two that are to become one"
        raise InvalidInput(message)
    names = entities.spelled(tx.state, other.id)
    decisions.unite(tx.state, tx.names.fold(entity.name), names)
    for folded in names:
        entities.give(tx.state, other.id, folded, entity.id)


@perform.register
def _(action: SplitEntity, tx: Transaction) -> None:
    entity = _entity(tx, action.entity)
    folded = tx.names.fold(action.alias)
    names = entities.spelled(tx.state, entity.id)
    if folded not in names or not _sees_any(tx, tx.state.indexes.uses[entity.id, folded]):
        message = f"{action.alias!r} is no name of {action.entity!r}; use one of its aliases"
        raise NotFound(message)
    if len(names) == 1:
        message = (
            f"{action.alias!r} is the only name of {action.entity!r}; "
            f"only an entity with aliases can be split"
        )
        raise InvalidInput(message)
    decisions.part(tx.state, folded)
    entities.split(tx.state, entity.id, folded)
    entities.rename(tx.state, [entity.id])


@perform.register
def _(action: Decide, tx: Transaction) -> None:
    folded, target = tx.names.fold(action.name), tx.names.fold(action.target)
    if not folded or not target:
        message = f"a decision needs two names, got {action.name!r} and {action.target!r}"
        raise InvalidInput(message)
    if decisions.target(tx.state, folded) is None:
        if folded == target:
            decisions.part(tx.state, folded)
        else:
            leader = decisions.target(tx.state, target) or target
            decisions.unite(tx.state, leader, [folded])
        entities.obey(tx.state)
