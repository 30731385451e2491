"""The slash commands that ``memoranda chat`` does itself, beside those of the chat session."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rich.console import RenderableType
from rich.text import Text

from memoranda.agent.commands import describe_command
from memoranda.agent.session import ChatSession
from memoranda.model.notes import MEMORY_FILE
from memoranda.rendering.conversations import SPANS, show_budget, show_figures, show_message
from memoranda.rendering.layout import Display, details, safe_text, table
from memoranda.rendering.notes import show_markdown

EXIT = "/exit"
HINT = "/expand shows them"
KEYS = {
    "Alt+Enter": "another line",
    "Ctrl+C": "stop an answer; clear the line; on an empty one, leave",
    "Ctrl+D": "leave",
    "Ctrl+R": "look for something you said before",
}

Shown = Iterator[RenderableType]


def _memory(talk: ChatSession, view: Display, _words: str) -> Shown:
    """Show MEMORY.md: what is known, and where you can edit it."""
    notes = talk.agent.memory.notes
    for line in show_markdown(notes.read_memory() or "nothing is noted yet"):
        yield from view.wrap(line)
    yield safe_text(str(notes.folder / MEMORY_FILE), "dim")


def _context(talk: ChatSession, view: Display, words: str) -> Shown:
    """Show what a model is sent, and what is in view; with WORDS, if you said them."""
    yield from show_budget(talk.agent.context(words or None).receipt, view)
    yield Text()
    yield from show_figures(talk.agent.chat.explain(), view)


def _expand(talk: ChatSession, view: Display, words: str) -> Shown:
    """Show what left the view; with a PLACE, the messages there."""
    chat = talk.agent.chat
    for message in chat.expand(words) if words else ():
        yield from show_message(message, view)
    if not words:
        yield table(chat.explain().markers, SPANS, view, empty="nothing has left the view")


def _help(talk: ChatSession, _view: Display, _words: str) -> Shown:
    """This list."""
    yield details((f"  {name}", does) for name, does in {**talk.meanings, **KEYS}.items())


# What each command does, as its docstring says; each yields what to show.
RUN: dict[str, Callable[[ChatSession, Display, str], Shown]] = {
    "/context": _context,
    "/expand": _expand,
    "/memory": _memory,
    "/help": _help,
}
MEANINGS = {name: describe_command(run) for name, run in RUN.items()} | {
    EXIT: "leave; the session stays"
}
