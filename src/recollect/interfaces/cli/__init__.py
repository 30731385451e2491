"""The command ``recollect``: every verb of a memory, for people and for scripts.

Commands only translate: arguments into a call of :class:`recollect.Memory`, and what it
returns into text or JSON. Results go to standard output, all else to standard error.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from io import TextIOWrapper
from typing import Annotated

import typer

from recollect.app.doctor import installed_version
from recollect.interfaces.cli import (
    audit,
    chat,
    config,
    conversations,
    demo,
    entities,
    facts,
    finding,
    maintain,
    moving,
    notes,
    stats,
    upkeep,
    writing,
)
from recollect.interfaces.cli.command import AsJson, Database, Shared, User, show_warnings

__all__ = ["app", "main"]

app = typer.Typer(
    name="recollect",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start with: recollect demo",
)
PARTS = (
    demo,
    chat,
    writing,
    finding,
    stats,
    maintain,
    audit,
    upkeep,
    moving,
    config,
    facts,
    entities,
    conversations,
    notes,
)
for part in PARTS:
    app.add_typer(part.commands)


def _print_version(value: bool) -> None:  # noqa: FBT001 - Typer calls it so
    if value:
        typer.echo(f"recollect {installed_version()}")
        raise typer.Exit


@app.callback()
def _keep(
    context: typer.Context,
    *,
    db: Database = None,
    user: User = None,
    as_json: AsJson = False,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print it."),
    ] = False,
) -> None:
    """The memory that any LLM agent can be given: one package, one file, no API key."""
    del version  # Its callback has done all there is to do.
    show_warnings()
    context.obj = Shared(db, user, as_json)


def main() -> None:
    """Run the command line and exit with its code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # A terminal that cannot show a character gets a stand-in, not an error.
            stream.reconfigure(errors="replace")
    with suppress(BrokenPipeError):
        app(prog_name="recollect")
