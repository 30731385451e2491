"""Calls made up at random from the signatures of what can be called: new verbs are found by it."""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

Values = Callable[[str], Any]
"""Returns a value for an argument of that name."""
# What is no verb of a memory, or would end or outlast the test.
NOT_CALLED = frozenset({"as_user", "close", "on", "run_upkeep", "schedule"})
# What a conversation takes beside its own arguments.
MORE = {
    "options": ("system", "model", "context_limit", "max_tokens", "max_messages", "strategy"),
    "details": ("kind", "tags", "metadata", "event_time", "valid_until", "session", "role"),
    "filters": ("kind", "namespace", "session", "tags", "metadata", "since", "until"),
}
# How often an argument is given that could be left out.
GIVEN = 0.35


def verbs_of(subject: object, *left_out: str) -> list[Callable[..., Any]]:
    """Return the public methods of an object."""
    names = [name for name in dir(type(subject)) if not name.startswith("_")]
    skipped = NOT_CALLED | set(left_out)
    return [
        getattr(subject, name)
        for name in names
        if name not in skipped and inspect.isfunction(getattr(type(subject), name))
    ]


@cache
def _parameters(function: object) -> tuple[tuple[str, bool], ...]:
    """Return the arguments by name, and whether each must be given."""
    found: list[tuple[str, bool]] = []
    for each in inspect.signature(function).parameters.values():  # type: ignore[arg-type]
        if each.name == "self" or each.kind is each.VAR_POSITIONAL:
            continue
        if each.kind is each.VAR_KEYWORD:
            found += [(name, False) for name in MORE.get(each.name, ())]
        else:
            found.append((each.name, each.default is each.empty))
    return tuple(found)


def arguments(function: Callable[..., Any], rng: random.Random, value: Values) -> dict[str, Any]:
    """Return arguments by name: all that must be given, some of the others."""
    called = getattr(function, "__func__", function)
    return {
        name: value(name)
        for name, required in _parameters(called)
        if required or rng.random() < GIVEN
    }


def of_schema(
    schema: Mapping[str, Any], rng: random.Random, value: Values, more: Sequence[str] = ()
) -> dict[str, Any]:
    """Return arguments for a tool: those of its schema, and sometimes one that it does not know."""
    known = schema["properties"]
    found = {
        name: value(name)
        for name in known
        if name in schema.get("required", ()) or rng.random() < GIVEN
    }
    if more and rng.random() < 0.05:
        name = rng.choice(more)
        found[name] = value(name)
    return found
