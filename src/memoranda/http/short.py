"""Calls of a memory that never take long: several of them share the way to a thread and back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar, cast

import anyio.to_thread

from memoranda.store.sql.store import Store

T = TypeVar("T")
# A call, and where its result is waited for.
Waiting = tuple[Callable[[], Any], asyncio.Future[Any]]


@dataclass(slots=True)
class ShortCalls:
    """Runs calls in few threads, each of which takes its share of those that wait.

    A thread for each call costs more than most of them do, and many threads wait for each other.

    Attributes:
        store: which they read or write.
    """

    store: Store
    _waiting: list[Waiting] = field(default_factory=list)
    _serving: set[asyncio.Task[None]] = field(default_factory=set)

    async def read(self, call: Callable[[], T]) -> T:
        """Return what a small read returns: at once, unless other calls wait already."""
        at_once = self.store.reads_at_once and not self._waiting
        return call() if at_once else await self.run(call)

    async def run(self, call: Callable[[], T]) -> T:
        """Return what a call returns, or raise what it raises."""
        result: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._waiting.append((call, result))
        if len(self._serving) < self.store.writers:
            self._serving.add(asyncio.create_task(self._serve()))
        return await asyncio.shield(result)  # So that it can be set when its client has gone.

    async def _serve(self) -> None:
        """Run calls until none waits."""
        try:
            while self._waiting:
                share = len(self._waiting) // self.store.writers + 1
                taken, self._waiting = self._waiting[:share], self._waiting[share:]
                for settle in await anyio.to_thread.run_sync(_run_all, taken):
                    settle()
        finally:  # At once: a call that came before the task is forgotten would wait for ever.
            self._serving.discard(cast("asyncio.Task[None]", asyncio.current_task()))


def _run_all(taken: Sequence[Waiting]) -> list[Callable[[], None]]:
    """Run calls; return what tells each that waits for one how that ended."""
    return [_run(call, result) for call, result in taken]


def _run(call: Callable[[], Any], result: asyncio.Future[Any]) -> Callable[[], None]:
    try:
        return partial(result.set_result, call())
    except Exception as error:  # noqa: BLE001 - it is raised where the result is waited for
        return partial(result.set_exception, error)
