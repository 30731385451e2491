"""Actions of upkeep: what fades, ends, is said again or replaced, and what came of sessions."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from memoranda.errors import InvalidInput, NotFound
from memoranda.model.actions import Consolidated, Credit, Enrich, Fade, Retire, Spend, Supersede
from memoranda.model.life import Usage
from memoranda.model.models import Kind
from memoranda.model.notes import stamp
from memoranda.store.chroma import entities
from memoranda.store.chroma.actions.transaction import Transaction, perform, require_weight
from memoranda.store.chroma.filters import sees
from memoranda.store.chroma.rows import Spent, Stored, cut_time, joined

ENRICHED = "enriched_at"
SUPERSEDES = "supersedes"


@perform.register
def _(action: Fade, tx: Transaction) -> None:
    row, at = tx.target(action.id), cut_time(action.at)
    require_weight(action.id, action.confidence)
    item = row.record
    # Not if it was recalled or said again since this was reckoned.
    if item.confidence == action.confidence or (item.strength_at or item.created_at) > at:
        return
    tx.put(replace(row, record=replace(item, confidence=action.confidence)))
    tx.raise_epoch()


@perform.register
def _(action: Retire, tx: Transaction) -> None:
    row, at = tx.target(action.id), cut_time(action.at)
    end, recalled = row.record.valid_until, row.record.last_accessed
    done = not row.indexed and end is not None and end <= at
    if done or (recalled is not None and recalled > at):
        return  # Another process has just done it, or it was recalled since.
    mentioned = entities.of_records(tx.state, [row.key])
    ended = replace(row.record, valid_until=min(end or at, at))
    tx.put(replace(row, record=ended, indexed=False, links=(), vector=0, generation=-1))
    tx.vectors.pop(row.key, None)
    entities.forget_unmentioned(tx.state, mentioned)
    tx.raise_epoch()
    tx.log(row, at, "retire", action.reason)


@perform.register
def _(action: Credit, tx: Transaction) -> None:
    row = tx.target(action.id)
    held = row.record.source_ids
    passed = {*held, row.key, *tx.erased(action.sources)}
    new = [source for source in dict.fromkeys(action.sources) if source not in passed]
    if not new:
        return
    credited = replace(row.record, source_ids=(*held, *new))
    tx.refresh([replace(row, record=credited)], action.at)
    tx.log(row, action.at, "credit", action.reason, sources=len(new))


@perform.register
def _(action: Supersede, tx: Transaction) -> None:
    row, by, at = tx.target(action.id), tx.target(action.by), cut_time(action.at)
    if row.key == by.key:
        message = f"{action.id!r} cannot take its own place; name the record that replaces it"
        raise InvalidInput(message)
    require_weight(action.id, action.confidence)
    weighed = replace(
        row.record,
        confidence=action.confidence,
        strength=action.confidence,
        strength_at=at,
        # What a person closed meanwhile keeps the word of the person on what replaced it.
        superseded_by=by.key if row.closed_at is None else row.record.superseded_by,
    )
    tx.put(replace(row, record=weighed))
    if SUPERSEDES not in by.record.attributes:
        tx.put(_with_attribute(by, SUPERSEDES, row.key))
    tx.raise_epoch()
    detail = {"by": by.key, "confidence": action.confidence}
    tx.log(row, at, "supersede", action.reason, **detail)


def _with_attribute(row: Stored, name: str, value: str) -> Stored:
    attributes = MappingProxyType({**row.record.attributes, name: value})
    return replace(row, record=replace(row.record, attributes=attributes))


@perform.register
def _(action: Enrich, tx: Transaction) -> None:
    row = tx.target(action.id)
    linked = entities.link(tx.state, tx.names, row, action.mentions) if row.indexed else row
    tx.put(_with_attribute(linked, ENRICHED, stamp(action.at)))
    tx.log(row, action.at, "enrich", "enriched", links=len(linked.links) - len(row.links))


@perform.register
def _(action: Consolidated, tx: Transaction) -> None:
    known = [
        row
        for row in map(tx.state.sessions.__getitem__, tx.state.indexes.progress[action.session])
        if sees(tx.scope, row.agent)
    ]
    if not known:
        message = f"there is no session {action.session!r} with episodes of {tx.scope.user!r}"
        raise NotFound(message)
    waiting = [row.through for row in known if row.consolidated_at is None]
    through = min(waiting) if waiting else max(row.through for row in known)
    if action.after is not None and through > action.after:
        message = (
            f"session {action.session!r} was read through {through} meanwhile, "
            f"not {action.after}; plan again from there"
        )
        raise InvalidInput(message)
    going_on = _going_on(action, tx) if action.finished else set()
    for row in known:
        finished = action.finished and row.agent not in going_on
        at = cut_time(action.at) if finished else row.consolidated_at
        tx.state.put(replace(row, through=max(row.through, action.through), consolidated_at=at))


def _going_on(action: Consolidated, tx: Transaction) -> set[str | None]:
    """Return of which agents there are episodes that come after those that were read."""
    rows = [tx.state.records[key] for key in tx.state.indexes.sessions[action.session]]
    return {
        row.record.agent
        for row in rows
        if row.record.kind is Kind.EPISODE
        and row.closed_at is None
        and row.record.position is not None
        and row.record.position > action.through
    }


@perform.register
def _(action: Spend, tx: Transaction) -> None:
    agent = tx.scope.agent or None
    known = tx.state.usage.get(joined(agent, action.stage, action.model))
    usage = (Usage() if known is None else known.usage) + action.usage
    tx.state.put(Spent(agent=agent, stage=action.stage, model=action.model, usage=usage))
