"""Where else a record's text is: in former versions, in copies, in what was derived from it.

What was derived is found by following the provenance in ``source_ids`` forward.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from memoranda.model.scope import Scope
from memoranda.store.chroma.filters import sees
from memoranda.store.chroma.rows import Stored
from memoranda.store.chroma.state import State

OWN_WORD = frozenset({"api", "tool"})
"""Origins of what a person said: it does not go with sources that only said it, too."""


def versions(state: State, scope: Scope, ids: Sequence[str]) -> list[str]:
    """Return what the scope sees of the records that one of ``ids`` replaced, oldest first."""

    def replaced(id: str) -> Iterable[str]:
        # What is only believed less, for what came later, is a word of its own and no version.
        found = state.indexes.replaced[id]
        return [each for each in found if state.records[each].closed_at is not None]

    return _others(state, scope, ids, _reached(ids, replaced))


def copies(state: State, scope: Scope, ids: Sequence[str]) -> list[str]:
    """Return what else the scope sees with the very text of one of ``ids``, oldest first."""
    hashes = {state.records[key].record.content_hash for key in ids if key in state.records}
    found = {other for each in hashes for other in state.indexes.hashes[each]}
    return _others(state, scope, ids, found)


def derived(state: State, scope: Scope, ids: Sequence[str]) -> list[str]:
    """Return what the scope sees of what rests on ``ids``, directly or through others.

    In the order of recording, without ``ids`` themselves.
    """

    def drawn(id: str) -> Iterable[str]:
        found = state.indexes.sources[id]
        return [each for each in found if state.records[each].record.origin not in OWN_WORD]

    return _others(state, scope, ids, _reached(ids, drawn))


def resting(state: State, scope: Scope, ids: Sequence[str]) -> list[str]:
    """Return what the scope sees of what names one of ``ids`` as a source, oldest first."""
    found = {other for source in ids for other in state.indexes.sources[source]}
    return _others(state, scope, ids, found)


def _reached(ids: Iterable[str], following: Callable[[str], Iterable[str]]) -> set[str]:
    """Return ``ids`` and all that is reached from them, step by step."""
    found = set(ids)
    ahead = list(found)
    while ahead:
        new = set(following(ahead.pop())) - found
        found |= new
        ahead += new
    return found


def _others(state: State, scope: Scope, ids: Iterable[str], related: set[str]) -> list[str]:
    rows = [state.records[key] for key in related.difference(ids) if key in state.records]
    seen = [row for row in rows if sees(scope, row.record.agent)]
    return [row.key for row in sorted(seen, key=_ordinal)]


def _ordinal(row: Stored) -> int:
    return row.ordinal
