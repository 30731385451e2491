"""Reads for the Markdown layer: what MEMORY.md last said, and the facts worth a line in it."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import apsw

from memoranda.model.models import Record
from memoranda.model.notes import NotedLine, NotesBase
from memoranda.model.scope import Scope
from memoranda.model.times import to_ms
from memoranda.store.sqlite.filters import VALID, owned
from memoranda.store.sqlite.rows import RECORD, record

# As the partial indexes have it, or these would not be used.
STANDING = "r.kind = 'fact' AND r.superseded_by IS NULL AND r.trust <> 'external'"
ORDER = (
    "ORDER BY r.trust = 'person' DESC, r.decay_rate = 0 DESC, r.confidence DESC, "
    "r.created_at DESC, r.key DESC"
)
EPOCH = """
SELECT coalesce(sum(epoch), 0) FROM standing_epochs
WHERE user_key = ?1 AND (?2 IS NULL OR agent IN ('', ?2))
"""
# The user's own may be the end of a fact that is not standing: a needless change does no harm.
# An agent learns nothing of what others have.
NEXT_END = """
SELECT min(valid_until) FROM records
WHERE user_key = ?1 AND kind = 'fact' AND valid_until > ?2
"""
NEXT_END_OF_AGENT = f"""
SELECT min(next) FROM (
    SELECT min(r.valid_until) AS next FROM records r
    WHERE r.user_key = ?1 AND r.agent IS NULL AND {STANDING} AND r.valid_until > ?2
    UNION ALL SELECT min(r.valid_until) FROM records r
    WHERE r.user_key = ?1 AND r.agent = ?3 AND {STANDING} AND r.valid_until > ?2)
"""


def base(connection: apsw.Connection, scope: Scope, user: int, folder: str) -> NotesBase | None:
    """Return what was kept for exactly this scope and folder."""
    lines: str | None = connection.execute(
        "SELECT lines FROM notes_bases WHERE user_key = ? AND agent = ? AND folder = ?",
        (user, scope.agent or "", folder),
    ).get
    if lines is None:
        return None
    return NotesBase(folder, tuple(NotedLine(*line) for line in json.loads(lines)))


def kept(connection: apsw.Connection, scope: Scope, user: int) -> list[tuple[Scope, str]]:
    """Return the scopes and folders of what was kept."""
    rows: Any = connection.execute(
        "SELECT agent, folder FROM notes_bases WHERE user_key = ?1 AND (?2 IS NULL OR agent = ?2) "
        "ORDER BY agent, folder",
        (user, scope.agent),
    )
    return [(Scope(scope.user, agent or None), folder) for agent, folder in rows]


def standing(
    connection: apsw.Connection, scope: Scope, user: int, now: datetime, limit: int
) -> list[Record]:
    """Return the facts that are worth a line, those first that are most worth it."""
    mine = owned(scope, user)
    rows: Any = connection.execute(
        f"SELECT {RECORD} FROM records r WHERE {mine.sql} AND {STANDING} AND {VALID} "
        f"{ORDER} LIMIT ?",
        (*mine.values, to_ms(now), limit),
    )
    return [record(scope.user, row) for row in rows]


def version(connection: apsw.Connection, scope: Scope, user: int, now: datetime) -> str:
    """Return a text that is another whenever other facts are standing.

    Triggers count what is done to facts. While their count stays, those standing later are some
    of those standing before, and the next end tells which: where it is the same, so are they.
    """
    epoch = connection.execute(EPOCH, (user, scope.agent)).get
    if scope.agent is None:
        ending = connection.execute(NEXT_END, (user, to_ms(now))).get
    else:
        ending = connection.execute(NEXT_END_OF_AGENT, (user, to_ms(now), scope.agent)).get
    return f"{epoch}-{'never' if ending is None else ending}"
