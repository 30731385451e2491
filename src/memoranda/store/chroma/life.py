"""Reads for upkeep: sessions, what fades, what ended, what was used, what rests on what."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime
from itertools import islice

from memoranda.model.life import Lineage, SessionInfo, StageUsage, Usage, believed
from memoranda.model.models import Kind, Record
from memoranda.model.scope import Scope
from memoranda.store.chroma.filters import owned, sees, stored
from memoranda.store.chroma.rows import Progress, Stored, cut_time
from memoranda.store.chroma.state import State

ENRICHED = "enriched_at"


def sessions(
    state: State, scope: Scope, *, pending: bool = False, exclude: str | None = None
) -> list[SessionInfo]:
    """Return the sessions of which the scope sees episodes, the first seen first.

    Where agents read their own episodes of one session, it waits until all are done; it is
    told as far as it is of the agent that has something to tell and told least.
    """
    groups: defaultdict[str, list[Progress]] = defaultdict(list)
    for row in state.sessions.values():
        if row.session != exclude and sees(scope, row.agent):
            groups[row.session].append(row)
    found = [_session(state, rows) for rows in groups.values()]
    chosen = [info for info in found if not pending or info.consolidated_at is None]
    return sorted(chosen, key=lambda info: (info.first_seen_at, info.id))


def progress(state: State, scope: Scope, session: str) -> SessionInfo | None:
    """Return how far a session is, ``None`` where the scope sees no episode of it."""
    known = (state.sessions[key] for key in state.indexes.progress[session])
    rows = [row for row in known if sees(scope, row.agent)]
    return _session(state, rows) if rows else None


def _session(state: State, rows: Collection[Progress]) -> SessionInfo:
    """Return what the progress of several agents comes to."""
    done = [row.consolidated_at for row in rows if row.consolidated_at is not None]
    waiting = [row.through for row in rows if row.consolidated_at is None]
    return SessionInfo(
        id=next(iter(rows)).session,
        first_seen_at=min(row.first_seen_at for row in rows),
        consolidated_at=None if waiting else max(done),
        through=min(waiting) if waiting else max(row.through for row in rows),
        noted=_noted(state, rows),
    )


def _noted(state: State, rows: Collection[Progress]) -> int:
    told = {row.noted for row in rows}
    if len(told) == 1:
        return told.pop()
    behind = (row.noted for row in rows if _has_more(state, row))
    return min(behind, default=max(told))


def _has_more(state: State, row: Progress) -> bool:
    """Return whether an agent has episodes beyond what is told that no one took back."""
    said = (state.records[key] for key in state.indexes.sessions[row.session])
    return any(_said(each, row.noted) and each.record.agent == row.agent for each in said)


def _said(row: Stored, after: int) -> bool:
    """Return whether a row is an episode beyond a position that no one took back."""
    item = row.record
    return (
        item.kind is Kind.EPISODE
        and row.closed_at is None
        and item.position is not None
        and item.position > after
    )


def episodes(state: State, scope: Scope, session: str, *, after: int, limit: int) -> list[Record]:
    """Return the first episodes of a session beyond a position that no one took back."""
    rows = (state.records[key] for key in state.indexes.sessions[session])
    found = [row.record for row in rows if _said(row, after) and sees(scope, row.record.agent)]
    return sorted(found, key=lambda item: item.position or 0)[:limit]


def recalled(state: State, scope: Scope, session: str) -> list[str]:
    """Return the records that were recalled into a conversation, the last one first."""
    found = [
        (at, row.ordinal, row.key)
        for row in owned(state, scope)
        for name, at in row.recalls
        if name == session
    ]
    return [key for _, _, key in sorted(found, reverse=True)]


def with_hashes(state: State, scope: Scope, hashes: Sequence[str], now: datetime) -> list[Record]:
    """Return the believed records whose content has one of these hashes, oldest first."""
    ids = (key for known in set(hashes) for key in state.indexes.hashes[known])
    rows = (row for row in stored(state, ids) if sees(scope, row.record.agent))
    return [row.record for row in rows if believed(row.record, now)]


def fading(state: State, scope: Scope, now: datetime) -> list[Record]:
    """Return the believed facts that have a decay rate, oldest first."""

    def fades(row: Stored) -> bool:
        item = row.record
        return item.kind is Kind.FACT and item.decay_rate > 0 and believed(item, now)

    return _indexed(owned(state, scope), fades)


def lapsed(state: State, scope: Scope, now: datetime) -> list[Record]:
    """Return the records whose validity ended by itself and that were not retired yet."""
    return _indexed(
        owned(state, scope), lambda row: row.closed_at is None and not believed(row.record, now)
    )


def recorded(
    state: State,
    scope: Scope,
    kind: Kind,
    *,
    now: datetime,
    since: datetime | None = None,
    before: datetime | None = None,
) -> list[Record]:
    """Return the believed records of a kind recorded in a span of time, oldest first."""
    start = None if since is None else cut_time(since)
    end = None if before is None else cut_time(before)

    def fits(row: Stored) -> bool:
        item = row.record
        return (
            item.kind == kind
            and (start is None or item.created_at >= start)
            and (end is None or item.created_at < end)
            and believed(item, now)
        )

    found = _indexed(owned(state, scope), fits)
    return sorted(found, key=lambda item: item.created_at)


def unenriched(
    state: State, scope: Scope, *, kinds: Sequence[Kind], most: int, limit: int, now: datetime
) -> list[Record]:
    """Return the oldest believed records that were never enriched and have few entities."""

    def waits(row: Stored) -> bool:
        item = row.record
        return (
            item.kind in kinds
            and item.attributes.get(ENRICHED) is None
            and believed(item, now)
            and len({entity for entity, _ in row.links}) <= most
        )

    return _indexed(owned(state, scope), waits, limit)


def _indexed(
    rows: Iterable[Stored], test: Callable[[Stored], bool], limit: int | None = None
) -> list[Record]:
    """Return the records that were not retired and pass a test."""
    return [row.record for row in islice((r for r in rows if r.indexed and test(r)), limit)]


def usage(state: State, scope: Scope) -> list[StageUsage]:
    """Return what stages have used of language models, by stage and model."""
    sums: defaultdict[tuple[str, str], Usage] = defaultdict(Usage)
    for row in state.usage.values():
        if sees(scope, row.agent):
            sums[row.stage, row.model] += row.usage
    return [
        StageUsage(*name, used) for name, used in sorted(sums.items(), key=lambda each: each[0])
    ]


def lineage(state: State, scope: Scope) -> Lineage:
    """Return what rests on what and what took whose place, of what the scope sees."""
    sources: list[tuple[int, int]] = []
    replaced: list[tuple[int, int]] = []
    for row in owned(state, scope):
        item = row.record
        if item.source_ids:
            sources += ((row.ordinal, one) for one in _ordinals(state, scope, item.source_ids))
        if item.superseded_by is not None:
            found = _ordinals(state, scope, [item.superseded_by])
            replaced += ((row.ordinal, one) for one in found)
    return Lineage(sources, replaced)


def _ordinals(state: State, scope: Scope, ids: Iterable[str]) -> list[int]:
    rows = (state.records.get(key) for key in set(ids))
    return sorted(row.ordinal for row in rows if row is not None and sees(scope, row.record.agent))
