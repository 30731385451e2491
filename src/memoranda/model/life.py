"""Values of the life of a memory: sessions, dates, what a model used, and runs of jobs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

from memoranda.model.models import Record

T = TypeVar("T")


def believed(record: Record, at: datetime) -> bool:
    """Return whether the validity of ``record`` has not ended at ``at``."""
    return record.valid_until is None or record.valid_until > at


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


@dataclass(frozen=True, slots=True)
class DateMention:
    """A time that a text speaks of.

    Attributes:
        text: as it is written there: ``yesterday``, ``in May``.
        start: first character of it in the text.
        end: the character after it.
        since: where the time meant begins, in the zone of the moment it was said.
        until: where it ends; the first moment that is not part of it.
        precision: ``time``, ``day``, ``week``, ``month``, ``year`` or ``span``.
    """

    text: str
    start: int
    end: int
    since: datetime
    until: datetime
    precision: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What calls of a language model took.

    Attributes:
        requests: calls, retries included.
        failures: calls of these that brought nothing.
        input_tokens: tokens sent.
        output_tokens: tokens received.
        cost: in US dollars, as far as the prices are known; ``None`` where none is.
        seconds: how long they took.
    """

    requests: int = 0
    failures: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    seconds: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        """Return the sum of both."""
        costs = [cost for cost in (self.cost, other.cost) if cost is not None]
        return Usage(
            requests=self.requests + other.requests,
            failures=self.failures + other.failures,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cost=sum(costs) if costs else None,
            seconds=self.seconds + other.seconds,
        )


@dataclass(frozen=True, slots=True)
class Reply(Generic[T]):
    """What a language model answered, as the type that was asked for, and what it took."""

    value: T
    usage: Usage


@dataclass(frozen=True, slots=True)
class StageUsage:
    """What one stage used of one model, all in all."""

    stage: str
    model: str
    usage: Usage


@dataclass(frozen=True, slots=True)
class JobRun:
    """The last finished run of a scheduled job.

    Attributes:
        job: its name.
        due: the moment of the schedule that it was for.
        finished_at: when it was done.
    """

    job: str
    due: datetime
    finished_at: datetime


@dataclass(frozen=True, slots=True)
class Lineage:
    """What rests on what, and what took whose place, by ordinals.

    Attributes:
        sources: pairs (fact, a record that it was drawn from).
        replaced: pairs (record, the record that took its place).
    """

    sources: Sequence[tuple[int, int]]
    replaced: Sequence[tuple[int, int]]
