"""The command ``tui``: the terminal user interface, a chat with screens over it."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec

import typer

from memoranda.cli.command import ChatName, Model, Session, System, command
from memoranda.errors import InvalidInput, MissingExtra

# Doors do not know each other: this one is opened by its name.
DOOR = "memoranda.tui.run"

commands = typer.Typer()


@command(commands, "tui")
def tui(
    session: Session, *, in_session: ChatName = "chat", system: System = None, model: Model = None
) -> None:
    """Talk with your memory on a whole screen, and see what it does and why.

    F1 lists keys and commands: what a model is sent (F2), settings (F3), conversations (F4),
    search (F5), facts (F6) and notes (F7).

    Examples:
        memoranda tui
        memoranda tui --session trip --model anthropic:claude-haiku-4-5
    """
    if find_spec("textual") is None:
        raise MissingExtra("the terminal user interface", "tui")
    # Textual draws on standard error, and leaves standard output to programs.
    if not (sys.stdin.isatty() and session.out.is_terminal and sys.stderr.isatty()):
        raise InvalidInput("this needs a terminal; in a pipe use memoranda chat")
    import_module(DOOR).run(
        user=session.user,
        session=in_session,
        given=session.given
        | {"agent.system": ("--system", system), "llm.model": ("--model", model)},
    )
