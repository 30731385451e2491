"""Who may ask: a bearer token opens the memory of its user, and allows what its scope does."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, HTTPException, Request
from starlette.authentication import AuthCredentials, AuthenticationBackend, BaseUser
from starlette.concurrency import run_in_threadpool
from starlette.requests import HTTPConnection

from memoranda.memory import Memory
from memoranda.model.tokens import ApiToken, TokenScope
from memoranda.serving.tokens import TokenService

# The cookie of a browser's session.
COOKIE = "memoranda_session"
IS_MISSING = "this needs a token: Authorization: Bearer TOKEN; memoranda token create makes one"
IS_UNKNOWN = (
    "this token is not known: it is cut off, has expired or was revoked, or does not stand as "
    "Authorization: Bearer TOKEN; memoranda token list shows those there are"
)


@dataclass(frozen=True, slots=True)
class TokenUser(BaseUser):
    """Whoever came with a token that is valid."""

    token: ApiToken

    @property
    def is_authenticated(self) -> bool:
        """Whether the token was found: always."""
        return True

    @property
    def display_name(self) -> str:
        """The user whose memory the token opens."""
        return self.token.user


@dataclass(frozen=True, slots=True)
class TokenBackend(AuthenticationBackend):
    """Looks up the token of each request: for the API in the header and nowhere else.

    ``scope["visitor"]`` is also the session of a browser, whose cookie opens pages alone.

    Attributes:
        tokens: knows them.
    """

    tokens: TokenService

    async def authenticate(self, conn: HTTPConnection) -> tuple[AuthCredentials, BaseUser] | None:
        """Return who asks; ``None`` where no valid token came in the header."""
        scheme, _, text = conn.headers.get("authorization", "").partition(" ")
        is_bearer = scheme.lower() == "bearer"
        secret = text.strip() if is_bearer else conn.cookies.get(COOKIE, "")
        verify, at_once = self.tokens.verify, self.tokens.store.reads_at_once
        token = None
        if secret:
            # A look into a file takes a tenth of the time that handing it to a thread does.
            token = verify(secret) if at_once else await run_in_threadpool(verify, secret)
        conn.scope["visitor"] = token
        if token is None or not is_bearer:
            return None
        return AuthCredentials([token.scope]), TokenUser(token)


def refuse_stranger(request: Request) -> None:
    """Refuse a request that came without a valid token.

    Raises:
        HTTPException: it did.
    """
    if not request.user.is_authenticated:
        told = IS_UNKNOWN if "authorization" in request.headers else IS_MISSING
        raise HTTPException(401, told, {"WWW-Authenticate": "Bearer"})


def memory_for(scope: TokenScope) -> Callable[[Request], Awaitable[Memory]]:
    """Return the dependency that gives the memory of the caller, whose token allows ``scope``."""

    async def caller_memory(request: Request) -> Memory:
        refuse_stranger(request)
        token: ApiToken = request.user.token
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
