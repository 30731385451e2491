"""The limits of a server over HTTP: clients that ask too much, or nothing, harm nobody else."""

import time
from contextlib import ExitStack

import pytest
from mcp_clients import HALF, PATIENCE, TOKENS, address, connect, post, process, read_all

PLACES = 16


@pytest.fixture(scope="module")
def narrow(tmp_path_factory):
    """The address of a server with few places."""
    changes = {"MEMORANDA_HTTP__KEEP_ALIVE": "0.5", "MEMORANDA_HTTP__CONNECTIONS": str(PLACES)}
    folder = tmp_path_factory.mktemp("narrow")
    with process(folder, "--http", "127.0.0.1:0", **TOKENS, **changes) as started:
        yield address(started)


def test_a_full_server_says_so_until_there_is_a_place(narrow):
    """Over its connections it answers 503; when the others have gone, it serves again."""
    with ExitStack() as closing:
        for _ in range(PLACES):
            closing.enter_context(connect(narrow, HALF))
        assert post(narrow).status_code == 503
    until = time.monotonic() + PATIENCE
    while post(narrow).status_code != 200:
        assert time.monotonic() < until


def test_an_idle_connection_is_closed_after_its_requests(narrow):
    """Three that were sent at once are answered over one connection; when none follows, it ends."""
    with connect(narrow, b"GET /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n" * 3) as connection:
        assert read_all(connection).count(b"HTTP/1.1 404") == 3
