"""Answers requests for pages: who asks, whether a form is theirs, what an error looks like."""

from __future__ import annotations

import hashlib
import hmac
import logging
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from importlib.resources import files
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from memoranda.http.access import COOKIE
from memoranda.http.explorer.pages import (
    Handler,
    Page,
    PageRequest,
    PageResult,
    Redirect,
    render_html,
)
from memoranda.http.explorer.server_state import ChatSessions, CountCache
from memoranda.http.problems import ABOUT_REQUEST, FAILED, status_of
from memoranda.memory import Memory, share
from memoranda.model.tokens import ApiToken, TokenScope
from memoranda.rendering.forms import format_json
from memoranda.serving.tokens import TokenService

SIGN_IN = "/sign-in"
CSRF_FIELD = "csrf"
# Seconds for which a browser keeps the cookie; the session itself may end before.
LIFETIME = 12 * 60 * 60


def csrf_token(secret: str) -> str:
    """Return what each form of a session carries: nobody can make it without the cookie."""
    return hmac.new(secret.encode(), b"form", hashlib.sha256).hexdigest()


def is_own_form(secret: str, given: str) -> bool:
    """Return whether a form carries the token of the session."""
    return hmac.compare_digest(csrf_token(secret).encode(), given.encode("utf-8", "replace"))


def is_own_site(request: Request) -> bool:
    """Return whether a request comes from a page of this server, as far as the browser says.

    A page that sends no referrer has the origin ``null`` for its own server, too.
    """
    site = request.headers.get("sec-fetch-site", "same-origin")
    origin = request.headers.get("origin", "null")
    here = request.headers.get("host", "")
    return site == "same-origin" and (origin == "null" or urlsplit(origin).netloc == here)


def keep_session(answer: Response, request: Request, secret: str) -> None:
    """Let the browser keep a session, for no script and for no request from another site."""
    secure = request.url.scheme == "https"
    answer.set_cookie(
        COOKIE, secret, max_age=LIFETIME, httponly=True, samesite="strict", secure=secure
    )


def sign_out(visit: PageRequest) -> Redirect:
    """End the session; its cookie opens nothing from now on."""
    TokenService.of(visit.memory).revoke(visit.visitor.id)
    return Redirect(SIGN_IN, "signed_out")


log = logging.getLogger("memoranda.http.explorer")

# The guard of the server adds those that every answer has.
HEADERS = {
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Frame-Options": "DENY",
}
POLICY = (
    "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
ASSETS = {each.name: each.read_bytes() for each in files(__package__).joinpath("static").iterdir()}
ASSETS["style.css"] = files("memoranda.rendering").joinpath("style.css").read_bytes()
# A change of any asset gives all of them new addresses.
VERSION = hashlib.sha256(b"".join(ASSETS[name] for name in sorted(ASSETS))).hexdigest()[:12]


async def send_asset(request: Request) -> Response:
    """Answer with the style, a script or the icon."""
    name = request.path_params["name"]
    if name not in ASSETS:
        raise HTTPException(HTTPStatus.NOT_FOUND)
    caching = {"Cache-Control": "public, max-age=31536000, immutable"}
    kind = TYPES[name.rpartition(".")[2]]
    return Response(ASSETS[name], media_type=kind, headers={**HEADERS, **caching})


@dataclass(frozen=True)
class PageServer:
    """Answers requests.

    Attributes:
        memory: of the store whose pages these are.
        tokens: know the sessions.
        counts: what was counted lately.
        chats: the chats that are open.
    """

    memory: Memory
    tokens: TokenService
    counts: CountCache = field(default_factory=CountCache)
    chats: ChatSessions = field(default_factory=ChatSessions)

    async def answer(self, request: Request, handler: Handler, needed: TokenScope) -> Response:
        """Answer a request for a page, or for its twin, or with a form.

        Args:
            request: the request.
            handler: makes the page, or does what the form says.
            needed: the scope that this takes.
        """
        visitor: ApiToken | None = request.scope["visitor"]
        # A token in the header opens no page: only what a program reads.
        if visitor is None or (request.state.token is not None and not _wants_twin(request)):
            return self._ask_to_sign_in(request)
        request.state.visitor = visitor
        fields = [*request.query_params.multi_items(), *request.path_params.items()]
        try:
            if request.method == "POST":
                fields += await self._read_form(request)
            _require(needed, visitor)
            memory = share(self.memory, visitor.user, None)
            visit = PageRequest(visitor, memory, fields, self.counts, self.chats)
            made = await run_in_threadpool(handler, visit)
        except HTTPException as error:
            made = _error_page(error.status_code, error.detail)
        except Exception as error:  # noqa: BLE001 - a person gets a page, and no log gets a content
            status = status_of(error)
            if status > ABOUT_REQUEST:
                log.error("%s failed: %s", handler.__name__, type(error).__name__)  # noqa: TRY400
            # What the command line advises is of no use to whoever reads a page.
            told, _, _ = str(error).partition("; memoranda ")
            made = _error_page(status, told if status <= ABOUT_REQUEST else FAILED)
        return await run_in_threadpool(self._send, request, made)

    async def _read_form(self, request: Request) -> list[tuple[str, str]]:
        """Return the fields of a form of this session.

        Raises:
            HTTPException: it is not from a page of this session.
        """
        given, secret = await _read_fields(request), request.cookies.get(COOKIE, "")
        token = dict(given).get(CSRF_FIELD, "")
        if not (is_own_site(request) and is_own_form(secret, token)):
            message = "this form is not from a page of your session; load the page again"
            raise HTTPException(HTTPStatus.FORBIDDEN, message)
        return given

    def _send(self, request: Request, made: PageResult) -> Response:
        """Return what was made as the answer to a request."""
        nonce = secrets.token_urlsafe(16)
        if isinstance(made, Redirect):
            answer: Response = RedirectResponse(made.address, HTTPStatus.SEE_OTHER)
        elif isinstance(made, Page) and _wants_twin(request):
            kind = "problem+json" if made.status >= HTTPStatus.BAD_REQUEST else "json"
            text = format_json(dict(made.values), indent=2)
            answer = Response(text, made.status, media_type=f"application/{kind}")
        elif isinstance(made, Page):
            block = request.headers.get("hx-target") if "hx-request" in request.headers else None
            text = render_html(made, block, **_around(request, nonce))
            answer = Response(text, made.status, media_type="text/html")
        else:
            answer = made
        answer.headers.update({"Content-Security-Policy": POLICY.format(nonce=nonce), **HEADERS})
        return answer

    # Signing in

    def _ask_to_sign_in(self, request: Request) -> Response:
        made: PageResult = _error_page(HTTPStatus.UNAUTHORIZED, f"sign in at {SIGN_IN}")
        is_page = request.method == "GET" and "hx-request" not in request.headers
        if is_page and not _wants_twin(request):
            there = f"{request.url.path}?{request.url.query}".removesuffix("?")
            made = Redirect(SIGN_IN, fields={"next": there})
        return self._send(request, made)

    async def show_sign_in(self, request: Request) -> Response:
        """Answer with the page that asks for a token."""
        there = _own_path(request.query_params.get("next"))
        return self._send(request, Page("sign_in", {}, {"next": there, "problem": ""}))

    async def sign_in(self, request: Request) -> Response:
        """Exchange a token for a cookie."""
        form = dict(await _read_fields(request))
        there, token = _own_path(form.get("next")), form.get("token", "").strip()
        text = token if is_own_site(request) else ""
        opened = await run_in_threadpool(self.tokens.open_session, text)
        if opened is None:
            problem = "This token is not known, has expired or was revoked."
            page = Page("sign_in", {}, {"next": there, "problem": problem}, HTTPStatus.UNAUTHORIZED)
            return self._send(request, page)
        answer = self._send(request, Redirect(there))
        keep_session(answer, request, opened)
        return answer

    async def show_missing(self, request: Request) -> Response:
        """Answer a browser that asks for a page that there is not.

        Raises:
            HTTPException: it is no browser, and is told as a program.
        """
        if "text/html" not in request.headers.get("accept", ""):
            raise HTTPException(HTTPStatus.NOT_FOUND)
        page = _error_page(HTTPStatus.NOT_FOUND, f"there is no page {request.url.path}")
        return self._send(request, page)


async def _read_fields(request: Request) -> list[tuple[str, str]]:
    """Return the fields of a form as browsers send it."""
    body = await request.body()
    return parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True)


def _require(needed: TokenScope, visitor: ApiToken) -> None:
    if not visitor.scope.allows(needed):
        message = f"this needs a token of scope {needed}; yours is {visitor.scope}"
        raise HTTPException(HTTPStatus.FORBIDDEN, message)


def _error_page(status: int, detail: str) -> Page:
    """Return what tells of an error; its twin is what RFC 9457 calls problem details."""
    title = HTTPStatus(status).phrase
    values = {"type": "about:blank", "title": title, "status": status, "detail": detail}
    return Page("error", values, status=status)


def _wants_twin(request: Request) -> bool:
    return request.url.path.endswith(".json")


def _own_path(path: object) -> str:
    """Return a path of this server; the first page for anything else."""
    # Browsers leave out tabs and ends of lines, and take a backslash for a slash.
    plain = str(path or "").isprintable() and "\\" not in str(path)
    is_own = plain and str(path).startswith("/") and not str(path).startswith("//")
    return str(path) if is_own else "/"


def _around(request: Request, nonce: str) -> Mapping[str, Any]:
    """Return what the frame of every page needs."""
    path, fields = request.url.path, request.query_params.multi_items()
    asked = urlencode([(name, value) for name, value in fields if name != "done"])
    return {
        "asset": f"?v={VERSION}",
        "csrf": csrf_token(request.cookies.get(COOKIE, "")),
        "done": request.query_params.get("done", ""),
        "nonce": nonce,
        "twin": f"{'/overview' if path == '/' else path}.json?{asked}".removesuffix("?"),
        "visitor": getattr(request.state, "visitor", None),
        "zone": request.app.state.memory.settings.zone,
    }
