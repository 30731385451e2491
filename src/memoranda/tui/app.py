"""The application: its screens, and the keys that hold in all of them."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from rich.console import Group
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen, Screen

from memoranda.errors import MemorandaError
from memoranda.rendering.memory_stats import show_stats
from memoranda.rendering.plain import one_line
from memoranda.serving.signals import SIGNALLED, ending_signals
from memoranda.tui.chat import BUSY, SHOWN, ChatScreen
from memoranda.tui.context import ContextScreen
from memoranda.tui.help import make_help
from memoranda.tui.layout import ChatApp, TextScreen, make_display
from memoranda.tui.lists import ListScreen, ListSource
from memoranda.tui.runtime import ChatRuntime
from memoranda.tui.settings import settings_source
from memoranda.tui.sources import facts_source, history_source, notes_source, search_source

# Where work is done that nobody waits for.
BACKGROUND = tuple(
    f"memoranda.{room}" for room in ("learning", "entities", "maintenance", "services")
)


class NoticeHandler(logging.Handler):
    """Shows what the library warns of as a line in the chat, each kind of warning once.

    Work in the background that fails is told of once, however many parts of it fail: most often
    it is one model that cannot be reached.
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        """Show nothing yet."""
        super().__init__(logging.WARNING)
        self._tell = tell
        self.shown: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        """Show the message of ``record``, without its traceback, unless its kind was shown."""
        in_background = record.name.startswith(BACKGROUND)
        kind = BACKGROUND[0] if in_background else str(record.msg)
        if kind in self.shown:
            return
        self.shown.add(kind)
        more = "; work in the background goes on later, /stats has figures"
        self._tell(one_line(record.getMessage()) + (more if in_background else ""))


class MemorandaApp(ChatApp):
    """The terminal user interface of one agent.

    Args:
        runtime: the agent; the caller closes it.
    """

    CSS_PATH = Path(__file__).with_name("app.tcss")
    ENABLE_COMMAND_PALETTE = False
    TITLE = "memoranda"
    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(f"f{number}", f"show('{name}')", show=False) for number, name, _ in SHOWN),
        Binding("ctrl+c", "interrupt", show=False, priority=True),
        Binding("ctrl+q", "quit", "Quit", show=False, priority=True),
    ]

    def __init__(self, runtime: ChatRuntime) -> None:
        """Show nothing yet."""
        # Otherwise greys would stand for the colours that nobody wants.
        super().__init__(ansi_color="NO_COLOR" in os.environ or None)
        self.runtime = runtime
        self.animation_level = "none"
        self.chat = ChatScreen(runtime)
        self._notices = NoticeHandler(self._tell)
        self._lists: dict[str, Callable[[ChatRuntime], ListSource[Any]]] = {
            "settings": settings_source,
            "history": history_source,
            "search": search_source,
            "facts": facts_source,
            "notes": notes_source,
        }

    def on_mount(self) -> None:
        """Begin with the chat."""
        logging.getLogger("memoranda").addHandler(self._notices)
        if sys.platform != "win32":  # There the loop knows no signals.
            for each in ending_signals():
                end = partial(self.exit, return_code=SIGNALLED + each)
                asyncio.get_running_loop().add_signal_handler(each, end)
        self.push_screen(self.chat)

    def on_unmount(self) -> None:
        """Stop what is under way; the session is kept."""
        logging.getLogger("memoranda").removeHandler(self._notices)
        self.runtime.chat.stop()

    def show(self, name: str, words: str = "") -> None:
        """Show a screen over the chat, in place of the one that is there."""
        if isinstance(self.screen, ModalScreen):
            return  # A question waits for its answer.
        try:
            screen = self._make(name, words)
        except MemorandaError as error:
            self._warn(str(error))
            return
        while self.screen is not self.chat:
            self.pop_screen()
        self.push_screen(screen)

    def _make(self, name: str, words: str) -> Screen[None]:
        if name in self._lists:
            return ListScreen(self.runtime, self._lists[name](self.runtime), words)
        if name == "context":
            return ContextScreen(self.runtime)
        if name == "help":
            return TextScreen("Help", make_help(self.runtime))
        view = make_display(self.size.width, self.runtime.memory.settings.zone)
        return TextScreen("Statistics", Group(*show_stats(self.runtime.memory.stats(), view)))

    def action_show(self, name: str) -> None:
        """Show a screen over the chat."""
        self.show(name)

    def refresh_overlay(self) -> None:
        """Let the screen over the chat show what is now."""
        if isinstance(self.screen, ContextScreen):
            self.screen.reload()

    def action_stop(self) -> None:
        """Stop the answer that is under way."""
        if self.chat.doing:
            self.runtime.chat.stop()

    def action_interrupt(self) -> None:
        """Stop an answer; otherwise copy what is selected, or say how to leave."""
        chosen = self.screen.get_selected_text()
        if self.chat.doing:
            self.runtime.chat.stop()
        elif chosen:
            self.copy_to_clipboard(chosen)
        else:
            self.notify("Ctrl+Q leaves; the session stays", markup=False)

    async def reopen_chat(self) -> None:
        """Show the conversation anew after the agent was opened again."""
        self._notices.shown.clear()
        await self.chat.show_conversation()

    def is_busy(self) -> bool:
        """Return whether an answer is under way, and say so: the agent stays as it is meanwhile."""
        if self.chat.doing:
            self.notify(BUSY, severity="warning", markup=False)
        return bool(self.chat.doing)

    def _warn(self, text: str) -> None:
        self.notify(text, severity="warning", markup=False)

    def _tell(self, text: str) -> None:
        """Add a line to the chat; called in any thread."""
        self.chat.call_later(self.chat.tell, text, "notice")
