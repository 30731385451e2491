"""The server itself: whether it answers, what it can do, and the document of its API."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.responses import Response

import memoranda
from memoranda.http import schemas
from memoranda.http.access import ReadMemory, require_token
from memoranda.http.answers import answer
from memoranda.http.problems import Problem
from memoranda.http.resources import resource
from memoranda.model.models import ChangeAction, Kind

open_router = APIRouter(tags=["server"])
router = resource("", "server")


@open_router.get("/health")
async def health() -> dict[str, str]:
    """Tell that the server answers; needs no token."""
    return {"status": "ok"}


@open_router.get("/metrics", include_in_schema=False)
def metrics(request: Request) -> Response:
    """Give the figures of this process to Prometheus, which has a token."""
    require_token(request)
    return Response(generate_latest(request.app.state.metrics), media_type=CONTENT_TYPE_LATEST)


@open_router.get("/openapi.json", include_in_schema=False)
def openapi(request: Request) -> dict[str, Any]:
    """Give the OpenAPI document."""
    require_token(request)
    found: dict[str, Any] = request.app.openapi()
    schema = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    parts = schema.pop("$defs")
    found["components"]["schemas"] |= parts | {"Problem": schema}
    found["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    found["security"] = [{"token": []}]
    return found


@router.get("/capabilities", response_model=schemas.Capabilities)
def capabilities(request: Request, memory: ReadMemory) -> Response:
    """Tell what this server can do for whoever asks, and what it takes."""
    stats, limits, token = memory.stats(), memory.settings.http, request.state.token
    return answer(
        {
            "version": memoranda.__version__,
            "user": memory.user,
            "scope": token.scope,
            "kinds": [*Kind],
            "events": [*ChangeAction],
            "limits": limits.model_dump(include={"body_size", "body_seconds", "rate"}),
            "vectors": stats.vectors,
            "language_model": stats.llm != "none",
            "mcp": request.app.state.mcp,
        }
    )
