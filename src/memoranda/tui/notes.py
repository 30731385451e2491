"""MEMORY.md: what is known of the user, to read and to edit."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import Markdown, TextArea

from memoranda.errors import MemorandaError
from memoranda.model.notes import MEMORY_FILE
from memoranda.rendering.layout import safe_text
from memoranda.rendering.plain import escape_controls
from memoranda.tui.layout import OverlayScreen
from memoranda.tui.runtime import ChatRuntime
from memoranda.tui.threads import run_in_thread

NOTHING = "nothing is noted yet"


class NotesScreen(OverlayScreen):
    """Shows MEMORY.md, and lets the person edit it.

    Args:
        runtime: the agent.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("e", "edit", "Edit"),
        Binding("ctrl+s", "save", "Save", priority=True),
    ]
    heading = MEMORY_FILE

    def __init__(self, runtime: ChatRuntime) -> None:
        """Show nothing yet."""
        super().__init__()
        self._runtime = runtime
        self._text = ""

    def compose_body(self) -> ComposeResult:
        """Yield the notes as a person reads them, and, hidden, where they are edited."""
        with VerticalScroll(classes="body", id="reading"):
            yield Markdown(open_links=False)
        area = TextArea(id="editing", show_line_numbers=False, compact=True)
        area.display = False
        yield area

    def on_mount(self) -> None:
        """Show the notes."""
        self.query_one("#reading").focus()
        self.reload()

    @work(exclusive=True)
    async def reload(self) -> None:
        """Read the notes again."""
        notes = self._runtime.memory.notes
        try:
            self._text = await run_in_thread(notes.read_memory)
        except MemorandaError as error:
            self.show_problem(error)
            return
        shown = f"in {notes.folder}" + ("" if notes.is_lasting else ", until this ends")
        title = Text(f"{MEMORY_FILE} ", "bold")
        self.fill("#heading", title.append_text(safe_text(shown, "not bold")))
        await self.query_one(Markdown).update(escape_controls(self._text) or NOTHING)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer saving while the notes are edited, and editing while they are not."""
        del parameters
        editing = self.is_mounted and self.query_one("#editing").display
        return {"edit": not editing, "save": editing}.get(action, True)

    def action_edit(self) -> None:
        """Let the person edit the notes."""
        area = self.query_one("#editing", TextArea)
        area.text = self._text
        self._turn(editing=True)

    @work
    async def action_save(self) -> None:
        """Put what was edited in the place of the notes; lines that are gone are forgotten."""
        text, notes = self.query_one("#editing", TextArea).text, self._runtime.memory.notes
        try:
            await run_in_thread(lambda: notes.write_memory(text))
        except MemorandaError as error:
            self.show_problem(error)
            return
        self._turn(editing=False)
        self.reload()

    def action_close(self) -> None:
        """Leave the editing without saving, or the screen."""
        if self.query_one("#editing").display:
            self._turn(editing=False)
        else:
            super().action_close()

    def _turn(self, *, editing: bool) -> None:
        area, reading = self.query_one("#editing"), self.query_one("#reading")
        area.display, reading.display = editing, not editing
        (area if editing else reading).focus()
        self.refresh_bindings()
