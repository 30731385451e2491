"""Changes of records that are planned first and carried out later, in one unit of work.

Learning and upkeep plan them, so that a dry run can show them. What nobody looks at before it is
done is a verb of :class:`memoranda.store.sql.store.Transaction`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from memoranda.model.models import Change, Kind, Mention, Record

# Why a fact is stored that waits for a person's approval.
PROPOSED = "waits for approval"


@dataclass(frozen=True, slots=True)
class SessionRecall:
    """When a record was last recalled into a conversation."""

    session: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditTrail:
    """What was done to one record.

    Attributes:
        reason: why it was stored.
        closed_at: when it was forgotten or replaced; ``None``, if it ended by itself or not.
        retired: whether upkeep has ended it: nothing but its terms is derived from it.
        changes: what was done to it since, oldest first.
        recalls: the conversations into which it was recalled.
    """

    reason: str
    closed_at: datetime | None = None
    retired: bool = False
    changes: tuple[Change, ...] = ()
    recalls: tuple[SessionRecall, ...] = ()

    @property
    def is_proposal(self) -> bool:
        """Whether it is a fact that nobody believes until a person keeps it."""
        return self.reason == PROPOSED and self.closed_at is None


@dataclass(slots=True)  # Not frozen, which would take three times the time to make.
class Insert:
    """Add a record. Its position is given by the store. An item takes the place of that of its key.

    Attributes:
        record: what is added.
        mentions: entities that it is known to mention; more are found in its text later.
        reason: why, for its history.
        unless_known: pass over a fact that is known already (see :func:`says_all`). The known one
            gets its tags; if a person says it, it is also as sure and as lasting as the new one.
        trail: what was done to it in another store, of which it keeps also its position, if that
            is free: a copy.
    """

    record: Record
    mentions: tuple[Mention, ...] = ()
    reason: str = "remembered"
    unless_known: bool = False
    trail: AuditTrail | None = None

    @property
    def is_proposal(self) -> bool:
        """Whether it adds a fact that nobody believes until a person keeps it."""
        return self.reason == PROPOSED

    @property
    def stands_alone(self) -> bool:
        """Whether what is stored is the record, and other rows have no part in it."""
        item = self.record
        linked = item.session_id or item.source_ids or self.mentions or self.trail
        return not linked and item.kind is not Kind.ITEM and not self.is_proposal


@dataclass(frozen=True, slots=True)
class ChangeOfRecord:
    """A change of one record.

    Attributes:
        id: the record.
        at: when.
    """

    id: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Close(ChangeOfRecord):
    """End the validity of a record; it stays for ``as_of`` and history.

    Attributes:
        reason: why, for its history.
        superseded_by: what takes its place.
        only_open: refuse the plan with ``InvalidInput`` where it was closed meanwhile.
    """

    reason: str
    superseded_by: str | None = None
    only_open: bool = False


@dataclass(frozen=True, slots=True)
class Reweigh(ChangeOfRecord):
    """Set confidence and decay rate, from which it fades anew: a confirmation, a conflict."""

    confidence: float
    decay_rate: float
    reason: str


@dataclass(frozen=True, slots=True)
class Fade(ChangeOfRecord):
    """Set the confidence that decay has left of a record's strength. Leaves no history.

    Passed over where the record was recalled or said again after ``at``.
    """

    confidence: float


@dataclass(frozen=True, slots=True)
class Retire(ChangeOfRecord):
    """End the validity of a record, if it has not ended, and drop its vector and its links.

    It stays for ``as_of``, where words find it, and for history. Passed over if it was recalled
    after ``at``.
    """

    reason: str


@dataclass(frozen=True, slots=True)
class Reinforce(ChangeOfRecord):
    """Add sources to a record that was stated again; its decay starts anew from its strength.

    Sources that it has already are passed over; where none is left, nothing happens.
    """

    sources: tuple[str, ...]
    reason: str = "said again"


@dataclass(frozen=True, slots=True)
class Supersede:
    """Record that ``by`` superseded a record, whose confidence is lowered.

    It is not closed: it stays findable, behind what replaced it, whose field ``supersedes``
    names it if it names no other (requirement S4.24).
    """

    id: str
    by: str
    at: datetime
    confidence: float
    reason: str


@dataclass(frozen=True, slots=True)
class Enrich(ChangeOfRecord):
    """Link a record to more entities, and stamp its ``enriched_at`` (requirement S4.13)."""

    mentions: tuple[Mention, ...]


@dataclass(frozen=True, slots=True)
class RecordAccess:
    """Count one recall of each record, whose confidence goes back to its full strength.

    Leaves no history; unknown ids are passed over.

    Attributes:
        ids: the records.
        at: when they were recalled.
        session: the conversation into which they were recalled, if it was one.
    """

    ids: tuple[str, ...]
    at: datetime
    session: str | None = None


RecordChange = (
    Insert | Close | Reweigh | Fade | Retire | Reinforce | Supersede | Enrich | RecordAccess
)


class StoredRecord(NamedTuple):
    """What a store has after a change that stores a record.

    Attributes:
        record: as it is stored, with its position in its session; or the known fact that says the
            same, which was kept in its place.
        is_new: whether it was stored now.
    """

    record: Record
    is_new: bool
