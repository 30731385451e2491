"""Entities of a user: names, aliases, who mentions them, and what persons made one.

That a person made two entities one is kept as which name belongs to the entity of which other
name, so that it outlives an export. A name that has another as its target is looked up by it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memoranda.errors import InvalidInput
from memoranda.model.models import Mention
from memoranda.model.ports import NameMatcher
from memoranda.store.sql.database import UserRows
from memoranda.store.sql.rows import dump, insertion

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
SELECT n.folded, e.type, e.key FROM entity_name_keys k
JOIN entity_names n ON n.user_key = :user AND n.folded = k.folded AND n.entity_key = k.entity_key
JOIN entities e ON e.user_key = :user AND e.key = k.entity_key
WHERE k.user_key = :user AND k.name_key IN (@texts(:keys)) LIMIT :most
"""
# A name and all that was given to it.
GIVE_ON = """
UPDATE entity_decisions SET target = :target
WHERE user_key = :user AND (target = :folded OR folded = :folded)
"""
SPELLINGS = """
SELECT folded, name FROM entity_names WHERE user_key = :user AND entity_key = :entity
"""
GIVEN = "SELECT folded FROM entity_decisions WHERE user_key = :user AND target = :target"
TAKE_BACK = "DELETE FROM entity_decisions WHERE user_key = :user AND folded IN (@texts(:names))"
TARGET = "SELECT target FROM entity_decisions WHERE user_key = :user AND folded = :folded"
# What a person decided of names that no record uses any more.
FORGET_GIVEN_NAMES = """
DELETE FROM entity_decisions WHERE user_key = :user AND (
    folded NOT IN (SELECT folded FROM entity_names WHERE user_key = :user)
    OR target NOT IN (SELECT folded FROM entity_names WHERE user_key = :user))
"""
TYPE = "SELECT type FROM entities WHERE user_key = :user AND key = :entity"
CREATE = f"{insertion('entities', ('id', 'user_key', 'name', 'type'))} RETURNING key"
NAMES = ("user_key", "folded", "entity_key", "name")
ADD_NAME = f"{insertion('entity_names', NAMES)} ON CONFLICT DO NOTHING"
LINKS = ("user_key", "record_key", "entity_key", "folded")
LINK = f"{insertion('record_entities', LINKS)} ON CONFLICT DO NOTHING"
# The names, links and keys of one entity become those of another; a name is of one entity alone.
MOVE = tuple(
    f"UPDATE {table} SET entity_key = :to WHERE user_key = :user AND entity_key = :entity"
    for table in ("entity_names", "entity_name_keys", "record_entities")
)
MOVE_NAMES = tuple(f"{sql} AND folded IN (@texts(:names))" for sql in MOVE)
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
LINKED = "FROM record_entities WHERE user_key = :user AND record_key IN (@ints(:keys))"
OF_RECORDS = f"SELECT DISTINCT entity_key {LINKED}"
DROP_LINKS = f"DELETE {LINKED}"


@dataclass
class EntityWrites(UserRows):
    """Changes the entities of one user in an open transaction.

    Attributes:
        names: decides which names mean the same.
    """

    names: NameMatcher

    def link(self, record: int, mentions: Sequence[Mention]) -> int:
        """Link a record to the entities that it mentions, making new ones; return the new links."""
        added = 0
        for mention in mentions:
            folded = self.names.fold(mention.text)
            if not folded:
                continue
            entity = self._find(folded, mention)
            if entity is None:
                entity = self._create(mention.text, mention.type)
            place = {"user_key": self.user, "entity_key": entity, "folded": folded}
            if self.change(ADD_NAME, name=mention.text, **place):
                kept, _ = self.names.keys(mention.text)
                self.add("entity_name_keys", [place | {"name_key": key} for key in sorted(kept)])
                self.rename([entity])
            added += self.change(LINK, record_key=record, **place)
        return added

    def _find(self, folded: str, mention: Mention) -> int | None:
        known: int | None = self.value(KNOWN, folded=folded)
        if known is not None:
            return known  # A person's word goes before any rule.
        _, sought = self.names.keys(mention.text)
        rows = self.all(CANDIDATES, keys=dump(sorted(sought)), most=MOST_ALIKE)
        meant: set[int] = {
            key
            for known_, type_, key in rows
            if self.names.means(mention.text, mention.type, known_, type_)
        }
        if not meant:
            # Or it is the full name of one that is known by short ones alone.
            meant = {
                key
                for _, type_, key in rows
                if all(
                    self.names.means(name, type_, folded, mention.type)
                    for _, name in self.all(SPELLINGS, entity=key)
                )
            }
        return meant.pop() if len(meant) == 1 else None

    def merge_entities(self, name: str, other: str) -> None:
        """Let a name, and all others of its entity, belong to the entity of ``name`` for good.

        Also where there is no such entity yet; what is one already stays so.
        """
        leader, folded = self.names.fold(name), self.names.fold(other)
        if not leader or not folded:
            raise InvalidInput(f"a decision needs two names, got {name!r} and {other!r}")
        target = self.value(TARGET, folded=leader) or leader
        entity, merged = (self.value(KNOWN, folded=each) for each in (leader, folded))
        spelled = self.column(SPELLINGS, entity=merged)
        for each in dict.fromkeys((folded, *spelled)):
            if each != target:
                self.run(GIVE_ON, folded=each, target=target)
                self.add("entity_decisions", [{"folded": each, "target": target}])
        if entity and merged and entity != merged:
            for sql in (*MOVE, DROP):
                self.run(sql, entity=merged, to=entity)
            self.rename([entity])

    def split_entity(self, name: str, others: Sequence[str]) -> None:
        """Take names out of the entity to which a person gave them: they are one of their own.

        Raises:
            InvalidInput: nobody gave one of them to that entity.
        """
        leader, folded = self.names.fold(name), [self.names.fold(each) for each in others]
        target = self.value(TARGET, folded=leader) or leader
        given = self.column(GIVEN, target=target)
        for each, key in zip(others, folded, strict=True):
            if key not in given:
                raise InvalidInput(f"{each!r} was not merged with {name!r}, and is not split off")
        entity, (first, *rest), named = self.value(KNOWN, folded=target), folded, dump(folded)
        self.run(TAKE_BACK, names=named)
        self.add("entity_decisions", [{"folded": each, "target": first} for each in rest])
        if entity is not None:
            new = self._create(others[0], self.value(TYPE, entity=entity))
            for sql in MOVE_NAMES:
                self.run(sql, entity=entity, to=new, names=named)
            self.run(DROP_UNLINKED, entity=new)
            self.rename([entity, new])

    def _create(self, name: str, type: str) -> int:
        new = {"id": f"ent_{os.urandom(10).hex()}", "user_key": self.user}
        return int(self.value(CREATE, name=name, type=type, **new))

    def rename(self, entities: Iterable[int]) -> None:
        """Choose again under which of its names an entity is shown."""
        for entity in entities:
            self.run(RENAME, entity=entity, longest=LONGEST_NAME)

    def unlink(self, records: Sequence[int]) -> None:
        """Drop the links of records, the spellings that no other uses, and entities without any."""
        keys = dump(records)
        entities = self.column(OF_RECORDS, keys=keys)
        self.run(DROP_LINKS, keys=keys)
        for entity in entities:
            for sql in (*DROP_UNUSED, DROP_UNLINKED):
                self.run(sql, entity=entity)
        self.rename(entities)
