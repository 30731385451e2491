"""The guard before everything: names requests, refuses what should not come, logs no content."""

from __future__ import annotations

import logging
import math
import secrets
import time
import traceback
from dataclasses import dataclass, field
from http import HTTPStatus

import anyio
from opentelemetry import trace
from prometheus_client import Histogram
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memoranda.http.access import COOKIE
from memoranda.http.problems import FAILED, problem_answer
from memoranda.serving.listening import AllowedHosts
from memoranda.serving.tokens import TokenService
from memoranda.settings.sections import HttpSettings

log = logging.getLogger("memoranda.http")
# Sent with every answer that does not say otherwise.
ALWAYS = (
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
)
# A span has the pattern of the path; the path itself may name an entity, and a query has words.
UNTRACED = {"url.path": "", "url.query": ""}


@dataclass(frozen=True, slots=True)
class RequestGuard:
    """ASGI middleware that bounds what a request may be.

    Attributes:
        app: what answers.
        allowed: the names it may be asked by; ``None`` is any.
        limits: how long a body may be, and in which time it has to arrive.
        seconds: counts the answers and how long they took.
    """

    app: ASGIApp
    allowed: AllowedHosts | None
    limits: HttpSettings
    seconds: Histogram

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; messages of other kinds are passed on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        scope.setdefault("state", {})["request_id"] = secrets.token_hex(8)
        request, answer = Request(scope), AnswerSender(scope, send)
        trace.get_current_span().set_attributes(UNTRACED)
        if refusal := self._refuse(request):
            await refusal(scope, receive, answer.send)
            return
        body = BodyReceiver(receive, self.limits.body_size, self.limits.body_seconds)
        try:
            await self.app(scope, body.receive, answer.send)
        except Exception as error:  # noqa: BLE001 - the last to catch it; whatever it is, is logged
            # No message of it: it may quote what is remembered.
            frames = "".join(traceback.format_tb(error.__traceback__))
            log.error("%s failed: %s\n%s", answer.label, type(error).__name__, frames)  # noqa: TRY400
            if not answer.status:
                await problem_answer(request, 500, FAILED)(scope, receive, answer.send)
        finally:
            answer.tell(self.seconds)

    def _refuse(self, request: Request) -> Response | None:
        """Return the answer to a request that goes no further."""
        headers = request.headers
        host, origin = headers.get("host", ""), headers.get("origin")
        if self.allowed is not None and not self.allowed.allow_host(host):
            told = f"this server is not asked by the name {host!r:.80}; set http.allowed_hosts"
            return problem_answer(request, 421, told)
        if self.allowed is not None and origin and origin.lower() not in self.allowed.origins:
            told = f"pages of {origin!r:.80} may not ask this server; set http.allowed_origins"
            return problem_answer(request, 403, told)
        if headers.get("content-encoding", "identity").lower() != "identity":
            told = "a body is sent as it is; leave Content-Encoding out"
            return problem_answer(request, 415, told, {"Accept-Encoding": "identity"})
        return None


@dataclass(slots=True)
class BodyReceiver:
    """Receives the body of a request, which has a size and comes in time."""

    source: Receive
    size: int
    seconds: float
    received: int = 0
    until: float | None = None

    async def receive(self) -> Message:
        """Return the next part of the body, or what comes after it.

        Raises:
            HTTPException: it is too long, or too slow.
        """
        if self.received < 0:  # It is whole: whoever asks now waits for the client to go.
            return await self.source()
        self.until = self.until or anyio.current_time() + self.seconds
        with anyio.CancelScope(deadline=self.until) as wait:
            message = await self.source()
        if wait.cancelled_caught:
            told = f"the body took longer than {self.seconds:g} s (http.body_seconds)"
            raise HTTPException(408, told, {"Connection": "close"})
        self.received += len(message.get("body", b""))
        if self.received > self.size:
            told = f"a body has {self.size:,} bytes at most (http.body_size); send it in parts"
            raise HTTPException(413, told, {"Connection": "close"})
        if not message.get("more_body", False):
            self.received = -1
        return message


@dataclass(slots=True)
class AnswerSender:
    """Sends an answer with the headers that each has, and logs how it went."""

    scope: Scope
    target: Send
    status: int = 0
    begun: float = field(default_factory=time.perf_counter)

    @property
    def route(self) -> str:
        """The method and the pattern of the path; a dash where there is no such route."""
        path = getattr(self.scope.get("route"), "path", None)
        is_known = path is not None and self.status != HTTPStatus.METHOD_NOT_ALLOWED
        return f"{self.scope['method']} {path}" if is_known else "-"

    @property
    def label(self) -> str:
        """The request as the log has it."""
        return f"{self.scope['state']['request_id']} {self.route}"

    async def send(self, message: Message) -> None:
        """Send a part of an answer."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = message.get("headers", ())
            said = dict(headers)
            own = (b"x-request-id", self.scope["state"]["request_id"].encode())
            message["headers"] = [*headers, own, *(each for each in ALWAYS if each[0] not in said)]
        await self.target(message)

    def tell(self, seconds: Histogram) -> None:
        """Count the answer, and log how it went."""
        took = time.perf_counter() - self.begun
        seconds.labels(self.route, str(self.status)).observe(took)
        if log.isEnabledFor(logging.INFO):
            log.info("%s %d %.1f ms", self.label, self.status, 1_000 * took)


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
