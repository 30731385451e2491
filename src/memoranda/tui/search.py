"""Search, with the reasons for each hit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from memoranda.model.models import Hit
from memoranda.rendering.layout import Display, safe_text
from memoranda.rendering.plain import one_line
from memoranda.rendering.records import show_hits, show_record, speaker
from memoranda.tui.layout import TextScreen
from memoranda.tui.lists import ListScreen

FOUND = 20
LONGEST = 200  # characters of a text in the table


class SearchScreen(ListScreen[Hit]):
    """Finds what answers a question: when, who, what and why."""

    heading = "Search · Enter shows the whole record"
    columns = ("score", "when", "who", "what")
    question = "a question or words; Enter searches"
    empty = "nothing found; / asks for words"
    needs_words = True

    def find(self, words: str) -> Sequence[Hit]:
        """Return the hits."""
        return self.runtime.memory.search(words, limit=FOUND) if words else ()

    def key_of(self, row: Hit) -> str:
        """Return the id of the record."""
        return row.record.id

    def cells(self, row: Hit, view: Display) -> Iterator[Text]:
        """Yield score, day, speaker and text."""
        yield Text(f"{row.score:.2f}", justify="right")
        yield Text(view.day(row.record.event_time), "dim")
        yield safe_text(speaker(row.record), "cyan")
        yield safe_text(one_line(row.record.content, LONGEST))

    def describe(self, row: Hit, view: Display) -> RenderableType:
        """Return the hit with its reasons."""
        return show_hits([row], view, why=True)

    def on_data_table_row_selected(self) -> None:
        """Show the record whole, with its reasons."""
        row = self.row
        if row is not None:
            shown = Group(show_record(row.record, self.view), self.describe(row, self.view))
            self.app.push_screen(TextScreen(row.record.id, shown))
