"""Retries calls of a language model where that may help, and adds up their usage."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import TypeVar

from memoranda.errors import LLMError
from memoranda.model.usage import Usage
from memoranda.providers.llm.spec import ModelSpec


@dataclass(frozen=True, slots=True)
class CallFailure:
    """Why a call brought nothing.

    Attributes:
        why: what happened and what to do, for the user.
        again: whether the same call may succeed later.
        wait: seconds after which the server wants to be asked again, if it said.
        schema_refused: whether the server may answer if it is not given the schema.
        at_once: whether to call again without waiting, as the call will be another one.
        usage: what was spent all the same, as far as the server said.
    """

    why: str
    again: bool = False
    wait: float | None = None
    schema_refused: bool = False
    at_once: bool = False
    usage: Usage = field(default_factory=Usage)


Result = TypeVar("Result")


@dataclass(slots=True)
class TotalUsage:
    """The usage of an answer so far, over all calls made for it."""

    usage: Usage = field(default_factory=Usage)

    def add(self, usage: Usage) -> None:
        """Add what one call took."""
        self.usage = self.usage + usage

    def add_failure(self) -> None:
        """Count the last call as one that brought nothing after all."""
        self.usage = replace(self.usage, failures=self.usage.failures + 1)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often a busy, failing or silent server is asked again, and when; times in seconds.

    Attributes:
        retries: how often.
        first: the wait before the first time; it doubles from there.
        longest: the longest wait.
        asked: the longest wait where the server says how long (``Retry-After``).
        sleep: how to wait.
        jitter: gives numbers from 0 to 1: many clients must not come back at one moment.
        timer: gives seconds that only grow.
    """

    retries: int = 2
    first: float = 0.5
    longest: float = 20.0
    asked: float = 60.0
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    jitter: Callable[[], float] = random.random
    timer: Callable[[], float] = time.monotonic

    def wait(self, attempt: int, wanted: float | None) -> float:
        """Return how long to wait after the failed ``attempt``, from 0.

        Args:
            attempt: how many calls failed before this one.
            wanted: what the server asked for.
        """
        if wanted is not None:
            return min(wanted, self.asked) + self.jitter() * self.first
        return min(self.longest, self.first * 2.0 ** min(attempt, 32)) * (0.5 + 0.5 * self.jitter())

    async def run(
        self, call: Callable[[], Awaitable[tuple[Result, Usage] | CallFailure]], total: TotalUsage
    ) -> Result:
        """Call until something comes back, as often as the retries allow, and add up the usage.

        Raises:
            LLMError: no call brought anything.
        """
        attempt = 0
        while True:
            started = self.timer()
            outcome = await call()
            seconds = self.timer() - started
            if not isinstance(outcome, CallFailure):
                result, usage = outcome
                total.add(replace(usage, seconds=seconds))
                return result
            total.add(replace(outcome.usage, requests=1, failures=1, seconds=seconds))
            if outcome.at_once:
                continue
            if not outcome.again or attempt >= self.retries:
                tried = f" (tried {attempt + 1} times)" if attempt else ""
                raise LLMError(f"{outcome.why}{tried}", total.usage)
            await self.sleep(self.wait(attempt, outcome.wait))
            attempt += 1


@dataclass(slots=True)
class ModelConnection:
    """How a model is reached.

    Attributes:
        spec: the model.
        key: the key to send, if any.
        timeout: seconds in which one call must have its whole answer; where words are passed on
            as they come, the longest silence between two pieces.
        policy: how often and when a busy, failing or silent server is asked again.
        schema_refused: whether the server answers only without a schema; learned by asking.
    """

    spec: ModelSpec
    key: str | None = field(default=None, repr=False)
    timeout: float = 30.0
    policy: RetryPolicy = field(default_factory=RetryPolicy)
    schema_refused: bool = False
