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
from memoranda.http import (
    admin,
    bulk,
    conversations,
    entities,
    events,
    items,
    notes,
    records,
    search,
    server,
    tools,
    transfer,
    upkeep,
)
from memoranda.http.explorer.app import add_explorer
from memoranda.http.guard import RequestGuard
from memoranda.http.limits import TokenChecker
from memoranda.http.problems import add_problem_handlers
from memoranda.http.short import ShortCalls
from memoranda.memory import Memory, services_of, share
from memoranda.model.tokens import ApiToken
from memoranda.serving.listening import AllowedHosts, ConcurrencyLimiter
from memoranda.serving.tokens import TokenService

# In the order of the document; what names one path stands before what takes any.
RESOURCES = (
    bulk,
    records,
    search,
    items,
    entities,
    conversations,
    notes,
    upkeep,
    tools,
    transfer,
    events,
    admin,
    server,
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
    for router in (server.open_router, *(resource.router for resource in RESOURCES)):
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
