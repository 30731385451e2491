"""Settings that are written as one text: names, lists of them, and spans of time."""

from __future__ import annotations

import re
from datetime import timedelta

SPAN = re.compile(r"(\d+)\s*([smhdw])")
UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def names(text: str) -> tuple[str, ...]:
    """Return the names in a text such as ``regex, spacy``."""
    return tuple(name for name in map(str.strip, text.split(",")) if name)


def parse_span(text: str) -> timedelta:
    """Return the time span of a text such as ``30d``, ``12h`` or ``2w``."""
    match = SPAN.fullmatch(text.strip())
    if match is None or int(match[1]) == 0:
        message = (
            f"{text!r} is not a time span; write forever, day, or a number with s, m, h, d or w"
        )
        raise ValueError(message)
    try:
        return timedelta(**{UNITS[match[2]]: int(match[1])})
    except OverflowError as error:
        raise ValueError(f"{text!r} is too long a time; write forever") from error


def check_span(text: str) -> str:
    """Return a text that says how long something is kept."""
    if text not in {"forever", "day"}:
        parse_span(text)
    return text
