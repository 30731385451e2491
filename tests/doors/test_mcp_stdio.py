"""The MCP server as a process that speaks over standard input and output."""

import json
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest
from mcp import Client
from mcp_clients import MODES, PATIENCE, process, stdio, value

from memoranda import Memory, Settings

HELLO = {
    "jsonrpc": "2.0",
    "id": "hello",
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def send(server, *messages):
    """Write messages, each on a line; bytes as they are."""
    for each in messages:
        line = each if isinstance(each, bytes) else json.dumps(each).encode()
        server.stdin.write(line + b"\n")
    server.stdin.flush()


def answer(server, id):
    """Return the answer to a request; all else on the way must be of the protocol, too."""
    while True:
        message = json.loads(server.stdout.readline())
        assert message["jsonrpc"] == "2.0"
        if message.get("id") == id:
            return message


def call(id, tool, **arguments):
    """Return the request that calls a tool."""
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}


def stored(folder):
    """Return what the memory of the tests holds, without what its upkeep made of it."""
    with Memory(folder / "agent.db", settings=Settings(embedding={"model": "none"})) as memory:
        found = memory.records(limit=1_000)
        return {record.content for record in found if record.kind != "reflection"}


@dataclass
class Told:
    """What one of several clients of one file saw."""

    mode: str
    version: str
    tools: int
    found: set[str]


@pytest.fixture(scope="module")
def four(tmp_path_factory):
    """Four servers on one file, each with a client that stores ten memories: what they told."""
    folder = tmp_path_factory.mktemp("four")
    told = {}

    async def store(name):
        mode = list(MODES)[name % len(MODES)]
        async with Client(stdio(folder, "--tools", "basic"), mode=mode) as client:
            async with anyio.create_task_group() as calls:
                for each in range(10):
                    content = {"content": f"server {name}, memory {each}"}
                    calls.start_soon(client.call_tool, "store_memory", content)
            tools = (await client.list_tools()).tools
            found = await value(client, "search_memories", query=f"server {name}", limit=50)
            seen = {each["content"] for each in found["result"]}
            told[name] = Told(mode, client.protocol_version, len(tools), seen)

    async def main():
        async with anyio.create_task_group() as servers:
            for name in range(4):
                servers.start_soon(store, name)

    with pytest.MonkeyPatch.context() as patch:
        # Four that start at once may take longer than one.
        patch.setattr("mcp.client.session.DISCOVER_TIMEOUT_SECONDS", PATIENCE, raising=False)
        anyio.run(main)
    return told, stored(folder)


@pytest.mark.parametrize("mode", MODES)
def test_a_client_of_the_sdk_is_served(mode, four):
    """Both revisions of the protocol work over standard input and output."""
    told, _ = four
    for name, client in told.items():
        if client.mode == mode:
            assert client.version == MODES[mode]
            assert client.tools == 3
            assert client.found >= {f"server {name}, memory {each}" for each in range(10)}


def test_four_servers_on_one_file_lose_nothing(four):
    """What several servers store in one file at the same time is all there afterwards."""
    _, kept = four
    assert kept == {f"server {a}, memory {b}" for a in range(4) for b in range(10)}


def test_nothing_breaks_the_session(tmp_path):
    """What is no message of the protocol is passed over; the output holds nothing else."""
    garbage = [
        b"",
        b"{",
        b"null",
        b"[]",
        b'"hello"',
        b"\xff\xfe\x00",
        b"[" * 5_000,
        b'{"jsonrpc": "2.0", "id": 1, "method": 5}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call"}',
        b'{"jsonrpc": "2.0", "id": 9, "result": {}}',
        b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}',
        json.dumps(call(3, "search_memories", query="\ud800")).encode(),
    ]
    with process(tmp_path) as server:
        send(server, *garbage, HELLO)
        assert answer(server, "hello")["result"]["serverInfo"]["name"] == "memoranda"
        send(server, READY, *garbage, call("kept", "store_memory", content="Ana is vegetarian"))
        assert not answer(server, "kept")["result"]["isError"]
        server.stdin.close()
        assert server.stdout.read() == b""
        assert server.wait(PATIENCE) == 0
        assert b"Traceback" not in server.stderr.read()
    assert stored(tmp_path) == {"Ana is vegetarian"}


@dataclass
class Ended:
    """What became of a server that was told to stop while its input was open."""

    opened: list[Path]
    code: int
    said: bytes
    kept: set[str]
    left: list[Path]


def stopped(server, folder, how):
    """Say hello to a server, store something and tell it to stop; return what became of it."""
    send(server, HELLO)
    answer(server, "hello")
    opened = list(folder.iterdir())
    send(server, READY, call(1, "store_memory", content="Ana is vegetarian"))
    answer(server, 1)
    server.send_signal(how)
    code, said = server.wait(PATIENCE), server.stderr.read()
    return Ended(opened, code, said, stored(folder), list(folder.glob("agent.db-wal")))


SIGNALS = (signal.SIGINT, signal.SIGTERM)


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    """What became of two servers, each of which was told to stop by a signal of its own."""
    folders = {how: tmp_path_factory.mktemp(how.name) for how in SIGNALS}
    with ExitStack() as stack, ThreadPoolExecutor() as pool:
        servers = {how: stack.enter_context(process(folders[how])) for how in SIGNALS}
        running = {how: pool.submit(stopped, servers[how], folders[how], how) for how in SIGNALS}
        return {how: each.result() for how, each in running.items()}


@pytest.mark.parametrize("how", SIGNALS)
def test_a_signal_ends_it_cleanly(how, ended):
    """Told to stop, it closes the memory and exits with 0, though its input is still open."""
    assert ended[how].code == 0
    assert ended[how].said == b""
    assert ended[how].kept == {"Ana is vegetarian"}
    assert ended[how].left == []


def test_it_answers_before_a_store_is_opened(ended):
    """Up to its first answer it opens no store: a client does not wait for one."""
    assert [each.opened for each in ended.values()] == [[], []]


def test_it_starts_without_what_a_memory_needs():
    """Neither the command line nor the server imports stores, models or the other commands."""
    doors = "memoranda.cli, memoranda.mcp.run"
    program = f"import sys, {doors}; print('\\n'.join(sys.modules))"
    run = subprocess.run(  # noqa: S603 - this interpreter, on a program of the test
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    loaded = set(run.stdout.split())
    assert "memoranda.serving.late" in loaded
    assert not loaded & {"memoranda.memory", "memoranda.cli.chat", "numpy", "apsw"}


@pytest.fixture
def no_settings(monkeypatch, tmp_path):
    """An environment in which only what a test sets is set."""
    monkeypatch.setenv("MEMORANDA_CONFIG", str(tmp_path / "no-config.toml"))
    return monkeypatch


@pytest.mark.parametrize(
    ("arguments", "changes", "told"),
    [
        (["--http", "nowhere"], {}, "--http='nowhere' is no address; write HOST:PORT"),
        (["--http", "0.0.0.0:0"], {}, "no tokens are set; set mcp.tokens"),
        (["--http", "127.0.0.1:0"], {"MEMORANDA_MCP__TOKENS": "secret=ana"}, "entry 1 is no"),
        ([], {"MEMORANDA_MCP__TOOLS": "all"}, "mcp.tools='all' should be 'full' or 'basic'"),
    ],
)
def test_what_cannot_be_served_is_said(arguments, changes, told, run, no_settings):
    """A wrong address, an open door or a wrong setting ends it with one line; no token is shown."""
    for name, text in changes.items():
        no_settings.setenv(name, text)
    done = run("mcp", *arguments, code=1)
    assert done.stdout == ""
    assert told in done.stderr
    assert "secret" not in done.stderr
    assert done.stderr.count("\n") == 1


def test_without_the_extra_it_says_how_to_get_it(run, no_settings):
    """Where the SDK is not installed, the command names what to install."""
    no_settings.setattr("memoranda.cli.mcp.find_spec", lambda _: None)
    assert "pip install 'memoranda[mcp]'" in run("mcp", code=1).stderr
