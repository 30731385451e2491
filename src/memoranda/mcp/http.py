"""Serving many clients over streamable HTTP, at ``/mcp``."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any
from weakref import WeakValueDictionary

from mcp.server.auth.provider import AccessToken
from mcp.server.mcpserver import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.responses import Response

from memoranda.errors import ConfigError
from memoranda.serving.addresses import ListenAddress
from memoranda.serving.listening import SHARE, AllowedNames, bound, serve_until_stopped, web_server
from memoranda.settings.sections import McpSettings
from memoranda.settings.settings import Settings

PATH = "/mcp"


def serve(server: MCPServer[Any], address: ListenAddress, settings: Settings) -> None:
    """Serve until the process is told to stop; the server closes its memory then.

    Args:
        server: what answers.
        address: where to listen.
        settings: who may ask, and how much.

    Raises:
        ConfigError: others could reach the address and no tokens are set, or it cannot be listened
            at.
    """
    require_tokens(address, settings.mcp)
    with bound(address) as listening:
        here = ListenAddress(address.host, listening.getsockname()[1])
        app = ConcurrencyLimiter(http_app(server, here, settings))
        serve_until_stopped(web_server(app, settings.http), listening, f"http://{here}{PATH}")


def require_tokens(address: ListenAddress, settings: McpSettings) -> None:
    """Refuse an address that other machines can reach where no tokens are set.

    Raises:
        ConfigError: it is such a one.
    """
    if settings.tokens is None and not address.is_local:
        raise ConfigError(
            f"--http={address} can be reached by other machines, and no tokens are set; set "
            f"mcp.tokens (MEMORANDA_MCP__TOKENS='TOKEN=USER'), or listen at "
            f"127.0.0.1:{address.port}"
        )


def http_app(server: MCPServer[Any], here: ListenAddress, settings: Settings) -> Starlette:
    """Return what answers for ``server`` at ``/mcp``, where it listens ``here``."""
    allowed = AllowedNames.of(here, settings.mcp.allowed_hosts, settings.mcp.allowed_origins)
    return server.streamable_http_app(
        streamable_http_path=PATH,
        # A session would only be kept for messages that the server never sends by itself.
        stateless_http=True,
        max_request_body_size=settings.http.body_size,
        host=here.host,
        transport_security=TransportSecuritySettings(
            allowed_hosts=[*allowed.hosts], allowed_origins=[*allowed.origins]
        ),
    )


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
