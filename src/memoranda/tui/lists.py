"""A list, and what there is to say about the row at the cursor; each list is a class of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Generic, TypeVar

from rich.console import Group, RenderableType
from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.message import Message
from textual.widgets import DataTable, Input, Static

from memoranda.errors import MemorandaError
from memoranda.rendering.layout import Column, Display, format_error
from memoranda.rendering.plain import one_line
from memoranda.tui.layout import OverlayScreen, make_text
from memoranda.tui.runtime import ChatRuntime

Row = TypeVar("Row")
Panel = TypeVar("Panel", bound="ListPanel[Any]")

MOST = 300  # rows that are drawn: the others are found by words
WIDEST = 30  # characters of what takes the room that is left


class ListPanel(Vertical, Generic[Row]):
    """Shows rows that are found by words, and details of the row at the cursor.

    Attributes:
        title: what it is, and what Enter does.
        columns: of its table.
        question: what words are for.
        empty: what is said where there are no rows.
        newest_last: whether it begins at its end, and stays there while it grows.
        memory: what is looked at.

    Args:
        runtime: the agent.
        words: what the rows are narrowed by at first.
    """

    BINDINGS = [Binding("slash", "words", "Words", key_display="/")]
    title = question = ""
    empty = "nothing found"
    columns: Sequence[Column] = ()
    newest_last = False

    class Filled(Message):
        """The rows were read and are shown."""

    def __init__(self, runtime: ChatRuntime, words: str = "") -> None:
        """Show nothing yet."""
        super().__init__()
        self.runtime, self.memory, self._words = runtime, runtime.memory, words
        self._rows: Sequence[Row] = ()

    def find(self, words: str) -> Sequence[Row]:
        """Return the rows for the words that were typed; called in a thread."""
        raise NotImplementedError

    def describe(self, row: Row) -> RenderableType:
        """Return what is said about the row at the cursor."""
        raise NotImplementedError

    def compose(self) -> ComposeResult:
        """Yield words, table and details."""
        yield Input(self._words, placeholder=self.question, compact=True)
        yield DataTable(cursor_type="row", cell_padding=1)
        with VerticalScroll(classes="detail", can_focus=False):
            yield Static()

    def on_mount(self) -> None:
        """Show the rows."""
        for each in self.columns:
            self.table.add_column(each.title)
        self.reload(focus=self.parent is self.screen)

    @property
    def table(self) -> DataTable[RenderableType]:
        """The table."""
        return self.query_one(DataTable)

    @property
    def view(self) -> Display:
        """How results are drawn here."""
        return self.runtime.make_display(self.app.size.width)

    @property
    def row(self) -> Row | None:
        """The row at the cursor."""
        at = self.table.cursor_row
        return self._rows[at] if at < len(self._rows) else None

    @work(exclusive=True, group="list")
    async def reload(self, *, focus: bool = False) -> None:
        """Read the rows anew and show them; the cursor stays where it is."""
        words = self._words
        try:
            found = await asyncio.to_thread(self.find, words)
        except MemorandaError as error:
            self.tell(format_error(error))
            return
        self._show_rows(found[-MOST:] if self.newest_last else found[:MOST])
        if focus:  # Where there are no rows, the keys go to the words.
            (self.table if self._rows else self.query_one(Input)).focus()
        self.post_message(self.Filled())

    def _show_rows(self, rows: Sequence[Row]) -> None:
        table, view, at = self.table, self.view, self.table.cursor_row
        at_end = self.newest_last and at >= len(self._rows) - 1
        self._rows = rows
        table.clear()
        for row in rows:
            table.add_row(*(_cell(each, row, view) for each in self.columns))
        table.display = bool(rows)
        # Columns get their widths later: what was drawn before is not to stay.
        table.call_after_refresh(table.notify_style_update)
        table.move_cursor(row=max(0, len(rows) - 1 if at_end else at))
        self.on_data_table_row_highlighted()

    def on_data_table_row_highlighted(self) -> None:
        """Say what there is to say about the row at the cursor."""
        row = self.row
        self.tell(Text(self.empty, "dim") if row is None else self.describe(row))

    def tell(self, shown: RenderableType) -> None:
        """Show something in place of the details."""
        self.query_one(".detail > Static", Static).update(shown)

    def on_data_table_row_selected(self) -> None:
        """Do what Enter does."""
        self.action_choose()

    def action_choose(self) -> object:
        """Do what Enter does with the row at the cursor."""

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Narrow the rows by the words, and let the keys go to them."""
        self._words = event.value.strip()
        self.reload(focus=True)

    def action_words(self) -> None:
        """Let the keys go to the words."""
        self.query_one(Input).focus()

    def show(self, heading: str, *shown: RenderableType) -> None:
        """Show a text over the list."""
        self.app.push_screen(OverlayScreen(heading, make_text(Group(*shown))))

    def report(self, done: str) -> None:
        """Say that something is done, and show the rows as they are then."""
        self.notify(one_line(done), markup=False)
        self.reload()


def act_on_row(act: Callable[[Panel, Any], Awaitable[None]]) -> Callable[[Panel], object]:
    """Let a method act on the row at the cursor, if there is one; what fails is said in place."""

    @work(group="dialog")
    async def run(panel: Panel) -> None:
        if panel.row is not None:
            try:
                await act(panel, panel.row)
            except MemorandaError as error:
                panel.tell(format_error(error))

    return run


def _cell(column: Column, row: Any, view: Display) -> RenderableType:
    shown = column.cell(row, view)
    if isinstance(shown, Text):
        if column.number:
            shown.justify = "right"
        if column.wide:
            shown.truncate(WIDEST, overflow="ellipsis")
    return shown
