"""A dialog in which a text is typed: a setting, a fact that is corrected, the notes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from rich.console import RenderableType
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.suggester import SuggestFromList
from textual.widgets import Footer, Input, Static, TextArea

from memoranda.errors import MemorandaError
from memoranda.rendering.layout import safe_text
from memoranda.rendering.plain import one_line
from memoranda.tui.lists import KeyAction
from memoranda.tui.threads import run_in_thread


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
