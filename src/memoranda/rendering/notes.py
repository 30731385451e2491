"""Notes as a person reads them: Markdown, entries of the history, reports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from memoranda.model.notes import HistoryEntry
from memoranda.notes.notes import COMMENT
from memoranda.notes.sync import NotesReport
from memoranda.rendering.layout import Display, safe_text
from memoranda.rendering.plain import one_line


def show_markdown(text: str) -> Iterator[Text]:
    """Yield a text line by line; headings stand out."""
    for line in text.strip("\r\n").splitlines():
        yield safe_text(line, "bold cyan" if line.startswith("#") else "")


def show_entries(found: Sequence[HistoryEntry], view: Display) -> Iterator[Text]:
    """Yield entries of the history, each under its moment."""
    for entry in found:
        head = safe_text(view.minute(entry.at), "bold cyan")
        yield head.append(f"  {entry.file}", "not bold dim")
        # The remark that says where an entry comes from is not for a person.
        yield safe_text(COMMENT.sub("", entry.text).strip("\r\n")).append("\n")


def show_report(done: NotesReport) -> Iterator[Text]:
    """Yield what a sync of MEMORY.md did: each action, and all of it in a line."""
    for line in done.lines:
        yield safe_text(one_line(line))
    yield safe_text(str(done), "bold" if done.lines else "dim")
