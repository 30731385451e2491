"""Changes which names are one entity, as persons decide it."""

from __future__ import annotations

from memoranda.errors import InvalidInput, NotFound
from memoranda.store.sql.transaction import ScopedTransaction

SEEN_ENTITY = """
SELECT e.key, e.name FROM entities e WHERE e.id = :id AND e.user_key = :user
    AND (CAST(:agent AS text) IS NULL OR EXISTS (SELECT 1 FROM record_entities l JOIN records r
        ON r.key = l.record_key WHERE l.user_key = :user AND r.user_key = :user
        AND l.entity_key = e.key AND (r.agent IS NULL OR r.agent = :agent)))
"""
SEEN_NAME = """
SELECT 1 FROM record_entities l JOIN records r ON r.key = l.record_key
WHERE l.user_key = :user AND r.user_key = :user AND l.entity_key = :entity AND l.folded = :folded
    AND (CAST(:agent AS text) IS NULL OR r.agent IS NULL OR r.agent = :agent)
"""


class EntityWrites(ScopedTransaction):
    """Merges and splits entities of a user, for good."""

    def merge_entities(self, id: str, other_id: str) -> None:
        """Make two entities one."""
        (entity, name), (other, _) = self._entity(id), self._entity(other_id)
        if entity == other:
            message = f"{id!r} is one entity already; name two that are to become one"
            raise InvalidInput(message)
        names = self.entity_writer.spelled(other)
        self.entity_writer.unite(self.names.fold(name), names)
        for folded in names:
            self.entity_writer.give(other, folded, entity)

    def split_entity(self, id: str, alias: str) -> None:
        """Make an alias of an entity an entity of its own."""
        entity, _ = self._entity(id)
        folded = self.names.fold(alias)
        values = self.own | {"entity": entity, "folded": folded}
        names = self.entity_writer.spelled(entity)
        if not self.connection.value(SEEN_NAME, values) or folded not in names:
            message = f"{alias!r} is no name of {id!r}; use one of its aliases"
            raise NotFound(message)
        if len(names) == 1:
            message = (
                f"{alias!r} is the only name of {id!r}; only an entity with aliases can be split"
            )
            raise InvalidInput(message)
        self.entity_writer.stand_alone(folded)
        self.entity_writer.split(entity, folded)
        self.entity_writer.rename([entity])

    def keep_name_decision(self, name: str, target_name: str) -> None:
        """Keep a decision on a name that was made elsewhere, unless there is one on it."""
        folded, target = self.names.fold(name), self.names.fold(target_name)
        if not folded or not target:
            message = f"a decision needs two names, got {name!r} and {target_name!r}"
            raise InvalidInput(message)
        self.register(begins=False)
        if self.entity_writer.target(folded) is None:
            if folded == target:
                self.entity_writer.stand_alone(folded)
            else:
                self.entity_writer.unite(self.entity_writer.target(target) or target, [folded])
            self.entity_writer.obey_decisions()

    def _entity(self, id: str) -> tuple[int, str]:
        row = self.connection.one(SEEN_ENTITY, self.own | {"id": id})
        if row is None:
            message = (
                f"there is no entity {id!r} for user {self.scope.user!r}; look it up by its name"
            )
            raise NotFound(message)
        return row[0], row[1]
