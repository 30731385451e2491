"""Entities of a user: names, aliases, who mentions them, and what persons decided about names.

A decision is kept by folded names, not by entities, so that it outlives a rebuild and an export. A
name with a target belongs to the entity that the target names; a name that is its own target
stands alone, and no rule of names links another to it.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from memoranda.model.models import Mention
from memoranda.model.ports import NameMatcher
from memoranda.store.sql.database import SqlConnection
from memoranda.store.sql.rows import dump

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
# To names that stand alone, or are one with such a name, no rule links another.
CANDIDATES = """
SELECT n.folded, e.type, e.key, n.name FROM entity_names n JOIN entities e ON e.key = n.entity_key
WHERE n.user_key = :user AND e.user_key = :user AND (n.entity_key, n.folded) IN (
        SELECT entity_key, folded FROM entity_name_keys
        WHERE user_key = :user AND name_key IN (@texts(:keys)))
    AND NOT EXISTS (SELECT 1 FROM entity_decisions d JOIN entity_decisions t
        ON t.user_key = :user AND t.folded = d.target AND t.target = d.target
        WHERE d.user_key = :user AND d.folded = n.folded)
LIMIT :most
"""
# The entity of one of the names of a group: those that were given to the target, and the target.
HOLDER = """
SELECT entity_key FROM entity_names WHERE user_key = :user AND folded IN (
    SELECT folded FROM entity_decisions WHERE user_key = :user AND target = :leader
    UNION SELECT CAST(:leader AS text))
ORDER BY CASE WHEN folded = :leader THEN 0 ELSE 1 END, entity_key LIMIT 1
"""
# Names (user, folded, entity) of which others of their group are in another entity.
APART = """
SELECT n.user_key, n.folded, n.entity_key FROM entity_decisions d
JOIN entity_names n ON n.user_key = d.user_key AND n.folded = d.folded
JOIN entity_decisions g ON g.user_key = d.user_key AND g.target = d.target
JOIN entity_names o ON o.user_key = d.user_key AND o.entity_key <> n.entity_key
    AND o.folded IN (d.target, g.folded)
GROUP BY n.user_key, n.folded, n.entity_key
"""
# Names that stand alone (user, folded, entity) and yet have names of others in their entity.
NOT_ALONE = """
SELECT n.user_key, n.folded, n.entity_key FROM entity_decisions d
JOIN entity_names n ON n.user_key = d.user_key AND n.folded = d.folded
JOIN entity_names o ON o.user_key = d.user_key AND o.entity_key = n.entity_key
WHERE d.target = d.folded AND NOT EXISTS (SELECT 1 FROM entity_decisions g
    WHERE g.user_key = d.user_key AND g.folded = o.folded AND g.target = d.target)
GROUP BY n.user_key, n.folded, n.entity_key
"""
DECIDE = """
INSERT INTO entity_decisions (user_key, folded, target) VALUES (:user, :folded, :target)
ON CONFLICT (user_key, folded) DO UPDATE SET target = excluded.target
"""
REDIRECT = """
UPDATE entity_decisions SET target = :target WHERE user_key = :user AND target = :before
"""
UNDECIDE = "DELETE FROM entity_decisions WHERE user_key = :user AND folded = :folded"
DECIDED = "SELECT folded FROM entity_decisions WHERE user_key = :user AND target = :leader"
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
MOVE_LINKS = """
INSERT INTO record_entities (user_key, record_key, entity_key, folded)
SELECT user_key, record_key, CAST(:to AS bigint), folded FROM record_entities
WHERE user_key = :user AND entity_key = :entity AND folded = :folded
ON CONFLICT DO NOTHING
"""
UNUSED = """
SELECT folded FROM entity_names n WHERE entity_key = :entity AND folded NOT IN (
    SELECT folded FROM record_entities l WHERE l.user_key = :user AND entity_key = :entity)
"""
DROP_UNLINKED = """
DELETE FROM entities WHERE user_key = :user AND key = :entity AND NOT EXISTS (
    SELECT 1 FROM record_entities l WHERE l.user_key = :user AND entity_key = :entity)
"""
LINK = """
INSERT INTO record_entities (user_key, record_key, entity_key, folded)
VALUES (:user, :record, :entity, :folded) ON CONFLICT DO NOTHING
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

    def _all(self, sql: str, **values: Any) -> list[Any]:
        return self.connection.all(sql, {"user": self.user} | values)

    def _value(self, sql: str, **values: Any) -> Any:
        return self.connection.value(sql, {"user": self.user} | values)

    def _run(self, sql: str, **values: Any) -> None:
        self.connection.run(sql, {"user": self.user} | values)

    def _change(self, sql: str, **values: Any) -> int:
        return self.connection.change(sql, {"user": self.user} | values)

    def link(self, record: int, mentions: Sequence[Mention]) -> int:
        """Link a record to the entities that it mentions, making new ones; return the new links."""
        added = 0
        for mention in mentions:
            folded = self.names.fold(mention.text)
            if not folded:
                continue
            entity = self._find(folded, mention) or self._create(mention.text, mention.type)
            self._add_name(entity, folded, mention.text)
            added += self._change(LINK, record=record, entity=entity, folded=folded)
        return added

    def _add_name(self, entity: int, folded: str, name: str) -> None:
        if self._change(ADD_NAME, folded=folded, entity=entity, name=name):
            base = {"user": self.user, "entity": entity, "folded": folded}
            keys = sorted(self.names.keys(name))
            self.connection.run_many(ADD_KEY, [base | {"key": key} for key in keys])
            self.rename([entity])

    def _find(self, folded: str, mention: Mention) -> int | None:
        same = "SELECT entity_key FROM entity_names WHERE user_key = :user AND folded = :folded"
        exact: int | None = self._value(same, folded=folded)
        if exact is not None:
            return exact
        known = self.holder(folded)
        if known is not None or self.target(folded) is not None:
            return known  # A person's word goes before any rule.
        keys = dump(sorted(self.names.keys(mention.text)))
        rows = self._all(CANDIDATES, keys=keys, most=MOST_ALIKE)
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
        key: int = self._value(CREATE, id=f"ent_{secrets.token_hex(10)}", name=name, type=type)
        return key

    def split(self, entity: int, folded: str) -> int:
        """Make one of the names of an entity an entity of its own, and return that."""
        kind = "SELECT type FROM entities WHERE user_key = :user AND key = :entity"
        type_ = self._value(kind, entity=entity)
        new = self._create(self.spelled(entity)[folded], type_)
        self.give(entity, folded, new)
        return new

    def give(self, entity: int, folded: str, to: int) -> None:
        """Move a name of an entity, and the links that were made under it, to another."""
        name = self.spelled(entity).get(folded)
        self._run(MOVE_LINKS, entity=entity, folded=folded, to=to)
        self._drop_name(entity, folded, "record_entities")
        if name is not None:
            self._add_name(to, folded, name)
        self.forget_unmentioned([entity])
        self.rename([to])

    def _drop_name(self, entity: int, folded: str, *more: str) -> None:
        for table in ("entity_names", "entity_name_keys", *more):
            named = "user_key = :user AND entity_key = :entity AND folded = :folded"
            self._run(f"DELETE FROM {table} WHERE {named}", entity=entity, folded=folded)

    def spelled(self, entity: int) -> dict[str, str]:
        """Return the names of an entity: folded form → as it is written."""
        sql = "SELECT folded, name FROM entity_names n WHERE entity_key = :entity"
        return dict(self._all(sql, entity=entity))

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
        return [row[0] for row in self._all(sql, keys=dump(list(records)))]

    def forget_unmentioned(self, entities: Iterable[int]) -> None:
        """Drop the spellings that no record uses any more, and the entities left without any."""
        for entity in entities:
            for (folded,) in self._all(UNUSED, entity=entity):
                self._drop_name(entity, folded)
            self._run(DROP_UNLINKED, entity=entity)
            self.rename([entity])

    # What persons decided

    def target(self, folded: str) -> str | None:
        """Return the name to whose entity ``folded`` was given, if it was."""
        sql = "SELECT target FROM entity_decisions WHERE user_key = :user AND folded = :folded"
        found: str | None = self._value(sql, folded=folded)
        return found

    def holder(self, folded: str) -> int | None:
        """Return the entity of the names that were decided to be one with ``folded``, if it is."""
        found: int | None = self._value(HOLDER, leader=self.target(folded) or folded)
        return found

    def decided_names(self) -> set[str]:
        """Return the folded names of which decisions speak."""
        rows = self._all("SELECT folded, target FROM entity_decisions WHERE user_key = :user")
        return {name for row in rows for name in row}

    def unite(self, leader: str, names: Iterable[str]) -> None:
        """Decide that these names, and all that were one with them, belong to ``leader``."""
        before = self.target(leader)
        if before not in {None, leader}:
            self._run(UNDECIDE, folded=leader)
            self._join(before, leader)
        for name in names:
            for other in {name, self.target(name) or name} - {leader}:
                self._join(other, leader)

    def _join(self, folded: str | None, leader: str) -> None:
        """Let a name belong to ``leader``, and all that belonged to that name."""
        self._run(REDIRECT, before=folded, target=leader)
        self._run(DECIDE, folded=folded, target=leader)

    def stand_alone(self, folded: str) -> None:
        """Decide that ``folded`` stands alone; what was one with it stays so without it."""
        self._leave(folded)
        self._run(DECIDE, folded=folded, target=folded)

    def forget_decisions(self, folded: Iterable[str]) -> None:
        """Drop the decisions on those of these names that no record uses any more."""
        used = "SELECT 1 FROM entity_names WHERE user_key = :user AND folded = :folded"
        for name in sorted(folded):
            if not self._value(used, folded=name):
                self._leave(name)

    def _leave(self, folded: str) -> None:
        """Take a name out of its group; where it was the target, the longest other name is."""
        self._run(UNDECIDE, folded=folded)
        longest = f"{DECIDED} ORDER BY length(folded) DESC, folded LIMIT 1"
        leader: str | None = self._value(longest, leader=folded)
        if leader is not None:
            self._run(UNDECIDE, folded=leader)
            self._run(REDIRECT, before=folded, target=leader)

    def obey_decisions(self) -> None:
        """Apply the merges and splits that persons decided to every name of the user."""
        names = "SELECT a.folded, a.entity_key FROM ({}) a WHERE a.user_key = :user"
        for folded, entity in self._all(names.format(APART)):
            holder = self.holder(folded)
            if holder is not None and holder != entity:
                self.give(entity, folded, holder)
        for folded, entity in self._all(names.format(NOT_ALONE)):
            new = self.split(entity, folded)
            group = {folded, *(row[0] for row in self._all(DECIDED, leader=folded))}
            for other in group & self.spelled(entity).keys():
                self.give(entity, other, new)
