"""The command that says what a memory holds and what it works with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import typer
from rich.console import RenderableType
from rich.text import Text

from memoranda.cli import output, tables
from memoranda.cli.command import Session, command
from memoranda.cli.output import counted, one_line, styled
from memoranda.model.life import StageUsage, Usage
from memoranda.model.reports import MemoryStats
from memoranda.store.locations import medium

PANEL = "Look"
ALL = "all"
CENT = 0.01

commands = typer.Typer()


@command(commands, "stats", panel=PANEL, examples=("memoranda stats --json",))
def stats(session: Session) -> None:
    """Show how much is remembered, what waits, and which models are in use."""
    with session.memory() as memory:
        found = memory.stats()
    rendered: list[RenderableType] = [tables.grid(_rows(session, found))]
    if found.usage:
        rendered += [Text("\nuse of language models", "bold"), _usage(found.usage)]
    session.show(found, *rendered)


def _rows(session: Session, found: MemoryStats) -> Iterator[tuple[str, RenderableType]]:
    newest = "never" if found.newest is None else output.minute(found.newest, session.settings)
    yield "user", Text(one_line(found.user))
    yield "records", ", ".join(f"{n:,} {kind}" for kind, n in found.records.items())
    yield "conversations", f"{found.conversations:,}"
    yield "newest", newest
    yield "vectors", found.vectors
    yield "waiting", f"{found.pending_vectors:,} without a vector"
    waits = counted(found.pending_sessions, "session")
    yield "to consolidate", f"{waits}{': memoranda consolidate' if found.pending_sessions else ''}"
    yield "language model", _model(found)
    yield "names", _names(found)
    yield "notes", Text(one_line(found.notes))
    yield "size", output.size(found.size)
    yield medium(found.location), Text(str(session.location or found.location))


def _model(found: MemoryStats) -> Text:
    name = styled(one_line(found.llm))
    if found.llm == "none":
        name.append("; rules do without", "dim")
    return name


def _names(found: MemoryStats) -> Text:
    lines = [
        styled(f"{one_line(strategy)}: {', '.join(map(one_line, order)) or 'nothing'}")
        for strategy, order in found.names.items()
    ]
    lines += [
        styled(f"without {one_line(name)}: {one_line(why)}", "dim")
        for name, why in found.missing.items()
    ]
    return Text("\n").join(lines)


def _usage(found: Sequence[StageUsage]) -> RenderableType:
    numbers = ("asked", "failed", "in", "out", "cost", "time")
    made = tables.table("stage", "model", *numbers, right=numbers)
    for each in found:
        made.add_row(Text(one_line(each.stage), "cyan"), one_line(each.model), *_spent(each.usage))
    if len(found) > 1:
        total = sum((each.usage for each in found), Usage())
        made.add_row(Text(ALL, "bold"), "", *_spent(total), style="bold")
    return made


def _spent(usage: Usage) -> Iterator[Text]:
    yield Text(f"{usage.requests:,}")
    yield Text(f"{usage.failures:,}", "red" if usage.failures else "dim")
    yield Text(f"{usage.input_tokens:,}")
    yield Text(f"{usage.output_tokens:,}")
    yield Text("?" if usage.cost is None else _dollars(usage.cost))
    yield Text(f"{usage.seconds:,.1f} s")


def _dollars(cost: float) -> str:
    return f"${cost:,.2f}" if cost >= CENT or not cost else f"${cost:.4f}"
