"""The command ``memoranda``: every verb of a memory, for people and for scripts.

Commands only translate: arguments into a call of :class:`memoranda.Memory`, and what it
returns into text or JSON. Results go to standard output, all else to standard error.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib import import_module
from io import TextIOWrapper
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from memoranda.cli import mcp
from memoranda.cli.command import AsJson, Database, Shared, User, show_warnings
from memoranda.model.installed import installed_version

__all__ = ["app", "main"]

OTHERS = (
    "demo",
    "chat",
    "writing",
    "finding",
    "stats",
    "maintain",
    "audit",
    "upkeep",
    "moving",
    "hook",
    "config",
    "facts",
    "entities",
    "conversations",
    "notes",
)
"""The modules whose commands open a memory at once."""


class Commands(TyperGroup):
    """All commands; those that open a memory are imported only when one of them is wanted."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands, as ``--help`` lists them."""
        self._fill()
        return super().list_commands(ctx)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command of that name, if there is one."""
        if cmd_name not in self.commands:
            self._fill()
        return super().get_command(ctx, cmd_name)

    def _fill(self) -> None:
        others = typer.Typer()
        for name in OTHERS:
            others.add_typer(import_module(f"{__name__}.{name}").commands)
        whole: Any = typer.main.get_group(others)
        self.commands = whole.commands | self.commands


app = typer.Typer(
    name="memoranda",
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start with: memoranda demo",
)
app.add_typer(mcp.commands)


def _print_version(value: bool) -> None:  # noqa: FBT001 - Typer calls it so
    if value:
        typer.echo(f"memoranda {installed_version()}")
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
        app(prog_name="memoranda")
