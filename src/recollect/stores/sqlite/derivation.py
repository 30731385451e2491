"""Where else a record's text is: in former versions, in copies, in what was derived from it.

What was derived is found by following the provenance in ``source_ids`` forward.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import apsw

from recollect.core.scope import Scope
from recollect.stores.sqlite.filters import owned
from recollect.stores.sqlite.rows import dump

DERIVED = """
WITH RECURSIVE found (id) AS (
    SELECT value FROM json_each(?)
    UNION
    SELECT r.id FROM found, records r
    WHERE r.user_key = ? AND r.source_ids <> '[]'
      AND EXISTS (SELECT 1 FROM json_each(r.source_ids) WHERE value = found.id)
)
SELECT r.id FROM found JOIN records r ON r.id = found.id
WHERE found.id NOT IN (SELECT value FROM json_each(?))
"""
VERSIONS = """
WITH RECURSIVE found (id) AS (
    SELECT value FROM json_each(?)
    UNION
    SELECT r.id FROM found JOIN records r ON r.superseded_by = found.id AND r.user_key = ?
)
SELECT r.id FROM found JOIN records r ON r.id = found.id
WHERE found.id NOT IN (SELECT value FROM json_each(?))
"""
COPIES = """
SELECT r.id FROM records r WHERE r.user_key = ?
  AND r.content_hash IN (SELECT content_hash FROM records
                         WHERE user_key = ? AND id IN (SELECT value FROM json_each(?)))
  AND r.id NOT IN (SELECT value FROM json_each(?))
"""


def versions(connection: apsw.Connection, scope: Scope, user: int, ids: Sequence[str]) -> list[str]:
    """Return what the scope sees of the records that one of ``ids`` replaced, oldest first."""
    origin, where = dump(list(ids)), owned(scope, user)
    rows: list[Any] = connection.execute(
        f"{VERSIONS} AND {where.sql} ORDER BY r.key",
        (origin, user, origin, *where.values),
    ).fetchall()
    return [row[0] for row in rows]


def copies(connection: apsw.Connection, scope: Scope, user: int, ids: Sequence[str]) -> list[str]:
    """Return what else the scope sees with the very text of one of ``ids``, oldest first."""
    origin, where = dump(list(ids)), owned(scope, user)
    rows: list[Any] = connection.execute(
        f"{COPIES} AND {where.sql} ORDER BY r.key",
        (user, user, origin, origin, *where.values),
    ).fetchall()
    return [row[0] for row in rows]


def derived(connection: apsw.Connection, scope: Scope, user: int, ids: Sequence[str]) -> list[str]:
    """Return what the scope sees of what rests on ``ids``, directly or through others.

    In the order of recording, without ``ids`` themselves.
    """
    origin, where = dump(list(ids)), owned(scope, user)
    rows: list[Any] = connection.execute(
        f"{DERIVED} AND {where.sql} ORDER BY r.key",
        (origin, user, origin, *where.values),
    ).fetchall()
    return [row[0] for row in rows]
