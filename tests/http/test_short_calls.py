"""Calls that share the way to a thread: none waits for another to come."""

import asyncio
from dataclasses import dataclass

from memoranda.http.short import ShortCalls


@dataclass
class OneWriter:
    """A store that writes one thing at a time."""

    writers: int = 1
    reads_at_once: bool = False


def test_a_call_that_comes_as_the_one_before_ends_is_answered():
    """In the very step of the loop in which that one's task is over, but not yet forgotten."""

    async def work():
        calls = ShortCalls(OneWriter())
        for number in range(50):
            before = asyncio.ensure_future(calls.run(lambda: None))
            while not before.done():
                await asyncio.sleep(0)
                if calls._serving and not calls._waiting and all(t.done() for t in calls._serving):
                    break
            async with asyncio.timeout(20):
                assert await calls.run(lambda number=number: number) == number
            await before

    asyncio.run(work())
