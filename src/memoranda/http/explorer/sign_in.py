"""What keeps a browser's session apart from other sites: cookie, CSRF token, origin."""

from __future__ import annotations

import hashlib
import hmac
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response

from memoranda.http.access import COOKIE
from memoranda.http.explorer.pages import PageRequest, Redirect
from memoranda.serving.tokens import TokenService

SIGN_IN = "/sign-in"
FIELD = "csrf"
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
