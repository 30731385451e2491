"""A screen of rows: words that narrow it, a table, and what there is to say about one row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import ClassVar, Generic, TypeVar

from rich.console import RenderableType
from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import DataTable, Input, Static

from memoranda.errors import MemorandaError
from memoranda.rendering.layout import Display
from memoranda.tui.layout import OverlayScreen, fill_table, make_display, make_table, selected
from memoranda.tui.runtime import ChatRuntime
from memoranda.tui.threads import run_in_thread

Row = TypeVar("Row")


class ListScreen(OverlayScreen, Generic[Row]):
    """Shows rows of one kind, and details of the one at the cursor.

    Attributes:
        columns: what stands above the columns.
        question: what the words are for; empty where none are asked for.
        empty: what is said where there are no rows.
        needs_words: whether there are rows only for words.

    Args:
        runtime: the agent.
        words: what the rows are narrowed by at first.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("slash", "words", "Words", key_display="/")]
    columns: ClassVar[tuple[str, ...]] = ()
    question = ""
    empty = "nothing found"
    needs_words = False

    def __init__(self, runtime: ChatRuntime, words: str = "") -> None:
        """Show nothing yet."""
        super().__init__()
        self.runtime, self.words = runtime, words
        self.rows: dict[str, Row] = {}

    # What a kind of rows says of itself

    def find(self, words: str) -> Sequence[Row]:
        """Return the rows; called in a thread."""
        raise NotImplementedError

    def key_of(self, row: Row) -> str:
        """Return what tells a row from the others."""
        raise NotImplementedError

    def cells(self, row: Row, view: Display) -> Iterator[Text]:
        """Yield what stands in the columns."""
        raise NotImplementedError

    def describe(self, row: Row, view: Display) -> RenderableType:
        """Return what is said below the table about the row at the cursor."""
        raise NotImplementedError

    # The screen

    def compose_body(self) -> ComposeResult:
        """Yield words, table and details."""
        if self.question:
            yield Input(self.words, placeholder=self.question, id="words", compact=True)
        yield make_table("rows")
        yield Static(id="detail", classes="detail")

    def on_mount(self) -> None:
        """Show the rows; the keys go to the words, where nothing is found without them."""
        for title in self.columns:
            self.table.add_column(title, key=title)
        if self.needs_words and not self.words:
            self.action_words()
        else:
            self.table.focus()
        self.reload()

    @property
    def table(self) -> DataTable[Text]:
        """The table."""
        return self.query_one("#rows", DataTable)

    @property
    def view(self) -> Display:
        """How results are drawn here."""
        return make_display(self.app.size.width, self.runtime.memory.settings.zone)

    @property
    def row(self) -> Row | None:
        """The row at the cursor."""
        return self.rows.get(selected(self.table) or "")

    @work(exclusive=True, group="list")
    async def reload(self) -> None:
        """Find the rows anew and show them; the cursor stays where it is."""
        try:
            found = await run_in_thread(partial(self.find, self.words))
        except MemorandaError as error:
            self.show_problem(error)
            return
        at, view = self.table.cursor_row, self.view
        self.fill("#heading", Text(self.heading, "bold"))
        self.rows = {self.key_of(row): row for row in found}
        fill_table(self.table, {key: self.cells(row, view) for key, row in self.rows.items()})
        self.table.move_cursor(row=min(at, max(0, len(self.rows) - 1)))
        self.show_details()

    def show_details(self) -> None:
        """Say what there is to say about the row at the cursor."""
        row = self.row
        shown = Text(self.empty, "dim") if row is None else self.describe(row, self.view)
        self.fill("#detail", shown)

    def on_data_table_row_highlighted(self) -> None:
        """Say what there is to say about the row at the cursor."""
        self.show_details()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Narrow the rows by the words, and let the keys go to them."""
        self.words = event.value.strip()
        self.table.focus()
        self.reload()

    def action_words(self) -> None:
        """Let the keys go to the words."""
        if self.question:
            self.query_one("#words").focus()
