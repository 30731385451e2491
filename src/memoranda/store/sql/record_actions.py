"""Carries out the actions on records: storing, ending, weighing, linking; sessions and notes."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from memoranda.errors import InvalidInput, NotFound
from memoranda.model import actions as act
from memoranda.model.checks import from_ms, to_ms
from memoranda.model.models import UNSET, ChangeAction, Kind, Record, Trust, ended, says_all
from memoranda.model.ports import ENTITIES, VECTORS, Analyzer
from memoranda.model.traces import AuditTrail
from memoranda.store.sql.database import indexed
from memoranda.store.sql.reads import owned
from memoranda.store.sql.rows import (
    RECORD,
    RECORDS,
    VECTOR_TABLES,
    dump,
    insertion,
    optional_ms,
    record,
    record_values,
)
from memoranda.store.sql.transaction import LOG, RecordRow, TargetRecord, Transaction

INSERT = insertion(
    "records", (*RECORDS.names, "term_count", "key", "user_key", "reason", "closed_at", "indexed")
)
# One of a key: by the unique index on what is no longer forgotten.
ITEM_OF_KEY = """
(user_key, namespace, item_key, (coalesce(agent, '')),
    (CASE WHEN closed_at IS NULL THEN 0 ELSE key END)) WHERE kind = 'item'
"""
REPLACED = ("term_count", "reason", *(
    name for name in RECORDS.names if name not in {
        "id", "kind", "agent", "namespace", "item_key", "created_at",
        "access_count", "last_accessed", "enriched_at",
    }
))  # fmt: skip
PUT_ITEM = f"""
{INSERT} ON CONFLICT {ITEM_OF_KEY}
DO UPDATE SET indexed = 1, {", ".join(f"{name} = excluded.{name}" for name in REPLACED)}
RETURNING key, id, created_at
"""
HELD_ITEM = """
SELECT content_hash, indexed FROM records WHERE kind = 'item' AND user_key = :user_key
    AND namespace = :namespace AND item_key = :item_key AND closed_at IS NULL
    AND coalesce(agent, '') = coalesce(CAST(:agent AS text), '')
"""
SAME_FACTS = f"""
SELECT {RECORD} FROM records r WHERE r.user_key = :user AND r.content_hash IN (@texts(:hashes))
    AND r.kind = 'fact' AND (r.valid_until IS NULL OR r.valid_until > :now)
    AND (r.agent IS NULL OR r.agent = :agent) ORDER BY r.key
"""
NEXT_POSITION = """
SELECT coalesce(max(position) + 1, 0) FROM records
WHERE user_key = :user AND session_id = :session
"""
ADD_SOURCE = """
INSERT INTO record_sources (user_key, source_id, record_key) VALUES (:user, :source, :record)
ON CONFLICT (user_key, source_id, record_key) DO NOTHING
"""
QUEUE_NEW = insertion("derivations", ("work", "record_key", "user_key"))
QUEUE = f"{QUEUE_NEW} ON CONFLICT DO NOTHING"
# The key of a record of the user, unless it was retired.
INDEXED = "SELECT key FROM records WHERE id = :id AND user_key = :user AND indexed = 1"
UNQUEUE = """
DELETE FROM derivations WHERE user_key = :user AND work = :work AND record_key = :record
"""
# Of one record.
THIS = "user_key = :user AND key = :key"
# What came to a session before an agent did was not said to it. One that was done waits again.
REGISTER = """
INSERT INTO sessions (user_key, session_id, agent, first_seen_at, noted)
SELECT :user, :session, :agent, :at, coalesce(max(noted), -1)
FROM sessions WHERE user_key = :user AND session_id = :session
ON CONFLICT (user_key, session_id, agent) DO UPDATE SET consolidated_at = NULL,
    first_seen_at = least(sessions.first_seen_at, excluded.first_seen_at)
"""
FINISH = """
UPDATE sessions SET through = greatest(through, :through), tries = 0, unread = unread + :unread,
    consolidated_at = CASE WHEN :finished = 1 AND NOT EXISTS (
        SELECT 1 FROM records r WHERE r.user_key = :user
        AND r.session_id = sessions.session_id
        AND r.position > :through AND r.kind = 'episode' AND r.closed_at IS NULL
        AND coalesce(r.agent, '') = sessions.agent
    ) THEN :at ELSE consolidated_at END
WHERE user_key = :user AND session_id = :session
    AND (CAST(:agent AS text) IS NULL OR agent = '' OR agent = :agent)
"""
TRY = """
UPDATE sessions SET tries = tries + 1 WHERE user_key = :user AND session_id = :session
    AND (CAST(:agent AS text) IS NULL OR agent = '' OR agent = :agent)
"""
NOTE = """
UPDATE sessions SET noted = greatest(noted, :through)
WHERE user_key = :user AND session_id = :session
    AND (CAST(:agent AS text) IS NULL OR agent = '' OR agent = :agent)
"""
SPEND = """
INSERT INTO model_usage (user_key, agent, stage, model, requests, failures, input_tokens,
    output_tokens, cost, seconds)
VALUES (:user, :agent, :stage, :model, :requests, :failures, :input_tokens, :output_tokens, :cost,
    :seconds)
ON CONFLICT (user_key, agent, stage, model) DO UPDATE SET
    requests = model_usage.requests + excluded.requests,
    failures = model_usage.failures + excluded.failures,
    input_tokens = model_usage.input_tokens + excluded.input_tokens,
    output_tokens = model_usage.output_tokens + excluded.output_tokens,
    cost = CASE WHEN model_usage.cost IS NULL THEN excluded.cost
        ELSE model_usage.cost + coalesce(excluded.cost, 0) END,
    seconds = model_usage.seconds + excluded.seconds
"""
REMEMBER_RECALL = """
INSERT INTO recalls (user_key, session_id, record_key, at) VALUES (:user, :session, :record, :at)
ON CONFLICT (user_key, session_id, record_key) DO UPDATE SET at = greatest(recalls.at, excluded.at)
"""
KEEP_NOTES = """
INSERT INTO notes_bases (user_key, agent, folder, lines) VALUES (:user, :agent, :folder, :lines)
ON CONFLICT (user_key, agent, folder) DO UPDATE SET lines = excluded.lines
"""
# Who holds a view of a conversation in memory reads it again.
SEE_AGAIN = """
UPDATE conversations SET revision = revision + 1
WHERE user_key = :user AND key IN (
    SELECT conversation_key FROM messages WHERE user_key = :user AND record_id = :id)
"""
END = """
UPDATE records SET valid_until = least(coalesce(valid_until, :at), :at), closed_at = :at,
    superseded_by = coalesce(:by, superseded_by)
WHERE user_key = :user AND closed_at IS NULL AND id IN (@texts(:ids))
RETURNING key, id, agent, kind, trust
"""
SEEN_ENTITY = """
SELECT e.key, e.name FROM entities e WHERE e.id = :id AND e.user_key = :user
    AND (CAST(:agent AS text) IS NULL OR EXISTS (SELECT 1 FROM record_entities l JOIN records r
        ON r.key = l.record_key WHERE l.user_key = :user AND r.user_key = :user
        AND l.entity_key = e.key AND (r.agent IS NULL OR r.agent = :agent)))
"""
SEEN_NAME = """
SELECT 1 FROM record_entities l JOIN records r ON r.key = l.record_key
WHERE l.user_key = :user AND r.user_key = :user AND l.entity_key = :entity AND l.folded = :folded
    AND (CAST(:agent AS text) IS NULL OR r.agent IS NULL OR r.agent = :agent)
"""


def insert(tx: Transaction, actions: Sequence[act.Insert]) -> list[act.Outcome]:
    """Store new records, in order, each statement once for all of them.

    Returns where in their sessions they are, and those that were not stored, as they were known.
    """
    known = _known_facts(tx, actions) if tx.has_text else {}
    left = [each for each in actions if each.record.id not in known] if known else actions
    placed = _insert_new(tx, left)
    for new, held in known.values():
        _restate(tx, held, new)
    return [*placed, *(act.KnownFact(new.id, held.id) for new, held in known.values())]


def _known_facts(
    tx: Transaction, actions: Sequence[act.Insert]
) -> dict[str, tuple[Record, Record]]:
    """Return facts that others say already, or those before them, each with the known one."""
    asked = [each.record for each in actions if each.unless_known and each.record.kind is Kind.FACT]
    if not asked:
        return {}
    hashes = dump([each.content_hash for each in asked])
    values = tx.own | {"now": to_ms(asked[0].created_at), "hashes": hashes}
    rows = tx.connection.all(SAME_FACTS, values)
    alike: dict[str, list[Record]] = {}
    for row in rows:
        held = record(tx.scope.user, row)
        alike.setdefault(held.content_hash, []).append(held)
    known = {}
    for new in asked:
        same = alike.setdefault(new.content_hash, [])
        held = next((each for each in same if says_all(each, new)), new)
        if held is new:
            same.append(new)
        else:
            known[new.id] = new, held
    return known


def _restate(tx: Transaction, known: Record, new: Record) -> None:
    """Give a known fact the tags of the new one, and make it as sure and lasting, if a person says.

    What an agent says may come from the fact itself, which nothing confirms so.
    """
    known = tx.get(tx.scope, [known.id])[known.id]  # Others of the plan may have changed it.
    at, reason = new.created_at, "said again"
    tags: Any = tuple(dict.fromkeys((*known.tags, *new.tags)))
    ends: Any = UNSET
    if new.trust is Trust.PERSON:
        surer = max(known.confidence, new.confidence), min(known.decay_rate, new.decay_rate)
        if surer != (known.confidence, known.decay_rate):
            reweigh(tx, act.Reweigh(known.id, at, *surer, reason))
        if known.valid_until and new.valid_until and new.valid_until > known.valid_until:
            ends = new.valid_until
    changed = UNSET if tags == known.tags else tags
    update(tx, act.UpdateRecord(id=known.id, at=at, tags=changed, valid_until=ends, reason=reason))


def _insert_new(tx: Transaction, actions: Sequence[act.Insert]) -> list[act.PlacedRecord]:
    gone = set(tx.erased({source for each in actions for source in each.record.source_ids}))
    for action in actions:
        _require_new(tx, action, gone)
    known: dict[str, int] = {}
    positions = [
        _next_position(tx, each.record, known, keep=each.trail is not None) for each in actions
    ]
    keyed = list(zip(tx.connection.record_keys(len(actions)), actions, strict=True))
    made: list[dict[str, Any]] = []

    def texts() -> Iterator[tuple[int, int, str]]:
        for key, action in keyed:
            terms, values = make_row(tx.analyzer, action.record)
            made.append(values)
            yield key, tx.user, " ".join(terms)

    def rows() -> Iterator[tuple[Any, ...]]:
        for (key, action), position, values in zip(keyed, positions, made, strict=True):
            values["key"], values["user_key"], values["reason"] = key, tx.user, action.reason
            values["closed_at"], values["indexed"] = None, 1
            values["position"] = position
            if action.trail is not None:
                values.update(trail_values(action.trail))
            yield tuple(values.values())

    tx.full_text.add(tx.connection, texts())
    tx.connection.run_many(INSERT, rows())
    sources = [(tx.user, source, key) for key, each in keyed for source in each.record.source_ids]
    if sources:
        tx.connection.run_many(ADD_SOURCE, sources)
    queued = [(work, key, tx.user) for key, each in keyed for work in _derived_later(each)]
    tx.connection.run_many(QUEUE_NEW, queued)
    keep_trails(tx, keyed)
    for key, action in keyed:
        if action.mentions:
            tx.entity_writer.link(key, action.mentions)
    _register_sessions(tx, [each.record for each in actions])
    return [
        act.PlacedRecord(each.record.id, position)
        for each, position in zip(actions, positions, strict=True)
        if position is not None
    ]


def _require_new(tx: Transaction, action: act.Insert, gone: Collection[str]) -> None:
    require_own(tx, action.record, gone)
    if action.record.kind is Kind.ITEM and action.trail is None:
        message = f"{action.record.id!r} is an item, of which there is one for a key; use PutItem"
        raise InvalidInput(message)


def _derived_later(action: act.Insert) -> tuple[str, ...]:
    """Return the kinds of work that a new record waits for."""
    if action.trail is not None and action.trail.retired:
        return ()
    known = action.mentions is not None or action.record.kind is Kind.ITEM
    return (VECTORS,) if known else (VECTORS, ENTITIES)


def _register_sessions(tx: Transaction, items: Iterable[Record]) -> None:
    """Let the sessions of new episodes wait for consolidation, by agent."""
    sessions: dict[tuple[str, str], int] = {}
    for item in items:
        if item.session_id is not None and item.kind is Kind.EPISODE:
            sessions.setdefault((item.session_id, item.agent or ""), to_ms(item.created_at))
    for (session, agent), at in sessions.items():
        place = {"user": tx.user, "session": session, "agent": agent, "at": at}
        tx.connection.run(REGISTER, place)


def put_item(tx: Transaction, action: act.PutItem) -> act.ReplacedItem | None:
    """Store an item, or replace the one of its key, with what is derived from its content."""
    item = action.record
    require_own(tx, item, tx.erased(item.source_ids))
    terms, values = make_row(tx.analyzer, item)
    values |= {"key": tx.connection.record_keys(1)[0], "user_key": tx.user}
    values |= {"reason": action.reason, "closed_at": None, "indexed": 1}
    before = tx.connection.one(HELD_ITEM, values)
    key, kept, created_at = tx.connection.all(PUT_ITEM, values)[0]
    replaced = None if before is None else act.ReplacedItem(item.id, kept, from_ms(created_at))
    if replaced:
        tx.raise_epoch(only_items=True)
        if before == (item.content_hash, 1):
            return replaced  # What is derived from it is of this content.
        tx.full_text.remove(tx.connection, tx.user, [key])
        for table in VECTOR_TABLES:
            tx.drop(table, [key])
    tx.full_text.add(tx.connection, [(key, tx.user, " ".join(terms))])
    tx.connection.run(QUEUE, {"work": VECTORS, "record_key": key, "user_key": tx.user})
    return replaced


def make_row(analyzer: Analyzer, item: Record) -> RecordRow:
    """Return what is stored of a record, as far as nothing that is stored decides it."""
    terms = indexed(analyzer.terms(item.content), items=item.kind is Kind.ITEM)
    return RecordRow(terms, record_values(item) | {"term_count": len(terms)})


def trail_values(trail: AuditTrail) -> dict[str, Any]:
    """Return the columns of a record that tell what was done to it."""
    closed_at = optional_ms(trail.closed_at)
    return {"reason": trail.reason, "closed_at": closed_at, "indexed": int(not trail.retired)}


def keep_trails(tx: Transaction, kept: Iterable[tuple[int, act.Insert]]) -> None:
    """Write the history and the recalls that records, by their keys, have in another store."""
    changes: list[dict[str, Any]] = []
    recalls: list[dict[str, Any]] = []
    for key, action in kept:
        item = {"user": tx.user, "record": action.record.id, "agent": action.record.agent}
        for change in action.trail.changes if action.trail else ():
            told = {"action": change.action, "reason": change.reason}
            detail = dump(dict(change.detail))
            changes.append(item | told | {"at": to_ms(change.at), "detail": detail})
        for recall in action.trail.recalls if action.trail else ():
            place = {"user": tx.user, "session": recall.session, "record": key}
            recalls.append(place | {"at": to_ms(recall.at)})
    if changes:
        tx.connection.run_many(LOG, changes)
    if recalls:
        tx.connection.run_many(REMEMBER_RECALL, recalls)


def require_own(tx: Transaction, item: Record, erased: Collection[str]) -> None:
    """Refuse a record of another scope, and one that rests on an erased one."""
    if item.user != tx.scope.user or (tx.scope.agent and item.agent not in {None, tx.scope.agent}):
        message = f"record {item.id!r} is of {item.user!r} ({item.agent}), not of {tx.scope}"
        raise InvalidInput(message)
    for source in item.source_ids:
        if source in erased:
            # Read before the erasure, written after it: its text would come back.
            message = f"record {item.id!r} rests on {source!r}, which was erased; derive it anew"
            raise NotFound(message)


def _next_position(
    tx: Transaction, item: Record, known: dict[str, int], *, keep: bool
) -> int | None:
    """Return the position of a record in its session; its own, if that is to be kept and free."""
    # What was drawn from a session was not said in it; what was, may have got sources since.
    said = item.kind is Kind.EPISODE or item.position is not None
    said = said or not (item.source_ids or keep)
    session = item.session_id
    if session is None or not said:
        return None
    if session not in known:
        values = {"user": tx.user, "session": session}
        known[session] = int(tx.connection.value(NEXT_POSITION, values))
    place = max(known[session], item.position or 0) if keep else known[session]
    known[session] = place + 1
    return place


def close(tx: Transaction, action: act.Close) -> None:
    """End the validity of a record; what had ended before stays ended."""
    target = tx.target(action.id)
    values = {"at": to_ms(action.at), "by": action.superseded_by} | tx.this(target)
    only_open = " AND closed_at IS NULL" if action.only_open else ""
    changed = tx.connection.change(
        "UPDATE records SET valid_until = least(coalesce(valid_until, :at), :at), "
        f"closed_at = coalesce(closed_at, :at), superseded_by = :by WHERE {THIS}{only_open}",
        values,
    )
    if not changed:
        raise InvalidInput(ended(tx.get(tx.scope, [action.id])[action.id]))
    detail = {"superseded_by": action.superseded_by} if action.superseded_by else {}
    tx.tell_end([target], action.at, "close", action.reason, **detail)


def end(
    tx: Transaction, ids: Sequence[str], at: datetime, reason: str, by: str | None = None
) -> list[str]:
    """End the validity of these records for good; return those that had not been ended so."""
    values = {"user": tx.user, "ids": dump(list(ids)), "at": to_ms(at), "by": by}
    targets = [TargetRecord(*row) for row in sorted(tx.connection.all(END, values))]
    tx.tell_end(targets, at, ChangeAction.CLOSE, reason, **({"superseded_by": by} if by else {}))
    return [target.id for target in targets]


def reweigh(tx: Transaction, action: act.Reweigh) -> None:
    """Set confidence and decay rate."""
    target = tx.target(action.id)
    detail = {"confidence": action.confidence, "decay_rate": action.decay_rate}
    tx.connection.run(
        "UPDATE records SET confidence = :confidence, strength = :confidence, "
        f"strength_at = :at, decay_rate = :decay_rate WHERE {THIS}",
        detail | tx.this(target) | {"at": to_ms(action.at)},
    )
    tx.tell_revised([target.key])
    tx.log([target], action.at, "reweigh", action.reason, **detail)


def update(tx: Transaction, action: act.UpdateRecord) -> None:
    """Change metadata, tags and end of validity, as far as they are given."""
    target = tx.target(action.id)
    given = {name: getattr(action, name) for name in ("metadata", "tags", "valid_until")}
    given = {name: value for name, value in given.items() if value is not UNSET}
    if not given:
        return
    changes = ", ".join(f"{name} = :{name}" for name in given)
    values = RECORDS.encode(given) | tx.this(target)
    tx.connection.run(f"UPDATE records SET {changes} WHERE {THIS}", values)
    if "valid_until" in given:
        tx.connection.run(SEE_AGAIN, {"user": tx.user, "id": action.id})
        tx.tell_end([target], action.at, "update", action.reason, changed=sorted(given))
    else:
        tx.log([target], action.at, "update", action.reason, changed=sorted(given))


def touch(tx: Transaction, action: act.Touch) -> None:
    """Count one recall of each record."""
    where = owned(tx.scope, tx.user)
    rows = tx.connection.all(
        "UPDATE records AS r SET access_count = access_count + 1, last_accessed = :at, "
        f"strength_at = :at WHERE r.id IN (@texts(:ids)) AND {where.sql} RETURNING key",
        where.values | {"at": to_ms(action.at), "ids": dump(action.ids)},
    )
    keys = [row[0] for row in rows]
    tx.restore_confidence(keys)
    if action.session is not None:
        base = {"user": tx.user, "session": action.session, "at": to_ms(action.at)}
        tx.connection.run_many(REMEMBER_RECALL, [base | {"record": key} for key in keys])


def fade(tx: Transaction, action: act.Fade) -> None:
    """Set the confidence that is left, if the record was not used since."""
    target = tx.target(action.id)
    changed = tx.connection.change(
        "UPDATE records SET confidence = :confidence "
        f"WHERE {THIS} AND confidence <> :confidence AND strength_at <= :at",
        tx.this(target) | {"confidence": action.confidence, "at": to_ms(action.at)},
    )
    if changed:
        tx.tell_revised([target.key])


def retire(tx: Transaction, action: act.Retire) -> None:
    """End the validity of a record by itself, and drop all that is derived but its terms."""
    target = tx.target(action.id)
    changed = tx.connection.change(
        "UPDATE records SET valid_until = least(coalesce(valid_until, :at), :at), indexed = 0 "
        f"WHERE {THIS} AND (indexed = 1 OR valid_until IS NULL OR valid_until > :at) "
        "AND (last_accessed IS NULL OR last_accessed <= :at) "
        # An item may have been replaced by one that has not ended.
        "AND (kind <> 'item' OR valid_until <= :at)",
        tx.this(target) | {"at": to_ms(action.at)},
    )
    if not changed:
        return  # Another process has just done it, or it was recalled since.
    mentioned = tx.entity_writer.of_records([target.key])
    for table in (*VECTOR_TABLES, "derivations", "record_entities"):
        tx.drop(table, [target.key])
    tx.entity_writer.forget_unmentioned(mentioned)
    tx.raise_epoch(only_items=target.kind == Kind.ITEM)  # Its vectors are gone.
    tx.tell_end([target], action.at, "retire", action.reason)


def reinforce(tx: Transaction, action: act.Reinforce) -> None:
    """Add sources to a record that was stated again."""
    target = tx.target(action.id)
    held: list[str] = json.loads(
        tx.connection.value(f"SELECT source_ids FROM records WHERE {THIS}", tx.this(target))
    )
    passed = {*held, target.id, *tx.erased(action.sources)}
    new = [source for source in dict.fromkeys(action.sources) if source not in passed]
    if not new:
        return
    tx.connection.run(
        f"UPDATE records SET source_ids = :sources, strength_at = :at WHERE {THIS}",
        tx.this(target) | {"sources": dump([*held, *new]), "at": to_ms(action.at)},
    )
    filed = {"user": tx.user, "record": target.key}
    tx.connection.run_many(ADD_SOURCE, [filed | {"source": source} for source in new])
    tx.restore_confidence([target.key])
    tx.log([target], action.at, "credit", action.reason, sources=len(new))


def supersede(tx: Transaction, action: act.Supersede) -> None:
    """Let one record take the place of another, which stays findable behind it."""
    target, by = tx.target(action.id), tx.target(action.by)
    if target == by:
        message = f"{action.id!r} cannot take its own place; name the record that replaces it"
        raise InvalidInput(message)
    detail = {"by": by.id, "confidence": action.confidence}
    # What a person closed meanwhile keeps the word of the person on what replaced it.
    tx.connection.run(
        "UPDATE records SET confidence = :confidence, strength = :confidence, strength_at = :at, "
        "superseded_by = CASE WHEN closed_at IS NULL THEN :by ELSE superseded_by END "
        f"WHERE {THIS}",
        detail | tx.this(target) | {"at": to_ms(action.at)},
    )
    tx.connection.run(
        f"UPDATE records SET supersedes = coalesce(supersedes, :target) WHERE {THIS}",
        tx.this(by) | {"target": target.id},
    )
    tx.tell_end([target], action.at, "supersede", action.reason, **detail)


def enrich(tx: Transaction, action: act.Enrich) -> None:
    """Link a record to more entities, and stamp when."""
    target = tx.target(action.id)
    indexed = tx.connection.value(INDEXED, {"id": action.id, "user": tx.user})
    added = tx.entity_writer.link(target.key, action.mentions) if indexed else 0
    stamp = tx.this(target) | {"at": to_ms(action.at)}
    tx.connection.run(f"UPDATE records SET enriched_at = :at WHERE {THIS}", stamp)
    tx.log([target], action.at, "enrich", "enriched", links=added)


def link_entities(tx: Transaction, action: act.LinkEntities) -> None:
    """Link a record to the entities it mentions, and take it off the queue."""
    key = tx.connection.value(INDEXED, {"id": action.id, "user": tx.user})
    done = {"user": tx.user, "work": ENTITIES, "record": key}
    if key is not None and tx.connection.change(UNQUEUE, done):
        tx.entity_writer.link(key, action.mentions)


def advance_session(tx: Transaction, action: act.AdvanceSession) -> None:
    """Record how far a session was consolidated, unless another process has gone on."""
    known = tx.sessions(tx.scope, id=action.session).get(action.session)
    if known is None:
        message = f"there is no session {action.session!r} with episodes of {tx.scope.user!r}"
        raise NotFound(message)
    if action.after is not None and known.through > action.after:
        message = (
            f"session {action.session!r} was read through {known.through} meanwhile, "
            f"not {action.after}; plan again from there"
        )
        raise InvalidInput(message)
    tx.connection.run(
        FINISH,
        tx.own
        | {"session": action.session, "through": action.through, "at": to_ms(action.at)}
        | {"finished": int(action.finished), "unread": action.unread},
    )


def count_try(tx: Transaction, action: act.CountTry) -> None:
    """Count that reading the next episodes of a session took too long."""
    tx.connection.run(TRY, tx.own | {"session": action.session})


def advance_notes(tx: Transaction, action: act.AdvanceNotes) -> None:
    """Record how far the history of the notes covers a session."""
    tx.connection.run(NOTE, tx.own | {"session": action.session, "through": action.through})


def keep_notes(tx: Transaction, action: act.KeepNotes) -> None:
    """Store the last synced content of MEMORY.md."""
    folder, lines = action.base.folder, action.base.lines
    before = tx.notes_bases(tx.scope).get((tx.scope, folder))
    tx.connection.run(
        KEEP_NOTES,
        {
            "user": tx.user,
            "agent": tx.scope.agent or "",
            "folder": folder,
            "lines": dump([(line.id, line.digest) for line in lines]),
        },
    )
    kept = {line.id for line in lines}
    dropped = [line.id for line in before.lines if line.id not in kept] if before else []
    if tx.erased(dropped):
        # By a digest a guess at the text can be tested: no copy of it may stay in free space.
        tx.ask_for_purge()


def spend(tx: Transaction, action: act.Spend) -> None:
    """Add to what a stage has used of a language model."""
    owner = {"user": tx.user, "agent": tx.scope.agent or ""}
    what = {"stage": action.stage, "model": action.model}
    tx.connection.run(SPEND, owner | what | asdict(action.usage))


def merge_entities(tx: Transaction, action: act.MergeEntities) -> None:
    """Make two entities one."""
    (entity, name), (other, _) = _entity(tx, action.entity), _entity(tx, action.other)
    if entity == other:
        message = f"{action.entity!r} is one entity already; name two that are to become one"
        raise InvalidInput(message)
    names = tx.entity_writer.spelled(other)
    tx.entity_writer.unite(tx.names.fold(name), names)
    for folded in names:
        tx.entity_writer.give(other, folded, entity)


def split_entity(tx: Transaction, action: act.SplitEntity) -> None:
    """Make an alias of an entity an entity of its own."""
    entity, _ = _entity(tx, action.entity)
    folded = tx.names.fold(action.alias)
    values = tx.own | {"entity": entity, "folded": folded}
    names = tx.entity_writer.spelled(entity)
    if not tx.connection.value(SEEN_NAME, values) or folded not in names:
        message = f"{action.alias!r} is no name of {action.entity!r}; use one of its aliases"
        raise NotFound(message)
    if len(names) == 1:
        message = (
            f"{action.alias!r} is the only name of {action.entity!r}; "
            f"only an entity with aliases can be split"
        )
        raise InvalidInput(message)
    tx.entity_writer.stand_alone(folded)
    tx.entity_writer.split(entity, folded)
    tx.entity_writer.rename([entity])


def decide(tx: Transaction, action: act.KeepNameDecision) -> None:
    """Keep a decision on a name that was made elsewhere, unless there is one on it."""
    folded, target = tx.names.fold(action.name), tx.names.fold(action.target)
    if not folded or not target:
        message = f"a decision needs two names, got {action.name!r} and {action.target!r}"
        raise InvalidInput(message)
    if tx.entity_writer.target(folded) is None:
        if folded == target:
            tx.entity_writer.stand_alone(folded)
        else:
            tx.entity_writer.unite(tx.entity_writer.target(target) or target, [folded])
        tx.entity_writer.obey_decisions()


def _entity(tx: Transaction, id: str) -> tuple[int, str]:
    row = tx.connection.one(SEEN_ENTITY, tx.own | {"id": id})
    if row is None:
        message = f"there is no entity {id!r} for user {tx.scope.user!r}; look it up by its name"
        raise NotFound(message)
    return row[0], row[1]
