"""Starting the server, as ``memoranda mcp`` does: over HTTP, or standard input and output."""

from __future__ import annotations

import logging
import os
import signal
import sys
from typing import Any, NoReturn

import anyio
import anyio.to_thread
from mcp.server.mcpserver import MCPServer

from memoranda.mcp.http import known_tokens, serve
from memoranda.mcp.server import build
from memoranda.serving.addresses import ListenAddress, require_tokens
from memoranda.serving.late import LateMemory
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
        ConfigError: nothing can listen at the address, or nobody may without tokens.
    """
    _log_to_stderr()
    memory = LateMemory(location, user=user or settings.user, settings=settings)
    if http is None:
        anyio.run(_run_stdio, build(memory, tools=tools), memory)
        _exit()
    address, verifier = ListenAddress.parse(http), known_tokens(memory)
    require_tokens(address, known=verifier is not None)
    serve(build(memory, tools=tools, verifier=verifier), address, settings)


def _log_to_stderr() -> None:
    """Let all that is logged go to standard error: the output belongs to the protocol."""
    # The command line's own handler shows one line; the log of a server has tracebacks, too.
    logging.getLogger("memoranda").handlers.clear()
    logging.basicConfig(stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    # Who runs a server wants to know what was removed, and when.
    logging.getLogger("memoranda.maintenance").setLevel(logging.INFO)


async def _run_stdio(server: MCPServer[Any], memory: LateMemory) -> None:
    """Serve until the input ends or the process is told to stop."""
    async with anyio.create_task_group() as tasks:
        if sys.platform != "win32":  # There the loop knows no signals.
            tasks.start_soon(_stop_on_signal, memory)
        await server.run_stdio_async()
        tasks.cancel_scope.cancel()


async def _stop_on_signal(memory: LateMemory) -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for _ in signals:
            await anyio.to_thread.run_sync(memory.close)
            _exit()


def _exit() -> NoReturn:
    """End the process; all is saved.

    One thread may wait for a line of the input, and nothing can wake it; another may import what
    nobody will ask for.
    """
    logging.shutdown()
    sys.stderr.flush()
    os._exit(0)
