"""Commands that look after a memory and its settings: doctor, bench, config."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.text import Text

from recollect.app import doctor as doctors
from recollect.app import models as model_files
from recollect.app.settings import config_path
from recollect.interfaces.cli import bench as benchmark
from recollect.interfaces.cli import tables
from recollect.interfaces.cli.command import FAILED, Session, command, group
from recollect.interfaces.cli.output import counted, progress_bar, styled

PANEL = "Look after"
SIGNS = {True: Text("ok", "green"), False: Text("FAIL", "bold red"), None: Text("note", "yellow")}

commands = typer.Typer()
config = typer.Typer(help="Print every setting, its value and its source.")
models = typer.Typer(help="The files of the local embedding model.", no_args_is_help=True)


@command(
    commands,
    "doctor",
    panel=PANEL,
    examples=("recollect doctor", "recollect doctor --reembed", "recollect doctor --json"),
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
        bool, typer.Option("--purge", help="Overwrite what erased text left in the file.")
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
            session.warn("others are reading the file; purge again when they are done")
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


@command(commands, "bench", panel=PANEL, examples=("recollect bench --records 2000",))
def bench(
    session: Session,
    *,
    records: Annotated[int, typer.Option(help="How many to store and search.", min=1)] = 500,
) -> None:
    """Measure adding, embedding and searching here.

    It works in a temporary file, with the configured embedding model.
    """
    with progress_bar("embedding") as progress:
        measured = benchmark.measure(session.settings, records, progress)
    made = tables.table("what", "figure", "unit", right=("figure",))
    for line in measured:
        figure = f"{line.figure:,.0f}" if line.figure >= 100 else f"{line.figure:,.2f}"  # noqa: PLR2004 - three digits are enough
        made.add_row(line.what, figure, Text(line.unit, "dim"))
    session.show(measured, made)


def every_setting(session: Session) -> None:
    """Print every setting."""
    found = doctors.listed(session.settings)
    made = tables.table("setting", "value", "from")
    for setting in found:
        value = "" if setting.value is None else str(setting.value)
        style = "dim" if setting.source == "default" else "bold"
        made.add_row(setting.name, styled(value, style), styled(setting.source, "dim"))
    session.show(found, made)


group(config, bare=every_setting)
group(models)


@command(config, "path", examples=("recollect config path",))
def path(session: Session) -> None:
    """Print the path of the settings file, which need not exist."""
    found = config_path()
    if session.shared.as_json:
        session.show({"path": found, "exists": found.exists()})
    else:
        session.out.print(styled(str(found)), soft_wrap=True)


@command(
    models,
    "pull",
    examples=("recollect config models pull", "recollect config models pull --from URL"),
)
def pull(
    session: Session,
    *,
    base_url: Annotated[
        str | None, typer.Option("--from", metavar="URL", help="Another server that has them.")
    ] = None,
) -> None:
    """Download the local embedding model (90 MB), and check that it is genuine."""
    with progress_bar("downloading") as progress:
        folder = model_files.pull(session.settings, base_url=base_url, progress=progress)
    session.show({"folder": folder}, styled(f"the model is in {folder}"))


config.add_typer(models, name="models")
commands.add_typer(config, name="config", rich_help_panel=PANEL)
