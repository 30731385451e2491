"""Reads of conversations and their messages."""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from memoranda.model.models import ConversationInfo, Message, Pruning
from memoranda.model.scope import Scope
from memoranda.store.sqlite.prunings import PRUNING, pruning
from memoranda.store.sqlite.rows import CONVERSATION, MESSAGE, conversation, dump, message

OWNED = (
    "c.user_key = (SELECT key FROM users WHERE name = :user) "
    "AND (:agent IS NULL OR c.agent IS NULL OR c.agent = :agent)"
)


def find(connection: apsw.Connection, scope: Scope, id: str) -> ConversationInfo | None:
    """Return the conversation, or ``None``."""
    row = connection.execute(
        f"SELECT {CONVERSATION} FROM conversations c WHERE {OWNED} AND c.id = :id",
        {"user": scope.user, "agent": scope.agent, "id": id},
    ).fetchone()
    return None if row is None else conversation(row)


def every(connection: apsw.Connection, scope: Scope) -> list[ConversationInfo]:
    """Return all conversations, the newest first."""
    rows = connection.execute(
        f"SELECT {CONVERSATION} FROM conversations c WHERE {OWNED} "
        "ORDER BY c.created_at DESC, c.key DESC",
        {"user": scope.user, "agent": scope.agent},
    )
    return [conversation(row) for row in rows]


def messages(
    connection: apsw.Connection,
    scope: Scope,
    id: str,
    *,
    last: int | None,
    after: int | None,
    cleared: bool,
    pinned: bool,
) -> list[Message]:
    """Return the last so many messages in order, or all; only those after a position."""
    rows = connection.execute(
        f"SELECT {MESSAGE} FROM messages m JOIN conversations c ON c.key = m.conversation_key "
        f"WHERE {OWNED} AND c.id = :id "
        "AND m.position > max(:after, CASE WHEN :cleared THEN -1 ELSE c.cleared_through END) "
        "AND m.pinned >= :pinned ORDER BY m.position DESC LIMIT coalesce(:last, -1)",
        {
            "user": scope.user,
            "agent": scope.agent,
            "id": id,
            "last": last,
            "after": -1 if after is None else after,
            "cleared": cleared,
            "pinned": pinned,
        },
    )
    return [message(row) for row in rows][::-1]


def prunings(connection: apsw.Connection, scope: Scope, id: str) -> list[Pruning]:
    """Return the receipts of all prunings of a conversation, oldest first."""
    rows = connection.execute(
        f"SELECT {PRUNING} FROM prunings p JOIN conversations c ON c.key = p.conversation_key "
        f"WHERE {OWNED} AND c.id = :id ORDER BY p.at, p.key",
        {"user": scope.user, "agent": scope.agent, "id": id},
    )
    return [pruning(row) for row in rows]


def quoting(connection: apsw.Connection, scope: Scope, records: Sequence[str]) -> int:
    """Return how many messages hold the text of these records."""
    found: int = connection.execute(
        "SELECT count(*) FROM messages m JOIN conversations c ON c.key = m.conversation_key "
        f"WHERE {OWNED} AND m.record_id IN (SELECT value FROM json_each(:records))",
        {"user": scope.user, "agent": scope.agent, "records": dump(list(records))},
    ).get
    return found
