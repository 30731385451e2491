"""Draw three screens of the terminal user interface: ``python scripts/draw_tui.py docs/images``.

The talk, the model and the time are made up and always the same. A few tokens more or less are
counted each time, for the ids in what a tool returns.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from memoranda import Memory, Settings
from memoranda.model.chat import ChatReply
from memoranda.model.models import ToolCall
from memoranda.testing.clocks import FrozenClock
from memoranda.testing.embedders import HashEmbedder
from memoranda.testing.models import ScriptedLLM
from memoranda.tui.app import MemorandaApp
from memoranda.tui.runtime import ChatRuntime

SIZE = (80, 24)
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


async def draw(runtime: ChatRuntime, target: Path) -> None:
    """Sit down at the interface, and keep a picture of each of three screens."""
    app = MemorandaApp(runtime)
    async with app.run_test(size=SIZE) as pilot:

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

        await press(*ASKED, "enter")
        keep("chat")
        await press("f2")
        keep("context")
        await press("f3", *["down"] * 38)
        keep("settings")


def main() -> None:
    """Talk, and write the pictures to the folder that is named."""
    for name in [each for each in os.environ if each.startswith("MEMORANDA_")]:
        del os.environ[name]
    with TemporaryDirectory() as folder:
        os.environ["MEMORANDA_CONFIG"] = f"{folder}/config.toml"
        clock = FrozenClock(datetime(2026, 3, 2, 9, tzinfo=UTC))
        call = ToolCall("c1", "search_memories", '{"query": "flight times"}')
        model = ScriptedLLM({ChatReply: [call, ANSWER]}, name="openai:my-model")

        def open_memory(settings: Settings) -> Memory:
            return Memory(
                f"{folder}/agent.db",
                user="ana",
                settings=settings,
                embedder=HashEmbedder(),
                llm=model,
                clock=clock,
            )

        runtime = ChatRuntime(open_memory, session="trip", arguments=SETTINGS)
        for role, content in BEFORE:
            runtime.agent.chat.add(role, content)
            clock.advance(timedelta(minutes=2))
        asyncio.run(draw(runtime, Path(sys.argv[1])))
        runtime.memory.close()


if __name__ == "__main__":
    main()
