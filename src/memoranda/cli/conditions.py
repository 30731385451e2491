"""Metadata on a command line: ``project=atlas`` to attach it, ``year>=2020`` to look for it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NoReturn

from memoranda.errors import InvalidInput
from memoranda.text.patterns import compile_pattern

OPERATORS = {">=": "gte", "<=": "lte", "!=": "ne", ">": "gt", "<": "lt", "=": ""}
CONDITION = compile_pattern(r"(.+?)(>=|<=|!=|>|<|=)(.*)", re.DOTALL)


def parse_metadata(texts: Sequence[str] | None, *, comparing: bool = False) -> dict[str, Any]:
    """Return the metadata that ``key=value`` or a JSON object attaches, or a filter of it.

    Args:
        texts: what stands on the command line.
        comparing: whether it is a filter, which may also say ``key!=value`` or ``key>=3``.

    Raises:
        InvalidInput: a text is none of these, or a key is asked for twice in ways that conflict.
    """
    parsed: dict[str, Any] = {}
    for text in texts or ():
        if text.lstrip().startswith(("{", "[")):
            parsed |= _parse_object(text)
            continue
        found = CONDITION.fullmatch(text)
        if found is None or (found[2] != "=" and not comparing):
            forms = "key=value, key!=value or key>=3" if comparing else "key=value"
            raise InvalidInput(f"metadata={text!r:.80} cannot be read; write {forms}")
        key, operator, value = found[1].strip(), OPERATORS[found[2]], _parse_value(found[3])
        if not operator and key not in parsed:
            parsed[key] = value
        elif operator and isinstance(parsed.setdefault(key, {}), dict):
            parsed[key][operator] = value
        else:
            raise InvalidInput(f"metadata={text!r:.80}: {key} is given another value before")
    return parsed


def _parse_object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"metadata={text!r:.80} is no JSON: {error}") from error
    if not isinstance(value, dict):
        message = f'metadata={text!r:.80} must be a JSON object, such as {{"place": "Lisbon"}}'
        raise InvalidInput(message)
    return value


def _parse_value(text: str) -> Any:
    """Return a number, ``true``, ``null`` or any other JSON; what is none is a text."""
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return text.strip()


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)  # JSON has no NaN: it is a word.
