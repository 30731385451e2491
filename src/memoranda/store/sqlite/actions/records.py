"""Actions that store records and their vectors, end them, and weigh them anew."""

from __future__ import annotations

from typing import Any

from memoranda.errors import InvalidInput, NotFound
from memoranda.model.actions import Close, Insert, PutVectors, Reweigh, Touch
from memoranda.model.models import Kind, Record
from memoranda.model.times import to_ms
from memoranda.store.sqlite import entities, queue
from memoranda.store.sqlite.actions.transaction import Target, Transaction, perform
from memoranda.store.sqlite.filters import owned
from memoranda.store.sqlite.rows import STORED_FLOAT, dump, record_values

# What came to a session before an agent did was not said to it.
REGISTER = """
INSERT INTO consolidations (user_key, session_id, agent, first_seen_at, noted)
VALUES (:user, :session, :agent, :at, coalesce(
    (SELECT max(noted) FROM consolidations WHERE user_key = :user AND session_id = :session), -1))
"""
GO_ON = """
UPDATE consolidations SET consolidated_at = NULL, first_seen_at = min(first_seen_at, :at)
WHERE user_key = :user AND session_id = :session AND agent = :agent
"""


@perform.register
def _(action: Insert, tx: Transaction) -> None:
    item = action.record
    if item.user != tx.scope.user or (tx.scope.agent and item.agent not in {None, tx.scope.agent}):
        message = f"record {item.id!r} is of {item.user!r} ({item.agent}), not of {tx.scope}"
        raise InvalidInput(message)
    if gone := tx.erased(item.source_ids):
        # Read before the erasure, written after it: its text would come back.
        message = f"record {item.id!r} rests on {gone[0]!r}, which was erased; derive it anew"
        raise NotFound(message)
    values = record_values(item) | {"user_key": tx.user}
    # What was drawn from a session was not said in it; what was, may have got sources since.
    said = item.kind is Kind.EPISODE or not item.source_ids or item.position is not None
    columns = ", ".join(values)
    marks = ", ".join(f":{name}" for name in values)
    position = (
        "(SELECT coalesce(max(position) + 1, 0) FROM records "
        "WHERE user_key = :user_key AND session_id = :session_id)"
        if item.session_id is not None and said
        else "NULL"
    )
    tx.connection.execute(
        f"INSERT INTO records ({columns}, term_count, position) "
        f"VALUES ({marks}, memoranda_term_count(:content), {position})",
        values,
    )
    key = tx.connection.last_insert_rowid()
    entities.link(tx.connection, tx.user, tx.names, key, action.mentions)
    if item.session_id is not None and item.kind is Kind.EPISODE:
        _register(item, tx)
    tx.log(Target(key, item.id, item.agent), item.created_at, "insert", action.reason)


def _register(episode: Record, tx: Transaction) -> None:
    """Let the session of an episode wait for consolidation, also one that was done before."""
    values: dict[str, Any] = {
        "user": tx.user,
        "session": episode.session_id,
        "agent": episode.agent or "",
        "at": to_ms(episode.created_at),
    }
    tx.connection.execute(GO_ON, values)
    if not tx.connection.changes():
        tx.connection.execute(REGISTER, values)


@perform.register
def _(action: Close, tx: Transaction) -> None:
    target = tx.target(action.id)
    # What had ended before stays ended: a later end would change what was believed in between.
    tx.connection.execute(
        "UPDATE records SET valid_until = min(coalesce(valid_until, ?1), ?1), "
        "closed_at = coalesce(closed_at, ?1), superseded_by = ?2 WHERE key = ?3",
        (to_ms(action.at), action.superseded_by, target.key),
    )
    tx.raise_epoch()
    detail = {"superseded_by": action.superseded_by} if action.superseded_by else {}
    tx.log(target, action.at, "close", action.reason, **detail)


@perform.register
def _(action: Reweigh, tx: Transaction) -> None:
    target = tx.target(action.id)
    tx.connection.execute(
        "UPDATE records SET confidence = ?1, strength = ?1, strength_at = ?2, decay_rate = ?3 "
        "WHERE key = ?4",
        (action.confidence, to_ms(action.at), action.decay_rate, target.key),
    )
    tx.raise_epoch()
    detail = {"confidence": action.confidence, "decay_rate": action.decay_rate}
    tx.log(target, action.at, "reweigh", action.reason, **detail)


@perform.register
def _(action: Touch, tx: Transaction) -> None:
    where = owned(tx.scope, tx.user)
    rows: Any = tx.connection.execute(
        "UPDATE records AS r SET access_count = access_count + 1, last_accessed = ? "
        f"WHERE r.id IN (SELECT value FROM json_each(?)) AND {where.sql} RETURNING key",
        (to_ms(action.at), dump(action.ids), *where.values),
    ).fetchall()
    keys = [row[0] for row in rows]
    tx.refresh(keys, action.at)
    if action.session is not None:
        tx.connection.execute(
            "INSERT INTO recalls SELECT ?, ?, value, ? FROM json_each(?) WHERE TRUE "
            "ON CONFLICT DO UPDATE SET at = max(at, excluded.at)",
            (tx.user, action.session, to_ms(action.at), dump(keys)),
        )


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
            "SELECT key FROM records WHERE id = ? AND user_key = ? AND indexed = 1",
            (record, tx.user),
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
