"""What a call of the MCP server costs over HTTP, beside the bare SDK in the same run."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
from mcp import Client

from benchmarks.measure import AGAINST, Step, against, interleaved, show

BARE = """
import socket, sys
import anyio, uvicorn
from mcp.server.mcpserver import MCPServer
server = MCPServer("bare")

@server.tool()
def search_memories(query: str) -> list[dict[str, str]]:
    return [{"content": query}] * 5

with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listening:
    listening.bind(("127.0.0.1", 0))
    config = uvicorn.Config(
        server.streamable_http_app(), http="h11", log_config=None, access_log=False
    )
    port = listening.getsockname()[1]
    print(f"listening at http://127.0.0.1:{port}/mcp", file=sys.stderr, flush=True)
    anyio.run(uvicorn.Server(config).serve, [listening])
"""
SETTINGS = {
    "MEMORANDA_EMBEDDING__MODEL": "none",
    "MEMORANDA_CONFIG": os.devnull,
    "MEMORANDA_SCHEDULE__IN_BACKGROUND": "false",
}
FACTS = [f"The harbour number {number} has {number % 7} lamps" for number in range(200)]
FLOOR = "a tool of the bare SDK that returns five objects"


@contextmanager
def listening(command: list[str]) -> Iterator[str]:
    """Run a server and give its URL, which it says on standard error."""
    server = subprocess.Popen(  # noqa: S603 - this Python, with arguments of this file alone
        command, stderr=subprocess.PIPE, text=True, env=os.environ | SETTINGS
    )
    try:
        assert server.stderr is not None
        for line in server.stderr:
            if line.startswith("listening at "):
                yield line.split()[-1]
                return
        message = f"{command} did not start"
        raise RuntimeError(message)
    finally:
        server.terminate()
        server.wait()


def run(*, quick: bool) -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "memory.db"))
        ours = [sys.executable, "-m", "memoranda", "--db", path, "mcp", "--http", "127.0.0.1:0"]
        with listening(ours) as url, listening([sys.executable, "-c", BARE]) as bare:
            anyio.run(_measure, url, bare, 50 if quick else 300)


async def _measure(url: str, bare: str, rounds: int) -> None:
    async with Client(url) as ours, Client(bare) as floor:
        for fact in FACTS:
            await ours.call_tool("store_memory", {"content": fact, "memory_type": "fact"})

        def call(client: Client, tool: str, **arguments: str) -> Step:
            return lambda _: anyio.from_thread.run(client.call_tool, tool, arguments)

        steps = {
            FLOOR: call(floor, "search_memories", query="which harbour"),
            "search_memories, 200 facts": call(ours, "search_memories", query="which harbour"),
            "memory_stats": call(ours, "memory_stats"),
        }
        times = await anyio.to_thread.run_sync(lambda: interleaved(steps, rounds, warm=10))
    show("One MCP call over HTTP on loopback", AGAINST, against(times[FLOOR], times))
