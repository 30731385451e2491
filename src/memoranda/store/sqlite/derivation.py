"""Where else a record's text is: in former versions, in copies, in what was derived from it.

What was derived is found by following the provenance in ``source_ids`` forward.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import apsw

from memoranda.model.scope import Scope
from memoranda.store.sqlite.rows import dump

# What a person said stands on that word: it does not go with sources that only said it, too.
DERIVED = """
WITH RECURSIVE found (id) AS (
    SELECT value FROM json_each(:ids)
    UNION
    SELECT r.id FROM found  -- In this order: the planner knows nothing of how few they are.
    CROSS JOIN record_sources s ON s.user_key = :user AND s.source_id = found.id
    CROSS JOIN records r ON r.key = s.record_key AND r.origin NOT IN ('api', 'tool')
)
SELECT id FROM found
"""
RESTING = """
SELECT DISTINCT r.id FROM json_each(:ids) i
CROSS JOIN record_sources s ON s.user_key = :user AND s.source_id = i.value
CROSS JOIN records r ON r.key = s.record_key
"""
# What is only believed less, for what came later, is a word of its own and no former version.
VERSIONS = """
WITH RECURSIVE found (id) AS (
    SELECT value FROM json_each(:ids)
    UNION
    SELECT r.id FROM found JOIN records r ON r.superseded_by = found.id AND r.user_key = :user
        AND r.superseded_by IS NOT NULL AND r.closed_at IS NOT NULL
)
SELECT id FROM found
"""
COPIES = """
SELECT id FROM records WHERE user_key = :user
  AND content_hash IN (SELECT content_hash FROM records
                       WHERE user_key = :user AND id IN (SELECT value FROM json_each(:ids)))
"""
OTHERS = """
SELECT r.id FROM records r WHERE r.id IN ({related})
  AND r.id NOT IN (SELECT value FROM json_each(:ids))
  AND r.user_key = :user AND (:agent IS NULL OR r.agent IS NULL OR r.agent = :agent)
ORDER BY r.key
"""


def versions(connection: apsw.Connection, scope: Scope, user: int, ids: Sequence[str]) -> list[str]:
    """Return what the scope sees of the records that one of ``ids`` replaced, oldest first."""
    return _others(connection, VERSIONS, scope, user, ids)


def copies(connection: apsw.Connection, scope: Scope, user: int, ids: Sequence[str]) -> list[str]:
    """Return what else the scope sees with the very text of one of ``ids``, oldest first."""
    return _others(connection, COPIES, scope, user, ids)


def derived(connection: apsw.Connection, scope: Scope, user: int, ids: Sequence[str]) -> list[str]:
    """Return what the scope sees of what rests on ``ids``, directly or through others.

    In the order of recording, without ``ids`` themselves.
    """
    return _others(connection, DERIVED, scope, user, ids)


def resting(connection: apsw.Connection, scope: Scope, user: int, ids: Sequence[str]) -> list[str]:
    """Return what the scope sees of what names one of ``ids`` as a source."""
    return _others(connection, RESTING, scope, user, ids)


def _others(
    connection: apsw.Connection, related: str, scope: Scope, user: int, ids: Sequence[str]
) -> list[str]:
    values = {"ids": dump(list(ids)), "user": user, "agent": scope.agent}
    rows: list[Any] = connection.execute(OTHERS.format(related=related), values).fetchall()
    return [row[0] for row in rows]
