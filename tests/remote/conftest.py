"""Memories of a server, opened as the tests of memories in files open theirs."""

import threading
from contextlib import ExitStack, contextmanager

import anyio
import pytest
from memory_fixtures import memory, no_settings_of_this_machine, plain, wordless

from memoranda import Memory, Remote, Settings
from memoranda.http.app import create_app
from memoranda.model.tokens import TokenScope
from memoranda.serving.addresses import ListenAddress
from memoranda.serving.listening import bound, web_server
from memoranda.serving.tokens import TokenService
from memoranda.testing.embedders import HashEmbedder

__all__ = ["memory", "no_settings_of_this_machine", "plain", "wordless"]


@contextmanager
def served(kept):
    """Serve the store of a memory; give the memory of its user on the server."""
    with bound(ListenAddress("127.0.0.1", 0)) as listening:
        server = web_server(create_app(kept), kept.settings.http)
        thread = threading.Thread(target=anyio.run, args=(server.serve, [listening]))
        thread.start()
        token, _ = TokenService.of(kept).create(kept.user, TokenScope.ADMIN)
        try:
            with Remote(f"http://127.0.0.1:{listening.getsockname()[1]}", token=token) as remote:
                yield remote
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture
def opened():
    """Open memories on servers, which end with the test: ``opened(location, user=…, …)``."""
    with ExitStack() as stack:

        def start(location=":memory:", **arguments):
            arguments.setdefault("embedder", HashEmbedder())
            arguments.setdefault("settings", Settings(timezone="UTC"))
            kept = stack.enter_context(Memory(location, **{"user": "ana"} | arguments))
            return stack.enter_context(served(kept))

        yield start
