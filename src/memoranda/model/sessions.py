"""How far sessions became facts, and which scheduled jobs have run."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from memoranda.model.short_repr import ShortRepr


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SessionInfo(ShortRepr):
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


@dataclass(frozen=True, slots=True, repr=False)
class JobRun(ShortRepr):
    """The last finished run of a scheduled job.

    Attributes:
        job: its name.
        due: the moment of the schedule that it was for.
        finished_at: when it was done.
    """

    job: str
    due: datetime
    finished_at: datetime
