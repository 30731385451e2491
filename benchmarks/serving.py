"""What a call of the MCP server costs over HTTP, beside the bare SDK in the same run.

And how long others wait for their answers while clients without a token send half a header.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

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
    "MEMORANDA_HTTP__REQUESTS_PER_MINUTE": "1000000",
}
SLOW = 300
HALF = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthor"
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
    rounds = 50 if quick else 300
    with (
        tempfile.TemporaryDirectory() as folder,
        listening(our_server(Path(folder))) as url,
        listening([sys.executable, "-c", BARE]) as bare,
    ):
        anyio.run(_measure, url, bare, rounds)
        alone, beside = answer_times(url, rounds), answer_times(url, rounds, slow=SLOW)
    print(f"\nAnswers on new connections, ms ({rounds} each): median, 99 of 100, slowest")
    for name, found in ((f"beside {SLOW} slow clients", beside), ("alone", alone)):
        print(f"  {name:24} {median(found):7.1f} {found[rounds * 99 // 100]:7.1f} {found[-1]:7.1f}")


def our_server(folder: Path) -> list[str]:
    """Return the command of an MCP server whose memory is in a folder."""
    path = str(folder / "memory.db")
    return [sys.executable, "-m", "memoranda", "--db", path, "mcp", "--http", "127.0.0.1:0"]


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


def answer_times(url: str, rounds: int, slow: int = 0) -> list[float]:
    """Return how many milliseconds answers take, the shortest first.

    Args:
        url: of the server.
        rounds: how often it is asked, each time on a new connection, as by a new client.
        slow: beside so many clients that send half a header and then wait.
    """
    place, found = urlsplit(url), []
    address = str(place.hostname), place.port or 80
    with ExitStack() as opened:
        for _ in range(slow):
            opened.enter_context(socket.create_connection(address, 60)).sendall(HALF)
        for _ in range(rounds):
            start = time.perf_counter()
            with closing(HTTPConnection(*address, timeout=60)) as client:
                client.request("GET", "/nowhere")
                client.getresponse().read()
            found.append((time.perf_counter() - start) * 1_000)
    return sorted(found)
