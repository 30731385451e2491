"""The command ``memoranda``: every verb of a memory, for people and for scripts.

Commands only translate: arguments into a call of :class:`memoranda.Memory`, and what it
returns into text or JSON. Results go to standard output, all else to standard error. The list of
commands stands in ``commands.toml``, so that help is printed without loading any of them.
"""

from __future__ import annotations

import os
import signal
import sys
import tomllib
from contextlib import suppress
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from typer import Option
from typer.core import TyperCommand

import memoranda
from memoranda.cli.command import FAILED, SIGNALLED, CommandGroup, show_warnings, tell_error
from memoranda.errors import MemorandaError
from memoranda.providers.embedding.process_memory import share_free_memory

__all__ = ["app", "main"]

# The exit code after Ctrl+C.
INTERRUPTED = SIGNALLED + signal.SIGINT


def read_commands() -> dict[str, tuple[str, TyperCommand]]:
    """Return the module of each command, and the command as it stands in the list."""
    listed = tomllib.loads(Path(__file__).with_name("commands.toml").read_text("utf-8"))
    return {
        name: (row["module"], TyperCommand(name, help=row["about"], rich_help_panel=panel))
        for panel, rows in listed.items()
        for name, row in rows.items()
    }


KNOWN = read_commands()


class LazyCommands(CommandGroup):
    """All commands; the module of one is imported when that command is wanted."""

    def __init__(self, **given: Any) -> None:
        """Know of each command what the list says."""
        super().__init__(**given)
        self.commands = {name: command for name, (_, command) in KNOWN.items()}

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the arguments name, ready to run."""
        name, found, rest = super().resolve_command(ctx, args)
        if name in KNOWN:
            module = import_module(f"{__name__}.{KNOWN[name][0]}")
            found = typer.main.get_group(module.commands).commands[name]
        return name, found, rest

    def main(self, *args: Any, **given: Any) -> NoReturn:
        """Run a command and exit with its code; an expected error is one line."""
        try:
            code = super().main(*args, **given | {"standalone_mode": False})
        except BrokenPipeError:
            raise
        except typer.Abort as stopped:
            code = INTERRUPTED if isinstance(stopped.__context__, KeyboardInterrupt) else FAILED
        except typer.TyperException as error:
            code = tell_wrong_usage(error)
        except MemorandaError as error:
            tell_error(str(error))
            code = FAILED
        except OSError as error:
            remedy = "choose another place, or check its permissions"
            told = f"{error.filename}: {error.strerror}; {remedy}"
            tell_error(told if error.filename else str(error))
            code = FAILED
        sys.exit(code)


def tell_wrong_usage(error: Any) -> int:
    """Write what is wrong with a command line, and where help is; return the exit code."""
    context = getattr(error, "ctx", None)
    path = "memoranda" if context is None else context.command_path
    if message := describe_wrong_usage(error):  # Without one, help was printed.
        tell_error(f"{message}{'' if message.endswith('?') else ';'} see {path} --help")
    # A program may take exit code 2 of a hook as the wish to stop what it does.
    return FAILED if "hook" in path.split() else error.exit_code


def describe_wrong_usage(error: Any) -> str:
    """Return what is wrong with a command line: the option, its value, and what was meant."""
    message = str(error.format_message()).strip().removesuffix(".")
    if hasattr(error.__cause__, "errors"):  # It is pydantic's, and knows the value.
        [wrong] = error.__cause__.errors()
        shown = f"{wrong['input']!r:.80}"
        what = wrong["msg"].removeprefix("Input ").removeprefix(f"Value error, {shown} ")
        return f"{error.param.opts[0]}={shown} {what.removesuffix('.')}"
    if near := getattr(error, "possibilities", None):
        return f"no such option: {error.option_name}; did you mean {' or '.join(near)}?"
    message = message.replace("Got unexpected extra argument(s)", "too many words")
    return f"{message[:1].lower()}{message[1:]}".replace(". Did", "; did")


app = typer.Typer(
    name="memoranda",
    cls=LazyCommands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(value: bool) -> None:  # noqa: FBT001 - Typer calls it so
    if value:
        typer.echo(f"memoranda {memoranda.__version__}")
        raise typer.Exit


@app.callback()
def _begin(
    *,
    version: Annotated[
        bool, Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """The memory that any LLM agent can be given: one package, one file, no API key.

    Every command takes --db PLACE, --user NAME and --json, before or after its name.

    Examples:
        memoranda demo
        memoranda remember "Ana is vegetarian" --user ana --db agent.db
        memoranda search "what does she eat?" --user ana --db agent.db
        memoranda export - --user ana --db agent.db > ana.jsonl
        memoranda COMMAND --help
    """
    del version  # Its callback has done all there is to do.
    show_warnings()


def main() -> None:
    """Run the command line and exit with its code."""
    share_free_memory()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # A terminal that cannot show a character gets a stand-in, not an error.
            stream.reconfigure(errors="replace")
    if isinstance(sys.stdin, TextIOWrapper) and not sys.stdin.isatty():
        # A pipe and a file are UTF-8, whatever the code page; what is not is told by read_input.
        sys.stdin.reconfigure(encoding="utf-8-sig", errors="surrogateescape")
    try:
        with suppress(BrokenPipeError):
            app(prog_name="memoranda")
    except SystemExit as ended:
        if ended.code == INTERRUPTED:
            leave()
        raise


def leave() -> NoReturn:
    """End the process at once, after Ctrl+C: what its threads are at is left as it is.

    Python would wait for them, or kill them in code in C++, which aborts the process.
    """
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(INTERRUPTED)
