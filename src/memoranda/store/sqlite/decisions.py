"""What persons decided about names: which mean the same thing, and which stand alone.

Kept by folded names, not by entities, so that they outlive a rebuild and an export. A name with a
target belongs to the entity that the target names. A name that is its own target stands alone:
no rule of names links another to it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import apsw

from memoranda.model.scope import Scope

# The names of one group: those that were given to the target, and the target itself.
HOLDER = """
SELECT entity_key FROM entity_names WHERE user_key = ?1 AND folded IN (
    SELECT folded FROM entity_decisions WHERE user_key = ?1 AND target = ?2 UNION SELECT ?2)
ORDER BY folded = ?2 DESC, entity_key LIMIT 1
"""
# Names (user, folded, entity) of which others of their group are in another entity.
APART = """
SELECT n.user_key, n.folded, n.entity_key FROM entity_decisions d
JOIN entity_names n ON n.user_key = d.user_key AND n.folded = d.folded
JOIN entity_names o ON o.user_key = d.user_key AND o.entity_key <> n.entity_key
    AND o.folded IN (SELECT d.target UNION SELECT folded FROM entity_decisions g
                     WHERE g.user_key = d.user_key AND g.target = d.target)
GROUP BY n.user_key, n.folded, n.entity_key
"""
# Names that stand alone (user, folded, entity) and yet have names of others in their entity.
NOT_ALONE = """
SELECT n.user_key, n.folded, n.entity_key FROM entity_decisions d
JOIN entity_names n ON n.user_key = d.user_key AND n.folded = d.folded
JOIN entity_names o ON o.entity_key = n.entity_key
WHERE d.target = d.folded AND NOT EXISTS (SELECT 1 FROM entity_decisions g
    WHERE g.user_key = d.user_key AND g.folded = o.folded AND g.target = d.target)
GROUP BY n.user_key, n.folded, n.entity_key
"""
DECIDED = """
SELECT d.folded, d.target FROM entity_decisions d
WHERE d.user_key = :user AND (:agent IS NULL OR (
    SELECT count(DISTINCT l.folded) FROM record_entities l JOIN records r ON r.key = l.record_key
    WHERE r.user_key = :user AND (r.agent IS NULL OR r.agent = :agent)
        AND l.folded IN (d.folded, d.target)) = 1 + (d.folded <> d.target))
ORDER BY d.folded
"""
WRITE = """
INSERT INTO entity_decisions VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET target = excluded.target
"""


def target(connection: apsw.Connection, user: int, folded: str) -> str | None:
    """Return the name to whose entity ``folded`` was given, if it was."""
    found: str | None = connection.execute(
        "SELECT target FROM entity_decisions WHERE user_key = ? AND folded = ?", (user, folded)
    ).get
    return found


def holder(connection: apsw.Connection, user: int, folded: str) -> int | None:
    """Return the entity of the names that were decided to be one with ``folded``, if it is."""
    leader = target(connection, user, folded) or folded
    found: int | None = connection.execute(HOLDER, (user, leader)).get
    return found


def read(connection: apsw.Connection, scope: Scope, user: int) -> dict[str, str]:
    """Return all decisions; for an agent, those about names in what it sees."""
    rows: list[Any] = connection.execute(DECIDED, {"user": user, "agent": scope.agent}).fetchall()
    return dict(rows)


def names(connection: apsw.Connection, user: int) -> set[str]:
    """Return the folded names of which decisions speak."""
    rows: Any = connection.execute(
        "SELECT folded FROM entity_decisions WHERE user_key = ?1 "
        "UNION SELECT target FROM entity_decisions WHERE user_key = ?1",
        (user,),
    )
    return {row[0] for row in rows}


def group(connection: apsw.Connection, user: int, leader: str) -> set[str]:
    """Return ``leader`` and the folded names that were given to it."""
    rows: Any = connection.execute(
        "SELECT folded FROM entity_decisions WHERE user_key = ? AND target = ?", (user, leader)
    )
    return {leader, *(row[0] for row in rows)}


def unite(connection: apsw.Connection, user: int, leader: str, others: Iterable[str]) -> None:
    """Decide that ``others``, and what was one with them, mean what ``leader`` does."""
    _lead(connection, user, leader)
    for name in others:
        for other in {name, target(connection, user, name) or name} - {leader}:
            connection.execute(
                "UPDATE entity_decisions SET target = ?3 WHERE user_key = ?1 AND target = ?2",
                (user, other, leader),
            )
            connection.execute(WRITE, (user, other, leader))


def _lead(connection: apsw.Connection, user: int, folded: str) -> None:
    """Let ``folded`` be the target of the group in which it is."""
    before = target(connection, user, folded)
    if before is None or before == folded:
        return
    connection.execute(
        "DELETE FROM entity_decisions WHERE user_key = ? AND folded = ?", (user, folded)
    )
    connection.execute(
        "UPDATE entity_decisions SET target = ?3 WHERE user_key = ?1 AND target = ?2",
        (user, before, folded),
    )
    connection.execute(WRITE, (user, before, folded))


def part(connection: apsw.Connection, user: int, folded: str) -> None:
    """Decide that ``folded`` stands alone; what was one with it stays so without it."""
    _leave(connection, user, folded)
    connection.execute(WRITE, (user, folded, folded))


def forget(connection: apsw.Connection, user: int, folded: Iterable[str]) -> None:
    """Drop what was decided of those of these names that no record uses any more."""
    for name in sorted(folded):
        used = connection.execute(
            "SELECT 1 FROM entity_names WHERE user_key = ? AND folded = ?", (user, name)
        ).get
        if not used:
            _leave(connection, user, name)


def _leave(connection: apsw.Connection, user: int, folded: str) -> None:
    """Take a name out of its group; where it was the target, the longest other name is."""
    connection.execute(
        "DELETE FROM entity_decisions WHERE user_key = ? AND folded = ?", (user, folded)
    )
    rows: list[Any] = connection.execute(
        "SELECT folded FROM entity_decisions WHERE user_key = ? AND target = ? "
        "ORDER BY length(folded) DESC, folded",
        (user, folded),
    ).fetchall()
    if rows:
        leader = rows[0][0]
        connection.execute(
            "DELETE FROM entity_decisions WHERE user_key = ? AND folded = ?", (user, leader)
        )
        connection.execute(
            "UPDATE entity_decisions SET target = ?3 WHERE user_key = ?1 AND target = ?2",
            (user, folded, leader),
        )
