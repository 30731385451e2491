"""Which rows a scope and a filter let through.

A condition is a test of a row, made once for a query: a filter that asks for nothing costs nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from memoranda.model.life import believed
from memoranda.model.models import Record
from memoranda.model.query import Filter
from memoranda.model.scope import Scope
from memoranda.store.chroma.rows import Stored, cut_time
from memoranda.store.chroma.state import State

Condition = Callable[[Record], bool]


def sees(scope: Scope, agent: str | None) -> bool:
    """Return whether ``scope`` may see what is of ``agent``, the user being the same."""
    return scope.agent is None or agent is None or agent == scope.agent


def owned(state: State, scope: Scope) -> Iterator[Stored]:
    """Return the records that the scope may see, the oldest first."""
    rows = state.records.values()
    if scope.agent is None:
        return iter(rows)
    return (row for row in rows if sees(scope, row.record.agent))


def matching(state: State, scope: Scope, where: Filter) -> Iterator[Stored]:
    """Return the records that the scope may see and the filter lets through, the oldest first."""
    return filter(passes(scope, where), candidates(state, where))


def candidates(state: State, where: Filter) -> Collection[Stored]:
    """Return records, the oldest first, among which are all that the filter lets through."""
    if where.session is None:
        return state.records.values()
    return stored(state, state.indexes.sessions[where.session])


def stored(state: State, ids: Iterable[str]) -> list[Stored]:
    """Return the rows of those of these records that are there, the oldest first."""
    rows = (state.records.get(key) for key in ids)
    return sorted((row for row in rows if row is not None), key=lambda row: row.ordinal)


def passes(scope: Scope, where: Filter) -> Callable[[Stored], bool]:
    """Return the test that tells whether the scope sees a row and the filter lets it through."""
    conditions = list(_conditions(scope, where))

    def test(row: Stored) -> bool:
        item = row.record
        # A loop: a generator for each of all records would take longer than what it asks.
        for condition in conditions:  # noqa: SIM110
            if not condition(item):
                return False
        return True

    return test


def _conditions(scope: Scope, where: Filter) -> Iterator[Condition]:
    if scope.agent is not None:
        yield lambda item: sees(scope, item.agent)
    yield from _of_time(where)
    if where.kinds:
        kinds = frozenset(where.kinds)
        yield lambda item: item.kind in kinds
    if where.session is not None:
        yield lambda item: item.session_id == where.session
    if where.exclude_session is not None:
        yield lambda item: item.session_id != where.exclude_session
    if where.tags:
        tags = frozenset(where.tags)
        yield lambda item: tags.issubset(item.tags)
    if where.metadata:
        wanted = [(name, value, _text(value)) for name, value in where.metadata.items()]
        yield lambda item: all(_has(item.attributes, *each) for each in wanted)


def _of_time(where: Filter) -> Iterator[Condition]:
    if where.as_of is not None:
        moment = where.as_of
        yield lambda item: item.created_at <= moment and believed(item, moment)
    elif not where.retired:
        now = where.now
        yield lambda item: item.valid_until is None or item.valid_until > now
    if where.since is not None:
        since = cut_time(where.since)
        yield lambda item: item.event_time >= since
    if where.until is not None:
        until = cut_time(where.until)
        yield lambda item: item.event_time < until


def _has(attributes: Mapping[str, Any], name: str, value: Any, text: str | None) -> bool:
    """Return whether an attribute equals ``value`` as JSON: 1 is 1.0, and no truth value is."""
    if name not in attributes:
        return False
    held = attributes[name]
    if text is not None:
        return _text(held) == text
    return bool(held == value) and isinstance(held, bool) == isinstance(value, bool)


def _text(value: Any) -> str | None:
    """Return the one JSON text of a list or an object; nothing for a single value."""
    if isinstance(value, list | tuple | Mapping):
        return json.dumps(value, ensure_ascii=False, sort_keys=True, default=dict)
    return None
