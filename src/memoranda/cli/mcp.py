"""The command ``mcp``: starts the server by which other programs' agents use a memory."""

from __future__ import annotations

import gc
from importlib import import_module
from importlib.util import find_spec
from typing import Annotated, Literal

import typer
from typer import Option

from memoranda.cli.command import Session, command
from memoranda.errors import MissingExtra

# Doors do not know each other: this one is opened by its name.
DOOR = "memoranda.mcp.run"

commands = typer.Typer()


@command(commands, "mcp")
def mcp(
    session: Session,
    *,
    http: Annotated[
        str | None,
        Option(metavar="HOST:PORT", help="Serve at http://HOST:PORT/mcp; port 0 takes a free one."),
    ] = None,
    tools: Annotated[
        Literal["full", "basic"] | None,
        Option(help="basic: search, store and forget alone; otherwise the setting mcp.tools."),
    ] = None,
) -> None:
    """Serve the memory over the Model Context Protocol, to Claude, Cursor, VS Code and others.

    Speaks over standard input and output until the input ends, or over HTTP.

    Examples:
        memoranda mcp --db ~/agent.db --user ana
        memoranda mcp --tools basic
        memoranda mcp --http 127.0.0.1:8000
    """
    if find_spec("mcp") is None:
        raise MissingExtra("the MCP server", "mcp")
    # What the import makes stays: to look for garbage among it takes a tenth of a second.
    gc.disable()
    door = import_module(DOOR)
    gc.freeze()
    gc.enable()
    location = session.shared.db
    door.run(session.usable_settings, location=location, user=session.user, tools=tools, http=http)
