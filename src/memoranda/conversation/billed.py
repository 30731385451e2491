"""How many tokens a provider says a call took, in the forms in which it says so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeGuard

from memoranda.errors import InvalidInput
from memoranda.model.models import Calibration

NAMES = ("prompt_tokens", "input_tokens")
CACHED = ("cache_read_input_tokens", "cache_creation_input_tokens")
LEAST, MOST = 0.5, 3.0  # beyond these it is not the same text that was counted
NEWEST = 0.5  # weight of the newest count against all before


def billed(usage: object) -> int:
    """Return the tokens of the prompt: a number, or the ``usage`` of a reply.

    Of Anthropic's usage the cached tokens count too, which it gives apart.

    Raises:
        InvalidInput: there is no such number in it.
    """
    given = [number for name in NAMES if (number := _number(usage, name)) is not None]
    cached = [_number(usage, name) or 0 for name in CACHED]
    parts = [usage] if _is_count(usage) else [*given[:1], *cached] if given else []
    if not parts or min(parts) < 0 or sum(parts) < 1:
        message = f"actual={usage!r:.80} must be the tokens of the prompt, or the reply's usage"
        raise InvalidInput(message)
    return sum(parts)


def _number(usage: object, name: str) -> int | None:
    value = usage.get(name) if isinstance(usage, Mapping) else getattr(usage, name, None)
    return value if _is_count(value) else None


def _is_count(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def taught(before: Calibration, *, counted: int, actual: int, exact: bool) -> Calibration:
    """Return what is to be believed of counts after one of ``counted`` was billed as ``actual``.

    Exact counts miss only what is sent beside the messages, such as the definitions of
    tools; an estimate is off in proportion.
    """
    if exact:
        return Calibration(overhead=max(0, actual - counted))
    scale = min(max(actual / max(counted, 1), LEAST), MOST)
    first = before == Calibration()
    return Calibration(scale=scale if first else before.scale + NEWEST * (scale - before.scale))
