"""Facts: how far each is believed and where it comes from; to confirm, or to forget."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar

from rich.console import Group, RenderableType
from rich.text import Text
from textual import work
from textual.binding import Binding, BindingType

from memoranda.errors import MemorandaError
from memoranda.maintenance.facts import BELIEVED, Fact
from memoranda.rendering.facts import confidence_bar, show_facts, show_provenance
from memoranda.rendering.layout import Display, safe_text
from memoranda.rendering.plain import one_line
from memoranda.tui.layout import ConfirmScreen, TextScreen
from memoranda.tui.lists import ListScreen
from memoranda.tui.threads import run_in_thread

MOST = 500
LONGEST = 200  # characters of a text in the table
QUOTED = 160


class FactsScreen(ListScreen[Fact]):
    """Lists facts; the one at the cursor can be confirmed or forgotten."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("c", "confirm", "Confirm"),
        Binding("f", "forget", "Forget"),
    ]
    heading = "Facts · Enter shows where one comes from"
    columns = ("confidence", "said", "what")
    question = "a question or words; Enter finds the facts about it"
    empty = "no facts"

    def find(self, words: str) -> Sequence[Fact]:
        """Return the facts that the words are about; all without words."""
        return self.runtime.memory.facts(words or None, limit=MOST)

    def key_of(self, row: Fact) -> str:
        """Return the id of the fact."""
        return row.record.id

    def cells(self, row: Fact, view: Display) -> Iterator[Text]:
        """Yield confidence, day and text; what is no longer believed says so."""
        yield confidence_bar(row.confidence)
        yield Text(view.day(row.said_at), "dim")
        said = safe_text(one_line(row.record.content, LONGEST))
        yield said if row.state == BELIEVED else Text(f"({row.state}) ", "dim").append_text(said)

    def describe(self, row: Fact, view: Display) -> RenderableType:
        """Return the fact with who said it, and what it replaced."""
        return show_facts([row], view)

    @work
    async def on_data_table_row_selected(self) -> None:
        """Show where a fact comes from."""
        row = self.row
        if row is None:
            return
        memory = self.runtime.memory
        try:
            found = await run_in_thread(lambda: memory.trace_fact(row.record.id))
        except MemorandaError as error:
            self.show_problem(error)
            return
        shown = Group(*show_provenance(found, self.view))
        self.app.push_screen(TextScreen(row.record.id, shown))

    @work
    async def action_confirm(self) -> None:
        """Believe the fact at the cursor fully and for ever."""
        row = self.row
        if row is not None:
            await self._do(row, lambda: self.runtime.memory.confirm(row.record.id), "Confirmed")

    @work(group="dialog")
    async def action_forget(self) -> None:
        """Stop believing the fact at the cursor, after asking."""
        row = self.row
        if row is None:
            return
        question = f"Forget this?\n\n{one_line(row.record.content, QUOTED)}"
        if await self.app.push_screen_wait(ConfirmScreen(question, "Forget")):
            await self._do(row, lambda: self.runtime.memory.forget(row.record.id), "Forgotten")

    async def _do(self, row: Fact, change: Callable[[], object], done: str) -> None:
        try:
            await run_in_thread(change)
        except MemorandaError as error:
            self.show_problem(error)
            return
        self.notify(f"{done}: {one_line(row.record.content, QUOTED)}", markup=False)
        self.reload()
