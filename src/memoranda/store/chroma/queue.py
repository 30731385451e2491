"""Which records of a user wait for their vectors."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from memoranda.model.models import Record
from memoranda.model.scope import Scope
from memoranda.store.chroma.filters import owned
from memoranda.store.chroma.rows import Stored
from memoranda.store.chroma.state import State


def pending(state: State, scope: Scope, generation: int, *, limit: int) -> list[Record]:
    """Return the oldest records without vectors of the store's model, named ``generation`` times.

    Believed or not, but none that was retired.
    """
    return [row.record for row in islice(_waiting(state, scope, generation), limit)]


def pending_count(state: State, scope: Scope, generation: int) -> int:
    """Return how many records wait."""
    return sum(1 for _ in _waiting(state, scope, generation))


def _waiting(state: State, scope: Scope, generation: int) -> Iterator[Stored]:
    return (row for row in owned(state, scope) if row.indexed and row.generation != generation)
