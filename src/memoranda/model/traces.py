"""What a store keeps of a user beside records, transcripts and notes, as another store takes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from memoranda.model.models import Change
from memoranda.model.sessions import SessionInfo


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


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSession(SessionInfo):
    """How far an agent, or nobody in particular, has read the episodes of a session."""

    agent: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasedRecord:
    """What is left of a record that was erased: nothing may rest on it."""

    id: str
    at: datetime
    reason: str
    agent: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UserMetadata:
    """What is kept of a user as a whole.

    Attributes:
        sessions: how far each session was read, by agent.
        erased: the records that were erased.
        owners: conversation → the agent that it belongs to, where it belongs to one.
        deleted: the conversations that were deleted, and not erased.
    """

    sessions: tuple[AgentSession, ...] = ()
    erased: tuple[ErasedRecord, ...] = ()
    owners: Mapping[str, str] = field(default_factory=dict)
    deleted: tuple[str, ...] = ()
