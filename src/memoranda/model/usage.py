"""What calls of a language model took, and what a stage used in all."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """The usage of a language model: calls, tokens, cost and time.

    Attributes:
        requests: calls; the retries within one are not counted.
        failures: calls of these that brought nothing.
        input_tokens: tokens sent.
        cached_tokens: tokens of these that the provider read from its cache.
        written_tokens: tokens of these that the provider wrote to its cache, where it says so.
        output_tokens: tokens received.
        cost: in US dollars, as far as the prices are known; ``None`` where none is.
        seconds: how long they took.
    """

    requests: int = 0
    failures: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    written_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    seconds: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        """Return the sum of both."""
        return self._with(other, 1)

    def __sub__(self, other: Usage) -> Usage:
        """Return what this is more than ``other``."""
        return self._with(other, -1)

    def _with(self, other: Usage, sign: int) -> Usage:
        total = {
            each.name: getattr(self, each.name) + sign * getattr(other, each.name)
            for each in fields(self)
            if each.name != "cost"
        }
        costs = [self.cost, None if other.cost is None else sign * other.cost]
        known = [cost for cost in costs if cost is not None]
        return Usage(**total, cost=sum(known) if known else None)


NO_USAGE = Usage()


@dataclass(frozen=True, slots=True)
class Reply(Generic[T]):
    """What a language model answered, as the type that was asked for, and what it took.

    ``complete`` is false where the answer was cut off by its greatest length.
    """

    value: T
    usage: Usage
    complete: bool = True


@dataclass(frozen=True, slots=True)
class StageUsage:
    """The total usage of one model by one stage."""

    stage: str
    model: str
    usage: Usage


def add_up(found: Iterable[StageUsage]) -> Usage:
    """Return the usage of several stages together."""
    return sum((each.usage for each in found), NO_USAGE)
