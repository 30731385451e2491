"""A whole memory in figures, as a person reads them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from memoranda.model.reports import MemoryStats
from memoranda.model.sessions import describe_counts
from memoranda.model.usage import StageUsage, Usage
from memoranda.rendering.layout import Column, Display, details, safe_text, table
from memoranda.rendering.plain import format_size, one_line, pluralize
from memoranda.store.locations import medium

CENT = 0.01
USAGE = (
    Column("stage", "stage", "cyan"),
    Column("model", "model"),
    Column("asked", "usage.requests", number=True),
    Column("failed", lambda row, _: _show_failures(row.usage), number=True),
    Column("in", "usage.input_tokens", number=True),
    Column("out", "usage.output_tokens", number=True),
    Column("cost", lambda row, _: _format_cost(row.usage.cost), number=True),
    Column("time", lambda row, _: f"{row.usage.seconds:,.1f} s", number=True),
)


def show_stats(
    found: MemoryStats, view: Display, place: str | None = None
) -> Iterator[RenderableType]:
    """Yield how much is remembered, what waits, and what language models were used for.

    Args:
        found: the figures.
        view: where they are shown.
        place: where the memory is, if that is to be shown otherwise than in the figures.
    """
    yield details(_figures(found, view, place))
    if found.usage:
        rows = list(found.usage)
        if len(rows) > 1:
            total = sum((each.usage for each in rows), Usage())
            rows.append(StageUsage(stage="all", model="", usage=total))
        yield Text("\nuse of language models", "bold")
        yield table(rows, USAGE, view)


def _figures(found: MemoryStats, view: Display, place: str | None) -> Iterator[tuple[str, Any]]:
    llm = safe_text(one_line(found.llm))
    if found.llm == "none":
        llm.append("; rules do without", "dim")
    waits = pluralize(found.pending_sessions, "session")
    yield "user", one_line(found.user)
    yield "records", ", ".join(f"{number:,} {kind}" for kind, number in found.records.items())
    yield "conversations", f"{found.conversations:,}"
    yield "newest", "never" if found.newest is None else view.minute(found.newest)
    yield "vectors", found.vectors
    yield "waiting", f"{found.pending_vectors:,} without a vector"
    yield "to consolidate", f"{waits}{': memoranda consolidate' if found.pending_sessions else ''}"
    if found.unread_messages:
        yield "never read", f"{pluralize(found.unread_messages, 'message')}: took too long"
    yield "language model", llm
    yield "names", Text("\n").join(_recognizers(found))
    yield "notes", one_line(found.notes)
    runs = ((run, view.minute(run.finished_at)) for run in found.upkeep)
    ran = [f"{one_line(run.job)}: ran {at}, {describe_counts(run.counts)}" for run, at in runs]
    yield "upkeep", "\n".join(ran) or "has not run on schedule yet"
    yield "size", format_size(found.size)
    yield medium(found.location), Text(place or found.location)


def _recognizers(found: MemoryStats) -> Iterator[Text]:
    for strategy, order in found.names.items():
        names = ", ".join(map(one_line, order)) or "nothing"
        yield safe_text(f"{one_line(strategy)}: {names}")
    for name, why in found.missing.items():
        yield safe_text(f"without {one_line(name)}: {one_line(why)}", "dim")


def _show_failures(usage: Usage) -> Text:
    return Text(f"{usage.failures:,}", "red" if usage.failures else "dim")


def _format_cost(cost: float | None) -> str:
    if cost is None:
        return "?"
    return f"${cost:,.2f}" if cost >= CENT or not cost else f"${cost:.4f}"
