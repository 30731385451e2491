"""How far sessions became facts, what is kept of a user as a whole, and the runs of upkeep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

# What is dated later than this from now was dated by a clock that was wrong: it holds nobody back.
FUTURE = timedelta(days=1)


def describe_counts(counts: Mapping[str, int]) -> str:
    """Return in words what a stage of upkeep did, by kind of deed."""
    did = (f"{n:,} {name if n > 1 else _one_of(name)}" for name, n in counts.items() if n)
    return ", ".join(did) or "nothing to do"


def _one_of(name: str) -> str:
    return f"{name[:-3]}y" if name.endswith("ies") else name.removesuffix("s")


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionInfo:
    """How far a session's episodes have become facts (requirement S4.51).

    Attributes:
        id: the session.
        first_seen_at: when its first episode was recorded.
        consolidated_at: when all its episodes had been read; ``None`` while some wait. A
            session that goes on waits again.
        through: position of the last episode that was read; -1 before any.
        noted: position of the last episode that is told in the history; -1 before any.
    """

    id: str
    first_seen_at: datetime
    consolidated_at: datetime | None = None
    through: int = -1
    noted: int = -1


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


@dataclass(frozen=True, slots=True)
class JobRun:
    """The last run of a stage of upkeep, for all users of a store.

    Attributes:
        job: the stage.
        due: the moment of the schedule that it was for.
        finished_at: when it was done for the last of the users.
        counts: what it did for all users together, by kind of deed.
    """

    job: str
    due: datetime
    finished_at: datetime
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StageLease:
    """The lease on the runs of a stage for one user.

    Attributes:
        done: for when the last run was due that is done; ``None`` before the first.
        until: when the claim on a run ends that is being made, or has failed; ``None`` without one.
    """

    done: datetime | None
    until: datetime | None
