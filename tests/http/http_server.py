"""What the tests of the HTTP server share: a server in this process, and clients with tokens."""

import socket
import subprocess
import sys
import threading
from contextlib import contextmanager

import anyio
import httpx

from memoranda import Memory, Settings
from memoranda.http.app import create_app
from memoranda.mcp.run import mounted_app
from memoranda.model.tokens import TokenScope
from memoranda.serving.addresses import ListenAddress
from memoranda.serving.listening import AllowedHosts, bound, web_server
from memoranda.serving.tokens import TokenService
from memoranda.testing.clocks import FrozenClock

PATIENCE = 60
SETTINGS = {
    "embedding": {"model": "none", "background": False},
    "schedule": {"in_background": False},
    "http": {"body_size": 65_536},
}
ALLOWED = {"allowed_hosts": "memory.example.org", "allowed_origins": "https://app.example.org"}


class Served:
    """A server of a memory that runs in a thread, and what its tests need of it."""

    def __init__(self, memory, url, clock):
        """Know where it is."""
        self.memory, self.url, self.clock = memory, url, clock
        self.tokens = TokenService.of(memory)

    def token(self, user="ana", scope="write", expires=None):
        """Make a token and return its text."""
        return self.tokens.create(user, TokenScope(scope), expires)[0]

    @contextmanager
    def client(self, token=None, **headers):
        """Open a client with a token."""
        wanted = {} if token is None else {"Authorization": f"Bearer {token}"}
        with httpx.Client(
            base_url=self.url, headers=wanted | headers, timeout=PATIENCE, trust_env=False
        ) as client:
            yield client

    def place(self):
        """Return host and port."""
        url = httpx.URL(self.url)
        return url.host, url.port

    def connect(self, sent):
        """Return a connection over which something was sent."""
        made = socket.create_connection(self.place(), PATIENCE)
        made.sendall(sent)
        return made


@contextmanager
def serving(location=":memory:", **settings):
    """Serve a memory from a thread until the block ends."""
    clock = FrozenClock()
    web = SETTINGS["http"] | ALLOWED | settings.pop("http", {})
    made = Settings(**SETTINGS | settings | {"http": web})
    with (
        Memory(location, user="ana", settings=made, clock=clock) as memory,
        bound(ListenAddress("127.0.0.1", 0)) as listening,
    ):
        here = ListenAddress(*listening.getsockname())
        app = create_app(memory, allowed=AllowedHosts.of(here, made.http), mcp=mounted_app(memory))
        server = web_server(app, made.http)
        thread = threading.Thread(target=anyio.run, args=(server.serve, [listening]))
        thread.start()
        try:
            yield Served(memory, f"http://{here}", clock)
        finally:
            server.should_exit = True
            thread.join()


@contextmanager
def started(environment, *words):
    """Run the server as a process until the block ends; give it and its URL."""
    with subprocess.Popen(  # noqa: S603 - this interpreter, on arguments of the test
        [sys.executable, "-W", "error", "-m", "memoranda", "serve", *words],
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process, process.stderr.readline().split()[-1]
        finally:
            process.kill()


def require_problem(answer, status):
    """Require problem details of a status, with the id of the request."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    told = answer.json()
    assert told["status"] == status
    assert told["request_id"] == answer.headers["x-request-id"]
    return told
