"""Which page of the explorer answers which address."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, request_response

from memoranda.http.explorer import (
    chat,
    conversations,
    entities,
    notes,
    overview,
    records,
    review,
    search,
)
from memoranda.http.explorer.pages import Handler
from memoranda.http.explorer.site import SIGN_IN, PageServer, send_asset, sign_out
from memoranda.memory import Memory
from memoranda.model.tokens import TokenScope
from memoranda.serving.tokens import TokenService

# Each page has a twin in JSON, at its address with ``.json`` behind it.
PAGES: Mapping[str, Handler] = {
    "/overview": overview.show,
    "/doctor": overview.examine,
    "/search": search.show,
    "/records/{id}": records.show,
    "/records/{id}/erase": records.preview_erasure,
    "/timeline": search.show_timeline,
    "/entities": entities.show_all,
    "/entity": entities.show,
    "/conversations": conversations.show_all,
    "/conversation": conversations.show,
    "/notes": notes.show,
    "/review": review.show,
    "/bulk": search.show_bulk,
    "/upkeep": overview.show_upkeep,
    "/settings": overview.show_settings,
    "/chat": chat.show,
}
FORMS: Mapping[str, Handler] = {
    "/records/{id}/correct": records.correct,
    "/records/{id}/confirm": records.confirm,
    "/records/{id}/forget": records.forget,
    "/records/{id}/erase": records.erase,
    "/entities/merge": entities.merge,
    "/entities/split": entities.split,
    "/conversation/pin": conversations.pin,
    "/notes": notes.save,
    "/review": review.decide,
    "/bulk": search.forget,
    "/upkeep": overview.run_stage,
    "/chat": chat.send,
}
# What a page needs more than to read.
NEEDS = dict.fromkeys(("/doctor", "/settings"), TokenScope.ADMIN)

Endpoint = Callable[[Request], Awaitable[Response]]


def add_explorer(app: FastAPI, memory: Memory) -> None:
    """Add the pages of a store to an application.

    Args:
        app: the application, which guards itself and knows tokens.
        memory: an open memory of the store.
    """
    site = PageServer(memory, TokenService.of(memory))
    routes = [
        Route("/", _endpoint(site, overview.show, TokenScope.READ)),
        Route("/assets/{name}", send_asset),
        Route("/bulk/export", _endpoint(site, search.export, TokenScope.READ)),
        Route(SIGN_IN, site.show_sign_in, methods=["GET"]),
        Route(SIGN_IN, site.sign_in, methods=["POST"]),
        Route("/sign-out", _endpoint(site, sign_out, TokenScope.READ), methods=["POST"]),
    ]
    for path, page in PAGES.items():
        answer = _endpoint(site, page, NEEDS.get(path, TokenScope.READ))
        routes += [Route(each, answer, methods=["GET"]) for each in (f"{path}.json", path)]
    for path, form in FORMS.items():
        routes.append(Route(path, _endpoint(site, form, TokenScope.WRITE), methods=["POST"]))
    app.router.routes.extend(routes)
    app.router.default = request_response(site.show_missing)


def _endpoint(site: PageServer, handler: Handler, needed: TokenScope) -> Endpoint:
    async def answer(request: Request) -> Response:
        return await site.answer(request, handler, needed)

    return answer
