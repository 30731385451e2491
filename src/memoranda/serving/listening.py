"""Listening over HTTP: the address, the names it is asked by, and how long clients may take."""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakValueDictionary

import anyio
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from memoranda.errors import ConfigError
from memoranda.serving.addresses import ListenAddress
from memoranda.settings.parsing import names
from memoranda.settings.sections import HttpSettings

GRACE = 3  # seconds that open requests have to end when the server is told to
# Requests of one token at once, fewer than half of the threads that answer (anyio's 40).
SHARE = 16
LOCAL = ("localhost", "127.0.0.1", "[::1]")


def bound(address: ListenAddress) -> socket.socket:
    """Return a socket that listens at ``address``.

    Raises:
        ConfigError: nothing can listen there.
    """
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        listening = socket.create_server(
            (address.host, address.port), family=family, dualstack_ipv6=":" in address.host
        )
    except OSError as error:
        raise ConfigError(
            f"--http={address}: cannot listen there: {error.strerror or error}"
        ) from error
    # So it learns its protocol: else asyncio does not send small answers at once (TCP_NODELAY).
    return socket.socket(fileno=listening.detach())


@dataclass(frozen=True, slots=True)
class AllowedHosts:
    """The names under which a server may be asked, and the web pages that may ask it.

    Attributes:
        hosts: as clients write them in ``Host``, in small letters; ``NAME:*`` is any port.
        origins: as browsers write them in ``Origin``.
    """

    hosts: tuple[str, ...]
    origins: tuple[str, ...]

    @classmethod
    def of(cls, here: ListenAddress, settings: HttpSettings) -> AllowedHosts:
        """Return the names of a server on this machine, with those of the settings.

        No page elsewhere can make a browser believe that the former are its own names.
        """
        own = [str(here), *(f"{name}:{here.port}" for name in LOCAL)]
        # Clients send both in small letters.
        return cls(
            (*own, *names((settings.allowed_hosts or "").lower())),
            (*(f"http://{host}" for host in own), *names((settings.allowed_origins or "").lower())),
        )

    def allow_host(self, host: str) -> bool:
        """Return whether a server may be asked by this name."""
        host = host.lower()
        name, _, _ = host.rpartition(":")
        return host in self.hosts or f"{name or host}:*" in self.hosts


@dataclass(frozen=True, slots=True)
class ConcurrencyLimiter:
    """ASGI middleware that answers so many requests of one token at once that others are served.

    More wait for their turn.

    Attributes:
        app: what answers.
        token_of: gives the token of a request; what has none needs no turn.
    """

    app: ASGIApp
    token_of: Callable[[Scope], str | bytes | None]
    _turns: WeakValueDictionary[str | bytes, asyncio.Semaphore] = field(
        default_factory=WeakValueDictionary
    )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request in its turn."""
        token = self.token_of(scope)
        turns = token and self._turns.setdefault(token, asyncio.Semaphore(SHARE))
        async with turns or nullcontext():
            await self.app(scope, receive, send)


def web_server(app: Any, limits: HttpSettings) -> uvicorn.Server:
    """Return what serves an ASGI application over HTTP within ``limits``."""
    config = uvicorn.Config(
        app,
        # The same whatever else is installed, and blanks around a field are not part of it.
        http="h11",
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        limit_concurrency=limits.connections,
        h11_max_incomplete_event_size=limits.header_size,
        timeout_keep_alive=limits.keep_alive,  # type: ignore[arg-type]  # parts of seconds, too
        timeout_graceful_shutdown=GRACE,
    )
    return uvicorn.Server(config)


def serve_until_stopped(server: uvicorn.Server, listening: socket.socket, url: str) -> None:
    """Serve at a socket until the process is told to stop; say the URL first."""
    # Uvicorn ends gracefully and raises the signal again: then it must not kill.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.stderr.write(f"listening at {url}\n")
    sys.stderr.flush()
    with suppress(KeyboardInterrupt):
        anyio.run(server.serve, [listening])
