"""One renderer for all results: columns of a table, details of a value, lines that fit.

A column names a field of the rows or a function over them; what has no form of its own is
written by its type. On a terminal everything is made to fit. In a pipe or a file nothing is left
out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from operator import attrgetter
from typing import Any

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from memoranda.rendering.plain import DOT, escape_controls, one_line

LONGEST = 280  # characters of a text in a list; a view of one value has all of it


def safe_text(text: str, style: str = "") -> Text:
    """Return ``text`` as it is, safe to show."""
    return Text(escape_controls(text), style=style)


def format_error(error: object) -> Text:
    """Return an error on one line."""
    return safe_text("error: ", "bold red").append(one_line(str(error)), "not bold default")


@dataclass(frozen=True, slots=True)
class Display:
    """Where results are shown: the console, and the user's time zone (``None``: the machine's)."""

    console: Console
    zone: tzinfo | None = None

    def day(self, moment: datetime) -> str:
        """Return the date of ``moment`` in the user's zone."""
        return self.minute(moment)[:10]

    def minute(self, moment: datetime) -> str:
        """Return date and time of ``moment`` in the user's zone, by the rules of its own day."""
        return moment.astimezone(self.zone).strftime("%Y-%m-%d %H:%M")

    def brief(self, text: str, longest: int | None = LONGEST) -> str:
        """Return ``text`` on one line, cut to ``longest`` characters where a terminal shows it."""
        return one_line(text, longest if self.console.is_terminal else None)

    def stack(self, *lines: Text) -> RenderableType:
        """Return what belongs together as lines, and as one line where no terminal shows it."""
        return Group(*lines) if self.console.is_terminal else Text(DOT).join(filter(None, lines))

    def cell(self, value: Any, style: str = "") -> RenderableType:
        """Return a value as it stands in a table."""
        match value:
            case datetime():
                value = self.minute(value)
            case Mapping():
                value = ", ".join(f"{key}={each}" for key, each in value.items())
            case tuple() | list():
                value = ", ".join(map(str, value))
            case int():
                value = f"{value:,}"
            case float():
                value = f"{value:.2f}"
        if isinstance(value, str):
            return safe_text(self.brief(value), style)
        return Text() if value is None else value


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Attributes:
        title: what stands above it.
        value: the name of a field, such as ``record.id``, or a function of row and view.
        style: of its values.
        number: whether it stands at the right and never breaks.
        whole: whether it never breaks.
        wide: whether it takes what is left.
    """

    title: str
    value: str | Callable[[Any, Display], Any]
    style: str = ""
    number: bool = False
    whole: bool = False
    wide: bool = False

    def cell(self, row: Any, view: Display) -> RenderableType:
        """Return what the column shows of a row."""
        value = self.value(row, view) if callable(self.value) else attrgetter(self.value)(row)
        return view.cell(value, self.style)


def table(
    rows: Iterable[Any], columns: Sequence[Column], view: Display, *, empty: str | None = None
) -> Table | Text:
    """Return rows as a table of ``columns``; ``empty`` is said where there are none."""
    made = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    for each in columns:
        made.add_column(
            each.title,
            justify="right" if each.number else "left",
            overflow="fold",
            no_wrap=each.number or each.whole,
            ratio=1 if each.wide else None,
        )
    for row in rows:
        made.add_row(*(each.cell(row, view) for each in columns))
    return Text(empty, "dim") if empty is not None and not made.row_count else made


def details(rows: Mapping[str, Any] | Iterable[tuple[str, Any]]) -> Table:
    """Return names and values side by side; what is ``None`` or an empty text is left out."""
    made = Table.grid(padding=(0, 2))
    made.add_column(style="dim", no_wrap=True)
    made.add_column(overflow="fold")
    for name, value in rows.items() if isinstance(rows, Mapping) else rows:
        if value is not None and value != "":
            made.add_row(Text(name), safe_text(value) if isinstance(value, str) else value)
    return made
