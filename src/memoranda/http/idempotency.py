"""Writes that a client repeats with the same ``Idempotency-Key`` are done once.

The answer is kept in the store for a day, so that every process of a server knows it; what is
erased takes the answers of its user along. A write that was cut short may be tried again after a
minute.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any

from fastapi import HTTPException, Request
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from memoranda.http.access import choose_form, require_token
from memoranda.memory import Memory, scope_of, services_of

HEADER = "Idempotency-Key"
LONGEST = 255
CLAIMED, KEPT = timedelta(minutes=1), timedelta(days=1)
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
