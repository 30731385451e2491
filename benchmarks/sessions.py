"""What a session of the OpenAI Agents SDK costs on a conversation, and in its own SQLite."""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from agents import SQLiteSession

from benchmarks.adding import settings
from benchmarks.measure import Times, interleaved, micro, show
from benchmarks.workload import talk
from memoranda import AsyncMemory

ITEMS = 1_000
TAIL = 20
PAGE = Path(__file__).parents[1] / "docs" / "frameworks.md"
HEADING = "## OpenAI Agents SDK: a session\n"
THEIRS, OURS = "SQLiteSession", "Conversation"


def example() -> Any:
    """Return the session class of the documentation: it is what is measured."""
    section = PAGE.read_text("utf-8").partition(HEADING)[2]
    code = re.findall(r"```python\n(.*?)```", section, re.DOTALL)[0]
    names: dict[str, Any] = {}
    exec(compile(code, str(PAGE), "exec"), names)  # noqa: S102 - it is our own page
    return names["MemorandaSession"]


def run(*, quick: bool) -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder, asyncio.Runner() as runner:
        measured = runner.run(_open(Path(folder)))
        memory, theirs, ours = measured
        rows = _measure(runner, theirs, ours, 30 if quick else 200)
        runner.run(memory.close())
        theirs.close()
    show(
        f"A session of the OpenAI Agents SDK, {ITEMS:,} items stored, in a file",
        ("", f"{THEIRS} p50", f"{OURS} p50", "times"),
        rows,
    )


async def _open(folder: Path) -> tuple[AsyncMemory, SQLiteSession, Any]:
    memory = AsyncMemory(folder / "memory.db", settings=settings())
    theirs = SQLiteSession("thread", folder / "theirs.db")
    return memory, theirs, example()(await memory.conversation("thread"))


def _items(count: int) -> list[Any]:
    texts = talk(count).texts
    return [{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(texts)]


def _measure(
    runner: asyncio.Runner, theirs: SQLiteSession, ours: Any, rounds: int
) -> list[tuple[str, ...]]:
    items = _items(ITEMS)

    def compare(
        name: str, step: Callable[[Any], Awaitable[object]], before: Callable[[Any], Any] | None
    ) -> tuple[str, ...]:
        def once(session: Any) -> Callable[[int], object]:
            async def work() -> object:
                return await step(session)

            return lambda _: runner.run(work())

        sessions = {THEIRS: theirs, OURS: ours}
        if before is None:
            taken = interleaved({n: once(each) for n, each in sessions.items()}, rounds, warm=5)
        else:
            seconds: dict[str, list[float]] = {each: [] for each in sessions}
            for _ in range(max(3, rounds // 20)):
                for each in sessions.values():
                    runner.run(before(each))
                one = interleaved({n: once(each) for n, each in sessions.items()}, 1)
                for each, times in one.items():
                    seconds[each] += times.seconds
            taken = {each: Times(tuple(found)) for each, found in seconds.items()}
        floor, mine = taken[THEIRS].median, taken[OURS].median
        return name, micro(floor), micro(mine), f"{mine / floor:.1f}"

    async def fill(session: Any) -> None:
        await session.add_items(items)

    for session in (theirs, ours):
        runner.run(fill(session))
    pair = items[:2]
    return [
        compare(f"get_items(limit={TAIL})", lambda each: each.get_items(limit=TAIL), None),
        compare("add_items, two at a time", lambda each: each.add_items(pair), None),
        compare("pop_item", lambda each: each.pop_item(), None),
        compare(f"clear_session of {ITEMS:,}", lambda each: each.clear_session(), fill),
    ]
