"""The screens that stand over the chat: one with a title, a question, and a text that is edited.

Text of models and of memory is always given as a Rich ``Text``, and so never read as markup.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from rich.console import RenderableType
from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen, Screen
from textual.widget import Widget
from textual.widgets import Button, Footer, Input, Static, TextArea

from memoranda.errors import MemorandaError
from memoranda.rendering.layout import safe_text
from memoranda.rendering.plain import one_line


class OverlayScreen(Screen[None]):
    """A screen over the chat: a title, something to look at, and the keys for it.

    Args:
        heading: its title.
        body: what it shows.
    """

    BINDINGS = [Binding("escape", "app.pop_screen", "Back")]

    def __init__(self, heading: str, *body: Widget) -> None:
        """Show nothing yet."""
        super().__init__()
        self._heading, self._body = one_line(heading), body

    def compose(self) -> ComposeResult:
        """Yield title, body and keys."""
        yield Static(Text(self._heading, "bold"), id="heading")
        yield from self._body
        yield Footer(compact=True)


def make_text(rendered: RenderableType) -> Widget:
    """Return a text that can be scrolled."""
    return VerticalScroll(Static(rendered), classes="body")


class ConfirmScreen(ModalScreen[bool]):
    """Asks a question; Enter on ``No`` and Escape leave everything as it is.

    Args:
        question: what is asked.
    """

    BINDINGS = [Binding("escape,n", "dismiss(False)", "No"), Binding("y", "dismiss(True)", "Yes")]

    def __init__(self, question: str) -> None:
        """Ask nothing yet."""
        super().__init__()
        self._question = question

    def compose(self) -> ComposeResult:
        """Yield the question and two buttons, of which the harmless one is chosen."""
        with Vertical(classes="dialog"):
            yield Static(safe_text(self._question))
            with Horizontal(classes="buttons"):
                yield Button("No (n)", action="screen.dismiss(False)", compact=True)
                yield Button("Yes (y)", action="screen.dismiss(True)", compact=True)


class EditScreen(ModalScreen[Any]):
    """Asks for a text, and says in place what is wrong with it; closes with what saving gave.

    Args:
        heading: what is edited.
        about: what is to be known of it.
        text: as it is now.
        save: does something with the text; called in a thread.
        many_lines: whether the text has several lines; otherwise Enter saves it, too.
    """

    BINDINGS = [
        Binding("ctrl+s", "save", "Save", priority=True),
        Binding("escape", "dismiss", "Cancel"),
    ]

    def __init__(
        self,
        heading: str,
        about: RenderableType,
        text: str,
        save: Callable[[str], object],
        *,
        many_lines: bool = False,
    ) -> None:
        """Ask nothing yet."""
        super().__init__()
        self._heading, self._about, self._save = heading, about, save
        self._field = TextArea(text, show_line_numbers=False) if many_lines else Input(text)

    def compose(self) -> ComposeResult:
        """Yield what is edited, where it is typed, and what can be done with it."""
        with Vertical(classes="dialog"):
            yield Static(safe_text(self._heading, "bold"))
            yield Static(self._about)
            yield self._field
            yield Static(id="problem", classes="problem")
            yield Footer(compact=True)

    def on_input_submitted(self) -> None:
        """Save a text of one line."""
        self.action_save()

    @work(exclusive=True)
    async def action_save(self) -> None:
        """Save the text, or say what is wrong with it."""
        field = self._field
        text = field.text if isinstance(field, TextArea) else field.value
        try:
            self.dismiss(await asyncio.to_thread(self._save, text))
        except (MemorandaError, OSError) as error:
            self.query_one("#problem", Static).update(safe_text(one_line(str(error))))
