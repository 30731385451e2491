"""A list, and what there is to say about the row at the cursor: one widget, and its screen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Generic, TypeVar

from rich.console import RenderableType
from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.message import Message
from textual.widgets import DataTable, Input, Static

from memoranda.errors import MemorandaError
from memoranda.rendering.layout import Column, Display, safe_text
from memoranda.rendering.plain import one_line
from memoranda.tui.layout import ChatApp, EditScreen, KeyAction, OverlayScreen, make_display
from memoranda.tui.runtime import ChatRuntime
from memoranda.tui.threads import run_in_thread

Row = TypeVar("Row")

PAGE = 200  # rows that are drawn at once
WIDEST = 30  # characters of what takes the room that is left


@dataclass(frozen=True, slots=True, kw_only=True)
class ListSource(Generic[Row]):
    """What a list shows, and what can be done with its rows.

    Attributes:
        title: what it is, and what Enter does.
        columns: of its table.
        find: returns the rows for the words that were typed; called in a thread.
        describe: returns what is said about the row at the cursor.
        actions: what the keys do, ``enter`` among them.
        question: what words are for; empty where none are asked for.
        hint: what is said before there are words; with it there are rows only for words.
        empty: what is said where there are no rows.
        newest_last: whether it begins at its end, and stays there while it grows.
    """

    title: str
    columns: Sequence[Column]
    find: Callable[[str], Sequence[Row]]
    describe: Callable[[Row, Display], RenderableType]
    actions: Sequence[KeyAction] = ()
    question: str = ""
    hint: str = ""
    empty: str = "nothing found"
    newest_last: bool = False


class ListPanel(Vertical, Generic[Row]):
    """Shows the rows of a source by pages, and details of the row at the cursor.

    Args:
        runtime: the agent.
        source: what is shown.
        words: what the rows are narrowed by at first.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "words", "Words", key_display="/"),
        Binding("b", "page(-1)", "Page back"),
        Binding("n", "page(1)", "Next page"),
    ]

    app: ChatApp

    class Filled(Message):
        """The rows were read and are shown."""

    def __init__(self, runtime: ChatRuntime, source: ListSource[Row], words: str = "") -> None:
        """Show nothing yet."""
        super().__init__()
        self._runtime, self.source, self.words = runtime, source, words
        self.rows: Sequence[Row] = ()
        self._start = 0
        for each in source.actions:
            if each.key != "enter":  # The table has that one.
                self._bindings.bind(each.key, f"act('{each.key}')", each.label)

    def compose(self) -> ComposeResult:
        """Yield words, table and details."""
        if self.source.question:
            yield Input(self.words, placeholder=self.source.question, compact=True)
        yield DataTable(cursor_type="row", cell_padding=1)
        with VerticalScroll(classes="detail", can_focus=False):
            yield Static()

    async def on_mount(self) -> None:
        """Show the rows."""
        for each in self.source.columns:
            self.table.add_column(each.title)
        self.reload()

    @property
    def table(self) -> DataTable[RenderableType]:
        """The table."""
        return self.query_one(DataTable)

    @property
    def view(self) -> Display:
        """How results are drawn here."""
        return make_display(self.app.size.width, self._runtime.memory.settings.zone)

    @property
    def row(self) -> Row | None:
        """The row at the cursor."""
        at = self._start + self.table.cursor_row
        return self.rows[at] if at < len(self.rows) else None

    @work(exclusive=True, group="list")
    async def reload(self, *, focus: bool = False) -> None:
        """Read the rows anew and show them; the cursor stays where it is."""
        try:
            rows = await run_in_thread(partial(self._find, self.words))
        except MemorandaError as error:
            self.show_problem(error)
            return
        at = self._start + self.table.cursor_row
        at_end = self.source.newest_last and at >= len(self.rows) - 1
        self.rows = rows
        self._go(len(rows) - 1 if at_end else at)
        if focus:
            self.focus_rows()
        self.post_message(self.Filled())

    def _find(self, words: str) -> Sequence[Row]:
        return () if self.source.hint and not words else self.source.find(words)

    def _go(self, at: int) -> None:
        """Show the page on which a row stands, with the cursor there."""
        at = max(0, min(at, len(self.rows) - 1))
        short = len(self.rows) % PAGE if self.source.newest_last else 0
        self._start = max(0, (at - short) // PAGE * PAGE + short)
        view, table = self.view, self.table
        table.clear()
        for row in self.rows[self._start : self._start + PAGE]:
            table.add_row(*(_cell(each, row, view) for each in self.source.columns))
        table.display = bool(self.rows)
        # Columns get their widths later: what was drawn before is not to stay.
        table.call_after_refresh(table.notify_style_update)
        table.move_cursor(row=at - self._start)
        self.show_details()
        self.refresh_bindings()

    def show_details(self) -> None:
        """Say what there is to say about the row at the cursor."""
        row = self.row
        if row is not None:
            self._tell(self.source.describe(row, self.view))
        else:
            hint = "" if self.words else self.source.hint
            self._tell(Text(hint or self.source.empty, "dim"))

    def show_problem(self, error: Exception) -> None:
        """Show in place of the details what went wrong."""
        self._tell(safe_text("error: ", "bold red").append(one_line(str(error)), "not bold"))

    def _tell(self, shown: RenderableType) -> None:
        self.query_one(".detail > Static", Static).update(shown)

    def focus_rows(self) -> None:
        """Let the keys go to the rows, or to the words where there are no rows."""
        (self.table if self.rows or not self.source.question else self.query_one(Input)).focus()

    def on_data_table_row_highlighted(self) -> None:
        """Say what there is to say about the row at the cursor."""
        self.show_details()

    def on_data_table_row_selected(self) -> None:
        """Do what Enter does."""
        self.action_act("enter")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Narrow the rows by the words, and let the keys go to them."""
        self.words = event.value.strip()
        self._start = 0
        self._tell(Text("looking…", "dim"))
        self.reload(focus=True)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer words where they are asked for, and pages where there are several."""
        del parameters
        offered = {"words": bool(self.source.question), "page": len(self.rows) > PAGE}
        return offered.get(action, True)

    def action_words(self) -> None:
        """Let the keys go to the words."""
        self.query_one(Input).focus()

    def action_page(self, step: int) -> None:
        """Show the page before this one, or the one after it."""
        self._go(self._start + PAGE if step > 0 else self._start - 1)

    @work(group="dialog")
    async def action_act(self, key: str) -> None:
        """Do what a key does with the row at the cursor."""
        row = self.row
        for action in self.source.actions:
            if action.key == key and row is not None:
                try:
                    await action.run(self, row)
                except MemorandaError as error:
                    self.show_problem(error)

    async def change(self, change: Callable[[], object], done: str) -> None:
        """Make a change in a thread, say that it is done, and show the rows as they are then."""
        await run_in_thread(change)
        self.notify(done, markup=False)
        self.reload()

    async def edit(self, asked: EditScreen) -> bool:
        """Let the person type in a dialog; return whether it did something, which is said."""
        done = await self.app.push_screen_wait(asked)
        if done:
            self.notify(done, markup=False)
            self.reload()
        return bool(done)


def _cell(column: Column, row: Any, view: Display) -> RenderableType:
    shown = column.cell(row, view)
    if isinstance(shown, Text):
        if column.number:
            shown.justify = "right"
        if column.wide:
            shown.truncate(WIDEST, overflow="ellipsis")
    return shown


class ListScreen(OverlayScreen):
    """Shows a list over the chat.

    Args:
        runtime: the agent.
        source: what is shown.
        words: what the rows are narrowed by at first.
    """

    AUTO_FOCUS = ""

    def __init__(self, runtime: ChatRuntime, source: ListSource[Any], words: str = "") -> None:
        """Show nothing yet."""
        super().__init__()
        self.heading = source.title
        self._panel = ListPanel(runtime, source, words)

    def compose_body(self) -> ComposeResult:
        """Yield the list."""
        yield self._panel

    def on_list_panel_filled(self) -> None:
        """Let the keys go to the list when it is there, and say which rows are shown."""
        if self.focused is None:
            self._panel.focus_rows()
