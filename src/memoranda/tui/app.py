"""The application: its screens, and the keys that hold in all of them; the CLI calls ``run``."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from textual.app import App
from textual.binding import Binding

from memoranda.memory import Memory
from memoranda.rendering.plain import one_line
from memoranda.settings.settings import Settings
from memoranda.tui.chat import SHOWN, ChatScreen
from memoranda.tui.runtime import ChatRuntime


class NoticeHandler(logging.Handler):
    """Tells what the library warns of, each kind of warning once."""

    def __init__(self, tell: Callable[[str], object]) -> None:
        """Tell nothing yet."""
        super().__init__(logging.WARNING)
        self._tell = tell
        self._told: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        """Tell the message of ``record``, without its traceback, unless its kind was told."""
        kind = str(record.msg)
        if kind not in self._told:
            self._told.add(kind)
            self._tell(one_line(record.getMessage()))


class MemorandaApp(App[None]):
    """The terminal user interface of one agent.

    Args:
        runtime: the agent; the caller closes it.
    """

    CSS_PATH = Path(__file__).with_name("app.tcss")
    ENABLE_COMMAND_PALETTE = False
    TITLE = "memoranda"
    BINDINGS = [
        Binding(f"f{number}", f"show('{name}')", name.title(), show=number == 1, priority=True)
        for number, name in enumerate(SHOWN, 1)
    ]

    def __init__(self, runtime: ChatRuntime) -> None:
        """Show nothing yet."""
        # Otherwise greys would stand for the colours that nobody wants.
        super().__init__(ansi_color="NO_COLOR" in os.environ or None)
        self.animation_level = "none"
        self.chat = ChatScreen(runtime)
        self._notices = NoticeHandler(partial(self.call_later, self.chat.tell, kind="notice"))

    def on_mount(self) -> None:
        """Begin with the chat."""
        logging.getLogger("memoranda").addHandler(self._notices)
        if sys.platform != "win32":  # There the loop knows no signals.
            for each in (signal.SIGTERM, signal.SIGHUP):
                if signal.getsignal(each) != signal.SIG_IGN:  # As by ``nohup``.
                    end = partial(self.exit, return_code=128 + each)
                    asyncio.get_running_loop().add_signal_handler(each, end)
        self.push_screen(self.chat)

    def on_unmount(self) -> None:
        """Stop what is under way; the session is kept."""
        logging.getLogger("memoranda").removeHandler(self._notices)
        self.chat.action_stop()

    def action_show(self, name: str) -> None:
        """Show a screen over the chat."""
        self.chat.show(name)


def run(*, user: str, session: str, given: Mapping[str, tuple[str, str | None]]) -> None:
    """Run the interface until the person leaves.

    Args:
        user: whose it is.
        session: the conversation that goes on, or begins.
        given: the options of the command line that win over settings, with their values, by the
            names of the settings: of ``location`` and ``llm.model`` at least.
    """
    location, model = given["location"][1], given["llm.model"][1]

    def open_memory(settings: Settings) -> Memory:
        return Memory(location, user=user, settings=settings, llm=model)

    runtime = ChatRuntime(open_memory, session=session, given=given)
    app = MemorandaApp(runtime)
    try:
        app.run()
    finally:
        runtime.memory.close()
    if app.return_code:  # A signal ended it, or a fault.
        raise SystemExit(app.return_code)
