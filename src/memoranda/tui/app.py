"""The application: its screens, and the keys that hold in all of them."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import ClassVar

from rich.console import Group, RenderableType
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen, Screen

from memoranda.errors import MemorandaError
from memoranda.rendering.memory_stats import show_stats
from memoranda.rendering.plain import one_line
from memoranda.serving.signals import SIGNALLED, ending_signals
from memoranda.tui.chat import BUSY, SHOWN, ChatScreen
from memoranda.tui.context import ContextScreen
from memoranda.tui.facts import FactsScreen
from memoranda.tui.help import make_help
from memoranda.tui.history import HistoryScreen
from memoranda.tui.layout import ChatApp, TextScreen, make_display
from memoranda.tui.notes import NotesScreen
from memoranda.tui.runtime import ChatRuntime
from memoranda.tui.search import SearchScreen
from memoranda.tui.settings import SettingsScreen


class NoticeHandler(logging.Handler):
    """Shows what the library warns of as a notice over the screen."""

    def __init__(self, notify: Callable[[str], None]) -> None:
        """Show nothing yet."""
        super().__init__(logging.WARNING)
        self._notify = notify

    def emit(self, record: logging.LogRecord) -> None:
        """Show the message of ``record``, without its traceback."""
        self._notify(one_line(record.getMessage()))


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
        self._notices = NoticeHandler(self._warn)
        self._makers: dict[str, Callable[[str], Screen[None]]] = {
            "help": lambda _: TextScreen("Help", make_help(runtime)),
            "context": lambda _: ContextScreen(runtime),
            "settings": lambda _: SettingsScreen(runtime),
            "history": lambda _: HistoryScreen(runtime),
            "search": lambda words: SearchScreen(runtime, words),
            "facts": lambda words: FactsScreen(runtime, words),
            "notes": lambda _: NotesScreen(runtime),
            "stats": lambda _: TextScreen("Statistics", self._stats()),
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
        self.runtime.stop()

    def show(self, name: str, words: str = "") -> None:
        """Show a screen over the chat, in place of the one that is there."""
        if isinstance(self.screen, ModalScreen):
            return  # A question waits for its answer.
        try:
            screen = self._makers[name](words)
        except MemorandaError as error:
            self._warn(str(error))
            return
        while self.screen is not self.chat:
            self.pop_screen()
        self.push_screen(screen)

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
            self.runtime.stop()

    def action_interrupt(self) -> None:
        """Stop an answer; otherwise copy what is selected, or say how to leave."""
        chosen = self.screen.get_selected_text()
        if self.chat.doing:
            self.runtime.stop()
        elif chosen:
            self.copy_to_clipboard(chosen)
        else:
            self.notify("Ctrl+Q leaves; the session stays", markup=False)

    async def reopen_chat(self) -> None:
        """Show the conversation anew after the agent was opened again."""
        await self.chat.show_conversation()

    def is_busy(self) -> bool:
        """Return whether an answer is under way, and say so: the agent stays as it is meanwhile."""
        if self.chat.doing:
            self.notify(BUSY, severity="warning", markup=False)
        return bool(self.chat.doing)

    def _warn(self, text: str) -> None:
        self.notify(text, severity="warning", markup=False)

    def _stats(self) -> RenderableType:
        view = make_display(self.size.width, self.runtime.memory.settings.zone)
        return Group(*show_stats(self.runtime.memory.stats(), view))
