"""Serving one client over standard input and output."""

from __future__ import annotations

import logging
import os
import signal
import sys
from typing import Any, NoReturn

import anyio
import anyio.to_thread
from mcp.server.mcpserver import MCPServer

from memoranda.serving.late import LateMemory


def serve(server: MCPServer[Any], memory: LateMemory) -> NoReturn:
    """Serve until the input ends or the process is told to stop; close ``memory``, and exit."""
    anyio.run(_serve, server, memory)
    _exit()


async def _serve(server: MCPServer[Any], memory: LateMemory) -> None:
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
