"""Conversations: what a model would see of one now, within a budget, and what it would not."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from memoranda.conversation.explain import SHOWN, ExplainedMessage
from memoranda.http.explorer.pages import SHOWN as ROWS
from memoranda.http.explorer.pages import Page, PageRequest, Redirect
from memoranda.model.models import ConversationInfo, Marker

# Messages on one page.
MESSAGES = 100


@dataclass(frozen=True, slots=True)
class ConversationRow:
    """A conversation in a list; its title is what it was called where it was imported from."""

    info: ConversationInfo
    title: str | None


@dataclass(frozen=True, slots=True)
class MessageRun:
    """Messages in a row that are all in view, or all out of it.

    Attributes:
        in_view: whether a model sees them.
        lines: the messages.
        marker: what it sees instead, if anything.
    """

    in_view: bool
    lines: tuple[ExplainedMessage, ...]
    marker: Marker | None


def show_all(request: PageRequest) -> Page:
    """Show the conversations, the newest first; those whose name or title has the words."""
    words, offset = request.text("q") or "", request.number("offset", 0, least=0)
    titles = request.services.store.titles(request.scope)
    rows = [
        ConversationRow(info, titles.get(info.id))
        for info in request.memory.conversations()
        if words.casefold() in f"{info.id} {titles.get(info.id, '')}".casefold()
    ]
    more = offset + ROWS if len(rows) > offset + ROWS else None
    page = rows[offset : offset + ROWS]
    values = {"query": words, "conversations": page, "count": len(rows), "next": more}
    return Page("conversations", values)


def show(request: PageRequest) -> Page:
    """Show a conversation as a model would see it now, within a budget."""
    conversation = request.memory.stored_conversations.open_existing(request.required("id"))
    budget = request.number("budget", 0, least=0) or None
    found = conversation.explain(budget=budget)
    beyond = request.number("before", len(found.lines), least=0)
    lines = found.lines[max(0, beyond - MESSAGES) : beyond]
    markers = {each.id: each for each in found.markers}
    together = groupby(lines, lambda line: (line.state in SHOWN, line.marker))
    runs = [
        MessageRun(in_view, tuple(run), markers.get(marker or ""))
        for (in_view, marker), run in together
    ]
    values = {
        "info": found.info,
        "title": request.services.store.titles(request.scope).get(found.info.id),
        "budget": found.budget,
        "figures": found.figures,
        "counter": found.counter,
        "strategy": found.strategy,
        "policy": found.told,
        "runs": runs,
        "earlier": beyond - MESSAGES if beyond > MESSAGES else None,
        "prunings": conversation.prunings,
    }
    return Page("conversation", values, {"asked_budget": budget})


def pin(request: PageRequest) -> Redirect:
    """Keep a message in every context, or stop keeping it."""
    name, pinned = request.required("id"), request.text("pinned") == "yes"
    conversation = request.memory.stored_conversations.open_existing(name)
    conversation.pin(request.required("message"), pinned=pinned)
    fields = {"id": name, "budget": request.text("budget") or ""}
    return Redirect("/conversation", "pinned" if pinned else "unpinned", fields)
