"""Who asks, by a token or by a session of a browser, and how many requests a second they may."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from memoranda.http.access import COOKIE
from memoranda.http.problems import problem_answer
from memoranda.serving.tokens import TokenService

# Seconds whose requests may come at once.
BURST = 2.0


@dataclass(frozen=True, slots=True)
class TokenChecker:
    """ASGI middleware that looks up who asks: for the API in the header and nowhere else.

    The token stands in the state of the request. ``scope["visitor"]`` is it, or the session of a
    browser, whose cookie opens pages alone.

    Attributes:
        app: what answers.
        tokens: knows them.
        rate: requests of a token a second; more are refused with 429.
    """

    app: ASGIApp
    tokens: TokenService
    rate: float
    # Until when the requests of a token would have taken at its rate, by its id.
    _spent: dict[str, float] = field(default_factory=dict)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; messages of other kinds are passed on."""
        answer = self.app
        if scope["type"] == "http":
            given = dict(scope["headers"]).get(b"authorization", b"")
            scheme, _, text = given.decode("latin-1").partition(" ")
            is_bearer = scheme.lower() == "bearer"
            secret = text.strip() if is_bearer else Request(scope).cookies.get(COOKIE)
            visitor = scope["visitor"] = await self.tokens.find(secret) if secret else None
            scope["state"]["token"] = visitor if is_bearer else None
            if visitor is not None and (wait := self._spend(visitor.id)):
                told = f"a token may send {self.rate:g} requests a second (http.rate); slow down"
                after = {"Retry-After": str(math.ceil(wait))}
                answer = problem_answer(Request(scope), 429, told, after)
        await answer(scope, receive, send)

    def _spend(self, token: str) -> float:
        """Return the seconds until a token may ask again; 0 if it may now, and then does."""
        now = time.monotonic()
        until = max(now, self._spent.get(token, 0.0))
        if until - now > BURST:
            return until - now - BURST
        self._spent[token] = until + 1 / self.rate
        return 0.0
