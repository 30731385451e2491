"""Prompts as files, and texts as data inside of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from importlib.resources import files

# Characters of one text in a prompt; of a longer one, its beginning and its end.
LONGEST = 6_000
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
# What could close a tag, or look like the next line.
ESCAPES = {ord(mark): f"\\u{ord(mark):04x}" for mark in "<>\x85\u2028\u2029"}


@cache
def instructions(name: str) -> str:
    """Return the prompt ``prompts/{name}.md``: what a model is told to do."""
    place = files("memoranda.learning").joinpath("prompts", f"{name}.md")
    return place.read_text("utf-8").strip()


def fenced(tag: str, rows: Sequence[Mapping[str, object]]) -> str:
    """Return ``rows`` as JSON, one a line, between ``<tag>`` and ``</tag>``.

    No value can end its line or close the tag: quotes, line ends and angle brackets are escaped.
    """
    lines = [json.dumps(row, ensure_ascii=False).translate(ESCAPES) for row in rows]
    return "\n".join([f"<{tag}>", *lines, f"</{tag}>"])


def moment(at: datetime) -> str:
    """Return a moment as prompts show it: ``2023-06-02 Friday 14:05``."""
    return f"{at:%Y-%m-%d} {DAYS[at.weekday()]} {at:%H:%M}"


def shortened(text: str, longest: int = LONGEST) -> str:
    """Return ``text``, without its middle if it is too long."""
    if len(text) <= longest:
        return text
    half = (longest - 3) // 2
    return f"{text[:half]} … {text[-half:]}"
