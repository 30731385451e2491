"""The MCP server over streamable HTTP: tokens, hosts, origins, many clients."""

import json
import signal
import socket
import time
from contextlib import ExitStack, closing
from http.client import HTTPConnection

import anyio
import httpx2
import pytest
from mcp import MCPError
from mcp_clients import (
    ANA,
    BEN,
    HEADERS,
    HELLO,
    MODES,
    PATIENCE,
    PLAIN,
    TOKENS,
    address,
    connect,
    over_http,
    post,
    process,
    value,
)
from tables import each_row

from memoranda import errors
from memoranda.serving.addresses import ListenAddress, require_tokens
from memoranda.serving.listening import SHARE, bound

LIST = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    """A server with two tokens, and one without, started at the same time; and their folders."""
    folders = tmp_path_factory.mktemp("http"), tmp_path_factory.mktemp("open")
    changes = TOKENS | {
        "MEMORANDA_HTTP__ALLOWED_HOSTS": "memory.example.org, other.example.org:*",
        "MEMORANDA_HTTP__ALLOWED_ORIGINS": "https://app.example.org",
        "MEMORANDA_HTTP__HEADER_SIZE": "4096",
        "MEMORANDA_HTTP__BODY_SIZE": "4096",
    }
    local = ("--http", "[::1]:0", "--tools", "basic", "--user", "ana")
    with (
        process(folders[0], "--http", "127.0.0.1:0", **changes) as guarded,
        process(folders[1], *local) as unguarded,
    ):
        yield (guarded, folders[0]), (unguarded, folders[1])


@pytest.fixture(scope="module")
def url(servers):
    """The address of the server with two tokens."""
    (server, _), _ = servers
    return address(server)


@each_row("mode", MODES)
def test_a_token_opens_the_memory_of_its_user_alone(mode, url):
    """Another user's memory is neither found nor read, recalled, counted or forgotten."""

    async def main():
        async with over_http(url, ANA, mode) as ana, over_http(url, BEN, mode) as ben:
            assert ana.protocol_version == MODES[mode]
            before = await value(ben, "memory_stats")
            kept = await value(ana, "store_memory", content=f"Ana likes green tea, {mode}")
            found = await value(ben, "search_memories", query="green tea")
            gone = await value(ben, "forget_memory", memory_id=kept["id"])
            with pytest.raises(MCPError, match="there is no memory"):
                await ben.read_resource(f"memoranda://records/{kept['id']}")
            notes = await ben.read_resource("memoranda://notes/MEMORY.md")
            prompt = await ben.get_prompt("recall", {"question": "Who likes green tea?"})
            after = await value(ben, "memory_stats")
            own = await value(ana, "search_memories", query=f"green tea {mode}", limit=1)
            hers = await ana.read_resource("memoranda://notes/MEMORY.md")
        assert found == {"result": []}
        assert gone["success"] is False
        assert before == after
        assert "tea" not in notes.contents[0].text
        assert "Ana" not in prompt.messages[0].content.text
        assert own["result"][0]["id"] == kept["id"]
        assert "green tea" in hers.contents[0].text

    anyio.run(main)


@each_row("token", [None, "wrong-token-0123456789", ANA[:-1], "tökën"])
def test_without_a_token_nothing_is_answered(token, url):
    """Every request needs a token that is known; otherwise 401 says how to ask."""
    wanted = {} if token is None else {"Authorization": f"Bearer {token}".encode()}
    for headers in ({}, {"MCP-Protocol-Version": MODES["auto"]}):
        answer = httpx2.post(url, json=HELLO, headers=HEADERS | headers | wanted, verify=PLAIN)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"].startswith("Bearer ")
        assert "memoranda" not in answer.text


def test_nothing_of_a_request_is_kept(url):
    """There are no sessions to fill a server with, and no streams on which nothing would come."""
    begun = post(url)
    assert (begun.status_code, begun.headers.get("mcp-session-id")) == (200, None)
    assert post(url, LIST).status_code == 200
    assert post(url, LIST, token=None).status_code == 401
    waiting = httpx2.get(url, headers=HEADERS | {"Authorization": f"Bearer {ANA}"}, verify=PLAIN)
    assert waiting.status_code == 405


def ask_until_it_waits(url):
    """Send requests until the server has no turn for one."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        post(url, patience=1)


def test_one_token_leaves_the_others_served(url):
    """Who asks too much at once waits for a turn, while another is answered."""
    body = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n"
    half = body + f"Authorization: Bearer {ANA}\r\n\r\n".encode()
    with ExitStack() as closing_all:
        for _ in range(SHARE):
            closing_all.enter_context(connect(url, half))
        with pytest.raises(httpx2.ReadTimeout):
            ask_until_it_waits(url)
        assert post(url, token=BEN).status_code == 200
    assert post(url).status_code == 200


@each_row("revision", MODES.values())
def test_foreign_hosts_and_origins_are_refused(revision, url):
    """A page elsewhere can ask neither under its own name nor by one that it had rebound."""
    version = {"MCP_Protocol_Version": revision}
    port = httpx2.URL(url).port
    for host in ("evil.example", f"evil.example:{port}", "EVIL.example"):
        assert post(url, Host=host, **version).status_code == 421
    assert post(url, Origin="https://evil.example", **version).status_code == 403


def test_hosts_and_origins_of_its_own_and_of_the_settings_are_let_in(url):
    """A proxy's name is as good as its own."""
    port = httpx2.URL(url).port
    for host, code in (
        (f"localhost:{port}", 200),
        ("memory.example.org", 200),
        ("memory.example.org:81", 421),
        ("other.example.org:81", 200),
    ):
        assert post(url, Host=host).status_code == code, host
    for origin in (f"http://127.0.0.1:{port}", "https://app.example.org"):
        assert post(url, Origin=origin).status_code == 200, origin


def test_blanks_around_a_header_are_not_part_of_it(url):
    """The name in a header is compared without the blanks around it (RFC 9110, 5.5)."""
    meta = {"protocolVersion": MODES["auto"], "clientCapabilities": {}}
    named = {f"io.modelcontextprotocol/{name}": each for name, each in meta.items()}
    params = {"name": "memory_stats", "arguments": {}, "_meta": named}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {
        "Authorization": f"Bearer {BEN}",
        "MCP-Protocol-Version": MODES["auto"],
        "Mcp-Method": "tools/call",
        "Mcp-Name": "  memory_stats  ",
    }
    place = httpx2.URL(url)
    with closing(HTTPConnection(place.host, place.port, timeout=PATIENCE)) as plain:
        plain.request("POST", place.path, json.dumps(body), HEADERS | headers)
        answer = plain.getresponse()
        assert (answer.status, b"pending_vectors" in answer.read()) == (200, True)


def test_what_is_too_large_or_no_json_is_refused(url):
    """A header that never ends is refused before its time is over; no body breaks anything."""
    with connect(url, b"GET / HTTP/1.1\r\nX: " + b"x" * 5_000) as endless:
        assert endless.recv(65_536).startswith(b"HTTP/1.1 400")
    for body, code in ((b"x" * 5_000, 413), (b"{", 400), (HELLO, 200)):
        assert post(url, body).status_code == code


def test_without_tokens_this_machine_alone_is_served(servers):
    """On loopback no token is needed; a signal ends it cleanly with a client still connected."""
    _, (server, folder) = servers

    async def main():
        async with over_http(address(server), mode="legacy") as client:
            await value(client, "store_memory", content="Ana is vegetarian")
            server.send_signal(signal.SIGTERM)
            return await anyio.to_thread.run_sync(server.wait, PATIENCE)

    assert anyio.run(main) == 0
    assert server.stdout.read() == b""
    assert not list(folder.glob("agent.db-wal"))


def test_where_it_may_not_listen_is_said():
    """Others need a token, and an address may be taken; small answers are sent at once."""
    for text in ("0.0.0.0:0", "[::]:0", "memory.example.org:0", "10.0.0.1:0"):
        with pytest.raises(
            errors.ConfigError, match=r"memoranda token create, or listen at 127\.0"
        ):
            require_tokens(ListenAddress.parse(text), known=False)
    with bound(ListenAddress("127.0.0.1", 0)) as first:
        # The protocol is named, without which asyncio leaves TCP_NODELAY unset.
        assert first.proto == socket.IPPROTO_TCP
        first.listen()
        taken = ListenAddress("127.0.0.1", first.getsockname()[1])
        with pytest.raises(errors.ConfigError, match="cannot listen there: Address already"):
            bound(taken)


def test_what_is_no_address_is_told():
    """HOST:PORT is needed, with an IPv6 host in brackets."""
    for text in ("", "8000", ":8000", "a:", "a:b", "a:65536", "a:-1", "::1:80"):
        with pytest.raises(errors.InvalidInput, match="is not an address; write HOST:PORT"):
            ListenAddress.parse(text)
    assert ListenAddress.parse("[::1]:80") == ListenAddress("::1", 80)
    assert str(ListenAddress("::1", 80)) == "[::1]:80"
