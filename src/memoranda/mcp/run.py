"""Starting the server, as ``memoranda mcp`` does."""

from __future__ import annotations

import logging
import sys

from memoranda.mcp import http as web
from memoranda.mcp import stdio
from memoranda.mcp.server import build
from memoranda.mcp.tokens import Tokens
from memoranda.serving.late import LateMemory
from memoranda.settings.sections import users_by_token
from memoranda.settings.settings import Settings


def run(
    settings: Settings,
    *,
    location: str | None = None,
    user: str | None = None,
    tools: str | None = None,
    http: str | None = None,
) -> None:
    """Serve a memory until the client goes or the process is told to stop.

    Args:
        settings: all that can be set.
        location: of the memory; otherwise that of the settings.
        user: whose memory it is for those who bring no token; otherwise that of the settings.
        tools: ``full`` or ``basic``; otherwise that of the settings.
        http: ``HOST:PORT`` to listen at; standard input and output, if not given.

    Raises:
        InvalidInput: ``http`` is no address.
        ConfigError: the address cannot be listened at, or must not be without tokens.
    """
    _log_to_stderr()
    memory = LateMemory(location, user=user or settings.user, settings=settings)
    chosen = tools or settings.mcp.tools
    if http is not None:
        address = web.Address.parse(http)
        tokens = settings.mcp.tokens
        verifier = None if tokens is None else Tokens(users_by_token(tokens))
        web.serve(build(memory, tools=chosen, verifier=verifier), address, settings.mcp)
    else:
        stdio.serve(build(memory, tools=chosen), memory)


def _log_to_stderr() -> None:
    """Let all that is logged go to standard error: the output belongs to the protocol."""
    # The command line's own handler shows one line; the log of a server has tracebacks, too.
    logging.getLogger("memoranda").handlers.clear()
    form = "%(asctime)s %(levelname)s %(name)s: %(message)s"
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format=form)
