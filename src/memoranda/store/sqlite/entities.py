"""Entities of a user: one row for each thing, every spelling it goes by, and who mentions it."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from typing import Any

import apsw

from memoranda.model.models import Entity, Mention
from memoranda.model.ports import NameMatcher
from memoranda.store.sqlite import decisions
from memoranda.store.sqlite.filters import Where
from memoranda.store.sqlite.rows import dump

LONGEST_NAME = 60
MOST_ALIKE = 100
"""Names that are compared with a new one: where more may be meant, none is."""
# The name under which persons put others together; else the longest that is no sentence.
RENAME = """
UPDATE entities SET name = (
    SELECT n.name FROM entity_names n WHERE n.entity_key = entities.key
    ORDER BY EXISTS (SELECT 1 FROM entity_decisions d
                     WHERE d.user_key = n.user_key AND d.target = n.folded) DESC,
        length(n.name) <= ? DESC, length(n.name) DESC, n.name LIMIT 1
) WHERE key = ? AND EXISTS (SELECT 1 FROM entity_names n WHERE n.entity_key = entities.key)
"""
# To names that stand alone, or are one with such a name, no rule links another.
CANDIDATES = """
SELECT n.folded, e.type, e.key, n.name FROM entity_names n JOIN entities e ON e.key = n.entity_key
WHERE n.user_key = ?1 AND (n.entity_key, n.folded) IN (
        SELECT entity_key, folded FROM entity_name_keys
        WHERE user_key = ?1 AND name_key IN (SELECT value FROM json_each(?2)))
    AND NOT EXISTS (SELECT 1 FROM entity_decisions d JOIN entity_decisions t
        ON t.user_key = ?1 AND t.folded = d.target AND t.target = d.target
        WHERE d.user_key = ?1 AND d.folded = n.folded)
LIMIT ?3
"""
COUNTED = """
SELECT e.key, e.id, e.name, e.type, count(DISTINCT l.record_key) AS times
FROM entities e JOIN record_entities l ON l.entity_key = e.key
JOIN records r ON r.key = l.record_key
"""


def register(connection: apsw.Connection, names: NameMatcher) -> None:
    """Make known to ``connection`` under which keys a name is looked for."""

    def keys(name: str) -> str:
        return dump(sorted(names.keys(name)))

    scalar: Any = keys  # apsw's type takes functions of any number of values
    connection.create_scalar_function(
        "memoranda_name_keys", scalar, 1, deterministic=True, flags=apsw.SQLITE_INNOCUOUS
    )


def link(
    connection: apsw.Connection,
    user: int,
    names: NameMatcher,
    record: int,
    mentions: Sequence[Mention],
) -> int:
    """Link a record to the entities it mentions, making those that are new (seed 004).

    Returns:
        How many links are new.
    """
    added = 0
    for mention in mentions:
        folded = names.fold(mention.text)
        if not folded:
            continue
        entity = _find(connection, user, names, folded, mention) or _create(
            connection, user, mention.text, mention.type
        )
        connection.execute(
            "INSERT OR IGNORE INTO entity_names VALUES (?, ?, ?, ?)",
            (user, folded, entity, mention.text),
        )
        if connection.changes():
            rename(connection, [entity])
        connection.execute(
            "INSERT OR IGNORE INTO record_entities VALUES (?, ?, ?)", (record, entity, folded)
        )
        added += connection.changes()
    return added


def _find(
    connection: apsw.Connection, user: int, names: NameMatcher, folded: str, mention: Mention
) -> int | None:
    exact: int | None = connection.execute(
        "SELECT entity_key FROM entity_names WHERE user_key = ? AND folded = ? LIMIT 1",
        (user, folded),
    ).get
    if exact is not None:
        return exact
    known = decisions.holder(connection, user, folded)
    if known is not None or decisions.target(connection, user, folded) is not None:
        return known  # A person's word goes before any rule.
    keys = dump(sorted(names.keys(mention.text)))
    rows: list[Any] = connection.execute(CANDIDATES, (user, keys, MOST_ALIKE)).fetchall()
    # One name at a time: an entity that fits by two of its names is still one.
    asked = mention.text, mention.type
    meant = {key for known, type_, key, _ in rows if names.link(*asked, {known: type_})}
    if not meant:
        # Or it is the full name of one that is known by a short one.
        this = {folded: mention.type}
        meant = {key for _, type_, key, name in rows if names.link(name, type_, this)}
    return meant.pop() if len(meant) == 1 else None


def _create(connection: apsw.Connection, user: int, name: str, type: str) -> int:
    connection.execute(
        "INSERT INTO entities (id, user_key, name, type) VALUES (?, ?, ?, ?)",
        (f"ent_{secrets.token_hex(10)}", user, name, type),
    )
    return connection.last_insert_rowid()


def split(connection: apsw.Connection, user: int, entity: int, folded: str) -> int:
    """Make one of the names of an entity an entity of its own, and return that."""
    row: Any = connection.execute(
        "SELECT n.name, e.type FROM entity_names n JOIN entities e ON e.key = n.entity_key "
        "WHERE n.entity_key = ? AND n.folded = ?",
        (entity, folded),
    ).fetchone()
    new = _create(connection, user, *row)
    give(connection, entity, folded, new)
    return new


def give(connection: apsw.Connection, entity: int, folded: str, to: int) -> None:
    """Move a name of an entity, and the links that were made under it, to another."""
    for table in ("entity_names", "record_entities"):
        connection.execute(
            f"UPDATE OR IGNORE {table} SET entity_key = ? WHERE entity_key = ? AND folded = ?",
            (to, entity, folded),
        )
        connection.execute(
            f"DELETE FROM {table} WHERE entity_key = ? AND folded = ?", (entity, folded)
        )
    forget_unmentioned(connection, [entity])
    rename(connection, [to])


def spelled(connection: apsw.Connection, entity: int) -> dict[str, str]:
    """Return the names of an entity: folded form → as it is written."""
    rows: list[Any] = connection.execute(
        "SELECT folded, name FROM entity_names WHERE entity_key = ?", (entity,)
    ).fetchall()
    return dict(rows)


def obey(connection: apsw.Connection) -> None:
    """Put every name where persons decided that it belongs."""
    apart: list[Any] = connection.execute(decisions.APART).fetchall()
    for user, folded, entity in apart:
        holder = decisions.holder(connection, user, folded)
        if holder is not None and holder != entity:
            give(connection, entity, folded, holder)
    crowded: list[Any] = connection.execute(decisions.NOT_ALONE).fetchall()
    for user, folded, entity in crowded:
        new = split(connection, user, entity, folded)
        for other in decisions.group(connection, user, folded) & spelled(connection, entity).keys():
            give(connection, entity, other, new)


def rename(connection: apsw.Connection, entities: Iterable[int]) -> None:
    """Choose again under which of its names an entity is shown."""
    for entity in entities:
        connection.execute(RENAME, (LONGEST_NAME, entity))


def of_records(connection: apsw.Connection, records: Iterable[int]) -> list[int]:
    """Return the entities that these records mention."""
    rows: list[Any] = connection.execute(
        "SELECT DISTINCT entity_key FROM record_entities "
        "WHERE record_key IN (SELECT value FROM json_each(?))",
        (dump(list(records)),),
    ).fetchall()
    return [row[0] for row in rows]


def forget_unmentioned(connection: apsw.Connection, entities: Iterable[int]) -> None:
    """Drop the spellings that no record uses any more, and the entities left without any."""
    for entity in entities:
        connection.execute(
            "DELETE FROM entity_names WHERE entity_key = ?1 AND folded NOT IN "
            "(SELECT folded FROM record_entities WHERE entity_key = ?1)",
            (entity,),
        )
        connection.execute(
            "DELETE FROM entities WHERE key = ?1 AND NOT EXISTS "
            "(SELECT 1 FROM record_entities WHERE entity_key = ?1)",
            (entity,),
        )
        rename(connection, [entity])


def find(
    connection: apsw.Connection, user: int, folded: str, where: Where
) -> tuple[int, Entity] | None:
    """Return row number and entity of a name or alias; the most mentioned where several have it."""
    row: Any = connection.execute(
        f"{COUNTED} WHERE {where.sql} AND e.key IN "
        "(SELECT entity_key FROM entity_names WHERE user_key = ? AND folded = ?) "
        "GROUP BY e.key ORDER BY times DESC, e.name LIMIT 1",
        (*where.values, user, folded),
    ).fetchone()
    return None if row is None else (row[0], _entity(connection, where, row))


def ranked(connection: apsw.Connection, where: Where, type: str | None, limit: int) -> list[Entity]:
    """Return the entities of matching records, most mentioned first, then by name."""
    of_type = ("", ()) if type is None else ("AND e.type = ?", (type,))
    rows: list[Any] = connection.execute(
        f"{COUNTED} WHERE {where.sql} {of_type[0]} "
        "GROUP BY e.key ORDER BY times DESC, e.name, e.key LIMIT ?",
        (*where.values, *of_type[1], limit),
    ).fetchall()
    return [_entity(connection, where, row) for row in rows]


def _entity(
    connection: apsw.Connection, where: Where, row: tuple[int, str, str, str, int]
) -> Entity:
    key, identity, name, kind, times = row
    aliases: list[Any] = connection.execute(
        "SELECT DISTINCT n.name FROM record_entities l "
        "JOIN records r ON r.key = l.record_key "
        "JOIN entity_names n ON n.user_key = r.user_key AND n.folded = l.folded "
        "AND n.entity_key = l.entity_key "
        f"WHERE l.entity_key = ? AND n.name <> ? AND {where.sql} ORDER BY n.name",
        (key, name, *where.values),
    ).fetchall()
    return Entity(
        id=identity,
        name=name,
        type=kind,
        aliases=tuple(alias[0] for alias in aliases),
        mention_count=times,
    )
