"""What a token, or a session of a browser, may ask: so many requests a second, so many at once."""

from __future__ import annotations

import asyncio
import math
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from weakref import WeakValueDictionary

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memoranda.http.problems import problem_answer
from memoranda.serving.listening import SHARE

# Seconds whose requests may come at once.
BURST = 2.0


@dataclass(slots=True)
class TokenLimiter:
    """ASGI middleware that gives each token its share, so that others are served, too.

    Too many a second are refused with 429; too many at once wait for their turn.

    Attributes:
        app: what answers.
        rate: requests of a token a second.
    """

    app: ASGIApp
    rate: float
    _turns: WeakValueDictionary[str, asyncio.Semaphore] = field(default_factory=WeakValueDictionary)
    # Until when the requests of a token would have taken at its rate, by its id.
    _spent: dict[str, float] = field(default_factory=dict)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request in its turn."""
        if scope["type"] != "http" or scope["visitor"] is None:
            await self.app(scope, receive, send)
            return
        token = scope["visitor"].id
        if wait := self._spend(token):
            told = f"a token may send {self.rate:g} requests a second (http.rate); slow down"
            answer = problem_answer(
                Request(scope), 429, told, {"Retry-After": str(math.ceil(wait))}
            )
            await answer(scope, receive, send)
            return
        turns = self._turns.setdefault(token, asyncio.Semaphore(SHARE))
        await turns.acquire()
        with ExitStack() as turn:
            turn.callback(turns.release)

            async def begin(message: Message) -> None:
                turn.close()  # The next may have it now, however long a stream is.
                await send(message)

            await self.app(scope, receive, begin)

    def _spend(self, token: str) -> float:
        """Return the seconds until a token may ask again; 0 if it may now, and then does."""
        now = time.monotonic()
        until = max(now, self._spent.get(token, 0.0))
        if until - now > BURST:
            return until - now - BURST
        self._spent[token] = until + 1 / self.rate
        return 0.0
