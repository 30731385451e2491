"""Carries out actions: one small function for each kind, all in the caller's transaction."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import singledispatch
from typing import Any, NamedTuple

import apsw
import numpy as np

from recollect.core.actions import (
    Action,
    Append,
    Calibrate,
    ClearView,
    Close,
    EndConversation,
    Erase,
    Insert,
    OpenConversation,
    Pin,
    Prune,
    PutVectors,
    Recount,
    Reweigh,
    Summarize,
    Touch,
)
from recollect.core.errors import InvalidInput, NotFound
from recollect.core.models import Kind
from recollect.core.ports import NameMatcher
from recollect.core.scope import Scope
from recollect.core.times import to_ms
from recollect.stores.sqlite import entities, prunings, queue
from recollect.stores.sqlite.derivation import copies, derived, versions
from recollect.stores.sqlite.filters import owned
from recollect.stores.sqlite.rows import dump, message_values, record_values

STORED_FLOAT = np.dtype("<f2")
# A number that grows: a purge answers only the erasures that it has seen.
ASK_FOR_PURGE = (
    "INSERT INTO meta VALUES ('purge_pending', '1') "
    "ON CONFLICT (key) DO UPDATE SET value = value + 1"
)


class Target(NamedTuple):
    """The record that an action is about."""

    key: int
    id: str
    agent: str | None


@dataclass(frozen=True, slots=True)
class Transaction:
    """What the functions of this module work with."""

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

    def raise_epoch(self) -> None:
        """Tell readers of the index that rows they know have changed or gone."""
        self.connection.execute(
            "UPDATE users SET index_epoch = index_epoch + 1 WHERE key = ?", (self.user,)
        )

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


@perform.register
def _(action: Insert, tx: Transaction) -> None:
    item = action.record
    if item.user != tx.scope.user or (tx.scope.agent and item.agent not in {None, tx.scope.agent}):
        message = f"record {item.id!r} is of {item.user!r} ({item.agent}), not of {tx.scope}"
        raise InvalidInput(message)
    values = record_values(item) | {"user_key": tx.user}
    columns = ", ".join(values)
    marks = ", ".join(f":{name}" for name in values)
    position = (
        "(SELECT coalesce(max(position) + 1, 0) FROM records "
        "WHERE user_key = :user_key AND session_id = :session_id)"
        if item.session_id is not None
        else "NULL"
    )
    tx.connection.execute(
        f"INSERT INTO records ({columns}, term_count, position) "
        f"VALUES ({marks}, recollect_term_count(:content), {position})",
        values,
    )
    key = tx.connection.last_insert_rowid()
    entities.link(tx.connection, tx.user, tx.names, key, action.mentions)
    if item.session_id is not None and item.kind is Kind.EPISODE:
        tx.connection.execute(
            "INSERT OR IGNORE INTO consolidations VALUES (?, ?, ?, NULL)",
            (tx.user, item.session_id, to_ms(item.created_at)),
        )
    tx.log(Target(key, item.id, item.agent), item.created_at, "insert", action.reason)


@perform.register
def _(action: Close, tx: Transaction) -> None:
    target = tx.target(action.id)
    # What had ended before stays ended: a later end would change what was believed in between.
    tx.connection.execute(
        "UPDATE records SET valid_until = min(coalesce(valid_until, ?1), ?1), superseded_by = ?2 "
        "WHERE key = ?3",
        (to_ms(action.at), action.superseded_by, target.key),
    )
    tx.raise_epoch()
    detail = {"superseded_by": action.superseded_by} if action.superseded_by else {}
    tx.log(target, action.at, "close", action.reason, **detail)


@perform.register
def _(action: Reweigh, tx: Transaction) -> None:
    target = tx.target(action.id)
    tx.connection.execute(
        "UPDATE records SET confidence = ?, decay_rate = ? WHERE key = ?",
        (action.confidence, action.decay_rate, target.key),
    )
    tx.raise_epoch()
    detail = {"confidence": action.confidence, "decay_rate": action.decay_rate}
    tx.log(target, action.at, "reweigh", action.reason, **detail)


@perform.register
def _(action: Touch, tx: Transaction) -> None:
    where = owned(tx.scope, tx.user)
    tx.connection.execute(
        "UPDATE records AS r SET access_count = access_count + 1, last_accessed = ? "
        f"WHERE r.id IN (SELECT value FROM json_each(?)) AND {where.sql}",
        (to_ms(action.at), dump(action.ids), *where.values),
    )


@perform.register
def _(action: Erase, tx: Transaction) -> None:
    targets = [tx.target(record) for record in dict.fromkeys(action.ids)]
    # Also what it replaced, copies of these, and what was derived from them, by any agent of
    # the user: the text is gone for good, or it is not.
    everywhere = replace(tx, scope=Scope(tx.scope.user))
    where = (tx.connection, everywhere.scope, tx.user)
    same = [*action.ids, *versions(*where, action.ids)]
    same += copies(*where, same)
    others = dict.fromkeys([*same, *derived(*where, same)]).keys() - set(action.ids)
    targets += map(everywhere.target, sorted(others))
    touched = entities.of_records(tx.connection, (target.key for target in targets))
    tx.raise_epoch()
    _erase_messages(tx, [target.id for target in targets])
    for target in targets:
        tx.connection.execute("DELETE FROM records WHERE key = ?", (target.key,))
        tx.connection.execute(
            "DELETE FROM history WHERE record_id = ? AND user_key = ?", (target.id, tx.user)
        )
        tx.log(target, action.at, "erase", action.reason)
    entities.forget_unmentioned(tx.connection, touched)
    tx.connection.execute(ASK_FOR_PURGE)


def _erase_messages(tx: Transaction, records: Sequence[str]) -> None:
    gone: defaultdict[int, list[int]] = defaultdict(list)
    rows: Any = tx.connection.execute(
        "DELETE FROM messages WHERE record_id IN (SELECT value FROM json_each(?)) "
        "AND conversation_key IN (SELECT key FROM conversations WHERE user_key = ?) "
        "RETURNING conversation_key, position",
        (dump(records), tx.user),
    )
    for conversation, position in rows:
        gone[conversation].append(position)
    for conversation, positions in gone.items():
        prunings.tear(tx.connection, conversation, positions)


@perform.register
def _(action: PutVectors, tx: Transaction) -> None:
    model, dimensions = queue.model(tx.connection) or (None, 0)
    if model != action.model:
        message = f"the vectors of this store are of {model!r}, not of {action.model!r}"
        raise InvalidInput(message)
    for record, vector in action.vectors.items():
        if vector.shape != (dimensions,):
            message = f"the vector of {record!r} has shape {vector.shape}, not ({dimensions},)"
            raise InvalidInput(message)
        key: int | None = tx.connection.execute(
            "SELECT key FROM records WHERE id = ? AND user_key = ?", (record, tx.user)
        ).get
        if key is not None:
            _put(tx, key, vector.astype(STORED_FLOAT).tobytes())


def _put(tx: Transaction, key: int, blob: bytes) -> None:
    execute = tx.connection.execute
    execute("DELETE FROM vectors WHERE record_key = ?", (key,))
    if tx.connection.changes():
        tx.raise_epoch()
    execute("UPDATE users SET vector_seq = vector_seq + 1 WHERE key = ?", (tx.user,))
    execute(
        "INSERT INTO vectors SELECT key, vector_seq, ?, ? FROM users WHERE key = ?",
        (key, blob, tx.user),
    )
    execute("DELETE FROM pending_vectors WHERE record_key = ?", (key,))


@perform.register
def _(action: OpenConversation, tx: Transaction) -> None:
    info = action.info
    tx.connection.execute(
        "INSERT INTO conversations (user_key, agent, id, system, model, context_limit, created_at) "
        "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (user_key, id) DO UPDATE SET "
        "system = excluded.system, model = excluded.model, context_limit = excluded.context_limit "
        "WHERE excluded.agent IS NULL OR agent IS NULL OR agent = excluded.agent",
        (
            tx.user,
            tx.scope.agent,
            info.id,
            info.system,
            info.model,
            info.context_limit,
            to_ms(info.created_at),
        ),
    )
    if not tx.connection.changes():
        message = f"the conversation {info.id!r} is another agent's; choose another id"
        raise InvalidInput(message)


@perform.register
def _(action: Append, tx: Transaction) -> None:
    values = message_values(action.message)
    values["conversation_key"] = tx.conversation(action.conversation)
    columns = ", ".join(values)
    marks = ", ".join(f":{name}" for name in values)
    tx.connection.execute(
        # Never a place that was cleared or cut, also after the messages there were erased.
        f"INSERT INTO messages ({columns}, position) VALUES ({marks}, "
        "(SELECT next_position FROM conversations WHERE key = :conversation_key))",
        values,
    )


@perform.register
def _(action: Pin, tx: Transaction) -> None:
    tx.connection.execute(
        "UPDATE messages SET pinned = ? WHERE conversation_key = ? AND id = ?",
        (action.pinned, tx.conversation(action.conversation), action.message),
    )
    if not tx.connection.changes():
        message = f"there is no message {action.message!r} in {action.conversation!r}"
        raise NotFound(message)


@perform.register
def _(action: ClearView, tx: Transaction) -> None:
    tx.connection.execute(
        "UPDATE conversations SET cleared_through = next_position - 1 WHERE key = ?",
        (tx.conversation(action.conversation),),
    )


@perform.register
def _(action: Prune, tx: Transaction) -> None:
    prunings.add(tx.connection, tx.conversation(action.conversation), action.pruning)


@perform.register
def _(action: Summarize, tx: Transaction) -> None:
    conversation = tx.conversation(action.conversation)
    prunings.summarize(tx.connection, conversation, action.pruning, action.summaries)


@perform.register
def _(action: Calibrate, tx: Transaction) -> None:
    tx.connection.execute(
        "UPDATE conversations SET token_scale = ?, token_overhead = ? WHERE key = ?",
        (
            action.calibration.scale,
            action.calibration.overhead,
            tx.conversation(action.conversation),
        ),
    )


@perform.register
def _(action: Recount, tx: Transaction) -> None:
    conversation = tx.conversation(action.conversation)
    # What was erased meanwhile is passed over: it needs no count.
    tx.connection.executemany(
        "UPDATE messages SET tokens = ?2 WHERE id = ?1 AND conversation_key = ?3 AND tokens <> ?2",
        [(message, tokens, conversation) for message, tokens in action.tokens.items()],
    )


@perform.register
def _(action: EndConversation, tx: Transaction) -> None:
    tx.connection.execute(
        "UPDATE conversations SET ended_at = ? WHERE key = ?",
        (to_ms(action.at), tx.conversation(action.conversation)),
    )
