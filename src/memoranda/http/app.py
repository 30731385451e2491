"""The application: every resource, behind one guard and one look at the token."""

from __future__ import annotations

from functools import lru_cache

from fastapi import FastAPI
from opentelemetry import trace
from prometheus_client import CollectorRegistry, Histogram, ProcessCollector
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.types import Scope

import memoranda
from memoranda.http import admin, conversations, events, knowledge, records, upkeep
from memoranda.http.explorer.app import add_explorer
from memoranda.http.guard import RequestGuard, TokenChecker
from memoranda.http.problems import add_problem_handlers
from memoranda.http.short import ShortCalls
from memoranda.memory import Memory, services_of, share
from memoranda.model.tokens import ApiToken
from memoranda.serving.addresses import ListenAddress, require_tokens
from memoranda.serving.listening import (
    AllowedHosts,
    ConcurrencyLimiter,
    bound,
    serve_until_stopped,
    web_server,
)
from memoranda.serving.tokens import TokenService

# In the order of the document; what names one path stands before what takes any.
ROUTERS = (
    admin.open_router,
    records.router,
    records.search_router,
    records.items_router,
    knowledge.router,
    conversations.router,
    knowledge.notes_router,
    upkeep.router,
    knowledge.tools_router,
    upkeep.transfer_router,
    events.router,
    admin.router,
    admin.server_router,
)
MCP = "/mcp"
SECONDS, LABELS = "memoranda_request_seconds", ("route", "status")
TOKENS = 1_024  # whose memories are kept at hand


def create_app(
    memory: Memory, *, allowed: AllowedHosts | None = None, mcp: Starlette | None = None
) -> FastAPI:
    """Return the application that serves a store to whoever has a token of it.

    Args:
        memory: an open memory of the store, which the caller closes.
        mcp: what answers at ``/mcp``, if anything does.
        allowed: the names it may be asked by; any, if not given: then another server before it
            has to check ``Host`` and ``Origin``.
    """
    limits = memory.settings.http
    app = FastAPI(
        title="memoranda",
        summary="The memory that any LLM agent can be given.",
        version=memoranda.__version__,
        # Its pages would load scripts of others, and the document has a route of ours.
        openapi_url=None,
        telemetry={
            "logs": False,  # They would quote what failed.
            # By OTEL_EXPORTER_OTLP_ENDPOINT, unless whoever started this process did so.
            "auto_configure": isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider),
        },
        lifespan=None if mcp is None else mcp.router.lifespan_context,
    )
    # One object for each token, as a new one looks its user up again; and a user who was deleted
    # gets new tokens.
    app.state.memory_of = lru_cache(TOKENS)(lambda token: share(memory, token.user, None))
    app.state.metrics = CollectorRegistry()
    ProcessCollector(registry=app.state.metrics)
    seconds = Histogram(SECONDS, "Seconds that answers took.", LABELS, registry=app.state.metrics)
    app.state.short_calls = ShortCalls(services_of(memory).store)
    app.state.is_stopping = lambda: False  # Streams end where whoever runs the server sets this.
    app.state.memory, app.state.tickets, app.state.mcp = memory, events.EventTickets(), None
    if mcp is not None:
        app.state.mcp = MCP
        app.router.routes.append(Route(MCP, mcp, methods=["POST"], include_in_schema=False))
    # Not included, which would have each request look through the routes several times.
    for router in ROUTERS:
        app.router.routes.extend(router.routes)
    add_explorer(app, memory)
    add_problem_handlers(app)
    # What is added last is asked first.
    app.add_middleware(ConcurrencyLimiter, token_of=_whose_turn)
    app.add_middleware(TokenChecker, tokens=TokenService.of(memory), rate=limits.rate)
    app.add_middleware(RequestGuard, allowed=allowed, limits=limits, seconds=seconds)
    return app


def _whose_turn(scope: Scope) -> str | None:
    """Return the token whose turn a request takes; a stream of events would never give it back."""
    visitor: ApiToken | None = scope.get("visitor")
    return None if visitor is None or scope["path"] == events.router.prefix else visitor.id


def run(memory: Memory, address: ListenAddress, mcp: Starlette | None = None) -> None:
    """Serve a store until the process is told to stop, and at ``/mcp`` what answers there.

    Raises:
        ConfigError: others could reach the address and there is no token, or it cannot be listened
            at.
    """
    require_tokens(address, known=bool(TokenService.of(memory).all()))
    settings = memory.settings
    with bound(address) as listening:
        here = ListenAddress(address.host, listening.getsockname()[1])
        allowed = AllowedHosts.of(here, settings.http)
        app = create_app(memory, allowed=allowed, mcp=mcp)
        server = web_server(app, settings.http)
        app.state.is_stopping = lambda: server.should_exit
        serve_until_stopped(server, listening, f"http://{here}")
