"""Who may ask, and in which form they are answered.

A bearer token opens the memory of its user, and allows what its scope does. Results are the JSON
that every door gives, with the version of a record as its tag. A client that makes our values of
them again, as ``memoranda.Remote`` does, asks for the full form.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from typing import Annotated, Any

from fastapi import Depends, HTTPException, Request
from starlette.responses import Response

from memoranda.memory import Memory
from memoranda.model.models import Record
from memoranda.model.tokens import ApiToken, TokenScope
from memoranda.rendering.forms import ResultForm, form_of, format_json, full_form_of

# The cookie of a browser's session.
COOKIE = "memoranda_session"
IS_MISSING = "this needs a token: Authorization: Bearer TOKEN; memoranda token create makes one"
IS_UNKNOWN = (
    "this token is not known: it is cut off, has expired or was revoked, or does not stand as "
    "Authorization: Bearer TOKEN; memoranda token list shows those there are"
)


def require_token(request: Request) -> ApiToken:
    """Return the token of whoever asks.

    Raises:
        HTTPException: the request came without a valid one.
    """
    token: ApiToken | None = request.state.token
    if token is None:
        told = IS_UNKNOWN if "authorization" in request.headers else IS_MISSING
        raise HTTPException(401, told, {"WWW-Authenticate": "Bearer"})
    return token


def require_scope(request: Request, scope: TokenScope) -> ApiToken:
    """Return the token of whoever asks, which allows ``scope``.

    Raises:
        HTTPException: the request came without a valid one, or it does not allow that.
    """
    token = require_token(request)
    if not token.scope.allows(scope):
        wanted = f"this needs a token of scope {scope}, and {token.id} has scope {token.scope}"
        raise HTTPException(403, wanted)
    return token


def memory_for(scope: TokenScope) -> Callable[[Request], Awaitable[Memory]]:
    """Return the dependency that gives the memory of the caller, whose token allows ``scope``."""

    async def caller_memory(request: Request) -> Memory:
        token = require_scope(request, scope)
        # Nothing is looked up in the store before a verb is called, in a worker thread.
        memory: Memory = request.app.state.memory_of(token)
        return memory

    return caller_memory


ReadMemory = Annotated[Memory, Depends(memory_for(TokenScope.READ))]
WriteMemory = Annotated[Memory, Depends(memory_for(TokenScope.WRITE))]
AdminMemory = Annotated[Memory, Depends(memory_for(TokenScope.ADMIN))]


# What a client accepts that wants all fields of results, each as it is.
FULL = "application/vnd.memoranda.full+json"
# The form that the present request asked for.
asked_form: ContextVar[ResultForm] = ContextVar("asked_form", default=form_of)


def is_full_form(request: Request) -> bool:
    """Return whether a request asks for all fields of results, each as it is."""
    return FULL in request.headers.get("accept", "")


def choose_form(request: Request) -> None:
    """Give results in the form that a request asks for, until its answer is made."""
    asked_form.set(full_form_of if is_full_form(request) else form_of)


def answer(result: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return the answer that holds a result."""
    return Response(format_json(result, form=asked_form.get()), status, headers, "application/json")


def record_form(record: Record) -> Mapping[str, object]:
    """Return a record with its version, which a later change may name."""
    return {**asked_form.get()(record), "version": record.version}


def record_answer(record: Record, status: int = 200) -> Response:
    """Return the answer that holds one record."""
    form = record_form(record)
    return answer(form, status, {"ETag": f'"{form["version"]}"'})
