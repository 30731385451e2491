"""Which records were derived from which: the provenance in ``source_ids``, followed forward."""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from recollect.stores.sqlite.rows import dump

DERIVED = """
WITH RECURSIVE found (id) AS (
    SELECT value FROM json_each(?)
    UNION
    SELECT r.id FROM found, records r
    WHERE r.user_key = ? AND r.source_ids <> '[]'
      AND EXISTS (SELECT 1 FROM json_each(r.source_ids) WHERE value = found.id)
)
SELECT id FROM found WHERE id NOT IN (SELECT value FROM json_each(?)) ORDER BY id
"""


def derived(connection: apsw.Connection, user: int, ids: Sequence[str]) -> list[str]:
    """Return what rests on ``ids``, directly or through others, without ``ids`` themselves."""
    origin = dump(list(ids))
    return [row[0] for row in connection.execute(DERIVED, (origin, user, origin))]
