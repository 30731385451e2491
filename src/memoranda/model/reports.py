"""Reports: what the stages of maintenance did, and what a memory holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from memoranda.model.changes import RecordChange
from memoranda.model.sessions import JobRun, describe_counts
from memoranda.model.usage import StageUsage


@dataclass(frozen=True, slots=True, kw_only=True)
class StageReport:
    """What one stage did.

    Attributes:
        stage: ``enrich``, ``consolidate``, ``decay``, ``expire``, ``reflect`` or ``derive``.
        count: how many records it made or changed: the sum that matters of ``counts``.
        counts: what it did, by kind of deed.
        lines: each deed in a line, for a person; no more than a few hundred.
        skipped: why there was nothing to do, where that needs saying.
        failed: what went wrong, by session or record; the rest was done.
        dry_run: whether nothing was changed: this is what would be done.
        actions: what consolidation did, action by action; not told by the other stages.
    """

    stage: str
    count: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)
    lines: tuple[str, ...] = ()
    skipped: str | None = None
    failed: Mapping[str, str] = field(default_factory=dict)
    dry_run: bool = False
    actions: tuple[RecordChange, ...] = field(default=(), repr=False, compare=False)

    def __str__(self) -> str:
        """One line: what was done, or why not."""
        if self.skipped:
            return f"{self.stage}: {self.skipped}"
        wrong = f"; {len(self.failed)} failed" if self.failed else ""
        return f"{self.stage}: {describe_counts(self.counts)}{wrong}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenanceReport:
    """What one round of upkeep did, stage by stage."""

    stages: tuple[StageReport, ...]

    def __str__(self) -> str:
        """One line a stage."""
        return "\n".join(map(str, self.stages))


@dataclass(frozen=True, slots=True)
class Check:
    """What was found at one point.

    Attributes:
        name: what was looked at.
        ok: whether it is well; ``None`` where it is off, or worth knowing but no fault.
        detail: what was found.
        remedy: what to do about it, if anything.
    """

    name: str
    ok: bool | None
    detail: str
    remedy: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryStats:
    """What a memory holds.

    Attributes:
        user: whose memory it is.
        location: where the store is.
        records: active records by kind.
        conversations: stored conversations.
        newest: when the newest record was recorded.
        pending_vectors: records that still wait for their vectors.
        vectors: the embedding model in use, or why there is none.
        size: bytes of the whole store, of all users.
        pending_sessions: sessions that wait to become facts.
        llm: the language model in use, or that there is none.
        usage: what the stages have used of language models.
        names: what finds names, by strategy.
        missing: what could find names but is not set up, and the remedy.
        notes: where the Markdown notes are, or what is wrong with them.
        upkeep: the last scheduled run of each stage that has run, of the whole store.
    """

    user: str
    location: str
    records: Mapping[str, int]
    conversations: int
    newest: datetime | None
    pending_vectors: int
    vectors: str
    size: int
    pending_sessions: int
    llm: str
    usage: tuple[StageUsage, ...]
    names: Mapping[str, tuple[str, ...]]
    missing: Mapping[str, str]
    notes: str
    upkeep: tuple[JobRun, ...] = ()


class RequestOutcome(StrEnum):
    """What became of a request."""

    # A statement or an instruction is kept from now on.
    REMEMBERED = "remembered"
    # An instruction was taken back, and holds no more.
    ENDED = "ended"
    REFUSED = "refused"
    # What was to be forgotten is; or it is not known, or more than one thing may be meant.
    FORGOTTEN = "forgotten"
    UNKNOWN = "unknown"
    UNCLEAR = "unclear"
    # Another value takes the place of a wrong one.
    CORRECTED = "corrected"


# What a person is told of a request that was not refused.
LINES = {
    RequestOutcome.REMEMBERED: "Remembered: {}",
    RequestOutcome.ENDED: "No longer kept: {}",
    RequestOutcome.FORGOTTEN: "Forgotten: {}",
    RequestOutcome.UNKNOWN: "Nothing to forget: memory knows nothing about “{}”.",
    RequestOutcome.UNCLEAR: "Nothing is changed yet. {}",
    RequestOutcome.CORRECTED: "Corrected: {}",
}


@dataclass(frozen=True, slots=True)
class RequestReceipt:
    """What a message asked of memory, and what became of it.

    Attributes:
        outcome: whether it was done.
        content: what is kept, holds no more, or is not kept; empty where that is a secret.
        record: the id of the fact, where there is one.
        because: why it was refused; empty where it was not.
    """

    outcome: RequestOutcome
    content: str
    record: str | None = None
    because: str = ""

    @property
    def line(self) -> str:
        """What a person is told of it, such as ``Remembered: My locker is 212``."""
        if self.outcome in LINES:
            return LINES[self.outcome].format(self.content)
        what = f": {self.content.rstrip('.。')}" if self.content else ""
        return f"Not remembered{what}, because {self.because}."
