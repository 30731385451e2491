"""The write transaction of a scope, with the operations that several actions share."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from memoranda.errors import NotFound
from memoranda.model.checks import content_hash, to_ms
from memoranda.model.models import Kind, Scope
from memoranda.model.ports import Analyzer, NameMatcher
from memoranda.store.sql.database import FullText, SqlConnection
from memoranda.store.sql.reads import SqlReads, owned
from memoranda.store.sql.rows import dump

PURGE = "purge_pending"
# All that readers in memory know of any user is out of date.
CHANGE_ALL = "UPDATE users SET revision = revision + 1, removal_revision = revision + 1"
RAISE_REVISION = """
UPDATE users SET revision = revision + 1,
    removal_revision = CASE WHEN :removed = 1 THEN revision + 1 ELSE removal_revision END,
    fact_revision = CASE WHEN :facts = 1 THEN revision + 1 ELSE fact_revision END
WHERE key = :user
"""
ERASED = """
SELECT j.value FROM (@texts(:ids)) j
WHERE NOT EXISTS (SELECT 1 FROM records WHERE id = j.value AND user_key = :user) AND EXISTS (
    SELECT 1 FROM history WHERE record_id = j.value AND user_key = :user AND action = 'erase')
"""
# A number that grows: a purge answers only the erasures that it has seen.
ASK_FOR_PURGE = """
INSERT INTO meta (name, value) VALUES ('purge_pending', '1')
ON CONFLICT (name) DO UPDATE SET value = CAST(CAST(meta.value AS integer) + 1 AS text)
"""
SET_META = """
INSERT INTO meta (name, value) VALUES (:name, :value)
ON CONFLICT (name) DO UPDATE SET value = excluded.value
"""
LOG = """
INSERT INTO history (at, user_key, agent, record_id, action, reason, detail)
VALUES (:at, :user, :agent, :record, :action, :reason, :detail)
"""
SET_REVISED = """
UPDATE records SET revised = :revision WHERE user_key = :user AND key IN (@ints(:keys))
"""

# The key of a user who has nothing.
NOBODY = 0
# Another may have registered the user just before, where writers of different users do not wait.
REGISTER = """
INSERT INTO users (name) VALUES (:name)
ON CONFLICT (name) DO UPDATE SET name = excluded.name RETURNING key, revision + 1
"""
RETURN = "UPDATE users SET name = :name, deleted = 0 WHERE key = :user"
TARGETS = "SELECT r.key, r.id, r.agent, r.kind, r.trust FROM records r"


def name_digest(name: str) -> str:
    """Return by what an erased user's name is known again, and can be read nowhere."""
    return content_hash(f"user {name}")


class TargetRecord(NamedTuple):
    """The record that an action is about."""

    key: int
    id: str
    agent: str | None
    kind: str
    trust: str


@dataclass(slots=True)
class ScopedTransaction(SqlReads):
    """An open write transaction of a user, with what several verbs share.

    Attributes:
        connection: the open transaction.
        scope: whose it is.
        user: key of the scope's user; ``NOBODY`` before anything of theirs is stored.
        is_listed: whether the user is on the list of users.
        revision: the number of this write: that of the user's last one is one less.
        analyzer: makes the terms of a text.
        names: decides which names mean the same.
        full_text: the index of terms.
        removes_rows: whether rows that readers know have gone, or changed altogether.
        changes_facts: whether other facts are active than before.
    """

    connection: SqlConnection
    scope: Scope
    user: int
    is_listed: bool
    revision: int
    analyzer: Analyzer
    names: NameMatcher
    full_text: FullText
    removes_rows: bool = False
    changes_facts: bool = False

    def register(self, *, begins: bool = True) -> None:
        """Give the user a key, if they have none yet.

        Args:
            begins: whether what is stored next puts a user who was deleted on the list again.
        """
        if self.user == NOBODY:
            rows = self.connection.all(REGISTER, {"name": self.scope.user})
            self.user, self.revision = rows[0]
            self.is_listed = True
        if begins and not self.is_listed:
            self.connection.run(RETURN, {"name": self.scope.user, "user": self.user})
            self.is_listed = True

    @property
    def own(self) -> dict[str, Any]:
        """The parameters that limit a statement to the scope."""
        return {"user": self.user, "agent": self.scope.agent}

    def this(self, target: TargetRecord) -> dict[str, Any]:
        """Return the parameters that limit a statement to a record."""
        return {"user": self.user, "key": target.key}

    def drop(self, table: str, records: Collection[int], work: str | None = None) -> None:
        """Delete the rows of records in a table of what is derived from them: of one kind of work.

        Of any, if ``work`` is not given.
        """
        # The sign has SQLite find vectors by their records, and not among all of the user's.
        owner = "+user_key" if table == "vectors" else "user_key"
        sql = f"DELETE FROM {table} WHERE {owner} = :user AND record_key IN (@ints(:keys))"
        if work is not None:
            sql += " AND work = :work"
        values = {"user": self.user, "keys": dump(sorted(records)), "work": work}
        self.connection.run(sql, values)

    @contextmanager
    def _reading(self, scope: Scope | None) -> Iterator[tuple[SqlConnection, int]]:
        del scope
        yield self.connection, self.user

    def missing(self, what: str, id: str) -> NotFound:
        """Return the error that says that the user has nothing of that kind and name."""
        return NotFound(f"there is no {what} {id!r} for user {self.scope.user!r}")

    def targets(self, ids: Sequence[str]) -> list[TargetRecord]:
        """Return records that the scope may see, in order; raise ``NotFound`` if one is missing."""
        where = owned(self.scope, self.user)
        rows = self.connection.all(
            f"{TARGETS} WHERE r.id IN (@texts(:ids)) AND {where.sql}",
            where.values | {"ids": dump(list(ids))},
        )
        found = {row[1]: TargetRecord(*row) for row in rows}
        for each in ids:
            if each not in found:
                raise self.missing("record", each)
        return [found[each] for each in ids]

    def target(self, id: str) -> TargetRecord:
        """Return a record that the scope may see, or raise ``NotFound``."""
        return self.targets([id])[0]

    def conversation(self, id: str, *, deleted: bool = False) -> int:
        """Return the key of a conversation that the scope may see, or raise ``NotFound``.

        Also of one that was taken off the lists, if ``deleted``.
        """
        where = owned(self.scope, self.user)
        listed = "" if deleted else " AND r.deleted_at IS NULL"
        key = self.connection.value(
            f"SELECT r.key FROM conversations r WHERE r.id = :id AND {where.sql}{listed}",
            where.values | {"id": id},
        )
        if key is None:
            raise self.missing("conversation", id)
        return int(key)

    def erased(self, ids: Iterable[str]) -> list[str]:
        """Return which records of the user are gone for good: nothing may rest on them."""
        listed = list(ids)
        if not listed:
            return []
        rows = self.connection.all(ERASED, {"ids": dump(listed), "user": self.user})
        return [row[0] for row in rows]

    def restore_confidence(self, records: Sequence[int]) -> None:
        """Let records be as sure as before they decayed; tell readers only of what changed."""
        changed = self.connection.all(
            "UPDATE records SET confidence = strength WHERE user_key = :user "
            "AND key IN (@ints(:keys)) AND confidence <> strength RETURNING key",
            {"user": self.user, "keys": dump(list(records))},
        )
        if changed:
            self.tell_revised([row[0] for row in changed])

    def tell_end(
        self, on: Sequence[TargetRecord], at: datetime, action: str, reason: str, **detail: Any
    ) -> None:
        """Tell the index, the notes and the history that records ended."""
        if on:
            self.changes_facts |= any(each.kind == Kind.FACT for each in on)
            self.tell_revised([each.key for each in on])
            self.log(on, at, action, reason, **detail)

    def tell_revised(self, records: Sequence[int]) -> None:
        """Tell readers of the index that these records, which they know, have changed."""
        values = {"user": self.user, "revision": self.revision, "keys": dump(list(records))}
        self.connection.run(SET_REVISED, values)

    def raise_revision(self) -> None:
        """Tell readers of the user's rows that this unit of work has changed them."""
        removed, facts = int(self.removes_rows), int(self.changes_facts)
        values = {"user": self.user, "removed": removed, "facts": facts}
        self.connection.run(RAISE_REVISION, values)

    def revise(self, conversation: int) -> None:
        """Tell readers that what is in a transcript has changed."""
        self.connection.run(
            "UPDATE conversations SET revision = revision + 1 "
            "WHERE user_key = :user AND key = :key",
            {"user": self.user, "key": conversation},
        )

    def ask_for_purge(self) -> None:
        """Have the free space cleaned of what this removes; until then ``verify`` asks for it."""
        self.connection.run(ASK_FOR_PURGE)

    def log(
        self, on: Sequence[TargetRecord], at: datetime, action: str, reason: str, **detail: Any
    ) -> None:
        """Write a line into the history of each record. ``detail`` never holds a record's text."""
        told = {"reason": reason, "detail": dump(detail) if detail else "{}"}
        line: dict[str, Any] = {"user": self.user, "at": to_ms(at), "action": action} | told
        self.connection.run_many(LOG, [line | {"record": it.id, "agent": it.agent} for it in on])
