"""Puts a text on one line of a file: no line ends, no fences of memory."""

from __future__ import annotations

import re

from memoranda.text.patterns import compile_pattern
from memoranda.text.recalled import FENCE, escape_fence

# What stands for the rest of a text that was cut.
MARK = "…"
# What ends a line, turns the order of signs round, or cannot be written as UTF-8.
_CONTROL = compile_pattern(
    "[\x00-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ufffd]"
)
# Fences of memory, of prompts and of code; headings; lines of recall.
MARKUP = compile_pattern(
    rf"[<‹]\s*/?\s*(?:{FENCE}|before|kept|turns|memory|system)\b|```|^\s*#|"
    r"\[\d{4}-\d\d-\d\d \d\d:\d\d,",
    re.IGNORECASE,
)


def one_line(text: str) -> str:
    """Return ``text`` on one line, with single blanks, where no fence of memory can close."""
    return escape_fence(" ".join(_CONTROL.sub(" ", text).split()))


def cut(text: str, most: int) -> str:
    """Return ``text``, or its beginning up to a blank, with ``…`` for the rest."""
    if len(text) <= most:
        return text
    start, _, _ = text[: most - 1].rpartition(" ")
    kept = start if len(start) > most // 2 else text[: most - 1]
    return f"{kept.rstrip(' ,;:-')}{MARK}"


def shorten(text: str, longest: int) -> str:
    """Return ``text``, without its middle if it is too long."""
    half = (longest - 3) // 2
    return text if len(text) <= longest else f"{text[:half]} {MARK} {text[-half:]}"
