"""Answers requests for pages: who asks, whether a form is theirs, what an error looks like."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from http import HTTPStatus
from importlib.resources import files
from typing import Any
from urllib.parse import parse_qsl, urlencode

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from memoranda.errors import MemorandaError
from memoranda.http.explorer.chat_sessions import ChatSessions
from memoranda.http.explorer.counting import CountCache
from memoranda.http.explorer.pages import GoTo, Handler, Page, Renderer, Visit, json_twin
from memoranda.http.explorer.sign_in import (
    COOKIE,
    FIELD,
    csrf_token,
    drop_session,
    is_own_form,
    is_own_site,
    keep_session,
)
from memoranda.http.problems import status_of
from memoranda.memory import Memory, share
from memoranda.model.tokens import ApiToken, TokenScope
from memoranda.serving.tokens import TokenService

log = logging.getLogger("memoranda.http.explorer")

SIGN_IN = "/sign-in"
# Fields of a form.
MOST_FIELDS = 100
HEADERS = {
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
POLICY = (
    "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
ASSETS = {each.name: each.read_bytes() for each in files(__package__).joinpath("static").iterdir()}
# A change of any asset gives all of them new addresses.
VERSION = sha256(b"".join(ASSETS[name] for name in sorted(ASSETS))).hexdigest()[:12]


async def send_asset(request: Request) -> Response:
    """Answer with the style, a script or the icon."""
    name = request.path_params["name"]
    if name not in ASSETS:
        raise HTTPException(HTTPStatus.NOT_FOUND)
    caching = {"Cache-Control": "public, max-age=31536000, immutable"}
    kind = TYPES[name.rpartition(".")[2]]
    return Response(ASSETS[name], media_type=kind, headers={**HEADERS, **caching})


@dataclass(frozen=True)
class Site:
    """Answers requests.

    Attributes:
        memory: of the store whose pages these are.
        tokens: know the sessions.
        renderer: makes HTML of pages.
        counts: what was counted lately.
        chats: the chats that are open.
    """

    memory: Memory
    tokens: TokenService
    renderer: Renderer = field(default_factory=Renderer)
    counts: CountCache = field(default_factory=CountCache)
    chats: ChatSessions = field(default_factory=ChatSessions)

    async def answer(
        self, request: Request, handler: Handler, needed: TokenScope, *, twin: bool = False
    ) -> Response:
        """Answer a request for a page or with a form.

        Args:
            request: the request.
            handler: makes the page, or does what the form says.
            needed: the scope that this takes.
            twin: whether the answer is JSON.
        """
        secret = request.cookies.get(COOKIE, "")
        visitor = await run_in_threadpool(self.tokens.verify, secret) if secret else None
        if visitor is None and twin and request.user.is_authenticated:
            visitor = request.user.token
        if visitor is None:
            return self._ask_to_sign_in(request, twin=twin)
        fields = [*request.query_params.multi_items(), *request.path_params.items()]
        try:
            if request.method == "POST":
                fields += await self._read_form(request, secret)
            _require(needed, visitor)
            made = await run_in_threadpool(self._make, handler, visitor, fields)
        except HTTPException as error:
            made = _error_page(HTTPStatus(error.status_code), error.detail)
        except MemorandaError as error:
            made = _error_page(HTTPStatus(status_of(error)), str(error))
        except Exception as error:  # noqa: BLE001 - a person gets a page, and no log gets a content
            log.error("%s failed: %s", handler.__name__, type(error).__name__)  # noqa: TRY400
            made = _error_page(HTTPStatus.INTERNAL_SERVER_ERROR, "something went wrong here")
        return await run_in_threadpool(self._send, request, made, visitor, secret, twin=twin)

    async def _read_form(self, request: Request, secret: str) -> list[tuple[str, str]]:
        """Return the fields of a form of this session.

        Raises:
            HTTPException: it is not from a page of this session.
        """
        given = await _read_fields(request)
        if not (is_own_site(request) and is_own_form(secret, dict(given).get(FIELD, ""))):
            message = "this form is not from a page of your session; load the page again"
            raise HTTPException(HTTPStatus.FORBIDDEN, message)
        return given

    def _make(
        self, handler: Handler, visitor: ApiToken, fields: list[tuple[str, str]]
    ) -> Page | GoTo | Response:
        memory = share(self.memory, visitor.user, None)
        return handler(Visit(visitor, memory, fields, self.counts, self.chats))

    def _send(
        self,
        request: Request,
        made: Page | GoTo | Response,
        visitor: ApiToken | None,
        secret: str = "",
        *,
        twin: bool = False,
    ) -> Response:
        """Return what was made as the answer to a request."""
        nonce = secrets.token_urlsafe(16)
        if isinstance(made, GoTo):
            answer: Response = RedirectResponse(made.address, HTTPStatus.SEE_OTHER)
        elif isinstance(made, Page) and twin:
            is_error = made.status >= HTTPStatus.BAD_REQUEST
            kind = "application/problem+json" if is_error else "application/json"
            answer = Response(json_twin(made), made.status, media_type=kind)
        elif isinstance(made, Page):
            block = request.headers.get("hx-target") if "hx-request" in request.headers else None
            around = _around(request, visitor, secret, nonce)
            text = self.renderer.html(made, block=block, **around)
            answer = Response(text, made.status, media_type="text/html")
        else:
            answer = made
        policy = {"Content-Security-Policy": POLICY.format(nonce=nonce)}
        answer.headers.update({"Cache-Control": "no-store", **policy, **HEADERS})
        return answer

    # Signing in

    def _ask_to_sign_in(self, request: Request, *, twin: bool) -> Response:
        if twin or "hx-request" in request.headers or request.method == "POST":
            made: Page | GoTo = _error_page(HTTPStatus.UNAUTHORIZED, f"sign in at {SIGN_IN}")
        else:
            query = f"?{request.url.query}" if request.url.query else ""
            made = GoTo(SIGN_IN, fields={"next": f"{request.url.path}{query}"})
        return self._send(request, made, None, twin=twin)

    async def show_sign_in(self, request: Request) -> Response:
        """Answer with the page that asks for a token."""
        page = Page(
            "sign_in", {}, {"next": _own_path(request.query_params.get("next")), "problem": ""}
        )
        return self._send(request, page, None)

    async def sign_in(self, request: Request) -> Response:
        """Exchange a token for a cookie."""
        form = dict(await _read_fields(request))
        there, token = _own_path(form.get("next")), form.get("token", "").strip()
        opened = None
        if is_own_site(request) and token:
            opened = await run_in_threadpool(self.tokens.open_session, token)
        if opened is None:
            problem = "This token is not known, has expired or was revoked."
            page = Page("sign_in", {}, {"next": there, "problem": problem}, HTTPStatus.UNAUTHORIZED)
            return self._send(request, page, None)
        answer = self._send(request, GoTo(there), None)
        keep_session(answer, request, opened)
        return answer

    async def sign_out(self, request: Request) -> Response:
        """End the session."""
        secret = request.cookies.get(COOKIE, "")
        try:
            await self._read_form(request, secret)
        except HTTPException as error:
            page = _error_page(HTTPStatus(error.status_code), error.detail)
            return self._send(request, page, None)
        await run_in_threadpool(self._end_session, secret)
        answer = self._send(request, GoTo(SIGN_IN, "signed_out"), None)
        drop_session(answer)
        return answer

    def _end_session(self, secret: str) -> None:
        if (session := self.tokens.verify(secret)) is not None:
            self.tokens.revoke(session.id)

    async def show_missing(self, request: Request) -> Response:
        """Answer a browser that asks for a page that there is not.

        Raises:
            HTTPException: it is no browser, and is told as a program.
        """
        if "text/html" not in request.headers.get("accept", ""):
            raise HTTPException(HTTPStatus.NOT_FOUND)
        page = _error_page(HTTPStatus.NOT_FOUND, f"there is no page {request.url.path}")
        return self._send(request, page, None)


async def _read_fields(request: Request) -> list[tuple[str, str]]:
    """Return the fields of a form as browsers send it."""
    body = (await request.body()).decode("utf-8", "replace")
    try:
        return parse_qsl(body, keep_blank_values=True, max_num_fields=MOST_FIELDS)
    except ValueError as error:
        raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, "too many fields") from error


def _require(needed: TokenScope, visitor: ApiToken) -> None:
    if not visitor.scope.allows(needed):
        message = f"this needs a token of scope {needed}; yours is {visitor.scope}"
        raise HTTPException(HTTPStatus.FORBIDDEN, message)


def _error_page(status: HTTPStatus, detail: str) -> Page:
    """Return what tells of an error; its twin is what RFC 9457 calls problem details."""
    values = {"type": "about:blank", "title": status.phrase, "status": status, "detail": detail}
    return Page("error", values, status=status)


def _own_path(path: object) -> str:
    """Return a path of this server; the first page for anything else."""
    # Browsers leave out tabs and ends of lines, and take a backslash for a slash.
    plain = str(path or "").isprintable() and "\\" not in str(path)
    is_own = plain and str(path).startswith("/") and not str(path).startswith("//")
    return str(path) if is_own else "/"


def _around(
    request: Request, visitor: ApiToken | None, secret: str, nonce: str
) -> Mapping[str, Any]:
    """Return what the frame of every page needs."""
    path, fields = request.url.path, request.query_params.multi_items()
    asked = urlencode([(name, value) for name, value in fields if name != "done"])
    twin = f"{'/overview' if path == '/' else path}.json"
    return {
        "asset": f"?v={VERSION}",
        "csrf": csrf_token(secret) if secret else "",
        "done": request.query_params.get("done", ""),
        "nonce": nonce,
        "path": path,
        "twin": f"{twin}?{asked}" if asked else twin,
        "visitor": visitor,
    }
