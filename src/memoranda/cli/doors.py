"""The commands ``mcp``, ``serve`` and ``tui``, which open another door to the memory."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Annotated, Literal

import typer
from typer import Option

from memoranda.cli.command import ChatName, Model, Session, command
from memoranda.errors import InvalidInput, MissingExtra
from memoranda.serving.addresses import ListenAddress

# Doors do not know each other: these are opened by their names.
MCP, HTTP, TUI = "memoranda.mcp.run", "memoranda.http.app", "memoranda.tui.app"

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
    import_module(MCP).run(
        session.usable_settings, location=session.db, user=session.user, tools=tools, http=http
    )


@command(commands, "serve")
def serve(
    session: Session,
    *,
    http: Annotated[
        str, Option(metavar="HOST:PORT", help="Where to listen; port 0 takes a free one.")
    ] = "127.0.0.1:8000",
) -> None:
    """Serve the memory over HTTP to any language, any machine and any browser.

    The API is at /v1 and, where the extra mcp is installed, MCP at /mcp. Whoever asks needs a
    token: memoranda token create makes one.

    Examples:
        memoranda serve --db ~/agent.db
        memoranda serve --http 127.0.0.1:9000
    """
    if find_spec("fastapi") is None or find_spec("uvicorn") is None:
        raise MissingExtra("the HTTP server", "http")
    from memoranda.memory import Memory  # noqa: PLC0415 - only who opens one waits for it

    address = ListenAddress.parse(http)
    memory = Memory(session.db, user=session.user, settings=session.usable_settings)
    with session.with_resource(memory):
        memory.run_upkeep()
        mcp = import_module(MCP).mounted_app(memory) if find_spec("mcp") else None
        import_module(HTTP).run(memory, address, mcp)


@command(commands, "tui")
def tui(session: Session, *, in_session: ChatName = "chat", model: Model = None) -> None:
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
    import_module(TUI).run(
        user=session.user,
        session=in_session,
        given=session.given | {"llm.model": ("--model", model)},
    )
