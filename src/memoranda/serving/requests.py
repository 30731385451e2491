"""Requests to an HTTP server: how many one client may send, and the host in their headers."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

MINUTE = 60.0
# Clients that are remembered; of more, whoever asked longest ago is forgotten.
MOST_CLIENTS = 10_000
# What does not depend on case (RFC 9110, 4.2.3), and is compared as if it did.
CASELESS = {b"host", b"origin"}


class RequestLimits:
    """An ASGI application that answers 429 to whoever asks too often.

    Each client may send a minute's requests at once, and then as many as time brings.

    Args:
        app: what answers the others.
        per_minute: how many requests of one client.
        client_of: names the client of a request by its token, if it has one that is known; the
            others are told apart by their address.
        now: the present, in seconds.
    """

    def __init__(
        self,
        app: App,
        *,
        per_minute: int,
        client_of: Callable[[Scope], str | None],
        now: Callable[[], float],
    ) -> None:
        """Know no client yet."""
        self._app, self._most, self._client_of, self._now = app, per_minute, client_of, now
        # By client when it last asked, and how many requests it had left.
        self._clients: OrderedDict[str, tuple[float, float]] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        wait = self.take(self._client_of(scope) or f"at {(scope['client'] or ('',))[0]}")
        if wait > 0:
            await _answer_too_many(send, wait)
            return
        headers = [
            (name, each.lower() if name in CASELESS else each) for name, each in scope["headers"]
        ]
        await self._app({**scope, "headers": headers}, receive, send)

    def take(self, client: str) -> float:
        """Take one request of a client; return how many seconds it has to wait instead, or 0."""
        now = self._now()
        asked, left = self._clients.pop(client, (now, float(self._most)))
        left = min(float(self._most), left + (now - asked) * self._most / MINUTE)
        fits = left >= 1
        self._clients[client] = (now, left - fits)
        if len(self._clients) > MOST_CLIENTS:
            self._clients.popitem(last=False)
        return 0.0 if fits else (1 - left) * MINUTE / self._most


async def _answer_too_many(send: Send, wait: float) -> None:
    seconds = str(int(wait) + 1)
    message = f"too many requests; try again in {seconds} s (http.requests_per_minute)"
    body = json.dumps({"error": message}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"retry-after", seconds.encode()),
    ]
    await send({"type": "http.response.start", "status": 429, "headers": headers})
    await send({"type": "http.response.body", "body": body})
