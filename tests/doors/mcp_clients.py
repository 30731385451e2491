"""What the tests of the MCP server share: servers in this process or of their own, and clients."""

import signal
import socket
import ssl
import subprocess
import sys
from contextlib import asynccontextmanager, contextmanager, suppress

import anyio
import httpx2
from bare_environment import bare_environment
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from memoranda.mcp.server import build
from memoranda.serving.late import LateMemory
from memoranda.settings.settings import Settings

MODES = {"legacy": "2025-11-25", "auto": "2026-07-28"}
"""How a client connects: by the handshake, or as the present revision has it; and what it gets."""
PATIENCE = 60
# No certificates are read for servers of this machine.
PLAIN = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
SERVER = [sys.executable, "-m", "memoranda", "mcp"]
HALF = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthor"
ANA, BEN = "token-of-ana-0123456789", "token-of-ben-0123456789"
TOKENS = {"MEMORANDA_MCP__TOKENS": f"{ANA}=ana, {BEN}=ben"}
HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": MODES["legacy"],
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
BASIC = {
    "search_memories": {"query", "memory_type", "limit", "tags", "metadata", "since", "until"},
    "store_memory": {"content", "memory_type", "metadata", "tags", "valid_until"},
    "forget_memory": {"memory_id"},
}
FULL = {
    **BASIC,
    "recall_context": {"query", "budget"},
    "correct_fact": {"memory_id", "content"},
    "confirm_fact": {"memory_id"},
    "memory_stats": set(),
    "get_entity_info": {"name"},
    "search_history": {"query", "limit"},
    "expand_messages": {"marker", "session"},
}


def served(location=":memory:", *, user="ana", memory=LateMemory):
    """Return a memory as the server has it, without jobs that add insights when they please."""
    settings = Settings(
        embedding={"model": "none", "background": False}, schedule={"in_background": False}
    )
    return memory(str(location), user=user, settings=settings)


class Broken(LateMemory):
    """A memory that fails as no memory should."""

    def of(self, user=None):
        """Fail."""
        message = f"inside {user}"
        raise ZeroDivisionError(message)


def asked(work, *, mode="auto", memory=None, tools="full", **named):
    """Return what ``work`` returns for a client that is connected to a server in this process."""

    async def main():
        async with Client(build(memory or served(), tools=tools), mode=mode, **named) as client:
            return await work(client)

    return anyio.run(main)


def environment(folder, **changes):
    """Return an environment without settings of this machine, without a model and jobs."""
    quiet = {"MEMORANDA_SCHEDULE__IN_BACKGROUND": "false"}
    return bare_environment(folder, **quiet | changes)


def stdio(folder, *arguments):
    """Return what starts a server of its own for a client of the SDK."""
    words = [*SERVER[1:], *arguments]
    return StdioServerParameters(command=SERVER[0], args=words, env=environment(folder))


@contextmanager
def process(folder, *arguments, **changes):
    """Run the server as a process; stop it at the end, if it has not ended by itself."""
    started = subprocess.Popen(  # noqa: S603 - this interpreter, on arguments of the test
        [*SERVER, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(folder, **changes),
    )
    with started:
        try:
            yield started
        finally:
            if started.poll() is None:
                started.send_signal(signal.SIGTERM)
            started.wait(PATIENCE)


def address(started):
    """Return the URL that a server says it listens at."""
    line = started.stderr.readline().decode()
    assert line.startswith("listening at http://"), line
    return line.split()[-1]


def post(url, body=HELLO, token=ANA, patience=PATIENCE, **headers):
    """Send one request as any program would."""
    wanted = {} if token is None else {"Authorization": f"Bearer {token}"}
    sent = {name.replace("_", "-"): text for name, text in headers.items()}
    content = {"content": body} if isinstance(body, bytes) else {"json": body}
    headers = HEADERS | wanted | sent
    return httpx2.post(url, headers=headers, timeout=patience, verify=PLAIN, **content)


def connect(url, sent):
    """Return a connection to a server over which something was sent."""
    place = httpx2.URL(url)
    made = socket.create_connection((place.host, place.port), PATIENCE)
    made.sendall(sent)
    return made


def read_all(connection):
    """Return all that the server sends until it ends a connection."""
    told = b""
    with suppress(ConnectionResetError):
        while part := connection.recv(65_536):
            told += part
    return told


@asynccontextmanager
async def over_http(url, token=None, mode="auto", **named):
    """Connect a client to a server at ``url``, with its token."""
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=PATIENCE, verify=PLAIN) as web,
        Client(streamable_http_client(url, http_client=web), mode=mode, **named) as client,
    ):
        yield client


async def value(client, tool, **arguments):
    """Call a tool that must succeed; return its structured content."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return result.structured_content


async def refusal(client, tool, **arguments):
    """Call a tool that must fail; return what it says."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error, result.content
    return result.content[0].text
