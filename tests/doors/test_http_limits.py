"""The limits of a server over HTTP: clients that ask too much, or nothing, harm nobody else."""

import logging
import time
from contextlib import ExitStack

import httpx2
import pytest
from mcp_clients import (
    BEN,
    HALF,
    HEADERS,
    PATIENCE,
    TOKENS,
    address,
    connect,
    post,
    process,
    read_all,
)

from memoranda.serving.logs import RepeatLimit

PLACES = 16


@pytest.fixture(scope="module")
def narrow(tmp_path_factory):
    """A server with few places; and its address."""
    changes = {
        "MEMORANDA_HTTP__KEEP_ALIVE": "0.5",
        "MEMORANDA_HTTP__CONNECTIONS": str(PLACES),
        "MEMORANDA_HTTP__LOG_REPEATS": "3",
    }
    folder = tmp_path_factory.mktemp("narrow")
    with process(folder, "--http", "127.0.0.1:0", **TOKENS, **changes) as started:
        yield started, address(started)


def test_a_full_server_says_so_until_there_is_a_place(narrow):
    """Over its connections it answers 503; when the others have gone, it serves again."""
    _, url = narrow
    with ExitStack() as closing:
        for _ in range(PLACES):
            closing.enter_context(connect(url, HALF))
        assert post(url).status_code == 503
    until = time.monotonic() + PATIENCE
    while post(url).status_code != 200:
        assert time.monotonic() < until


def test_an_idle_connection_is_closed_after_its_requests(narrow):
    """Three that were sent at once are answered over one connection; when none follows, it ends."""
    _, url = narrow
    with connect(url, b"GET /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n" * 3) as connection:
        assert read_all(connection).count(b"HTTP/1.1 404") == 3


def ask_often(url, times, **headers):
    """Return the answers to many requests over one connection."""
    with httpx2.Client(headers=HEADERS | headers, timeout=PATIENCE) as client:
        return [client.post(url, content=b"{") for _ in range(times)]


def test_a_log_does_not_grow_with_what_clients_do(narrow):
    """One line of code logs so often in a minute, and no more; this test ends the server."""
    server, url = narrow
    ask_often(url, 30, Authorization=f"Bearer {BEN}", Host="evil.example")
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
