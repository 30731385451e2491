"""What every resource is made with: its router, and the parts that several of them share.

Writes that a client repeats with the same ``Idempotency-Key`` are done once. The answer is kept in
the store for a day, so that every process of a server knows it; what is erased takes the answers of
its user along. A write that was cut short may be tried again after a minute.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, HTTPException, Path, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import AwareDatetime, BaseModel, ConfigDict, Json
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from memoranda.http.access import choose_form, require_token
from memoranda.memory import Memory, scope_of, services_of

HEADER = "Idempotency-Key"
LONGEST = 255
CLAIMED, KEPT = timedelta(minutes=1), timedelta(days=1)
# Parameters of the address that are lists.
LISTS = frozenset({"namespace", "prefix", "tags"})
READS = {"GET", "HEAD", "OPTIONS"}
REPLAYED = {"Idempotent-Replayed": "true"}
Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class IdempotentRoute(APIRoute):
    """A route whose write is done once for each key of its caller."""

    def get_route_handler(self) -> Handler:
        """Return what handles a request."""
        handle = super().get_route_handler()

        async def handle_once(request: Request) -> Response:
            choose_form(request)
            _refuse_repeated(request)
            key = request.headers.get(HEADER)
            if key is None or request.method in READS:
                return await handle(request)
            token = require_token(request)
            if not 0 < len(key) <= LONGEST:
                raise HTTPException(400, f"{HEADER} has 1 to {LONGEST} characters; send a UUID")
            memory = request.app.state.memory_of(token)
            asked = await _digest(request)
            known = await run_in_threadpool(_claim, memory, key, asked)
            if known is not None:
                return _replay(asked, *known)
            answer = None
            try:
                response = await handle(request)
                answer = _kept(response)
            finally:
                await run_in_threadpool(_keep, memory, key, answer)
            return response

        return handle_once


def _refuse_repeated(request: Request) -> None:
    """Refuse a parameter of the address that stands there twice, and is no list.

    Raises:
        RequestValidationError: there is one.
    """
    given = Counter(name for name, _ in request.query_params.multi_items())
    wrong = [name for name, count in given.items() if count > 1 and name not in LISTS]
    if wrong:
        require_token(request)
        told = {"type": "repeated", "msg": "it is given more than once; give it once"}
        raise RequestValidationError([{"loc": ("query", name), **told} for name in wrong])


async def _digest(request: Request) -> str:
    """Return what tells a request from others of the same key."""
    target = f"{request.method} {request.url.path}?{request.url.query}\n"
    return hashlib.sha256(target.encode() + await request.body()).hexdigest()


def _claim(memory: Memory, key: str, asked: str) -> tuple[str, str | None] | None:
    services, scope = services_of(memory), scope_of(memory)
    now = services.clock.now()
    with services.store.write(scope) as tx:
        return tx.claim_key(key, asked, now=now, until=now + CLAIMED)


def _keep(memory: Memory, key: str, answer: str | None) -> None:
    services, scope = services_of(memory), scope_of(memory)
    with services.store.write(scope) as tx:
        tx.keep_answer(key, answer, until=services.clock.now() + KEPT)


def _kept(response: Response) -> str | None:
    """Return an answer as it is kept; a stream is not."""
    if not hasattr(response, "body"):
        return None
    body = bytes(response.body).decode()
    headers = {name: response.headers[name] for name in ("etag",) if name in response.headers}
    return json.dumps([response.status_code, body, headers, response.media_type])


def _replay(asked: str, first: str, answer: str | None) -> Response:
    """Return what was answered before."""
    if asked != first:
        raise HTTPException(422, f"this {HEADER} was sent with another request; take a new one")
    if answer is None:
        told = "the first request of this key is not done yet"
        raise HTTPException(409, told, {"Retry-After": "1"})
    status, body, headers, media_type = json.loads(answer)
    return Response(body, status, headers | REPLAYED, media_type=media_type)


Id = Annotated[str, Path(description="The id of a record.", examples=["fact_01KB6W3V8Q"])]
Erase = Annotated[bool, Query(description="Remove every trace of the text for good.")]
Limit = Annotated[int, Query(ge=1, le=1_000, description="How many at most.")]
Metadata = dict[str, Any]
PROBLEM: dict[str, Any] = {
    "description": "What went wrong.",
    "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
}


def example(**values: Any) -> dict[str, Any]:
    """Return what a schema has beside its fields: an example for the document."""
    return {"examples": [values]}


class RequestModel(BaseModel):
    """What a request may hold, and nothing else."""

    model_config = ConfigDict(extra="forbid")

    def given(self, *without: str) -> dict[str, Any]:
        """Return what was given, as arguments of a verb."""
        return {name: getattr(self, name) for name in self.model_fields_set.difference(without)}


class RecordFilter(RequestModel):
    """Which records are meant; see ``Memory.records``."""

    kind: str | None = None
    session: str | None = None
    namespace: list[str] | None = None
    tags: list[str] | None = None
    since: AwareDatetime | None = None
    until: AwareDatetime | None = None


class RecordQuery(RecordFilter):
    """The same in a URL, where metadata is JSON."""

    metadata: Json[Metadata] | None = None


class DryRun(RequestModel, json_schema_extra=example(dry_run=True)):
    """How a stage runs."""

    dry_run: bool = False


def resource(path: str, tag: str) -> APIRouter:
    """Return the router of a resource, whose writes are done once for each ``Idempotency-Key``."""
    return APIRouter(
        prefix=f"/v1{path}",
        tags=[tag],
        responses={"4XX": PROBLEM, "5XX": PROBLEM},
        route_class=IdempotentRoute,
    )


def raw_body(kind: str, **about: Any) -> dict[str, Any]:
    """Return how the document tells of a body that is no JSON."""
    content = {kind: {"schema": {"type": "string"}, **about}}
    return {"requestBody": {"required": True, "content": content}}


def read_version(
    if_match: Annotated[
        str | None, Header(description="The ETag of what is to be changed.")
    ] = None,
) -> str | None:
    """Return the version that ``If-Match`` asks for; a weak one never matches."""
    return None if if_match in {None, "*"} else str(if_match).strip().strip('"')


IfMatch = Annotated[str | None, Depends(read_version)]
