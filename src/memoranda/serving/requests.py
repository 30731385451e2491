"""Requests to an HTTP server, with the host in their headers as it is compared."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

# What does not depend on case (RFC 9110, 4.2.3), and is compared as if it did.
CASELESS = {b"host", b"origin"}


def with_small_letters(app: App) -> App:
    """Return ``app`` as it is asked with the host and origin of each request in small letters."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = [
                (name, each.lower() if name in CASELESS else each)
                for name, each in scope["headers"]
            ]
            scope = {**scope, "headers": headers}
        await app(scope, receive, send)

    return answer
