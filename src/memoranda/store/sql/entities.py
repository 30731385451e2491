"""Entities of a user: names, aliases, who mentions them, and what persons made one.

That a person made two entities one is kept as which name belongs to the entity of which other
name, so that it outlives an export. A name that has another as its target is looked up by it.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from memoranda.errors import InvalidInput, NotFound
from memoranda.model.models import Mention
from memoranda.model.ports import NameMatcher
from memoranda.store.sql.database import SqlConnection
from memoranda.store.sql.rows import dump
from memoranda.store.sql.transaction import ScopedTransaction

LONGEST_NAME = 60
# Names that are compared with a new one: where more may be meant, none is.
MOST_ALIKE = 100
# The name under which persons put others together; else the longest that is no sentence.
RENAME = """
UPDATE entities SET name = (
    SELECT n.name FROM entity_names n WHERE n.entity_key = :entity
    ORDER BY CASE WHEN EXISTS (SELECT 1 FROM entity_decisions d
            WHERE d.user_key = :user AND d.target = n.folded) THEN 0 ELSE 1 END,
        CASE WHEN length(n.name) <= :longest THEN 0 ELSE 1 END, length(n.name) DESC, n.name LIMIT 1
) WHERE user_key = :user AND key = :entity AND EXISTS (
    SELECT 1 FROM entity_names n WHERE n.entity_key = :entity)
"""
# The entity of a name; or else that of the name to which a person gave it, or of others given so.
KNOWN = """
SELECT entity_key FROM entity_names WHERE user_key = :user AND folded = :folded
UNION ALL SELECT n.entity_key FROM entity_decisions d
    JOIN entity_decisions o ON o.user_key = :user AND o.target = d.target
    JOIN entity_names n ON n.user_key = :user AND n.folded IN (o.folded, o.target)
    WHERE d.user_key = :user AND :folded IN (d.folded, d.target)
LIMIT 1
"""
CANDIDATES = """
SELECT n.folded, e.type, e.key, n.name FROM entity_names n JOIN entities e ON e.key = n.entity_key
WHERE n.user_key = :user AND e.user_key = :user AND (n.entity_key, n.folded) IN (
        SELECT entity_key, folded FROM entity_name_keys
        WHERE user_key = :user AND name_key IN (@texts(:keys)))
LIMIT :most
"""
GIVE_NAME = """
INSERT INTO entity_decisions (user_key, folded, target) VALUES (:user, :folded, :target)
ON CONFLICT (user_key, folded) DO UPDATE SET target = excluded.target
"""
# All that was given to a name goes on to the target of that.
GIVE_ON = """
UPDATE entity_decisions SET target = :target WHERE user_key = :user AND target = :folded
"""
NAMES = "SELECT folded, name FROM entity_names WHERE user_key = :user AND entity_key = :entity"
HELD = """
SELECT folded, entity_key FROM entity_names
WHERE user_key = :user AND folded IN (:folded, :target)
"""
TARGET = "SELECT target FROM entity_decisions WHERE user_key = :user AND folded = :folded"
# What a person decided of names that no record uses any more.
FORGET_GIVEN_NAMES = """
DELETE FROM entity_decisions WHERE user_key = :user AND (
    folded NOT IN (SELECT folded FROM entity_names WHERE user_key = :user)
    OR target NOT IN (SELECT folded FROM entity_names WHERE user_key = :user))
"""
CREATE = """
INSERT INTO entities (id, user_key, name, type) VALUES (:id, :user, :name, :type) RETURNING key
"""
ADD_NAME = """
INSERT INTO entity_names (user_key, folded, entity_key, name)
VALUES (:user, :folded, :entity, :name) ON CONFLICT (user_key, folded, entity_key) DO NOTHING
"""
ADD_KEY = """
INSERT INTO entity_name_keys (user_key, name_key, entity_key, folded)
VALUES (:user, :key, :entity, :folded)
ON CONFLICT (user_key, name_key, entity_key, folded) DO NOTHING
"""
# The names, links and keys of one entity become those of another.
MOVE = tuple(
    f"""
INSERT INTO {table} (user_key, entity_key, {columns})
SELECT user_key, CAST(:to AS bigint), {columns} FROM {table}
WHERE user_key = :user AND entity_key = :entity ON CONFLICT DO NOTHING
"""
    for table, columns in (
        ("entity_names", "folded, name"),
        ("entity_name_keys", "folded, name_key"),
        ("record_entities", "folded, record_key"),
    )
)
DROP = "DELETE FROM entities WHERE user_key = :user AND key = :entity"
DROP_UNUSED = tuple(
    f"""
DELETE FROM {table} WHERE user_key = :user AND entity_key = :entity AND folded NOT IN (
    SELECT folded FROM record_entities l WHERE l.user_key = :user AND l.entity_key = :entity)
"""
    for table in ("entity_names", "entity_name_keys")
)
DROP_UNLINKED = f"""
{DROP} AND NOT EXISTS (
    SELECT 1 FROM record_entities l WHERE l.user_key = :user AND entity_key = :entity)
"""
LINK = """
INSERT INTO record_entities (user_key, record_key, entity_key, folded)
VALUES (:user, :record, :entity, :folded) ON CONFLICT DO NOTHING
"""
SEEN_ENTITY = """
SELECT e.key, e.name FROM entities e WHERE e.id = :id AND e.user_key = :user
    AND (CAST(:agent AS text) IS NULL OR EXISTS (SELECT 1 FROM record_entities l JOIN records r
        ON r.key = l.record_key WHERE l.user_key = :user AND r.user_key = :user
        AND l.entity_key = e.key AND (r.agent IS NULL OR r.agent = :agent)))
"""


@dataclass(frozen=True, slots=True)
class EntityWriter:
    """Changes the entities of one user in an open transaction.

    Attributes:
        connection: the transaction.
        user: key of the user.
        names: decides which names mean the same.
    """

    connection: SqlConnection
    user: int
    names: NameMatcher

    def _run(self, sql: str, **values: Any) -> None:
        self.connection.run(sql, {"user": self.user} | values)

    def link(self, record: int, mentions: Sequence[Mention]) -> int:
        """Link a record to the entities that it mentions, making new ones; return the new links."""
        added = 0
        for mention in mentions:
            folded = self.names.fold(mention.text)
            if not folded:
                continue
            entity = self._find(folded, mention) or self._create(mention.text, mention.type)
            self._add_name(entity, folded, mention.text)
            place = {"user": self.user, "record": record, "entity": entity, "folded": folded}
            added += self.connection.change(LINK, place)
        return added

    def _add_name(self, entity: int, folded: str, name: str) -> None:
        base = {"user": self.user, "entity": entity, "folded": folded}
        if self.connection.change(ADD_NAME, base | {"name": name}):
            keys = sorted(self.names.keys(name))
            self.connection.run_many(ADD_KEY, [base | {"key": key} for key in keys])
            self.rename([entity])

    def _find(self, folded: str, mention: Mention) -> int | None:
        known: int | None = self.connection.value(KNOWN, {"user": self.user, "folded": folded})
        if known is not None:
            return known  # A person's word goes before any rule.
        keys = dump(sorted(self.names.keys(mention.text)))
        values = {"user": self.user, "keys": keys, "most": MOST_ALIKE}
        rows = self.connection.all(CANDIDATES, values)
        # One name at a time: an entity that fits by two of its names is still one.
        asked = mention.text, mention.type
        meant: set[int] = {
            key for known_, type_, key, _ in rows if self.names.link(*asked, {known_: type_})
        }
        if not meant:
            # Or it is the full name of one that is known by a short one.
            this = {folded: mention.type}
            meant = {key for _, type_, key, name in rows if self.names.link(name, type_, this)}
        return meant.pop() if len(meant) == 1 else None

    def _create(self, name: str, type: str) -> int:
        new = {"user": self.user, "id": f"ent_{secrets.token_hex(10)}", "name": name, "type": type}
        key: int = self.connection.value(CREATE, new)
        return key

    def merge(self, leader: str, folded: Iterable[str]) -> None:
        """Let names, and all that were given to them, belong to the entity of ``leader``."""
        target = self.connection.value(TARGET, {"user": self.user, "folded": leader}) or leader
        for name in folded:
            if name != target:
                self._run(GIVE_ON, folded=name, target=target)
                self._run(GIVE_NAME, folded=name, target=target)

    def move(self, entity: int, to: int) -> None:
        """Make one entity a part of another."""
        for sql in (*MOVE, DROP):
            self._run(sql, entity=entity, to=to)
        self.rename([to])

    def spelled(self, entity: int) -> dict[str, str]:
        """Return the names of an entity: folded form → as it is written."""
        return dict(self.connection.all(NAMES, {"user": self.user, "entity": entity}))

    def rename(self, entities: Iterable[int]) -> None:
        """Choose again under which of its names an entity is shown."""
        shared = {"user": self.user, "longest": LONGEST_NAME}
        rows = [shared | {"entity": entity} for entity in entities]
        self.connection.run_many(RENAME, rows)

    def of_records(self, records: Iterable[int]) -> list[int]:
        """Return the entities that these records mention."""
        sql = (
            "SELECT DISTINCT entity_key FROM record_entities "
            "WHERE user_key = :user AND record_key IN (@ints(:keys))"
        )
        values = {"user": self.user, "keys": dump(list(records))}
        return [row[0] for row in self.connection.all(sql, values)]

    def forget_unmentioned(self, entities: Sequence[int]) -> None:
        """Drop the spellings that no record uses any more, and the entities left without any."""
        for entity in entities:
            for sql in (*DROP_UNUSED, DROP_UNLINKED):
                self._run(sql, entity=entity)
        self.rename(entities)


class EntityWrites(ScopedTransaction):
    """Makes entities of a user one, for good."""

    @property
    def entity_writer(self) -> EntityWriter:
        """What changes the entities of the user."""
        return EntityWriter(self.connection, self.user, self.names)

    def merge_entities(self, id: str, other_id: str) -> None:
        """Make two entities one, which keeps the name of the first."""
        (entity, name), (other, _) = self._entity(id), self._entity(other_id)
        if entity == other:
            message = f"{id!r} is one entity already; name two that are to become one"
            raise InvalidInput(message)
        writer = self.entity_writer
        writer.merge(self.names.fold(name), writer.spelled(other))
        writer.move(other, entity)

    def keep_name_decision(self, name: str, target_name: str) -> None:
        """Keep that a name was given to another one elsewhere, unless it was given here."""
        folded, target = self.names.fold(name), self.names.fold(target_name)
        if not folded or not target:
            message = f"a decision needs two names, got {name!r} and {target_name!r}"
            raise InvalidInput(message)
        self.register(begins=False)
        pair = {"user": self.user, "folded": folded, "target": target}
        if folded == target or self.connection.value(TARGET, pair) is not None:
            return
        self.entity_writer.merge(target, [folded])
        held: dict[str, int] = dict(self.connection.all(HELD, pair))
        if len({*held.values()}) > 1:
            self.entity_writer.move(held[folded], held[target])

    def _entity(self, id: str) -> tuple[int, str]:
        row = self.connection.one(SEEN_ENTITY, self.own | {"id": id})
        if row is None:
            message = (
                f"there is no entity {id!r} for user {self.scope.user!r}; look it up by its name"
            )
            raise NotFound(message)
        return row[0], row[1]
