"""Notes as a person reads them: Markdown, entries of the history, reports."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from memoranda.model.notes import MEMORY_FILE, HistoryEntry
from memoranda.notes.sync import NotesReport
from memoranda.notes.writer import COMMENT
from memoranda.rendering.layout import Display, details, safe_text
from memoranda.rendering.plain import escape_controls, format_size, one_line, pluralize
from memoranda.text.patterns import compile_pattern

HEADING = compile_pattern(r"#{1,6} ")
REMARK = compile_pattern(r"\s*<!--.*-->\s*")
EDITS = ("+", "~", "-")  # actions of a person
ACTIONS = {"+": "green", "~": "yellow", "-": "red", "!": "bold yellow"}


def show_markdown(text: str) -> Iterator[Text]:
    """Yield a text line by line: headings stand out, remarks stand back."""
    for line in text.strip("\r\n").splitlines():
        remark = "dim" if REMARK.fullmatch(line) else ""
        yield safe_text(line, "bold cyan" if HEADING.match(line) else remark)


def show_entries(
    found: Sequence[HistoryEntry], view: Display, keyword: str | None = None
) -> Iterator[Text]:
    """Yield entries of the history, each under its moment, with the keyword marked in them."""
    for number, entry in enumerate(found):
        if number:
            yield Text()
        head = safe_text(view.minute(entry.at), "bold cyan")
        yield head.append(f"  {entry.file}", "not bold dim")
        # The remark that says where an entry comes from is not for a person.
        for line in COMMENT.sub("", entry.text).strip("\r\n").splitlines():
            shown = safe_text(line)
            if keyword is not None:
                word = re.escape(escape_controls(keyword.strip()))
                shown.highlight_regex(f"(?i){word}", "bold yellow")
            yield shown


def show_report(done: NotesReport) -> Iterator[Text]:
    """Yield what a sync of MEMORY.md did: each action, and all of it in a line."""
    for line in done.lines:
        sign, rest = line[:1], line[1:]
        if sign in ACTIONS:
            action = safe_text(f" {one_line(rest)}", "not bold default")
            yield Text(sign, ACTIONS[sign]).append_text(action)
        else:
            yield safe_text(one_line(line))
    yield safe_text(str(done), "bold" if done.lines else "dim")


def show_overview(found: Mapping[str, Any], done: NotesReport, accept: str) -> RenderableType:
    """Return the notes in figures; ``accept`` is the command that believes lines to be gone."""
    size, limit, lines = found["size"], found["limit"], pluralize(len(done.restored), "line")
    room = Text(f"{format_size(size)} of {format_size(limit)}" if size else "there is none yet")
    if size > limit:
        room.append("  too long: what is left was written by hand", "yellow")
    again = Text(f"{lines} that were gone; if it was meant: {accept}", "bold yellow")
    rows = {
        MEMORY_FILE: safe_text(str(found["path"]), "bold"),
        "size": room,
        "history": pluralize(found["entries"], "entry", "entries"),
        "read just now": str(done).removeprefix("notes: ") if done.lines else None,
        "written again": again if done.restored else None,
    }
    return details(rows.items())
