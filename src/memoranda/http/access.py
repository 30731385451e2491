"""Who may ask: a bearer token opens the memory of its user, and allows what its scope does."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import Depends, HTTPException, Request

from memoranda.memory import Memory
from memoranda.model.tokens import ApiToken, TokenScope

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


def memory_for(scope: TokenScope) -> Callable[[Request], Awaitable[Memory]]:
    """Return the dependency that gives the memory of the caller, whose token allows ``scope``."""

    async def caller_memory(request: Request) -> Memory:
        token = require_token(request)
        if not token.scope.allows(scope):
            wanted = f"this needs a token of scope {scope}, and {token.id} has scope {token.scope}"
            raise HTTPException(403, wanted)
        # Nothing is looked up in the store before a verb is called, in a worker thread.
        memory: Memory = request.app.state.memory_of(token)
        return memory

    return caller_memory


ReadMemory = Annotated[Memory, Depends(memory_for(TokenScope.READ))]
WriteMemory = Annotated[Memory, Depends(memory_for(TokenScope.WRITE))]
AdminMemory = Annotated[Memory, Depends(memory_for(TokenScope.ADMIN))]
