"""A whole memory in figures, as a person reads them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from memoranda.model.reports import MemoryStats
from memoranda.model.sessions import describe_counts
from memoranda.model.usage import NO_USAGE, StageUsage, Usage
from memoranda.rendering.layout import Column, Display, details, table
from memoranda.rendering.plain import format_size, one_line, pluralize
from memoranda.store.locations import medium

CENT = 0.01
USAGE = (
    Column("stage", "stage", "cyan"),
    Column("model", "model"),
    Column("asked", "usage.requests", number=True),
    Column("failed", lambda row, _: _show_failures(row.usage), number=True),
    Column("in", "usage.input_tokens", number=True),
    Column("cached", "usage.cached_tokens", number=True),
    Column("out", "usage.output_tokens", number=True),
    Column("cost", lambda row, _: format_cost(row.usage.cost), number=True),
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
    yield details(_figures(found, view, place).items())
    if found.usage:
        yield Text("\nuse of language models", "bold")
        yield show_usage(found.usage, view)


def show_usage(found: Sequence[StageUsage], view: Display) -> RenderableType:
    """Return a table of what stages took of language models, and the sum."""
    rows = list(found)
    if len(rows) > 1:
        total = sum((each.usage for each in rows), NO_USAGE)
        rows.append(StageUsage(stage="all", model="", usage=total))
    return table(rows, USAGE, view, empty="no model was asked")


def _figures(found: MemoryStats, view: Display, place: str | None) -> dict[str, Any]:
    waits = pluralize(found.pending_sessions, "session")
    unread = pluralize(found.unread_messages, "message") if found.unread_messages else None
    runs = ((run, view.minute(run.finished_at)) for run in found.upkeep)
    ran = [f"{one_line(run.job)}: ran {at}, {describe_counts(run.counts)}" for run, at in runs]
    names = [f"{name}: {', '.join(order) or 'nothing'}" for name, order in found.names.items()]
    names += [f"without {name}: {why}" for name, why in found.missing.items()]
    return {
        "user": one_line(found.user),
        "records": ", ".join(f"{number:,} {kind}" for kind, number in found.records.items()),
        "conversations": f"{found.conversations:,}",
        "newest": "never" if found.newest is None else view.minute(found.newest),
        "vectors": found.vectors,
        "waiting": f"{found.pending_vectors:,} without a vector",
        "to consolidate": f"{waits}{': memoranda consolidate' * (found.pending_sessions > 0)}",
        "never read": unread and f"{unread}: took too long",
        "language model": found.llm + "; rules do without" * (found.llm == "none"),
        "names": "\n".join(map(one_line, names)),
        "notes": one_line(found.notes),
        "upkeep": "\n".join(ran) or "has not run on schedule yet",
        "size": format_size(found.size),
        medium(found.location): place or found.location,
    }


def _show_failures(usage: Usage) -> Text:
    return Text(f"{usage.failures:,}", "red" if usage.failures else "dim")


def format_cost(cost: float | None) -> str:
    """Return a price as people write it; a question mark where it is not known."""
    if cost is None:
        return "?"
    return f"${cost:,.2f}" if cost >= CENT or not cost else f"${cost:.4f}"
