"""Serving many clients over streamable HTTP, at ``/mcp``."""

from __future__ import annotations

import asyncio
import hashlib
import signal
import socket
import sys
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from typing import Any
from weakref import WeakValueDictionary

import anyio
import uvicorn
from mcp.server.auth.provider import AccessToken
from mcp.server.mcpserver import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import Response

from memoranda.errors import ConfigError
from memoranda.serving.addresses import ListenAddress
from memoranda.settings.parsing import names
from memoranda.settings.sections import HttpSettings, McpSettings
from memoranda.settings.settings import Settings

PATH = "/mcp"
# Requests of one token at once, fewer than half of the threads that answer (anyio's 40).
SHARE = 16
GRACE = 3  # seconds that open requests have to end when the server is told to
LOCAL = ("localhost", "127.0.0.1", "[::1]")


def bound(address: ListenAddress, settings: McpSettings) -> socket.socket:
    """Return a socket that listens at ``address``.

    Raises:
        ConfigError: others could reach it and no tokens are set, or it cannot be listened at.
    """
    if settings.tokens is None and not address.is_local:
        raise ConfigError(
            f"--http={address} can be reached by other machines, and no tokens are set; set "
            f"mcp.tokens (MEMORANDA_MCP__TOKENS='TOKEN=USER'), or listen at "
            f"127.0.0.1:{address.port}"
        )
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        listening = socket.create_server(
            (address.host, address.port), family=family, dualstack_ipv6=":" in address.host
        )
    except OSError as error:
        raise ConfigError(
            f"--http={address} cannot be listened at: {error.strerror or error}"
        ) from error
    # So it learns its protocol: else asyncio does not send small answers at once (TCP_NODELAY).
    return socket.socket(fileno=listening.detach())


def serve(server: MCPServer[Any], address: ListenAddress, settings: Settings) -> None:
    """Serve until the process is told to stop; the server closes its memory then.

    Args:
        server: what answers.
        address: where to listen.
        settings: who may ask, and how much.

    Raises:
        ConfigError: as :func:`bound`.
    """
    with bound(address, settings.mcp) as listening:
        here = ListenAddress(address.host, listening.getsockname()[1])
        # No page elsewhere can make a browser believe that these are its own names.
        hosts = [str(here), *(f"{name}:{here.port}" for name in LOCAL)]
        origins = [f"http://{host}" for host in hosts]
        security = TransportSecuritySettings(
            # Clients send both in small letters.
            allowed_hosts=[*hosts, *names((settings.mcp.allowed_hosts or "").lower())],
            allowed_origins=[*origins, *names((settings.mcp.allowed_origins or "").lower())],
        )
        app = server.streamable_http_app(
            streamable_http_path=PATH,
            # A session would only be kept for messages that the server never sends by itself.
            stateless_http=True,
            max_request_body_size=settings.http.body_size,
            host=here.host,
            transport_security=security,
        )
        web = _web_server(ConcurrencyLimiter(app), settings.http)
        # Uvicorn ends gracefully and raises the signal again: then it must not kill.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        sys.stderr.write(f"listening at http://{here}{PATH}\n")
        sys.stderr.flush()
        with suppress(KeyboardInterrupt):
            anyio.run(web.serve, [listening])


def _web_server(app: Any, limits: HttpSettings) -> uvicorn.Server:
    """Return what serves ``app`` over HTTP within ``limits``."""
    config = uvicorn.Config(
        app,
        # The same whatever else is installed, and blanks around a field are not part of it.
        http="h11",
        ws="none",
        log_config=None,
        access_log=False,
        limit_concurrency=limits.connections,
        h11_max_incomplete_event_size=limits.header_size,
        timeout_keep_alive=limits.keep_alive,  # type: ignore[arg-type]  # parts of seconds, too
        timeout_graceful_shutdown=GRACE,
    )
    return uvicorn.Server(config)


class ConcurrencyLimiter:
    """Limits how many requests of one token are answered at once, so that others are served, too.

    More wait for their turn; who only waits for messages that never come, is answered with 405.

    Args:
        app: what answers (ASGI).
    """

    def __init__(self, app: Any) -> None:
        """Serve nobody yet."""
        self._app = app
        self._turns = WeakValueDictionary[bytes | None, asyncio.Semaphore]()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request; messages of other kinds are passed on."""
        if scope.get("method") == "GET" and scope["path"] == PATH:
            await Response(status_code=405, headers={"Allow": "POST"})(scope, receive, send)
            return
        token = dict(scope.get("headers", ())).get(b"authorization")
        turns = self._turns.setdefault(token, asyncio.Semaphore(SHARE))
        async with nullcontext() if token is None else turns:
            await self._app(scope, receive, send)


class Tokens:
    """Knows the user of a token (the SDK's ``TokenVerifier``).

    Args:
        users: token → user.
    """

    def __init__(self, users: Mapping[str, str]) -> None:
        """Keep digests: how long it takes to look one up tells nothing of a token."""
        self._users = {_digest(token): user for token, user in users.items()}

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return who may ask with ``token``."""
        given = _digest(token)
        if given not in self._users:
            return None
        # A session belongs to the token that began it, and not to any other of its user.
        return AccessToken(token=token, client_id=given, scopes=[], subject=self._users[given])


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
