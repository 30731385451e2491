"""Serving many clients over streamable HTTP, at ``/mcp``."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import anyio
import anyio.to_thread
from mcp.server.auth.provider import AccessToken
from mcp.server.mcpserver import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.responses import Response

from memoranda.errors import ConfigError
from memoranda.mcp.server import build
from memoranda.model.tokens import ApiToken, TokenScope, token_digest
from memoranda.serving.addresses import ListenAddress
from memoranda.serving.late import LateMemory
from memoranda.serving.listening import SHARE, AllowedHosts, bound, serve_until_stopped, web_server
from memoranda.settings.sections import users_by_token
from memoranda.settings.settings import Settings

if TYPE_CHECKING:  # A server answers before a memory is opened.
    from memoranda.memory import Memory

PATH = "/mcp"


def serve(server: MCPServer[Any], address: ListenAddress, settings: Settings) -> None:
    """Serve until the process is told to stop; the server closes its memory then.

    Args:
        server: what answers.
        address: where to listen.
        settings: who may ask, and how much.

    Raises:
        ConfigError: nothing can listen at the address.
    """
    with bound(address) as listening:
        here = ListenAddress(address.host, listening.getsockname()[1])
        app = ConcurrencyLimiter(http_app(server, here, settings))
        serve_until_stopped(web_server(app, settings.http), listening, f"http://{here}{PATH}")


def mounted_app(memory: Memory) -> Starlette:
    """Return what answers at ``/mcp`` inside another server, which looks at ``Host`` and limits."""
    from memoranda.serving.tokens import TokenService  # noqa: PLC0415 - opens what else opens late

    late = LateMemory.over(memory)
    verifier = Tokens({}, TokenService.of(memory).verify)
    return build(late, verifier=verifier).streamable_http_app(
        streamable_http_path=PATH,
        stateless_http=True,
        max_request_body_size=memory.settings.http.body_size,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )


def require_tokens(address: ListenAddress, verifier: Tokens | None) -> None:
    """Refuse an address that other machines can reach where nobody has a token.

    Raises:
        ConfigError: it is such a one.
    """
    if verifier is None and not address.is_local:
        raise ConfigError(
            f"--http={address} can be reached by other machines, and there is no token; make one "
            f"with memoranda token create, set mcp.tokens (MEMORANDA_MCP__TOKENS='TOKEN=USER'), or "
            f"listen at 127.0.0.1:{address.port}"
        )


def known_tokens(memory: LateMemory) -> Tokens | None:
    """Return what knows the tokens of the settings and of the store; ``None`` where are none."""
    from memoranda.serving.tokens import TokenService  # noqa: PLC0415 - see above

    stored = TokenService.of(memory.opened())
    tokens = memory.settings.mcp.tokens
    if tokens is None and not stored.all():
        return None
    return Tokens({} if tokens is None else users_by_token(tokens), stored.verify)


def http_app(server: MCPServer[Any], here: ListenAddress, settings: Settings) -> Starlette:
    """Return what answers for ``server`` at ``/mcp``, where it listens ``here``."""
    allowed = AllowedHosts.of(here, settings.http)
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
        users: token → user, of the settings; such a token may read and write.
        stored: looks up a token that is kept in the store.
    """

    def __init__(
        self, users: Mapping[str, str], stored: Callable[[str], ApiToken | None] | None = None
    ) -> None:
        """Keep digests: how long it takes to look one up tells nothing of a token."""
        self._users = {token_digest(token): user for token, user in users.items()}
        self._stored = stored

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return who may ask with ``token``."""
        given = token_digest(token)
        user, scope = self._users.get(given), TokenScope.WRITE
        if user is None and self._stored is not None:
            found = await anyio.to_thread.run_sync(self._stored, token)
            user, scope = (found.user, found.scope) if found else (None, scope)
        if user is None:
            return None
        allowed = [each.value for each in TokenScope if scope.allows(each)]
        # A session belongs to the token that began it, and not to any other of its user.
        return AccessToken(token=token, client_id=given, scopes=allowed, subject=user)
