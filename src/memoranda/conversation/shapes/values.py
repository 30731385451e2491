"""The values that messages are made of: mappings, objects of an SDK, JSON."""

from __future__ import annotations

import json
from typing import Any

from memoranda.errors import InvalidInput

WRAPPED = "unparsed_arguments"
"""Holds arguments that are no JSON object where a provider takes nothing else."""


def unwrapped(value: object) -> object:
    """Return an object of a provider's SDK as the mapping it stands for, all else as it is."""
    dump = None if isinstance(value, type) else getattr(value, "model_dump", None)
    if not callable(dump):
        return value
    try:
        return dump()
    except (TypeError, ValueError) as error:
        text = f"an object of a message cannot be read ({error}): {value!r:.80}"
        raise InvalidInput(text) from error


def json_text(value: object) -> str:
    """Return ``value`` as JSON.

    Raises:
        InvalidInput: it holds what JSON cannot.
    """
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError) as error:
        text = f"a part of a message is no JSON ({error}): {value!r:.80}"
        raise InvalidInput(text) from error


def arguments_text(given: object) -> str:
    """Return the arguments of a call as the JSON text that is kept.

    What :func:`arguments_object` wrapped comes out as it was.
    """
    match given:
        case None:
            return "{}"
        case str():
            return given or "{}"
        case {**rest} if rest.keys() == {WRAPPED} and isinstance(rest[WRAPPED], str):
            return str(rest[WRAPPED])
    return json_text(given)


def arguments_object(text: str) -> dict[str, Any]:
    """Return the JSON object that ``text`` is, or one that holds the text."""
    if not text.strip():
        return {}
    try:
        found = json.loads(text)
        # A number beyond all bounds or half a character can be read, but not sent.
        json.dumps(found, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        return {WRAPPED: text}
    if not isinstance(found, dict) or found.keys() == {WRAPPED}:
        return {WRAPPED: text}
    return found
