"""Whatever is sent to the MCP server is answered or passed over, and the session goes on."""

import json
from contextlib import contextmanager

import pytest
from anyio.from_thread import start_blocking_portal
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client, MCPError
from mcp_clients import FULL, MODES, process, served

from memoranda.mcp.server import build

TEXTS = st.text(max_size=40) | st.sampled_from(["fact", "fact_1", "\0", "\ud800", "5", "[]", "é"])
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | TEXTS
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
KNOWN = {
    "query": TEXTS,
    "content": TEXTS,
    "memory_id": TEXTS,
    "name": TEXTS,
    "marker": TEXTS,
    "session": TEXTS,
    "memory_type": st.sampled_from(["conversation", "fact", "context", "episode", "x", None]),
    "metadata": st.none() | st.dictionaries(TEXTS, VALUES, max_size=3),
    "tags": st.none() | st.lists(TEXTS, max_size=2),
    "since": TEXTS | st.sampled_from(["2025-03-31", "0001-01-01T00:00+14:00", "9999-12-31"]),
    "until": TEXTS | st.sampled_from(["2025-03-31T18:30Z", "2025-03-31T18:30", None]),
    "limit": st.integers(-1, 60),
    "budget": st.integers(0, 30_000),
}


@st.composite
def calls(draw):
    """Draw a tool and arguments: of the form of its schema, or of any."""
    tool = draw(st.sampled_from(sorted(FULL)))
    fitting = {name: draw(KNOWN[name]) for name in sorted(FULL[tool]) if draw(st.booleans())}
    other = draw(st.dictionaries(st.sampled_from(sorted(KNOWN)) | TEXTS, VALUES, max_size=2))
    return tool, draw(st.sampled_from([fitting, {**fitting, **other}]))


@contextmanager
def session(mode):
    """Connect one client, whom the test's own thread can ask."""
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(Client(build(served()), mode=mode)) as client,
    ):
        yield lambda tool, arguments: portal.call(client.call_tool, tool, arguments)


@pytest.fixture(scope="module", params=MODES)
def ask(request):
    """What calls a tool of one server, the same for all examples."""
    with session(request.param) as call:
        yield call


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


LINES = st.binary(max_size=60) | st.builds(
    lambda message: json.dumps(message).encode(),
    VALUES
    | st.fixed_dictionaries(
        {"jsonrpc": st.just("2.0")},
        optional={
            "id": LEAVES,
            "method": st.sampled_from(["tools/call", "tools/list", "ping", "initialize", "x"])
            | VALUES,
            "params": VALUES | st.fixed_dictionaries({"name": TEXTS, "arguments": VALUES}),
            "result": VALUES,
        },
    ),
)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """One server for all examples."""
    with process(tmp_path_factory.mktemp("fuzz")) as started:
        yield started


@given(lines=st.lists(LINES, min_size=1, max_size=8))
def test_no_line_breaks_the_session(server, lines):
    """After any lines the server still answers a request, with messages of the protocol alone."""
    ping = {"jsonrpc": "2.0", "id": "still there?", "method": "ping"}
    for line in [*(each.replace(b"\n", b" ") for each in lines), json.dumps(ping).encode()]:
        server.stdin.write(line + b"\n")
    server.stdin.flush()
    while True:
        message = json.loads(server.stdout.readline())
        assert message["jsonrpc"] == "2.0"
        if message.get("id") == "still there?":
            assert "result" in message or "error" in message
            return
