"""What concerns a whole store: its users, its tokens, its health. For tokens of scope ``admin``."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from pydantic import BaseModel, Field
from starlette.responses import Response

import memoranda
from memoranda.http.access import AdminMemory, ReadMemory, answer, require_token
from memoranda.http.problems import Problem
from memoranda.http.resources import RequestModel, example, resource
from memoranda.maintenance.users import UserOverview
from memoranda.model.models import ChangeAction, ForgetReceipt, Kind
from memoranda.model.reports import Check
from memoranda.model.tokens import ApiToken, TokenScope
from memoranda.rendering.forms import form_of
from memoranda.serving.tokens import TokenService

router = resource("/admin", "admin")


class NewToken(RequestModel, json_schema_extra=example(user="ben", scope="read", days=90)):
    """Whose memory a token opens, what for, and for how many days."""

    user: str
    scope: TokenScope = TokenScope.WRITE
    days: int | None = Field(default=None, ge=1, le=36_500)


@router.get("/users", response_model=list[UserOverview])
def users(memory: AdminMemory) -> Response:
    """List the users of the store, with what they have."""
    return answer(memory.admin.overviews())


@router.delete("/users/{name:path}", response_model=ForgetReceipt)
def delete_user(
    name: Annotated[str, Path(examples=["ben"])], memory: AdminMemory, *, erase: bool = True
) -> Response:
    """Delete a user with everything they have, tokens included."""
    receipt = memory.admin.delete_user(name, erase=erase)
    TokenService.of(memory).forget_recent()
    return answer(receipt)


@router.get("/tokens", response_model=list[ApiToken])
def tokens(memory: AdminMemory) -> Response:
    """List the tokens of all users; none of their texts is kept."""
    return answer(TokenService.of(memory).all())


@router.post("/tokens", status_code=201, response_model=dict[str, Any])
def create_token(new: NewToken, memory: AdminMemory) -> Response:
    """Make a token; its text is shown this once."""
    span = None if new.days is None else timedelta(days=new.days)
    text, token = TokenService.of(memory).create(new.user, new.scope, span)
    return answer({"token": text, **form_of(token)}, 201)


@router.delete("/tokens/{id}", response_model=ApiToken)
def revoke_token(id: str, memory: AdminMemory) -> Response:
    """Let a token open nothing from now on."""
    return answer(TokenService.of(memory).revoke(id))


@router.get("/doctor", response_model=list[Check])
def doctor(memory: AdminMemory) -> Response:
    """Look at everything that can be wrong, and tell what was found."""
    return answer(memory.doctor())


@router.get("/verify", response_model=list[str])
def verify(memory: AdminMemory) -> Response:
    """List the problems of the whole store."""
    return answer(memory.verify())


@router.post("/rebuild", response_model=list[str])
def rebuild(memory: AdminMemory) -> Response:
    """Derive index and counts anew; tell what was different."""
    return answer(memory.rebuild())


open_router = APIRouter(tags=["server"])
server_router = resource("", "server")


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


class Capabilities(BaseModel):
    """What this server can do for whoever asks, and what it takes."""

    version: str
    user: str
    scope: str
    kinds: list[str]
    events: list[str]
    limits: dict[str, float]
    vectors: str
    language_model: bool
    mcp: str | None


@server_router.get("/capabilities", response_model=Capabilities)
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
