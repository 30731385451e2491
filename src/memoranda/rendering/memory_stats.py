"""A whole memory in figures, as a person reads them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.filesize import decimal
from rich.text import Text

from memoranda.model.reports import MemoryStats
from memoranda.model.sessions import describe_counts
from memoranda.model.usage import StageUsage, add_up
from memoranda.rendering.layout import Column, Display, details, table
from memoranda.rendering.plain import one_line, pluralize

CENT = 0.01
USAGE = (
    Column("stage", "stage", "cyan"),
    Column("model", "model"),
    Column("asked", "usage.requests", number=True),
    Column("in", "usage.input_tokens", number=True),
    Column("cached", "usage.cached_tokens", number=True),
    Column("out", "usage.output_tokens", number=True),
    Column("cost", lambda row, _: format_cost(row.usage.cost), number=True),
)


def show_stats(found: MemoryStats, view: Display) -> Iterator[RenderableType]:
    """Yield how much is remembered, what waits, and what language models were used for."""
    ran = (f"{run.job}: {view.minute(run.finished_at)}, {describe_counts(run.counts)}"
           for run in found.upkeep)  # fmt: skip
    waiting = f"{pluralize(found.pending_sessions, 'session')}: memoranda consolidate"
    rows = {
        "user": one_line(found.user),
        "records": ", ".join(pluralize(number, kind) for kind, number in found.records.items()),
        "conversations": f"{found.conversations:,}",
        "newest": "never" if found.newest is None else view.minute(found.newest),
        "vectors": found.vectors,
        "waiting": f"{found.pending_vectors:,} without a vector",
        "to consolidate": waiting if found.pending_sessions else "0",
        "language model": found.llm,
        "notes": one_line(found.notes),
        "upkeep": "\n".join(ran) or "has not run on schedule yet",
        "size": decimal(found.size),
        "location": found.location,
    }
    yield details(rows)
    if found.usage:
        yield Text("\nuse of language models", "bold")
        yield show_usage(found.usage, view)


def show_usage(
    found: Sequence[StageUsage], view: Display, empty: str = "no model was asked"
) -> RenderableType:
    """Return a table of what stages took of language models, and the sum; or that is ``empty``."""
    rows = [*found, StageUsage(stage="all", model="", usage=add_up(found))] if found else ()
    return table(rows, USAGE, view, empty=empty)


def format_cost(cost: float | None) -> str:
    """Return a price as people write it; a question mark where it is not known."""
    if cost is None:
        return "?"
    return f"${cost:,.2f}" if cost >= CENT or not cost else f"${cost:.4f}"
