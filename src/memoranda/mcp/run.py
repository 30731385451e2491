"""Starting the server: over standard input and output, or at ``/mcp`` over streamable HTTP."""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn

import anyio
from mcp.server.auth.provider import AccessToken
from mcp.server.mcpserver import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.types import Scope

from memoranda.mcp.server import build
from memoranda.model.tokens import TokenScope, token_digest
from memoranda.serving.addresses import ListenAddress, require_tokens
from memoranda.serving.late import LateMemory
from memoranda.serving.listening import (
    AllowedHosts,
    ConcurrencyLimiter,
    bound,
    serve_until_stopped,
    web_server,
)
from memoranda.settings.sections import users_by_token
from memoranda.settings.settings import Settings

if TYPE_CHECKING:  # A server answers before a memory is opened.
    from memoranda.memory import Memory
    from memoranda.serving.tokens import TokenService

PATH = "/mcp"


def run(
    settings: Settings,
    *,
    location: str | None = None,
    user: str | None = None,
    tools: str | None = None,
    http: str | None = None,
) -> None:
    """Serve a memory until the client goes or the process is told to stop.

    Args:
        settings: all that can be set.
        location: of the memory; otherwise that of the settings.
        user: whose memory it is for those who bring no token; otherwise that of the settings.
        tools: ``full`` or ``basic``; otherwise that of the settings.
        http: ``HOST:PORT`` to listen at; standard input and output, if not given.

    Raises:
        InvalidInput: ``http`` is no address.
        ConfigError: nothing can listen at the address, or nobody may without tokens.
    """
    _log_to_stderr()
    memory = LateMemory(location, user=user or settings.user, settings=settings)
    if http is None:
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, _exit)
        anyio.run(build(memory, tools=tools).run_stdio_async)
        _exit()
    address, verifier = ListenAddress.parse(http), known_tokens(memory)
    require_tokens(address, known=verifier is not None)
    server = build(memory, tools=tools, verifier=verifier)
    with bound(address) as listening:
        here = ListenAddress(address.host, listening.getsockname()[1])
        app = http_app(server, settings, AllowedHosts.of(here, settings.http))
        # Who waits for messages that never come is told so.
        only_post = Route(PATH, app, methods=["POST"])
        served = Starlette(routes=[only_post], lifespan=app.router.lifespan_context)
        limited = web_server(ConcurrencyLimiter(served, _bearer), settings.http)
        serve_until_stopped(limited, listening, f"http://{here}{PATH}")


def _log_to_stderr() -> None:
    """Let all that is logged go to standard error: the output belongs to the protocol."""
    # The command line's own handler shows one line; the log of a server has tracebacks, too.
    logging.getLogger("memoranda").handlers.clear()
    logging.basicConfig(stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    # Who runs a server wants to know what was removed, and when.
    logging.getLogger("memoranda.maintenance").setLevel(logging.INFO)


def _exit(*_: object) -> NoReturn:
    """End the process; all is saved.

    One thread may wait for a line of the input, and nothing can wake it; another may import what
    nobody will ask for.
    """
    logging.shutdown()
    sys.stderr.flush()
    os._exit(0)


def _bearer(scope: Scope) -> bytes | None:
    """Return the token that stands in the header of a request."""
    given: bytes = dict(scope.get("headers", ())).get(b"authorization", b"")
    return given.partition(b" ")[2].strip() or None


def mounted_app(memory: Memory) -> Starlette:
    """Return what answers at ``/mcp`` inside another server, which looks at ``Host`` and limits."""
    from memoranda.serving.tokens import TokenService  # noqa: PLC0415 - opens what else opens late

    late = LateMemory.over(memory)
    return http_app(
        build(late, verifier=McpTokenVerifier({}, TokenService.of(memory))), memory.settings
    )


def http_app(
    server: MCPServer[Any], settings: Settings, allowed: AllowedHosts | None = None
) -> Starlette:
    """Return what answers for ``server`` at ``/mcp``, by these names, or by any."""
    hosts, origins = (allowed.hosts, allowed.origins) if allowed else ((), ())
    return server.streamable_http_app(
        streamable_http_path=PATH,
        # A session would only be kept for messages that the server never sends by itself.
        stateless_http=True,
        max_request_body_size=settings.http.body_size,
        transport_security=TransportSecuritySettings(
            enable_dns_rebinding_protection=allowed is not None,
            allowed_hosts=[*hosts],
            allowed_origins=[*origins],
        ),
    )


def known_tokens(memory: LateMemory) -> McpTokenVerifier | None:
    """Return what knows the tokens of the settings and of the store; ``None`` where are none."""
    from memoranda.serving.tokens import TokenService  # noqa: PLC0415 - see above

    stored = TokenService.of(memory.opened())
    tokens = memory.settings.mcp.tokens
    if tokens is None and not stored.all():
        return None
    return McpTokenVerifier({} if tokens is None else users_by_token(tokens), stored)


class McpTokenVerifier:
    """Knows the user of a token (the SDK's ``TokenVerifier``).

    Args:
        users: token → user, of the settings; such a token may read and write.
        stored: knows those that are kept in the store.
    """

    def __init__(self, users: Mapping[str, str], stored: TokenService) -> None:
        """Keep digests: how long it takes to look one up tells nothing of a token."""
        self._users = {token_digest(token): user for token, user in users.items()}
        self._stored = stored

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return who may ask with ``token``."""
        given = token_digest(token)
        user, scope = self._users.get(given), TokenScope.WRITE
        if user is None:
            found = await self._stored.find(token)
            if found is None:
                return None
            user, scope = found.user, found.scope
        allowed = [each.value for each in TokenScope if scope.allows(each)]
        # A session belongs to the token that began it, and not to any other of its user.
        return AccessToken(token=token, client_id=given, scopes=allowed, subject=user)
