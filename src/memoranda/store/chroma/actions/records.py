"""Actions that store records and their vectors, end them, and weigh them anew."""

from __future__ import annotations

from dataclasses import replace

from memoranda.errors import InvalidInput, NotFound
from memoranda.model.actions import Close, Insert, PutVectors, Reweigh, Touch
from memoranda.model.models import Kind, Record
from memoranda.store.chroma import entities
from memoranda.store.chroma.actions.transaction import Transaction, perform, require_weight
from memoranda.store.chroma.filters import sees
from memoranda.store.chroma.rows import Progress, Stored, cut_time, new_record


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
    if item.id in tx.state.records:
        message = f"there is a record {item.id!r} already; give this one another id"
        raise InvalidInput(message)
    stored = new_record(item, position=_position(item, tx))
    require_weight(item.id, stored.confidence, stored.decay_rate)
    require_weight(item.id, stored.strength or 0.0)
    tx.count(ordinal=tx.counters.ordinal + 1)
    terms = len(tx.analyzer.terms(item.content))
    row = Stored(record=stored, ordinal=tx.counters.ordinal, terms=terms)
    tx.put(entities.link(tx.state, tx.names, row, action.mentions))
    if item.kind is Kind.EPISODE and item.session_id is not None:
        _register(stored, item.session_id, tx)
    tx.log(row, item.created_at, "insert", action.reason)


def _position(item: Record, tx: Transaction) -> int | None:
    # What was drawn from a session was not said in it; what was, may have got sources since.
    said = item.kind is Kind.EPISODE or not item.source_ids or item.position is not None
    if item.session_id is None or not said:
        return None
    return tx.state.indexes.place(item.session_id) + 1


def _register(episode: Record, session: str, tx: Transaction) -> None:
    """Let the session of an episode wait for consolidation, also one that was done before."""
    state, at = tx.state, episode.created_at
    agents = [state.sessions[key] for key in state.indexes.progress[session]]
    # What came to a session before an agent did was not said to it.
    noted = max((each.noted for each in agents), default=-1)
    new = Progress(session=session, agent=episode.agent, first_seen_at=at, noted=noted)
    known = state.sessions.get(new.key, new)
    state.put(replace(known, consolidated_at=None, first_seen_at=min(known.first_seen_at, at)))


@perform.register
def _(action: Close, tx: Transaction) -> None:
    row, at = tx.target(action.id), cut_time(action.at)
    # What had ended before stays ended: a later end would change what was believed in between.
    ended = replace(
        row.record,
        valid_until=min(row.record.valid_until or at, at),
        superseded_by=action.superseded_by,
    )
    tx.put(replace(row, record=ended, closed_at=row.closed_at or at))
    tx.raise_epoch()
    detail = {"superseded_by": action.superseded_by} if action.superseded_by else {}
    tx.log(row, at, "close", action.reason, **detail)


@perform.register
def _(action: Reweigh, tx: Transaction) -> None:
    row, at = tx.target(action.id), cut_time(action.at)
    require_weight(action.id, action.confidence, action.decay_rate)
    weighed = replace(
        row.record,
        confidence=action.confidence,
        strength=action.confidence,
        strength_at=at,
        decay_rate=action.decay_rate,
    )
    tx.put(replace(row, record=weighed))
    tx.raise_epoch()
    detail = {"confidence": action.confidence, "decay_rate": action.decay_rate}
    tx.log(row, at, "reweigh", action.reason, **detail)


@perform.register
def _(action: Touch, tx: Transaction) -> None:
    at = cut_time(action.at)
    known = [tx.state.records.get(key) for key in dict.fromkeys(action.ids)]
    rows = [row for row in known if row is not None and sees(tx.scope, row.record.agent)]
    for row in rows:
        count = row.record.access_count + 1
        touched = replace(row, record=replace(row.record, access_count=count, last_accessed=at))
        if action.session is not None:
            recalls = dict(row.recalls)
            recalls[action.session] = max(recalls.get(action.session, at), at)
            touched = replace(touched, recalls=tuple(recalls.items()))
        tx.refresh([touched], at)


@perform.register
def _(action: PutVectors, tx: Transaction) -> None:
    model, dimensions = tx.facts.model, tx.facts.dimensions
    if model != action.model:
        message = f"the vectors of this store are of {model!r}, not of {action.model!r}"
        raise InvalidInput(message)
    for record, vector in action.vectors.items():
        if vector.shape != (dimensions,):
            message = f"the vector of {record!r} has shape {vector.shape}, not ({dimensions},)"
            raise InvalidInput(message)
        row = tx.state.records.get(record)
        if row is None or not row.indexed:
            continue
        if row.generation == tx.facts.generation:
            tx.raise_epoch()
        tx.count(vector=tx.counters.vector + 1)
        tx.put(replace(row, vector=tx.counters.vector, generation=tx.facts.generation))
        tx.vectors[record] = vector.copy()
