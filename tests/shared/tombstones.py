"""What is left in a store of messages that were removed; nothing of the package reads it."""

from itertools import groupby

from memoranda.model.checks import from_ms
from memoranda.model.models import Tombstone
from memoranda.store.sql import rows

TOMBSTONES = f"""
SELECT t.id, t.at, t.count, {rows.MESSAGES.selected("m", position="m.removed_from")}
FROM conversations c JOIN tombstones t ON t.user_key = :user AND t.conversation_key = c.key
LEFT JOIN messages m ON m.user_key = :user AND m.tombstone_key = t.key
WHERE {{mine}} AND c.id = :id AND c.deleted_at IS NULL ORDER BY t.key, m.position
"""  # noqa: S608 - a test


def tombstones(store, scope, id):
    """Return the tombstones of a conversation, oldest first."""
    found = store._made(scope, TOMBSTONES, owner="c", id=id)
    return [
        Tombstone(
            id=name,
            at=from_ms(at),
            count=count,
            messages=tuple(rows.MESSAGES.make(row[3:]) for row in left if row[3] is not None),
        )
        for (name, at, count), left in groupby(found, key=lambda row: row[:3])
    ]
