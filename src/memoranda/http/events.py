"""What happens to a memory, as server-sent events: what was done to which record, never its text.

A page cannot send a header with them, so it takes a ticket first, which opens them once. They come
from the history in the store: what another process writes is told, too, and who comes back with
the id of the last event misses nothing.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from time import monotonic
from typing import Annotated, Any

import anyio
from fastapi import Depends, Header, HTTPException, Query, Request
from fastapi.sse import EventSourceResponse, ServerSentEvent
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from memoranda.http.access import answer, require_token
from memoranda.http.resources import resource
from memoranda.memory import Memory, scope_of, services_of
from memoranda.model.models import Change
from memoranda.model.tokens import ApiToken
from memoranda.rendering.forms import to_json
from memoranda.serving.tokens import TokenService
from memoranda.text.patterns import compile_pattern

router = resource("/events", "events")
SECONDS = 60  # that a ticket is valid
EVERY = 0.5  # seconds between two looks at the store
# Where in the history an event stands: the id of it.
PLACE = compile_pattern(r"([0-9]{1,18})-([0-9]{1,18})")
Place = tuple[int, int]


@dataclass(slots=True)
class EventTickets:
    """The tickets of this process that were not used yet."""

    issued: dict[str, tuple[ApiToken, float]] = field(default_factory=dict)

    def issue(self, token: ApiToken) -> str:
        """Return a new ticket; forget those that are too old."""
        now = monotonic()
        self.issued = {text: each for text, each in self.issued.items() if each[1] > now}
        text = secrets.token_urlsafe(24)
        self.issued[text] = token, now + SECONDS
        return text

    def redeem(self, text: str) -> ApiToken | None:
        """Return the token for which a ticket was issued, and let it open nothing more."""
        token, until = self.issued.pop(text, (None, 0.0))
        return token if until > monotonic() else None


@router.post("/tickets", status_code=201, response_model=dict[str, Any])
async def take_ticket(request: Request) -> Response:
    """Give a ticket, with which a page opens the events once."""
    text = request.app.state.tickets.issue(require_token(request))
    return answer({"ticket": text, "expires_in": SECONDS}, 201)


async def listener(request: Request, ticket: Annotated[str | None, Query()] = None) -> ApiToken:
    """Return the token of whoever listens, by a ticket or by the header."""
    if ticket is None:
        return require_token(request)
    found: ApiToken | None = request.app.state.tickets.redeem(ticket)
    if found is None:
        raise HTTPException(401, "this ticket was used, or is too old; take a new one")
    return found


Listener = Annotated[ApiToken, Depends(listener)]


@router.get("", response_class=EventSourceResponse)
async def events(
    request: Request, token: Listener, last_event_id: Annotated[str | None, Header()] = None
) -> AsyncIterator[ServerSentEvent]:
    """Tell what happens to the memory from now on, or since the last event that was told."""
    memory = request.app.state.memory_of(token)
    given = PLACE.fullmatch(last_event_id or "")
    place = (int(given[1]), int(given[2])) if given else None
    tokens, seen = TokenService.of(memory), None
    while not request.app.state.is_stopping():
        revision = await run_in_threadpool(tokens.revision, token)
        if revision is None:
            return
        if revision != seen:
            place, changes = await run_in_threadpool(_look, memory, place)
            for (record, change), told in changes:
                name = f"{record}-{change}"
                yield ServerSentEvent(event=told.action, id=name, data=to_json(told))
            seen = None if changes else revision  # There may be more than are told at once.
        await anyio.sleep(EVERY)


def _look(memory: Memory, place: Place | None) -> tuple[Place, list[tuple[Place, Change]]]:
    """Return what happened after a place, and the place after that."""
    store, scope = services_of(memory).store, scope_of(memory)
    if place is None:
        return store.newest_place(scope), []
    changes = store.changes_after(scope, place)
    return (changes[-1][0] if changes else place), changes
