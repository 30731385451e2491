"""The limits of a server over HTTP: slow and greedy clients harm nobody else."""

import logging
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress

import httpx2
import pytest
from mcp_clients import PATIENCE, address, process
from test_mcp_http import ANA, BEN, HEADERS, post

from memoranda.serving.logs import RepeatLimit
from memoranda.serving.requests import RequestLimits

HALF = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthor"
SLOW = 300


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    """A server with short times and many places, and one with few places, started together."""
    folders = tmp_path_factory.mktemp("patient"), tmp_path_factory.mktemp("narrow")
    tokens = {"MEMORANDA_MCP__TOKENS": f"{ANA}=ana, {BEN}=ben"}
    short = {
        "MEMORANDA_HTTP__HEADER_TIMEOUT": "5",
        "MEMORANDA_HTTP__BODY_TIMEOUT": "3",
        "MEMORANDA_HTTP__KEEP_ALIVE": "0.5",
        "MEMORANDA_HTTP__CONNECTIONS_PER_ADDRESS": "400",
        "MEMORANDA_HTTP__HEADER_SIZE": "4096",
        "MEMORANDA_HTTP__BODY_SIZE": "2048",
    }
    narrow = {
        "MEMORANDA_HTTP__HEADER_TIMEOUT": "1000",
        "MEMORANDA_HTTP__CONNECTIONS_PER_ADDRESS": "40",
        "MEMORANDA_HTTP__REQUESTS_PER_MINUTE": "60",
        "MEMORANDA_HTTP__LOG_REPEATS": "3",
    }
    with (
        process(folders[0], "--http", "127.0.0.1:0", **tokens, **short) as first,
        process(folders[1], "--http", "127.0.0.1:0", **tokens, **narrow) as second,
    ):
        yield address(first), address(second), second


@pytest.fixture
def opened():
    """Open connections to a server that are closed at the end."""
    with ExitStack() as closing:

        def connect(url, sent=HALF):
            place = httpx2.URL(url)
            made = socket.create_connection((place.host, place.port), PATIENCE)
            closing.enter_context(made)
            made.sendall(sent)
            return made

        yield connect


def read_all(connection):
    """Return all that the server sends until it ends a connection."""
    told = b""
    with suppress(ConnectionResetError):
        while part := connection.recv(65_536):
            told += part
    return told


def test_slow_clients_are_closed_in_time_while_others_are_answered(servers, opened):
    """Three hundred without a token that send half a header; each of the others gets its answer."""
    url, _, _ = servers
    slow = [opened(url) for _ in range(SLOW)]
    with ThreadPoolExecutor(8) as others:
        answers = list(others.map(lambda _: post(url).status_code, range(24)))
    assert answers == [200] * 24
    assert all(read_all(each) == b"" for each in slow)


@pytest.mark.parametrize("token", [ANA, "unknown-0123456789"])
def test_a_body_that_does_not_come_is_not_waited_for(token, servers, opened):
    """Also where the answer, that the token is unknown, does not depend on it."""
    url, _, _ = servers
    lines = [f"{name}: {value}" for name, value in HEADERS.items()]
    place = httpx2.URL(url)
    head = [f"Host: {place.host}:{place.port}", f"Authorization: Bearer {token}", *lines]
    sent = "\r\n".join(["POST /mcp HTTP/1.1", *head, "Content-Length: 100", "", '{"jso'])
    told = read_all(opened(url, sent.encode()))
    assert (b" 401 " in told) is (token != ANA)
    assert b" 200 " not in told


def test_an_idle_connection_is_closed_after_its_requests(servers, opened):
    """Three that were sent at once are answered over one connection; when none follows, it ends."""
    url, _, _ = servers
    connection = opened(url, b"GET /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n" * 3)
    assert read_all(connection).count(b"HTTP/1.1 404") == 3


def test_a_header_and_a_body_may_only_be_so_long(servers, opened):
    """A header that never ends is refused before its time is over, and so is a body."""
    url, _, _ = servers
    endless = opened(url, b"GET / HTTP/1.1\r\nX: " + b"x" * 5_000)
    assert endless.recv(65_536).startswith(b"HTTP/1.1 400")
    assert post(url, b"x" * 3_000).status_code == 413


def test_a_full_server_lets_go_of_whoever_asks_for_nothing(servers, opened):
    """The slow take places from each other alone: of forty the others still get theirs."""
    _, url, _ = servers
    slow = [opened(url) for _ in range(SLOW)]
    assert [post(url).status_code for _ in range(8)] == [200] * 8
    assert all(read_all(each) == b"" for each in slow[: SLOW - 40])


def test_a_host_is_the_same_in_capitals(servers):
    """Names of hosts do not depend on case (RFC 9110, 4.2.3)."""
    _, url, _ = servers
    port = httpx2.URL(url).port
    assert post(url, token=BEN, Host=f"LOCALHOST:{port}").status_code == 200
    assert post(url, token=BEN, Origin=f"http://LocalHost:{port}").status_code == 200
    assert post(url, token=BEN, Host="EVIL.example").status_code == 421


def test_whoever_asks_too_often_is_told_when_to_ask_again(servers):
    """Each token by itself: when one has used its share, others are answered."""
    _, url, _ = servers
    sent = HEADERS | {"Authorization": f"Bearer {ANA}"}
    with httpx2.Client(headers=sent, timeout=PATIENCE) as client:
        answers = [client.post(url, content=b"{") for _ in range(90)]
    refused = [each for each in answers if each.status_code == 429]
    assert refused
    assert int(refused[-1].headers["retry-after"]) >= 1
    assert "too many requests" in refused[-1].json()["error"]
    assert post(url, token=BEN).status_code == 200


def test_a_log_does_not_grow_with_what_clients_do(servers):
    """One line of code logs so often in a minute, and no more; this test ends the server."""
    _, url, server = servers
    sent = HEADERS | {"Authorization": f"Bearer {BEN}", "Host": "evil.example"}
    with httpx2.Client(headers=sent, timeout=PATIENCE) as client:
        for _ in range(30):
            client.post(url, content=b"{")
    server.terminate()
    lines = server.stderr.read().decode().splitlines()
    assert 1 <= len([line for line in lines if "Invalid Host header" in line]) <= 3


def test_what_was_left_out_of_a_log_is_counted():
    """In the first line of the next minute; lines from elsewhere are not counted with it."""
    seconds = [0.0]
    limit = RepeatLimit(2, lambda: seconds[0])

    def log(line, text="hello %s"):
        record = logging.LogRecord("a", logging.WARNING, "a.py", line, text, ("you",), None)
        return record.getMessage() if limit.filter(record) else None

    assert [log(1) for _ in range(5)] == ["hello you", "hello you", None, None, None]
    assert log(2) == "hello you"
    seconds[0] = 60.0
    assert log(1) == "hello you (and 3 more of these before)"


def test_time_gives_requests_back():
    """Who used all of a minute has one more after its share of it, and never more than all."""
    seconds = [0.0]
    limits = RequestLimits(None, per_minute=6, client_of=lambda _: None, now=lambda: seconds[0])
    assert [limits.take("a") for _ in range(6)] == [0.0] * 6
    assert limits.take("a") == pytest.approx(10.0)
    assert limits.take("b") == 0.0
    seconds[0] = 10.0
    assert limits.take("a") == 0.0
    assert limits.take("a") > 0
    seconds[0] = 1e6
    assert [limits.take("a") > 0 for _ in range(7)] == [False] * 6 + [True]
