"""Actions of persons on names: two entities are one, an alias is another, for good."""

from __future__ import annotations

from typing import NamedTuple

from memoranda.errors import InvalidInput, NotFound
from memoranda.model.actions import Decide, MergeEntities, SplitEntity
from memoranda.store.sqlite import decisions, entities
from memoranda.store.sqlite.actions.transaction import Transaction, perform

VISIBLE = """
SELECT e.key, e.name FROM entities e WHERE e.id = ?1 AND e.user_key = ?2
    AND (?3 IS NULL OR EXISTS (SELECT 1 FROM record_entities l JOIN records r
        ON r.key = l.record_key WHERE l.entity_key = e.key AND (r.agent IS NULL OR r.agent = ?3)))
"""
VISIBLE_NAME = """
SELECT 1 FROM record_entities l JOIN records r ON r.key = l.record_key
WHERE l.entity_key = ?1 AND l.folded = ?2 AND (?3 IS NULL OR r.agent IS NULL OR r.agent = ?3)
"""


class Known(NamedTuple):
    """An entity that an action is about."""

    key: int
    name: str


def _entity(tx: Transaction, id: str) -> Known:
    row = tx.connection.execute(VISIBLE, (id, tx.user, tx.scope.agent)).fetchone()
    if row is None:
        message = f"there is no entity {id!r} for user {tx.scope.user!r}; look it up by its name"
        raise NotFound(message)
    return Known(*row)


@perform.register
def _(action: MergeEntities, tx: Transaction) -> None:
    entity, other = _entity(tx, action.entity), _entity(tx, action.other)
    if entity == other:
        message = f"{action.entity!r} is one entity already; name two that are to become one"
        raise InvalidInput(message)
    names = entities.spelled(tx.connection, other.key)
    decisions.unite(tx.connection, tx.user, tx.names.fold(entity.name), names)
    for folded in names:
        entities.give(tx.connection, other.key, folded, entity.key)


@perform.register
def _(action: SplitEntity, tx: Transaction) -> None:
    entity = _entity(tx, action.entity)
    folded = tx.names.fold(action.alias)
    seen = tx.connection.execute(VISIBLE_NAME, (entity.key, folded, tx.scope.agent)).get
    names = entities.spelled(tx.connection, entity.key)
    if not seen or folded not in names:
        message = f"{action.alias!r} is no name of {action.entity!r}; use one of its aliases"
        raise NotFound(message)
    if len(names) == 1:
        message = (
            f"{action.alias!r} is the only name of {action.entity!r}; "
            f"only an entity with aliases can be split"
        )
        raise InvalidInput(message)
    decisions.part(tx.connection, tx.user, folded)
    entities.split(tx.connection, tx.user, entity.key, folded)
    entities.rename(tx.connection, [entity.key])


@perform.register
def _(action: Decide, tx: Transaction) -> None:
    folded, target = tx.names.fold(action.name), tx.names.fold(action.target)
    if not folded or not target:
        message = f"a decision needs two names, got {action.name!r} and {action.target!r}"
        raise InvalidInput(message)
    if decisions.target(tx.connection, tx.user, folded) is None:
        if folded == target:
            decisions.part(tx.connection, tx.user, folded)
        else:
            leader = decisions.target(tx.connection, tx.user, target) or target
            decisions.unite(tx.connection, tx.user, leader, [folded])
        entities.obey(tx.connection)
