"""The MCP server as a process that speaks over standard input and output, whatever it is sent."""

import json
import os
import re
import shlex
import signal
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import pytest
from anyio.from_thread import start_blocking_portal
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client, MCPError, StdioServerParameters
from mcp_clients import FULL, HELLO, MODES, PATIENCE, environment, process, served, stdio, value
from mcp_types import PARSE_ERROR

from memoranda import Memory
from memoranda.mcp.server import build

PAGE = (Path(__file__).parents[2] / "docs" / "mcp.md").read_text("utf-8")
BLOCKS = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)]
ENTRIES = [block[root]["memoranda"] for block in BLOCKS for root in block if root != "inputs"]
LOCAL = [(each["command"], *each["args"]) for each in ENTRIES if "command" in each]
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}
PING = {"jsonrpc": "2.0", "id": "still there?", "method": "ping"}

# Whatever a client may send

TEXTS = st.text(max_size=40) | st.sampled_from(["fact", "fact_1", "\0", "\ud800", "5", "[]", "é"])
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | TEXTS
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
KNOWN = dict.fromkeys(("query", "content", "memory_id", "name", "marker", "session"), TEXTS) | {
    "memory_type": st.sampled_from(["conversation", "fact", "context", "episode", "x", None]),
    "metadata": st.none() | st.dictionaries(TEXTS, VALUES, max_size=3),
    "tags": st.none() | st.lists(TEXTS, max_size=2),
    "since": TEXTS | st.sampled_from(["2025-03-31", "0001-01-01T00:00+14:00", "9999-12-31"]),
    "until": TEXTS | st.sampled_from(["2025-03-31T18:30Z", "2025-03-31T18:30", None]),
    "valid_until": TEXTS | st.sampled_from(["2025-03-31", "0001-01-01T00:00+14:00", None]),
    "limit": st.integers(-1, 60),
    "budget": st.integers(0, 30_000),
}
METHODS = st.sampled_from(["tools/call", "tools/list", "ping", "initialize", "x"]) | VALUES
OPTIONAL = {
    "id": LEAVES,
    "method": METHODS,
    "params": VALUES | st.fixed_dictionaries({"name": TEXTS, "arguments": VALUES}),
    "result": VALUES,
}
MESSAGES = VALUES | st.fixed_dictionaries({"jsonrpc": st.just("2.0")}, optional=OPTIONAL)
LINES = st.binary(max_size=60) | MESSAGES.map(lambda message: json.dumps(message).encode())


@st.composite
def calls(draw):
    """Draw a tool and arguments: of the form of its schema, or of any."""
    tool = draw(st.sampled_from(sorted(FULL)))
    fitting = {name: draw(KNOWN[name]) for name in sorted(FULL[tool]) if draw(st.booleans())}
    other = draw(st.dictionaries(st.sampled_from(sorted(KNOWN)) | TEXTS, VALUES, max_size=2))
    return tool, draw(st.sampled_from([fitting, {**fitting, **other}]))


@pytest.fixture(scope="module", params=MODES)
def ask(request):
    """What calls a tool of one server in this process, the same for all examples."""
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(Client(build(served()), mode=request.param)) as client,
    ):
        yield lambda tool, arguments: portal.call(client.call_tool, tool, arguments)


@given(call=calls())
def test_no_arguments_break_a_tool(ask, call):
    """Each call gives a result of its schema, or an error that is told; none is unexpected."""
    tool, arguments = call
    try:
        result = ask(tool, arguments)
    except (MCPError, UnicodeEncodeError, ValueError):
        return  # What no JSON can hold is refused before it is sent, or as no request.
    assert result.content[0].text
    assert "the log of the server" not in result.content[0].text
    assert (result.structured_content is None) == bool(result.is_error)
    assert not ask("memory_stats", {}).is_error


# As a process


def send(server, *messages):
    """Write messages, each on a line; bytes as they are."""
    for each in messages:
        line = each if isinstance(each, bytes) else json.dumps(each).encode()
        server.stdin.write(line.replace(b"\n", b" ") + b"\n")
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
    """Return what the memory of the tests holds."""
    with Memory(folder / "agent.db") as memory:
        return {record.content for record in memory.records(limit=1_000)}


def test_nothing_breaks_the_session(tmp_path):
    """What is no message of the protocol is an error; the output holds nothing else."""
    garbage = [
        b"",
        b"{",
        b"null",
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
        send(server, *garbage, HELLO | {"id": "hello"})
        assert answer(server, "hello")["result"]["serverInfo"]["name"] == "memoranda"
        assert list(tmp_path.iterdir()) == []  # Up to its first answer it opens no store.
        send(server, READY, *garbage, call("kept", "store_memory", content="Ana is vegetarian"))
        assert answer(server, 3)["error"]["code"] == PARSE_ERROR
        assert not answer(server, "kept")["result"]["isError"]

        @given(lines=st.lists(LINES, min_size=1, max_size=8))
        def send_anything(lines):
            send(server, *lines, PING)
            assert {"result", "error"} & answer(server, PING["id"]).keys()

        send_anything()
        server.stdin.close()
        assert all(json.loads(line)["jsonrpc"] == "2.0" for line in server.stdout)
        assert server.wait(PATIENCE) == 0
        assert b"Traceback" not in server.stderr.read()
    assert "Ana is vegetarian" in stored(tmp_path)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_cleanly(how, tmp_path):
    """Told to stop, it closes the memory and exits with 0, though its input is still open."""
    with process(tmp_path) as server:
        send(server, HELLO)
        answer(server, 1)
        send(server, READY, call(2, "store_memory", content="Ana is vegetarian"))
        answer(server, 2)
        server.send_signal(how)
        assert (server.wait(PATIENCE), server.stderr.read()) == (0, b"")
    assert stored(tmp_path) == {"Ana is vegetarian"}
    assert list(tmp_path.glob("agent.db-wal")) == []


def test_what_is_removed_at_the_start_is_told_on_standard_error(tmp_path):
    """S1.40: the number of the memories that the clean-up removed; their texts stay untold."""
    over = datetime.now(UTC) - timedelta(days=1)
    with Memory(tmp_path / "agent.db", user="ana") as memory:
        memory.remember("The guest leaves", valid_until=over)
    switched = {"MEMORANDA_SCHEDULE__EXPIRE_AT_START": "true", "MEMORANDA_USER": "ana"}
    with process(tmp_path, **switched) as server:
        send(server, HELLO)
        answer(server, 1)
        send(server, READY, call(2, "search_memories", query="guest"))
        assert answer(server, 2)["result"]["structuredContent"] == {"result": []}
        server.stdin.close()
        told = server.stderr.read().decode()
    assert "memory_cleanup deleted=1 (expire: 1 fact)" in told
    assert "guest" not in told


def test_clients_of_the_sdk_share_one_file(tmp_path, monkeypatch):
    """Over both revisions of the protocol; what several servers store there at once is not lost.

    One is started as the page has it, the other with the basic tools.
    """
    # Servers that start at once may take longer than one.
    monkeypatch.setattr("mcp.client.session.DISCOVER_TIMEOUT_SECONDS", PATIENCE, raising=False)

    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    program, *words = next(each for each in LOCAL if "--user" not in each)
    named = {"env": environment(tmp_path, PATH=path), "cwd": tmp_path}
    documented = StdioServerParameters(command=program, args=words, **named)
    basic = stdio(tmp_path, "--tools", "basic")
    servers = dict(zip(MODES, ((documented, len(FULL)), (basic, 3)), strict=True))

    async def store(mode):
        server, tools = servers[mode]
        async with Client(server, mode=mode) as client:
            assert client.protocol_version == MODES[mode]
            async with anyio.create_task_group() as calls:
                for each in range(10):
                    content = {"content": f"server {mode}, memory {each}"}
                    calls.start_soon(client.call_tool, "store_memory", content)
            assert len((await client.list_tools()).tools) == tools
            found = await value(client, "search_memories", query=f"server {mode}", limit=50)
            own = {f"server {mode}, memory {each}" for each in range(10)}
            assert own <= {each["content"] for each in found["result"]}

    async def main():
        async with anyio.create_task_group() as clients:
            for mode in MODES:
                clients.start_soon(store, mode)

    anyio.run(main)
    assert stored(tmp_path) == {f"server {mode}, memory {n}" for mode in MODES for n in range(10)}


# As the documents and the command line start it


def test_the_configurations_of_the_page_are_valid(run):
    """One is there for each client, one with a token for each form of file; so are commands."""
    assert {root for block in BLOCKS for root in block} == {"mcpServers", "servers", "inputs"}
    remote = [each for each in ENTRIES if "url" in each]
    assert [each["type"] for each in remote] == ["http", "http"]
    assert all(each["headers"]["Authorization"].startswith("Bearer ${") for each in remote)
    clients = ["Claude Desktop", "Claude Code", "Cursor", "VS Code"]
    assert all(f"### {name}\n" in PAGE for name in clients)
    assert len(LOCAL) == len(clients)
    adding = re.findall(r"^claude mcp add (.*)$", PAGE, re.MULTILINE)
    form = r"--scope user memoranda -- memoranda mcp .*|"
    form += r"--transport http memoranda http://127\.0\.0\.1:8000/mcp"
    assert len(adding) == 2
    assert all(re.fullmatch(form, each) for each in adding)
    added = [tuple(shlex.split(each.partition(" -- ")[2])) for each in adding if " -- " in each]
    for program, *arguments in {*LOCAL, *added}:
        assert program == "memoranda"
        run(*arguments, "--help")  # Its options are read before.


def test_what_cannot_be_served_is_said(run, monkeypatch):
    """A wrong setting ends it with one line that shows no token; so does a library that is not."""
    for arguments, name, text, told in (
        (["--http", "127.0.0.1:0"], "TOKENS", "secret=ana", "entry 1 has a token of 6 characters"),
        ([], "TOOLS", "all", "mcp.tools='all' should be 'full' or 'basic'"),
    ):
        with monkeypatch.context() as changed:
            changed.setenv(f"MEMORANDA_MCP__{name}", text)
            (line,) = run("mcp", *arguments, code=1).stderr.splitlines()
        assert told in line
        assert "secret" not in line
    monkeypatch.setattr("memoranda.cli.doors.find_spec", lambda _: None)
    assert "pip install 'memoranda[mcp]'" in run("mcp", code=1).stderr
