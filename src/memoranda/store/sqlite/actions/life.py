"""Actions of upkeep: what fades, ends, is said again or replaced, and what came of sessions."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC
from typing import Any

from memoranda.errors import InvalidInput, NotFound
from memoranda.model.actions import Consolidated, Credit, Enrich, Fade, Retire, Spend, Supersede
from memoranda.model.times import to_ms
from memoranda.store.sqlite import entities, life
from memoranda.store.sqlite.actions.transaction import Target, Transaction, perform
from memoranda.store.sqlite.rows import dump

ENRICHED = "enriched_at"
FINISH = """
UPDATE consolidations AS c SET through = max(c.through, :through),
    consolidated_at = CASE WHEN :finished AND NOT EXISTS (
        SELECT 1 FROM records r WHERE r.user_key = c.user_key AND r.session_id = c.session_id
        AND r.position > :through AND r.kind = 'episode' AND r.closed_at IS NULL
        AND coalesce(r.agent, '') = c.agent
    ) THEN :at ELSE c.consolidated_at END
WHERE c.user_key = :user AND c.session_id = :session
    AND (:agent IS NULL OR c.agent = '' OR c.agent = :agent)
"""
SPEND = """
INSERT INTO model_usage VALUES (:user, :agent, :stage, :model,
    :requests, :failures, :input_tokens, :output_tokens, :cost, :seconds)
ON CONFLICT DO UPDATE SET requests = requests + :requests, failures = failures + :failures,
    input_tokens = input_tokens + :input_tokens, output_tokens = output_tokens + :output_tokens,
    cost = CASE WHEN cost IS NULL THEN :cost ELSE cost + coalesce(:cost, 0) END,
    seconds = seconds + :seconds
"""


@perform.register
def _(action: Fade, tx: Transaction) -> None:
    target = tx.target(action.id)
    # Not if it was recalled or said again since this was reckoned.
    tx.connection.execute(
        "UPDATE records SET confidence = ?1 "
        "WHERE key = ?2 AND confidence <> ?1 AND strength_at <= ?3",
        (action.confidence, target.key, to_ms(action.at)),
    )
    if tx.connection.changes():
        tx.raise_epoch()


@perform.register
def _(action: Retire, tx: Transaction) -> None:
    target = tx.target(action.id)
    tx.connection.execute(
        "UPDATE records SET valid_until = min(coalesce(valid_until, ?1), ?1), indexed = 0 "
        "WHERE key = ?2 AND (indexed = 1 OR valid_until IS NULL OR valid_until > ?1) "
        "AND (last_accessed IS NULL OR last_accessed <= ?1)",
        (to_ms(action.at), target.key),
    )
    if not tx.connection.changes():
        return  # Another process has just done it, or it was recalled since.
    _drop(tx, target)
    tx.raise_epoch()
    tx.log(target, action.at, "retire", action.reason)


def _drop(tx: Transaction, target: Target) -> None:
    """Take a record out of all that is derived but the full-text index."""
    mentioned = entities.of_records(tx.connection, [target.key])
    for table in ("vectors", "pending_vectors", "record_entities"):
        tx.connection.execute(f"DELETE FROM {table} WHERE record_key = ?", (target.key,))
    entities.forget_unmentioned(tx.connection, mentioned)


@perform.register
def _(action: Credit, tx: Transaction) -> None:
    target = tx.target(action.id)
    held: list[str] = json.loads(
        tx.connection.execute("SELECT source_ids FROM records WHERE key = ?", (target.key,)).get
    )
    passed = {*held, target.id, *tx.erased(action.sources)}
    new = [source for source in dict.fromkeys(action.sources) if source not in passed]
    if not new:
        return
    tx.connection.execute(
        "UPDATE records SET source_ids = ? WHERE key = ?", (dump([*held, *new]), target.key)
    )
    tx.refresh([target.key], action.at)
    tx.log(target, action.at, "credit", action.reason, sources=len(new))


@perform.register
def _(action: Supersede, tx: Transaction) -> None:
    target, by = tx.target(action.id), tx.target(action.by)
    if target == by:
        message = f"{action.id!r} cannot take its own place; name the record that replaces it"
        raise InvalidInput(message)
    # What a person closed meanwhile keeps the word of the person on what replaced it.
    tx.connection.execute(
        "UPDATE records SET confidence = ?1, strength = ?1, strength_at = ?2, "
        "superseded_by = CASE WHEN closed_at IS NULL THEN ?3 ELSE superseded_by END WHERE key = ?4",
        (action.confidence, to_ms(action.at), by.id, target.key),
    )
    tx.connection.execute(
        "UPDATE records SET attributes = json_insert(attributes, '$.supersedes', ?) WHERE key = ?",
        (target.id, by.key),
    )
    tx.raise_epoch()
    detail = {"by": by.id, "confidence": action.confidence}
    tx.log(target, action.at, "supersede", action.reason, **detail)


@perform.register
def _(action: Enrich, tx: Transaction) -> None:
    target = tx.target(action.id)
    row: Any = tx.connection.execute(
        "SELECT attributes, indexed FROM records WHERE key = ?", (target.key,)
    ).fetchone()
    attributes, indexed = json.loads(row[0]), row[1]
    added = 0
    if indexed:
        added = entities.link(tx.connection, tx.user, tx.names, target.key, action.mentions)
    stamp = action.at.astimezone(UTC).isoformat(timespec="milliseconds")
    tx.connection.execute(
        "UPDATE records SET attributes = ? WHERE key = ?",
        (dump(attributes | {ENRICHED: stamp.replace("+00:00", "Z")}), target.key),
    )
    tx.log(target, action.at, "enrich", "enriched", links=added)


@perform.register
def _(action: Consolidated, tx: Transaction) -> None:
    known = life.progress(tx.connection, tx.scope, tx.user, action.session)
    if known is None:
        message = f"there is no session {action.session!r} with episodes of {tx.scope.user!r}"
        raise NotFound(message)
    if action.after is not None and known.through > action.after:
        message = (
            f"session {action.session!r} was read through {known.through} meanwhile, "
            f"not {action.after}; plan again from there"
        )
        raise InvalidInput(message)
    tx.connection.execute(
        FINISH,
        {
            "user": tx.user,
            "agent": tx.scope.agent,
            "session": action.session,
            "through": action.through,
            "finished": action.finished,
            "at": to_ms(action.at),
        },
    )


@perform.register
def _(action: Spend, tx: Transaction) -> None:
    owner = {"user": tx.user, "agent": tx.scope.agent or ""}
    what = {"stage": action.stage, "model": action.model}
    tx.connection.execute(SPEND, owner | what | asdict(action.usage))
