"""Which records were derived from which: the provenance in ``source_ids``, followed forward."""

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
