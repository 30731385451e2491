"""The query types of a store: filters, term matches and index changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from memoranda.model.models import NO_ATTRIBUTES, Kind

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Vector: TypeAlias = "npt.NDArray[np.float32]"
"""Shape ``(dimensions,)``, unit length."""

Vectors: TypeAlias = "npt.NDArray[np.float32]"
"""Shape ``(rows, dimensions)``, rows of unit length."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which records count. The scope is never part of it: it is always given apart.

    Attributes:
        now: the moment of asking; records whose validity has ended are left out.
        as_of: instead, what was believed at that moment.
        retired: also those whose validity has ended.
        kinds: only these kinds; empty is all.
        session: only records of this session.
        exclude_session: none of this session.
        tags: records that carry all of these tags.
        metadata: records whose attributes equal all of these.
        since: happened at or after.
        until: happened before.
    """

    now: datetime
    as_of: datetime | None = None
    retired: bool = False
    kinds: tuple[Kind, ...] = ()
    session: str | None = None
    exclude_session: str | None = None
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=lambda: NO_ATTRIBUTES)
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class TermMatches:
    """Which records hold which terms of a query.

    Attributes:
        ordinals: the records that hold at least one term.
        counts: for each record, how often each term occurs in it; a byte a term, at most 255.
        lengths: for each record, how many terms it has.
        frequencies: for each term, how many records hold it.
    """

    ordinals: Sequence[int]
    counts: Sequence[bytes]
    lengths: Sequence[int]
    frequencies: Sequence[int]


class IndexRow(NamedTuple):
    """One record as ranking reads it: everything but its text.

    Attributes:
        ordinal: the store's number for the record; later records have higher ones.
        session_id: its session.
        position: its place there.
        length: the length of its content, in characters.
        terms: how many terms its content has.
        kind: episode, fact, context or reflection.
        agent: which agent wrote it.
        speaker: who said it.
        event_ms: when it happened, in milliseconds since 1970.
        created_ms: when it was recorded.
        valid_until_ms: when it stopped being believed.
        confidence: how far it is believed.
    """

    ordinal: int
    session_id: str | None
    position: int | None
    length: int
    terms: int
    kind: str
    agent: str | None
    speaker: str | None
    event_ms: int
    created_ms: int
    valid_until_ms: int | None
    confidence: float


@dataclass(frozen=True, slots=True)
class IndexVersion:
    """The version up to which a reader knows the index.

    Attributes:
        epoch: changes when known rows changed or went away.
        ordinal: the last record read.
        vector: the number of the last vector read.
    """

    epoch: int = -1
    ordinal: int = 0
    vector: int = 0


@dataclass(frozen=True, slots=True)
class IndexChanges:
    """The changes of a user's records since the version that a reader knows.

    Attributes:
        version: where it will be then.
        reset: whether to forget what is known first: these are all rows there are.
        rows: records that came.
        ordinals: records whose vectors came, one for each row of ``vectors``.
        vectors: float32 array of shape (len(ordinals), dimensions).
    """

    version: IndexVersion
    reset: bool
    rows: Sequence[IndexRow]
    ordinals: Sequence[int]
    vectors: Vectors


@dataclass(frozen=True, slots=True)
class Lineage:
    """Which records are sources of which, and which superseded which, by ordinals.

    Attributes:
        sources: pairs (fact, a record that it was drawn from).
        replaced: pairs (record, the record that took its place).
    """

    sources: Sequence[tuple[int, int]]
    replaced: Sequence[tuple[int, int]]
