"""Slash commands: which one a line names, and whether it is written as it is to be."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from inspect import Parameter, signature
from typing import TypeVar

from memoranda.errors import InvalidInput
from memoranda.model.checks import nearest
from memoranda.text.patterns import compile_pattern

NEW, END, YES = "/new", "/end", "--yes"
ALIASES = {"/quit": "/exit", "/?": "/help", "/stats": "/context", "/retry": "/edit"}
COMMAND = compile_pattern(r"\s*(/[A-Za-z?]+)(?:\s+(.*))?\s*", re.DOTALL)
Result = TypeVar("Result")


def split_command(line: str) -> tuple[str, str] | None:
    """Return the command in a line and what follows it; ``None`` for what is no command."""
    found = COMMAND.fullmatch(line)
    return None if found is None else (found[1].lower(), (found[2] or "").strip())


def find_command(name: str, known: Collection[str]) -> str:
    """Return the command of a name, or of another name for it.

    Raises:
        InvalidInput: there is no such command; the message names what is near.
    """
    name = ALIASES.get(name, name)
    if name not in known:
        near = nearest(name, known)
        hint = f"did you mean {' or '.join(near)}?" if near else "/help lists what there is"
        raise InvalidInput(f"there is no {name}; {hint}")
    return name


def describe_command(method: Callable[..., object]) -> str:
    """Return what a command does, as the docstring of its method says."""
    text = method.__doc__ or ""
    return f"{text[:1].lower()}{text[1:].rstrip('.')}"


def run_command(name: str, method: Callable[..., Result], words: str) -> Result:
    """Return what a command does with the words after it.

    Raises:
        InvalidInput: it takes none, or needs some; the message says so.
    """
    takes = signature(method).parameters.get("words")
    if takes is None:
        if words:
            raise InvalidInput(f"{name} takes nothing, got {words!r:.80}; type {name} alone")
        return method()
    if not words and takes.default is Parameter.empty:
        raise InvalidInput(f"{name} needs more: {describe_command(method)}")
    return method(words)
