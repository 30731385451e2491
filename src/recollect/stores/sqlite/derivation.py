"""Where else a record's text is: in former versions, in copies, in what was derived from it.

What was derived is found by following the provenance in ``source_ids`` forward.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import apsw

from recollect.core.scope import Scope
from recollect.stores.sqlite.rows import dump

# What a person said stands on that word: it does not go with sources that only said it, too.
DERIVED = """
WITH RECURSIVE edges (id, source) AS MATERIALIZED (
    SELECT r.id, value FROM records r, json_each(r.source_ids)
    WHERE r.user_key = :user AND r.source_ids <> '[]' AND r.origin NOT IN ('api', 'tool')
), found (id) AS (
    SELECT value FROM json_each(:ids)
    UNION
    SELECT edges.id FROM found JOIN edges ON edges.source = found.id
)
SELECT id FROM found
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


def _others(
    connection: apsw.Connection, related: str, scope: Scope, user: int, ids: Sequence[str]
) -> list[str]:
    values = {"ids": dump(list(ids)), "user": user, "agent": scope.agent}
    rows: list[Any] = connection.execute(OTHERS.format(related=related), values).fetchall()
    return [row[0] for row in rows]
