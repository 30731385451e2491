"""What a reader's index in memory lacks: the rows and vectors of one user since it looked."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from memoranda.model.models import Record
from memoranda.model.query import IndexChanges, IndexRow, IndexVersion
from memoranda.model.times import to_ms
from memoranda.model.vectors import Vectors
from memoranda.store.chroma.rows import Counters, Stored
from memoranda.store.chroma.state import State

NOTHING = IndexChanges(
    IndexVersion(), reset=True, rows=(), ordinals=(), vectors=np.empty((0, 0), np.float32)
)
EPOCHS = 2**40
"""More than there will ever be of one model: with another all vectors are others."""


def changes(
    state: State,
    since: IndexVersion,
    *,
    generation: int,
    vectors: Callable[[Sequence[str]], Vectors],
) -> IndexChanges:
    """Return what came after ``since``, or everything where known rows changed (see the port).

    Args:
        state: the rows of the user.
        since: how far the reader has come.
        generation: of the vectors that count: those of the store's model.
        vectors: gives the vectors of records by their ids, as float32 of shape (ids, dimensions).
    """
    if state.get((Counters.table, "")) is None:
        return NOTHING
    counters = state.counters
    epoch = generation * EPOCHS + counters.epoch
    reset = since.epoch != epoch
    start = IndexVersion(epoch) if reset else since
    new = after(state, start.ordinal)
    made = _made_after(state, start.vector, generation)
    return IndexChanges(
        # Of what had a number and is gone, nothing will come any more.
        version=IndexVersion(epoch, counters.ordinal, counters.vector),
        reset=reset,
        rows=[_row(row) for row in new],
        ordinals=[row.ordinal for row in made],
        vectors=vectors([row.key for row in made]) if made else NOTHING.vectors,
    )


def after(state: State, ordinal: int) -> list[Stored]:
    """Return the records that came after ``ordinal``, looking at no more than these."""
    ordinals, later = state.indexes.ordinals, range(ordinal + 1, state.counters.ordinal + 1)
    return [state.records[ordinals[number]] for number in later if number in ordinals]


def _made_after(state: State, number: int, generation: int) -> list[Stored]:
    """Return the records whose vectors came after ``number``, in the order of their making."""
    if state.counters.vector <= number:
        return []
    rows = state.records.values()
    made = [row for row in rows if row.vector > number and row.generation == generation]
    return sorted(made, key=lambda row: row.vector)


def _row(row: Stored) -> IndexRow:
    item: Record = row.record
    return IndexRow(
        row.ordinal,
        item.session_id,
        item.position,
        len(item.content),
        row.terms,
        item.kind.value,
        item.agent,
        item.source_role,
        to_ms(item.event_time),
        to_ms(item.created_at),
        None if item.valid_until is None else to_ms(item.valid_until),
        item.confidence,
    )
