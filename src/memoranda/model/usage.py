"""What calls of a language model took, and what a stage used in all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """The usage of a language model: calls, tokens, cost and time.

    Attributes:
        requests: calls; the retries within one are not counted.
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
    """The total usage of one model by one stage."""

    stage: str
    model: str
    usage: Usage
