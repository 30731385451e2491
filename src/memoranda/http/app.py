"""The application: every resource, behind one guard and one look at the token."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Depends, FastAPI, Request
from starlette.middleware.authentication import AuthenticationMiddleware

import memoranda
from memoranda.http import records
from memoranda.http.access import TokenBackend, bearer, refuse_stranger
from memoranda.http.guard import RequestGuard
from memoranda.http.problems import Problem, add_problem_handlers
from memoranda.memory import Memory
from memoranda.serving.listening import AllowedNames
from memoranda.serving.tokens import TokenService

RESOURCES = (records.router,)
PROBLEM: dict[str, Any] = {"model": Problem, "content": {"application/problem+json": {}}}


def create_app(memory: Memory, *, allowed: AllowedNames | None = None) -> FastAPI:
    """Return the application that serves a store to whoever has a token of it.

    Args:
        memory: an open memory of the store, which the caller closes.
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
    )
    app.state.memory = memory
    api = APIRouter(prefix="/v1", dependencies=[Depends(bearer)], responses={"4XX": PROBLEM})
    for resource in RESOURCES:
        api.include_router(resource)
    app.include_router(api)
    app.add_api_route("/health", health, tags=["server"])
    app.add_api_route("/openapi.json", openapi, include_in_schema=False)
    add_problem_handlers(app)
    # What is added last is asked first.
    app.add_middleware(AuthenticationMiddleware, backend=TokenBackend(TokenService.of(memory)))
    app.add_middleware(
        RequestGuard, allowed=allowed, body_size=limits.body_size, body_seconds=limits.body_seconds
    )
    return app


async def health() -> dict[str, str]:
    """Tell that the server answers; needs no token."""
    return {"status": "ok"}


def openapi(request: Request) -> dict[str, Any]:
    """Return the OpenAPI document."""
    refuse_stranger(request)
    found: dict[str, Any] = request.app.openapi()
    return found
