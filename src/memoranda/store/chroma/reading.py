"""Reads of records, and of the entities that they mention: all of one user."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import islice

from memoranda.errors import NotFound
from memoranda.model.models import Change, Entity, Kind, Record
from memoranda.model.query import Filter
from memoranda.model.scope import Scope
from memoranda.store.chroma.decisions import read
from memoranda.store.chroma.filters import candidates, matching, owned, passes, sees
from memoranda.store.chroma.rows import Stored, Thing
from memoranda.store.chroma.state import State

PROFILE_RECORDS = 20
Spellings = Mapping[str, set[str]]
"""Under which folded names records mention entities, by the ids of these."""


def by_ids(state: State, scope: Scope, ids: Sequence[str]) -> list[Record]:
    """Return the records that exist, in the order of ``ids``."""
    rows = (state.records.get(key) for key in ids)
    return [row.record for row in rows if row is not None and sees(scope, row.record.agent)]


def page(
    state: State, scope: Scope, where: Filter, *, limit: int, after: str | None
) -> list[Record]:
    """Return a page of matching records in the order in which they were recorded.

    Raises:
        NotFound: ``after`` is no record of the scope.
    """
    start = 0 if after is None else _ordinal(state, scope, after)
    rows = (row for row in candidates(state, where) if row.ordinal > start)
    return [row.record for row in islice(filter(passes(scope, where), rows), limit)]


def _ordinal(state: State, scope: Scope, id: str) -> int:
    row = state.records.get(id)
    if row is None or not sees(scope, row.record.agent):
        message = f"after={id!r} is no record of this user; pass the id of the last record you got"
        raise NotFound(message)
    return row.ordinal


def latest(state: State, scope: Scope, where: Filter) -> Record | None:
    """Return the matching record that was recorded last."""
    rows = reversed(list(candidates(state, where)))
    row = next(filter(passes(scope, where), rows), None)
    return None if row is None else row.record


def history(state: State, scope: Scope, id: str) -> list[Change]:
    """Return what was done to a record, oldest first."""
    log = state.logs.get(id)
    return [] if log is None or not sees(scope, log.agent) else list(log.changes)


def count(state: State, scope: Scope, where: Filter) -> dict[Kind, int]:
    """Return how many records match, by kind."""
    return dict(Counter(row.record.kind for row in matching(state, scope, where)))


def newest(state: State, scope: Scope) -> datetime | None:
    """Return when the newest record was recorded."""
    return max((row.record.created_at for row in owned(state, scope)), default=None)


def passing(state: State, scope: Scope, where: Filter) -> list[int]:
    """Return the ordinals of the matching records."""
    return [row.ordinal for row in matching(state, scope, where)]


def by_ordinals(state: State, scope: Scope, ordinals: Sequence[int]) -> dict[int, Record]:
    """Return the records with these ordinals."""
    known = state.indexes.ordinals
    rows = (state.records[known[ordinal]] for ordinal in ordinals if ordinal in known)
    return {row.ordinal: row.record for row in rows if sees(scope, row.record.agent)}


# Entities


def mentioning(state: State, scope: Scope, folded: Iterable[str]) -> list[tuple[int, int]]:
    """Return ordinals of records that mention entities with these names; most entities first."""
    found: Counter[int] = Counter()
    for entity in _named(state, folded):
        for key in state.indexes.mentions[entity]:
            row = state.records[key]
            if sees(scope, row.record.agent):
                found[row.ordinal] += 1
    return sorted(found.items(), key=lambda item: (-item[1], -item[0]))


def _named(state: State, folded: Iterable[str]) -> set[str]:
    """Return the entities that have one of these names."""
    return {entity for name in folded for entity in state.indexes.things[name]}


def profile(state: State, scope: Scope, folded: str, where: Filter) -> Entity | None:
    """Return an entity with the newest matching records that mention it.

    Where several have the name, the one that is mentioned most.
    """
    test = passes(scope, where)
    known = [state.things[key] for key in _named(state, [folded])]
    mentions = {thing.id: _mentioning(state, thing, test) for thing in known}
    known.sort(key=lambda thing: (-len(mentions[thing.id]), thing.name, thing.number))
    if not known or not mentions[known[0].id]:
        return None
    first = known[0]
    rows = sorted(
        mentions[first.id], key=lambda row: (row.record.event_time, row.ordinal), reverse=True
    )
    used = _spellings(rows)[first.id]
    records = tuple(row.record for row in rows[:PROFILE_RECORDS])
    return replace(_entity(first, used, len(rows)), records=records)


def _mentioning(state: State, thing: Thing, test: Callable[[Stored], bool]) -> list[Stored]:
    return [row for key in state.indexes.mentions[thing.id] if test(row := state.records[key])]


def ranked(
    state: State, scope: Scope, where: Filter, *, type: str | None, limit: int
) -> list[Entity]:
    """Return the entities of matching records, most mentioned first, then by name."""
    rows = list(matching(state, scope, where))
    used = _spellings(rows)
    times = Counter(entity for row in rows for entity in {entity for entity, _ in row.links})
    # A link may lead to nothing: damage, of which `verify` tells.
    known = [state.things[key] for key in times if key in state.things]
    known = [thing for thing in known if type is None or thing.type == type]
    known.sort(key=lambda thing: (-times[thing.id], thing.name, thing.number))
    return [_entity(thing, used[thing.id], times[thing.id]) for thing in known[:limit]]


def _spellings(rows: Iterable[Stored]) -> Spellings:
    found: defaultdict[str, set[str]] = defaultdict(set)
    for row in rows:
        for entity, folded in row.links:
            found[entity].add(folded)
    return found


def _entity(thing: Thing, used: set[str], times: int) -> Entity:
    """Make an entity; only names that are ``used`` by what was looked at are told."""
    names = {name for folded, name in thing.names if folded in used}
    return Entity(
        id=thing.id,
        name=thing.name,
        type=thing.type,
        aliases=tuple(sorted(names - {thing.name})),
        mention_count=times,
    )


def decisions(state: State, scope: Scope) -> dict[str, str]:
    """Return all decisions on names; for an agent, those about names in what it sees."""
    return read(state, scope)
