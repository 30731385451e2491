"""How far sessions became facts, which scheduled jobs have run, and how far a run is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType

from memoranda.model.short_repr import ShortRepr

NO_COUNTS: Mapping[str, int] = MappingProxyType({})
# What is counted, where it is one.
ONE_OF = {
    "entities": "entity",
    "facts": "fact",
    "mentions": "mention",
    "records": "record",
    "sessions": "session",
    "vectors": "vector",
}


def describe_counts(counts: Mapping[str, int]) -> str:
    """Return in words what a stage of upkeep did, by kind of deed."""
    did = (
        f"{number:,} {ONE_OF.get(name, name) if number == 1 else name}"
        for name, number in counts.items()
        if number
    )
    return ", ".join(did) or "nothing to do"


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
        tries: how often reading its next episodes took too long.
        unread: episodes that were kept as they were, as reading them always took too long.
    """

    id: str
    first_seen_at: datetime
    consolidated_at: datetime | None = None
    through: int = -1
    noted: int = -1
    tries: int = 0
    unread: int = 0


@dataclass(frozen=True, slots=True, repr=False)
class JobRun(ShortRepr):
    """The last finished run of a scheduled job.

    Attributes:
        job: its name.
        due: the moment of the schedule that it was for.
        finished_at: when it was done.
        counts: what it did for all users of the store together, by kind of deed.
    """

    job: str
    due: datetime
    finished_at: datetime
    counts: Mapping[str, int] = field(default_factory=lambda: NO_COUNTS)


@dataclass(frozen=True, slots=True)
class RunProgress:
    """How far a run of a scheduled job is.

    Attributes:
        waiting: of how many users the part is not done.
        until: when the next of these is to be had: by then a claim has ended, or what failed is
            tried again.
        counts: what was done for all users, by kind of deed; nothing as long as some wait.
    """

    waiting: int
    until: datetime | None = None
    counts: Mapping[str, int] = field(default_factory=lambda: NO_COUNTS)
