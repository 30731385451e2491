"""What the functions work with that carry out actions, and the table they are entered in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import singledispatch
from typing import Any, NamedTuple

import apsw

from memoranda.errors import InvalidInput, NotFound
from memoranda.model.actions import Action
from memoranda.model.ports import NameMatcher
from memoranda.model.scope import Scope
from memoranda.model.times import to_ms
from memoranda.store.sqlite.filters import owned
from memoranda.store.sqlite.rows import dump

ERASED = """
SELECT j.value FROM json_each(?1) j
WHERE NOT EXISTS (SELECT 1 FROM records WHERE id = j.value AND user_key = ?2) AND EXISTS (
    SELECT 1 FROM history WHERE record_id = j.value AND user_key = ?2 AND action = 'erase')
"""
# A number that grows: a purge answers only the erasures that it has seen.
ASK_FOR_PURGE = """
INSERT INTO meta VALUES ('purge_pending', '1') ON CONFLICT (key) DO UPDATE SET value = value + 1
"""


class Target(NamedTuple):
    """The record that an action is about."""

    key: int
    id: str
    agent: str | None


@dataclass(frozen=True, slots=True)
class Transaction:
    """Whose transaction it is, and what is done the same way in many actions."""

    connection: apsw.Connection
    scope: Scope
    user: int
    names: NameMatcher

    def target(self, id: str) -> Target:
        """Return a record that the scope may see, or raise ``NotFound``."""
        where = owned(self.scope, self.user)
        row: Any = self.connection.execute(
            f"SELECT r.key, r.id, r.agent FROM records r WHERE r.id = ? AND {where.sql}",
            (id, *where.values),
        ).fetchone()
        if row is None:
            message = f"there is no record {id!r} for user {self.scope.user!r}"
            raise NotFound(message)
        return Target(*row)

    def conversation(self, id: str) -> int:
        """Return the row of a conversation that the scope may see, or raise ``NotFound``."""
        key: int | None = self.connection.execute(
            "SELECT key FROM conversations WHERE user_key = ?1 AND id = ?2 "
            "AND (?3 IS NULL OR agent IS NULL OR agent = ?3)",
            (self.user, id, self.scope.agent),
        ).get
        if key is None:
            message = f"there is no conversation {id!r} for user {self.scope.user!r}"
            raise NotFound(message)
        return key

    def erased(self, ids: Iterable[str]) -> list[str]:
        """Return which records of the user are gone for good: nothing may rest on them."""
        rows: list[Any] = self.connection.execute(ERASED, (dump(list(ids)), self.user)).fetchall()
        return [row[0] for row in rows]

    def refresh(self, records: Sequence[int], at: datetime) -> None:
        """Let records fade anew from their strength; tell readers only of what changed."""
        connection, keys = self.connection, dump(list(records))
        connection.execute(
            "UPDATE records SET confidence = strength "
            "WHERE key IN (SELECT value FROM json_each(?)) AND confidence <> strength",
            (keys,),
        )
        if connection.changes():
            self.raise_epoch()
        connection.execute(
            "UPDATE records SET strength_at = ? WHERE key IN (SELECT value FROM json_each(?))",
            (to_ms(at), keys),
        )

    def raise_epoch(self) -> None:
        """Tell readers of the index that rows they know have changed or gone."""
        self.connection.execute(
            "UPDATE users SET index_epoch = index_epoch + 1 WHERE key = ?", (self.user,)
        )

    def ask_for_purge(self) -> None:
        """Have the free space cleaned of what this removes; until then ``verify`` asks for it."""
        self.connection.execute(ASK_FOR_PURGE)

    def log(self, on: Target, at: datetime, action: str, reason: str, **detail: Any) -> None:
        """Write one line of a record's history. ``detail`` never holds a record's text."""
        self.connection.execute(
            "INSERT INTO history (at, user_key, agent, record_id, action, reason, detail) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            (to_ms(at), self.user, on.agent, on.id, action, reason, dump(detail)),
        )


def register_user(connection: apsw.Connection, scope: Scope) -> int:
    """Return the number of the scope's user, giving one to a new user."""
    connection.execute("INSERT OR IGNORE INTO users (name) VALUES (?)", (scope.user,))
    key: int = connection.execute("SELECT key FROM users WHERE name = ?", (scope.user,)).get
    return key


@singledispatch
def perform(action: Action, _tx: Transaction) -> None:
    """Carry out one action."""
    message = f"not an action: {action!r}"
    raise InvalidInput(message)
