"""The slash commands that ``memoranda chat`` does itself, beside those of the chat session."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rich.console import RenderableType
from rich.text import Text

from memoranda.agent.session import ChatSession
from memoranda.model.notes import MEMORY_FILE
from memoranda.rendering.conversations import SPANS, show_budget, show_figures, show_message
from memoranda.rendering.layout import Display, details, safe_text, table
from memoranda.rendering.notes import show_markdown

EXIT = "/exit"
HINT = "/expand shows them"
MEANINGS = {
    "/context": "show what a model is sent, and what is in view; with WORDS, if you said them",
    "/expand": "show what left the view; with a PLACE, the messages there",
    "/memory": "show MEMORY.md: what is known, and where you can edit it",
    "/help": "this list",
    EXIT: "leave; the session stays",
}
KEYS = {
    "Alt+Enter": "another line",
    "Ctrl+C": "stop an answer; clear the line; on an empty one, leave",
    "Ctrl+D": "leave",
    "Ctrl+R": "look for something you typed before",
}

Shown = Iterator[RenderableType]


def _memory(talk: ChatSession, view: Display, _words: str) -> Shown:
    notes = talk.agent.memory.notes
    for line in show_markdown(notes.read_memory() or "nothing is noted yet"):
        yield from view.wrap(line)
    yield safe_text(str(notes.folder / MEMORY_FILE), "dim")


def _context(talk: ChatSession, view: Display, words: str) -> Shown:
    """Yield what a model would be sent, part by part, and what is in view."""
    yield from show_budget(talk.agent.context(words or None).receipt, view)
    yield Text()
    yield from show_figures(talk.agent.chat.explain(), view)


def _expand(talk: ChatSession, view: Display, words: str) -> Shown:
    """Yield the messages at a place; without one, the places of what left the view."""
    chat = talk.agent.chat
    for message in chat.expand(words) if words else ():
        yield from show_message(message, view)
    if not words:
        yield table(chat.explain().markers, SPANS, view, empty="nothing has left the view")


def _help(talk: ChatSession, _view: Display, _words: str) -> Shown:
    yield details((f"  {name}", does) for name, does in {**talk.meanings, **KEYS}.items())


# What each command does; each yields what to show.
RUN: dict[str, Callable[[ChatSession, Display, str], Shown]] = {
    "/memory": _memory,
    "/context": _context,
    "/expand": _expand,
    "/help": _help,
}
