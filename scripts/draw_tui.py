"""Draw three screens of the terminal user interface: ``python scripts/draw_tui.py docs/images``.

What is said, and when, is made up and always the same. In ``tui-memory.svg`` no language model is
set up: the program answers, with the local embedding model (``make setup``). In the others the
answer is made up, too. A few tokens more or less are counted each time, for the ids in
what a tool returns.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from memoranda import Memory
from memoranda.model.chat import ChatReply
from memoranda.model.models import ToolCall
from memoranda.testing.clocks import FrozenClock
from memoranda.testing.embedders import HashEmbedder
from memoranda.testing.models import ScriptedLLM
from memoranda.tui.app import MemorandaApp
from memoranda.tui.runtime import ChatRuntime

SMALL, LARGE = (80, 24), (100, 30)  # columns and lines
MORNING = datetime(2026, 3, 2, 9, tzinfo=UTC)
MONDAY = (
    "My sister Rita lives in Lisbon. She's vegetarian and allergic to peanuts.",
    "She visits us on Friday, and we cook for her.",
    "The good risotto recipe is in the blue folder on the shelf.",
    "Our landlord is Mr Bell, his number is 555 0134.",
)
TUESDAY = (
    "What can't Rita eat?",
    "My sister moved to Porto last week.",
    "Where does my sister live?",
    "where did I put the risotto recipe?",
    "When does she come?",
)
SETTINGS: Mapping[str, Mapping[str, object] | str] = {
    "timezone": "UTC",
    "embedding": {"background": False},
    "conversation": {"context_limit": 4_000, "keep_recent": 4},
    "agent": {"system": "You plan trips."},
}
BEFORE = [
    ("user", "I'm vegetarian, and I never fly before nine."),
    ("assistant", "Noted: vegetarian, and no flight before nine."),
    *(
        pair
        for city in ("Lisbon", "Porto", "Coimbra", "Braga", "Faro", "Evora")
        for pair in (
            ("user", f"What is there to see in {city}, and how long should we stay there?"),
            ("assistant", f"Two days are enough for {city}: the old town, the river. " * 30),
        )
    ),
]
ASKED = "Book me something to Lisbon for tomorrow."
ANSWER = """There are two that suit you:

| leaves | arrives | price |
|---|---|---|
| **09:30** | 11:05 | 84 € |
| 12:10 | 13:45 | 61 € |

Shall I take the one at *half past nine*?"""
# Textual names what a picture holds by a random number.
RANDOM = re.compile(r"terminal-\d+")


Press = Callable[..., Awaitable[None]]
Keep = Callable[[str], None]


@asynccontextmanager
async def sit_down(
    runtime: ChatRuntime, target: Path, size: tuple[int, int]
) -> AsyncIterator[tuple[Press, Keep]]:
    """Open the interface; give what presses keys, and what keeps a picture under a name."""
    app = MemorandaApp(runtime)
    async with app.run_test(size=size) as pilot:

        async def press(*keys: str) -> None:
            await pilot.press(*keys)
            for _ in range(3):
                if app.workers:
                    await app.workers.wait_for_complete()
                await pilot.pause()
                while runtime.doing:
                    await pilot.pause()

        def keep(name: str) -> None:
            picture = RANDOM.sub("terminal-1", app.export_screenshot(title="memoranda tui"))
            (target / f"tui-{name}.svg").write_text(f"{picture}\n", "utf-8")

        yield press, keep


async def draw_with_model(target: Path) -> None:
    """Draw what the model is sent, and the settings."""
    call = ToolCall("c1", "search_memories", '{"query": "flight times"}')
    model = ScriptedLLM({ChatReply: [call, ANSWER]}, name="openai:my-model")
    clock = FrozenClock(MORNING)
    given = {"user": "ana", "embedder": HashEmbedder(), "llm": model, "clock": clock}
    runtime = ChatRuntime(
        lambda settings: Memory(target / "trip.db", settings=settings, **given),
        session="trip",
        arguments=SETTINGS,
    )
    for role, content in BEFORE:
        runtime.agent.chat.add(role, content)
        clock.advance(timedelta(minutes=2))
    async with sit_down(runtime, target, SMALL) as (press, keep):
        await press(*ASKED, "enter")
        await press("f2")
        keep("context")
        await press("f3", *["down"] * 38)
        keep("settings")
    runtime.memory.close()


async def draw_memory_alone(target: Path) -> None:
    """Draw a chat without a language model, the day after another one."""
    clock = FrozenClock(MORNING)

    def open_session(name: str) -> ChatRuntime:
        return ChatRuntime(
            lambda settings: Memory(target / "home.db", user="ana", settings=settings, clock=clock),
            session=name,
            arguments={"timezone": "UTC"},
        )

    monday = open_session("monday")
    for said in MONDAY:
        monday.agent.process(said)
    monday.agent.chat.end()
    monday.memory.close()
    clock.advance(timedelta(days=1))
    tuesday = open_session("tuesday")
    async with sit_down(tuesday, target, LARGE) as (press, keep):
        for said in TUESDAY:
            await press(*said, "enter")
        keep("memory")
    tuesday.memory.close()


def main() -> None:
    """Talk, and write the pictures to the folder that is named."""
    for name in [each for each in os.environ if each.startswith("MEMORANDA_")]:
        del os.environ[name]
    with TemporaryDirectory() as folder:
        os.environ["MEMORANDA_CONFIG"] = f"{folder}/config.toml"
        asyncio.run(draw_with_model(Path(folder)))
        asyncio.run(draw_memory_alone(Path(folder)))
        for picture in Path(folder).glob("*.svg"):
            shutil.copy(picture, sys.argv[1])


if __name__ == "__main__":
    main()
