"""Commands that look after a memory and the machine it is on: doctor, bench."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.text import Text

from memoranda.cli import bench as benchmark
from memoranda.cli import tables
from memoranda.cli.command import FAILED, Session, command
from memoranda.cli.output import counted, progress_bar, styled
from memoranda.memory import unpurged
from memoranda.serving import doctor as doctors

PANEL = "Look after"
SIGNS = {True: Text("ok", "green"), False: Text("FAIL", "bold red"), None: Text("note", "yellow")}

commands = typer.Typer()


@command(
    commands,
    "doctor",
    panel=PANEL,
    examples=("memoranda doctor", "memoranda doctor --reembed", "memoranda doctor --json"),
)
def doctor(
    session: Session,
    *,
    reembed: Annotated[
        bool, typer.Option("--reembed", help="Make every vector anew, with the present model.")
    ] = False,
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Derive index, links and vector queue anew.")
    ] = False,
    purge: Annotated[
        bool, typer.Option("--purge", help="Overwrite what erased text left in the files.")
    ] = False,
) -> None:
    """Check the memory, the model and the machine.

    Each way of searching has to find a canary. Exit code 1 if anything is wrong.
    """
    with session.memory() as memory:
        if rebuild:
            different = memory.rebuild()
            session.note(f"rebuilt; {'; '.join(different) or 'nothing was different'}")
        if purge and not memory.purge():
            session.warn(unpurged(memory))
        if reembed:
            with progress_bar("embedding") as progress:
                made = memory.reembed(progress)
            session.note(f"embedded {counted(made, 'record')}")
        checks = doctors.examine(memory, session.location)
    made_table = tables.table("check", "", "what was found", wide="what was found")
    for check in checks:
        found = styled(check.detail)
        if check.remedy:
            found.append(f"\n{check.remedy}", "bold")
        made_table.add_row(check.name, SIGNS[check.ok], found)
    session.show(checks, made_table)
    if any(check.ok is False for check in checks):
        raise typer.Exit(FAILED)


@command(commands, "bench", panel=PANEL, examples=("memoranda bench --records 2000",))
def bench(
    session: Session,
    *,
    records: Annotated[int, typer.Option(help="How many to store and search.", min=1)] = 500,
) -> None:
    """Measure adding, embedding and searching here.

    It works in a temporary store of the same kind, with the configured embedding model.
    """
    with progress_bar("embedding") as progress:
        measured = benchmark.measure(session.settings, records, progress, session.shared.db)
    made = tables.table("what", "figure", "unit", right=("figure",))
    for line in measured:
        figure = f"{line.figure:,.0f}" if line.figure >= 100 else f"{line.figure:,.2f}"  # noqa: PLR2004 - three digits are enough
        made.add_row(line.what, figure, Text(line.unit, "dim"))
    session.show(measured, made)
