"""Work beside the screens: in a thread that never keeps the program from ending."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from threading import Thread
from typing import TypeVar

T = TypeVar("T")


async def run_in_thread(work: Callable[[], T]) -> T:
    """Return what ``work`` returns, or raise what it raises; the event loop goes on meanwhile.

    A pool of threads would be waited for at exit, also for a model that does not answer.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(settled: Callable[[], None]) -> None:
        if not future.done():
            settled()

    def act() -> None:
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001 - raised where it is waited for
            failure = error
            settled: Callable[[], None] = lambda: future.set_exception(failure)  # noqa: E731
        else:
            settled = lambda: future.set_result(result)  # noqa: E731
        with suppress(RuntimeError):  # The loop has ended, and nobody waits.
            loop.call_soon_threadsafe(settle, settled)

    Thread(target=act, name="memoranda-tui", daemon=True).start()
    return await future
