"""Slash commands: what there is for a person who talks to the agent, and which one a line names."""

from __future__ import annotations

import re
from collections.abc import Collection

from memoranda.errors import InvalidInput
from memoranda.model.checks import nearest
from memoranda.text.patterns import compile_pattern

NEW, END, CLEAR, YES = "/new", "/end", "/clear", "--yes"
# The commands of a chat session, each with what it does. Faces have more of their own.
MEANINGS = {
    NEW: "end this session: it becomes memory, and the next one begins",
    END: "end this session as /new does, and leave",
    CLEAR: "take what was said here out of view; it stays in memory",
    "/undo": "take back your last message and its answer",
    "/retry": "ask your last message again",
    "/edit": "say your last message in other words: /edit WORDS",
    "/attach": "send a picture or a text file with your next message: /attach PATH",
    "/model": "which model answers; with NAME, another one",
    "/remember": "remember something as a fact: /remember WORDS",
    "/search": "search memory: /search WORDS",
    "/pin": "keep your last message in every context; or message NUMBER",
    "/unpin": "let it leave the view again",
    "/prune": "take older messages out of view now; with TOKENS, down to so many",
    "/cost": "what this session took of models, and what it cost",
}
# Commands that cannot do without words, and those that take none. Others may have some.
NEEDING = {"/edit", "/attach", "/remember", "/search"}
ALONE = {NEW, END, "/undo", "/retry", "/cost"}
ALIASES = {"/quit": "/exit", "/?": "/help"}
LIKE = 0.75  # how near a slip of the finger comes to a command (difflib)
COMMAND = compile_pattern(r"\s*(/[A-Za-z?]+)(?:\s+(.*))?\s*", re.DOTALL)


def split_command(line: str) -> tuple[str, str] | None:
    """Return the command in a line and what follows it; ``None`` for what is no command."""
    found = COMMAND.fullmatch(line)
    return None if found is None else (found[1].lower(), (found[2] or "").strip())


def find_command(name: str, known: Collection[str]) -> str:
    """Return the command that is meant: itself, or the only one that begins with it.

    Raises:
        InvalidInput: there is no such command; the message names what is near.
    """
    name = ALIASES.get(name, name)
    found = [name] if name in known else [each for each in known if each.startswith(name)]
    if len(found) != 1:
        near = found or nearest(name, list(known), alike=LIKE)
        hint = f"did you mean {' or '.join(near)}?" if near else "/help lists what there is"
        raise InvalidInput(f"there is no {name}; {hint}")
    return found[0]


def require_words(name: str, words: str, alone: Collection[str], own: Collection[str]) -> None:
    """Refuse words after a command that takes none, and none after one of ours that needs them.

    Raises:
        InvalidInput: the message says how the command is written.
    """
    if words and (name in alone or (name == CLEAR and words != YES)):
        takes = f"nothing but {YES}" if name == CLEAR else "nothing"
        raise InvalidInput(f"{name} takes {takes}, got {words!r:.80}; type {name} alone")
    if not words and name in NEEDING and name not in own:
        raise InvalidInput(f"{name} needs more: {MEANINGS[name]}")
