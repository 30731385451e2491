"""Slash commands: which one a line names, for every door in which a person talks to the agent."""

from __future__ import annotations

import re
from collections.abc import Sequence

from memoranda.errors import InvalidInput
from memoranda.model.checks import nearest
from memoranda.text.patterns import compile_pattern

NEW, END = "/new", "/end"
LIKE = 0.75  # how near a slip of the finger comes to a command (difflib)
COMMAND = compile_pattern(r"\s*(/[A-Za-z?]+)(?:\s+(.*))?\s*", re.DOTALL)


def split_command(line: str) -> tuple[str, str] | None:
    """Return the command in a line and what follows it; ``None`` for what is no command."""
    found = COMMAND.fullmatch(line)
    return None if found is None else (found[1].lower(), (found[2] or "").strip())


def find_command(name: str, known: Sequence[str], otherwise: str) -> str:
    """Return the command that is meant: itself, or the only one that begins with it.

    Raises:
        InvalidInput: there is no such command; the message names what is near, or says
            ``otherwise`` what to do.
    """
    found = [name] if name in known else [each for each in known if each.startswith(name)]
    if len(found) != 1:
        near = found or nearest(name, known, alike=LIKE)
        hint = f"did you mean {' or '.join(near)}?" if near else otherwise
        raise InvalidInput(f"there is no {name}; {hint}")
    return found[0]
