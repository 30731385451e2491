"""One renderer for all results: what a column shows, what fits, and what JSON holds."""

import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from zoneinfo import ZoneInfo

from rich.console import Console

from memoranda.rendering.forms import format_json, to_json
from memoranda.rendering.layout import Column, Display, details, table
from memoranda.rendering.plain import one_line, pluralize

MOMENT = datetime(2026, 7, 1, 22, 30, tzinfo=UTC)


class Colour(StrEnum):
    """A value with a name."""

    RED = "red"


@dataclass(frozen=True)
class Inner:
    """A part of a row."""

    score: float


@dataclass(frozen=True)
class Row:
    """What a table shows."""

    name: str
    inner: Inner
    at: datetime
    tags: tuple[str, ...] = ()
    colour: Colour = Colour.RED
    missing: str | None = None
    count: int = 1_000
    pairs: Mapping[str, int] = field(default_factory=lambda: {"a": 1, "b": 2})


ROW = Row("x\x1b[31m\ny", Inner(0.5), MOMENT, ("a", "b"))
COLUMNS = (
    Column("name", "name"),
    Column("score", "inner.score", number=True),
    Column("at", "at"),
    Column("tags", "tags"),
    Column("colour", "colour"),
    Column("missing", "missing"),
    Column("count", lambda row, _: row.count, number=True),
    Column("pairs", "pairs", whole=True),
)


def draw(rendered, width=80):
    """Return what is printed of ``rendered``."""
    file = io.StringIO()
    Console(file=file, width=width, color_system=None).print(rendered)
    return file.getvalue()


def display(width=80):
    """Return a terminal of ``width`` columns in Lisbon."""
    console = Console(file=io.StringIO(), force_terminal=True, width=width, color_system=None)
    return Display(console, ZoneInfo("Europe/Lisbon"))


def test_a_column_writes_a_value_by_its_type():
    """A field within a field, a moment in the user's zone, a list, a member, nothing, a number."""
    line = draw(table([ROW], COLUMNS, display())).splitlines()[2]
    assert line.split() == ["x␛[31m", "y", "0.50", "2026-07-01", "23:30", "a,", "b", "red", "1,000",
                            "a=1,", "b=2"]  # fmt: skip


def test_a_table_without_rows_says_what_it_was_told():
    """Where there is nothing, a word says so instead of a head without rows."""
    assert draw(table([], COLUMNS, display(), empty="none")) == "none\n"


def test_details_leave_out_what_is_not_there():
    """A value that is missing or empty has no line."""
    shown = draw(details([("here", "1"), ("none", None), ("empty", "")]))
    assert [line.split() for line in shown.splitlines()] == [["here", "1"]]


def test_any_result_is_json():
    """Dataclasses, mappings, moments, members and paths become what JSON holds."""
    value = {"row": Inner(1.0), "map": MappingProxyType({1: MOMENT}), "set": {Colour.RED}}
    assert to_json(value | {"path": Path("a")}) == {
        "row": {"score": 1.0}, "map": {"1": "2026-07-01T22:30:00+00:00"}, "set": ["red"],
        "path": "a",
    }  # fmt: skip
    assert "\x9b" not in format_json("\x9b1m")


def test_text_is_safe_and_short():
    """Control characters are made visible, lines joined, and what is too long cut."""
    assert one_line("a\n b\x07", 10) == "a b␇"
    assert one_line("abcdef", 4) == "abc…"
    assert (pluralize(1, "entry", "entries"), pluralize(1_000, "fact")) == (
        "1 entry",
        "1,000 facts",
    )
