"""The command ``memoranda``: every verb of a memory, for people and for scripts.

Commands only translate: arguments into a call of :class:`memoranda.Memory`, and what it
returns into text or JSON. Results go to standard output, all else to standard error. The list of
commands stands here, so that help is printed without loading any of them.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib import import_module
from io import TextIOWrapper
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from memoranda.cli.command import AsJson, Database, SharedOptions, User, show_warnings
from memoranda.model.installed import installed_version

__all__ = ["app", "main"]

# Panels of the help, and in each the commands: name, module, and what it does in a line.
COMMANDS = """
Commands
    demo           demo           Show what it does, on a conversation that ships with it.
    chat           chat           Talk with your memory, by a language model or from memory alone.
Remember
    remember       records        Store a fact, or something that was said.
    correct        records        Replace what a record says; the old one is kept.
    confirm        records        Believe a record fully, for ever.
    forget         records        Stop believing a record, or erase every trace of it.
Find
    search         records        Find what answers a question: when, who, what and why.
    recall         records        Print the memories for a prompt, as an agent gets them.
    context        records        Print all that a model would be sent for a prompt.
Look
    show           records        Show everything about one record.
    list           records        List records in the order they were recorded.
    history        records        Show what was done to a record, when and why.
    entity         facts          Show a person, place or thing and what is said of it.
    stats          upkeep         Show how much is remembered, what waits, and which models are in use.
    facts          facts          List facts with how far they are believed; show where one comes from.
    entities       facts          List what records speak of; make two of them one, or one two.
    conversations  conversations  List conversations, show what is in view of one and why, and change that.
    notes          notes          Read and edit MEMORY.md, look through the history, go back to what was.
Look after
    consolidate    maintain       Turn what was said in sessions into facts, and show what was learned.
    maintain       maintain       Run the upkeep of a memory: show what it would do, ask, and do it.
    audit          upkeep         Look for junk: duplicates, contradictions, loops, secrets and more.
    doctor         upkeep         Check the memory, the model and the machine.
    config         config         Show, explain and change the settings.
Move
    import         transfer       Read a file of memoranda, or transcripts, exports and memories of other programs.
    export         transfer       Write the user's whole memory, or one conversation, to a JSON Lines file.
    backup         transfer       Copy the whole store, while others go on using it.
    hook           transfer       Save sessions of other programs when they tell of them.
Serve
    mcp            mcp            Serve the memory over the Model Context Protocol.
"""  # noqa: E501 - a line for each


def read_commands() -> dict[str, tuple[str, TyperCommand]]:
    """Return the module of each command, and the command as it stands in the list."""
    found: dict[str, tuple[str, TyperCommand]] = {}
    panel: str | None = None
    for line in COMMANDS.strip().splitlines():
        if line.startswith(" "):
            name, module, summary = line.split(maxsplit=2)
            found[name] = module, TyperCommand(name, help=summary, rich_help_panel=panel)
        else:
            panel = line
    return found


KNOWN = read_commands()


class LazyCommands(TyperGroup):
    """All commands; the module of one is imported when that command is wanted."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands, as ``--help`` lists them."""
        del ctx
        return list(KNOWN)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return what the list says of a command."""
        del ctx
        return KNOWN[cmd_name][1] if cmd_name in KNOWN else None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the arguments name, ready to run."""
        name, found, rest = super().resolve_command(ctx, args)
        if name in KNOWN:
            module = import_module(f"{__name__}.{KNOWN[name][0]}")
            whole: Any = typer.main.get_group(module.commands)
            found = whole.commands[name]
        return name, found, rest


app = typer.Typer(
    name="memoranda",
    cls=LazyCommands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start with: memoranda demo",
)


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
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print it.")
    ] = False,
) -> None:
    """The memory that any LLM agent can be given: one package, one file, no API key."""
    del version  # Its callback has done all there is to do.
    show_warnings()
    context.obj = SharedOptions(db, user, as_json)


def main() -> None:
    """Run the command line and exit with its code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # A terminal that cannot show a character gets a stand-in, not an error.
            stream.reconfigure(errors="replace")
    with suppress(BrokenPipeError):
        app(prog_name="memoranda")
