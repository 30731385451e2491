"""The command that looks for junk in a memory, or in a file of memories."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from memoranda.cli import tables
from memoranda.cli.command import FAILED, Session, command
from memoranda.cli.output import counted, one_line, styled
from memoranda.rendering.audited import REMEDIES, Audited, Example, Fault, audited

PANEL = "Look after"
EXAMPLES_SHOWN = 3
IDS_SHOWN = 3
INDENT = (0, 0, 0, 2)

commands = typer.Typer()


def _kinds(incomplete: str) -> list[str]:
    return [kind.replace(" ", "-") for kind in REMEDIES if kind.startswith(incomplete)]


@command(
    commands,
    "audit",
    panel=PANEL,
    examples=(
        "memoranda audit",
        "memoranda audit --kind contradictions --limit 20",
        "memoranda audit MEMORY.md --strict",
    ),
)
def audit(
    session: Session,
    *,
    file: Annotated[
        Path | None,
        typer.Argument(
            help="Look at this instead: a MEMORY.md, or a JSON list of memories.",
            show_default=False,
        ),
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            help="Only this kind; its beginning is enough.",
            autocompletion=_kinds,
            show_default=False,
        ),
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", help="How many examples of a kind to show.", min=0)
    ] = EXAMPLES_SHOWN,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with code 1 if anything was found.")
    ] = False,
) -> None:
    """Look for junk: duplicates, contradictions, loops, secrets and more. Changes nothing."""
    with session.memory() as memory:
        found = audited(memory, file, kind)
    session.show(found, *_drawn(found, limit))
    if strict and not found.clean:
        raise typer.Exit(FAILED)


def _drawn(found: Audited, limit: int) -> Iterator[RenderableType]:
    faults = sum(fault.count for fault in found.faults)
    looked = counted(found.entries, "entry", "entries")
    yield styled(f"{looked}, {counted(faults, 'fault')} found", "bold")
    made = tables.table("kind", "found", "what mends it", right=("found",))
    for fault in found.faults:
        colour = "yellow" if fault.count else "green"
        remedy = Text(fault.remedy if fault.count else "", "dim")
        made.add_row(styled(fault.kind), Text(f"{fault.count:,}", colour), remedy)
    yield made
    for fault in found.faults:
        if fault.count and limit:
            yield from _examples(fault, limit)


def _examples(fault: Fault, limit: int) -> Iterator[RenderableType]:
    yield Text()
    yield styled(fault.kind, "bold")
    for finding in fault.findings[:limit]:
        yield Padding(_example(finding), INDENT)
    if fault.count > limit:
        option = fault.kind.replace(" ", "-")
        more = f"… {fault.count - limit:,} more: --kind {option} --limit {fault.count}"
        yield Padding(Text(more, "dim"), INDENT)


def _example(finding: Example) -> RenderableType:
    ids = [one_line(each, 60) for each in finding.ids[:IDS_SHOWN]]
    if len(finding.ids) > IDS_SHOWN:
        ids.append(f"{len(finding.ids) - IDS_SHOWN} more")
    return Group(
        styled(one_line(finding.example)),
        styled(one_line(finding.why), "yellow"),
        styled(", ".join(ids), "dim"),
    )
