"""What all screens share: how results are drawn in them, and the screens of one text or question.

Text of models and of memory is always given as a Rich ``Text``, and so never read as markup.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from functools import partial
from typing import Any, ClassVar

from rich.console import Console, RenderableType
from rich.text import Text
from textual import work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen, Screen
from textual.suggester import SuggestFromList
from textual.widgets import Button, Footer, Input, Static, TextArea

from memoranda.errors import MemorandaError
from memoranda.rendering.layout import Display, safe_text
from memoranda.rendering.plain import one_line
from memoranda.tui.threads import run_in_thread

MARGIN = 4  # columns of padding and scroll bar
LEAST = 20


def make_display(columns: int, zone: tzinfo | None) -> Display:
    """Return a display of so many columns, less the margin of a screen."""
    width = max(LEAST, columns - MARGIN)
    console = Console(
        file=io.StringIO(),
        width=width,
        force_terminal=True,
        markup=False,
        emoji=False,
        highlight=False,
    )
    return Display(console, zone)


class ChatApp(App[None]):
    """What the screens may ask of the application that they belong to."""

    def show(self, name: str, words: str = "") -> None:
        """Show a screen over the chat, in place of the one that is there."""
        raise NotImplementedError

    def refresh_overlay(self) -> None:
        """Let the screen over the chat show what is now."""
        raise NotImplementedError

    async def reopen_chat(self) -> None:
        """Show the conversation anew after the agent was opened again."""
        raise NotImplementedError

    def is_busy(self) -> bool:
        """Return whether an answer is under way, and say so: the agent stays as it is meanwhile."""
        raise NotImplementedError


class OverlayScreen(Screen[None]):
    """A screen over the chat: a title, something to look at, and the keys for it.

    Attributes:
        heading: its title.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", "Back"),
        Binding("f1", "app.show('help')", "Help"),
    ]
    heading = ""

    def compose(self) -> ComposeResult:
        """Yield title, body and keys."""
        yield Static(Text(self.heading, "bold"), classes="heading", id="heading")
        yield from self.compose_body()
        yield Footer(compact=True)

    def compose_body(self) -> ComposeResult:
        """Yield what stands between title and keys."""
        yield from ()

    def action_close(self) -> None:
        """Go back to what was there before."""
        self.app.pop_screen()

    def fill(self, selector: str, rendered: RenderableType) -> None:
        """Show something in the part of the screen that ``selector`` names."""
        self.query_one(selector, Static).update(rendered)


class TextScreen(OverlayScreen):
    """Shows one text that can be scrolled.

    Args:
        heading: its title.
        rendered: what it shows.
    """

    def __init__(self, heading: str, rendered: RenderableType) -> None:
        """Show nothing yet."""
        super().__init__()
        self.heading = one_line(heading)
        self._rendered = rendered

    def compose_body(self) -> ComposeResult:
        """Yield the text."""
        with VerticalScroll(classes="body"):
            yield Static(self._rendered)


class ConfirmScreen(ModalScreen[bool]):
    """Asks a question; Enter on ``No`` and Escape leave everything as it is.

    Args:
        question: what is asked.
        yes: what stands on the button that does it.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,n", "answer(False)", "No"),
        Binding("y", "answer(True)", "Yes"),
        Binding("left,right", "app.focus_next", show=False),
    ]

    def __init__(self, question: str, yes: str = "Yes") -> None:
        """Ask nothing yet."""
        super().__init__()
        self._question, self._yes = question, yes

    def compose(self) -> ComposeResult:
        """Yield the question and two buttons, of which the harmless one is chosen."""
        with Vertical(classes="dialog"):
            yield Static(safe_text(self._question))
            with Horizontal(classes="buttons"):
                yield Button("No (n)", id="no", compact=True)
                yield Button(f"{self._yes} (y)", id="yes", compact=True)

    def action_answer(self, answer: bool) -> None:  # noqa: FBT001 - Textual calls it so
        """Close with an answer."""
        self.dismiss(answer)

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Close with the answer of the button."""
        self.dismiss(event.button.id == "yes")


@dataclass(frozen=True, slots=True)
class KeyAction:
    """What a key does.

    Attributes:
        key: the key.
        label: what it does, in a word or two.
        run: does it; of a list a coroutine, given the panel and the row at the cursor.
    """

    key: str
    label: str
    run: Callable[..., Any]


class EditScreen(ModalScreen[str]):
    """Asks for a text, and says in place what is wrong with it; closes with what was done.

    Args:
        heading: what is edited.
        about: what is to be known of it.
        text: as it is now.
        actions: what can be done with the text; each returns in a sentence what it did. On
            ``enter`` as the key of the first the text is one line.
        allowed: values that are suggested.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "cancel", "Cancel")]

    def __init__(
        self,
        heading: str,
        about: RenderableType,
        text: str,
        actions: Sequence[KeyAction],
        *,
        allowed: Sequence[str] = (),
    ) -> None:
        """Ask nothing yet."""
        super().__init__()
        self._heading, self._about, self._text = heading, about, text
        self._actions, self._allowed = {each.key: each for each in actions}, allowed
        for key, each in self._actions.items():
            self._bindings.bind(key, f"apply('{key}')", each.label, priority=True)

    def compose(self) -> ComposeResult:
        """Yield what is edited, where it is typed, and what can be done with it."""
        with Vertical(classes="dialog"):
            yield Static(safe_text(self._heading, "bold"))
            yield Static(self._about)
            if "enter" in self._actions:
                suggester = SuggestFromList(self._allowed) if self._allowed else None
                yield Input(self._text, id="value", suggester=suggester)
            else:
                yield TextArea(self._text, id="value", show_line_numbers=False)
            yield Static(id="problem", classes="problem")
            yield Footer(compact=True)

    def on_mount(self) -> None:
        """Let the person type."""
        self.query_one("#value").focus()

    def action_cancel(self) -> None:
        """Leave all as it is."""
        self.dismiss("")

    @work(exclusive=True)
    async def action_apply(self, key: str) -> None:
        """Do something with the text, or say what is wrong with it."""
        field = self.query_one("#value")
        text = field.text if isinstance(field, TextArea) else self.query_one(Input).value
        try:
            done = await run_in_thread(partial(self._actions[key].run, text))
        except (MemorandaError, OSError) as error:
            self.query_one("#problem", Static).update(safe_text(one_line(str(error))))
            return
        self.dismiss(done)
