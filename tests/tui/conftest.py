"""What the tests of the terminal user interface share: an agent in a file, and screens as text."""

import asyncio
import inspect
import io
import os
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime

import pytest
from rich.console import Console
from textual.screen import ModalScreen
from textual.widgets import DataTable
from textual.worker import WorkerCancelled

from memoranda import Memory
from memoranda.model.chat import ChatReply
from memoranda.testing.clocks import FrozenClock
from memoranda.testing.embedders import HashEmbedder
from memoranda.testing.models import ScriptedLLM
from memoranda.tui.app import MemorandaApp
from memoranda.tui.runtime import ChatRuntime

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
# How often nothing was left to do, one time after another, until all is done.
QUIET_ROUNDS = 3
UTC = {"timezone": "UTC"}
QUIET = {
    "embedding": {"background": False},
    "consolidation": {"extractor": "rules"},
    "schedule": {"in_background": False},
}


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """Run a test that is a coroutine in an event loop of its own."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = pyfuncitem._fixtureinfo.argnames
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


@pytest.fixture(autouse=True)
def _environment(tmp_path, monkeypatch):
    """No settings of this machine, and a settings file of its own."""
    for name in os.environ:
        if name.startswith("MEMORANDA_") and name != "MEMORANDA_REGENERATE_GOLDENS":
            monkeypatch.delenv(name)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("MEMORANDA_CONFIG", str(tmp_path / "config.toml"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


@pytest.fixture
def clock():
    """The time, which a test moves."""
    return FrozenClock(START)


@pytest.fixture
def runtimes(tmp_path, clock):
    """Open agents on one file; they are closed at the end."""
    opened = []

    def start(*script, session="chat", **sections):
        model = ScriptedLLM({ChatReply: list(script)}) if script else None

        def open_memory(settings):
            return Memory(
                tmp_path / "agent.db",
                user="ana",
                settings=settings.with_values(**QUIET | sections).model_copy(update=UTC),
                embedder=HashEmbedder(),
                llm=model,
                clock=clock,
            )

        made = ChatRuntime(open_memory, session=session)
        opened.append(made)
        return made

    yield start
    for each in opened:
        each.memory.close()


class Person:
    """Drives the interface as a person does, and reads what is on the screen."""

    def __init__(self, app, pilot):
        """Sit down at an application."""
        self.app, self.pilot, self.runtime = app, pilot, app.chat.runtime

    async def settle(self):
        """Wait until all that was asked for is done and shown."""
        quiet = 0
        while quiet < QUIET_ROUNDS and self.app.is_running:
            dialogs, due = [], []
            for each in self.app.workers:
                (dialogs if each.group == "dialog" else due).append(each)
            if due:
                with suppress(WorkerCancelled):  # Another reads what is newer.
                    await self.app.workers.wait_for_complete(due)
            await self.pilot.pause(0.01)  # Until every widget has seen to its messages.
            if not isinstance(self.app.screen, ModalScreen):  # Else it waits for the person.
                due += dialogs
            tables = self.app.screen.query(DataTable)
            due += [each for each in tables if each._require_update_dimensions]
            due += self.app.screen._callbacks  # What it does after it was drawn.
            due += [self.runtime.doing] if self.runtime.doing else []
            quiet = 0 if due else quiet + 1

    async def press(self, *keys):
        """Press keys, one after another."""
        for key in keys or [None]:
            if key:
                await self.pilot.press(key)
            await self.settle()
        return self.text

    async def say(self, text):
        """Type a line and send it; return the screen."""
        self.app.screen.focused.load_text(text)
        return await self.press("enter")

    @property
    def lines(self):
        """The lines of the screen, as a terminal shows them."""
        strips = self.app.screen._compositor.render_strips()
        return ["".join(segment.text for segment in strip).rstrip() for strip in strips]

    @property
    def text(self):
        """The screen as one text."""
        return "\n".join(self.lines)

    @property
    def notices(self):
        """The notices over the screen."""
        return [each.message for each in self.app._notifications]

    @property
    def log(self):
        """All that the log of the chat says, also beyond the screen."""
        entries = self.app.chat.query_one("#log").children
        console = Console(file=io.StringIO(), width=200, markup=False, highlight=False)
        for each in entries:
            console.print(getattr(each, "source", None) or each.content, soft_wrap=True)
        return console.file.getvalue()

    def styles(self, words):
        """Return the styles of the segments in which words stand."""
        strips = self.app.screen._compositor.render_strips()
        return [segment.style for strip in strips for segment in strip if words in segment.text]


@pytest.fixture
def sitting(monkeypatch):
    """Return a person at the interface of an agent."""
    # After a key Textual sleeps until the processor is idle; here each step waits for what it did.
    monkeypatch.setattr("textual.app.wait_for_idle", lambda _: asyncio.sleep(0))

    @asynccontextmanager
    async def start(runtime, size=(80, 24)):
        app = MemorandaApp(runtime)
        app.NOTIFICATION_TIMEOUT = 600
        app.animation_level = "none"
        async with app.run_test(size=size, notifications=True) as pilot:
            person = Person(app, pilot)
            await person.settle()
            yield person

    return start
