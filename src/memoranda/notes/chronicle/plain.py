"""Texts made fit for one line of a file: no line ends, no fences of memory, no secrets."""

from __future__ import annotations

import re
from datetime import datetime

from memoranda.learning.extract.refusal import holds_secret
from memoranda.maintenance.audit import masked, secret
from memoranda.text.recalled import FENCE

HIDDEN = "[…]"
"""What stands for a secret."""
MARK = "…"
"""What stands for the rest of a text that was cut."""
# What ends a line, turns the order of signs round, or cannot be written as UTF-8.
_CONTROL = re.compile(
    "[\x00-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
_FENCE = re.compile(rf"<(?=\s*/?\s*{FENCE})", re.IGNORECASE)
# Fences of memory, of prompts and of code; headings; lines of recall.
MARKUP = re.compile(
    rf"[<‹]\s*/?\s*(?:{FENCE}|before|turns|memory|system)\b|```|^\s*#|"
    r"\[\d{4}-\d\d-\d\d \d\d:\d\d,",
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"\S*\d\S*")
_LABELLED = re.compile(
    r"(\b(?:pass(?:word|phrase|code|wd)|pwd|pin)\b(?:\s+(?:is|was)\b|\s*[:=])\s*)[^\s,;]+",
    re.IGNORECASE,
)


def stamp(at: datetime) -> str:
    """Return a moment as entries begin: ``[2023-05-08 13:56]``, in its own zone."""
    return f"[{at.isoformat(' ')[:16]}]"


def one_line(text: str) -> str:
    """Return ``text`` on one line, with single blanks, where no fence of memory can close."""
    return _FENCE.sub("‹", " ".join(_CONTROL.sub(" ", text).split()))


def cut(text: str, most: int) -> str:
    """Return ``text``, or its beginning up to a blank, with ``…`` for the rest."""
    if len(text) <= most:
        return text
    start, _, _ = text[: most - 1].rpartition(" ")
    kept = start if len(start) > most // 2 else text[: most - 1]
    return f"{kept.rstrip(' ,;:-')}{MARK}"


def is_secret(text: str) -> bool:
    """Return whether ``text`` tells a password, a key, a card number or the like."""
    return holds_secret(text) or secret(text) is not None


def without_secrets(text: str) -> str:
    """Return ``text`` with ``[…]`` for what seems to be secret in it."""
    text = _LABELLED.sub(rf"\1{HIDDEN}", masked(text))
    if not is_secret(text):
        return text
    # The value is a word with a digit, or stands for itself.
    text = _NUMBERED.sub(lambda word: HIDDEN if is_secret(word[0]) else word[0], text)
    return text if not is_secret(text) else _NUMBERED.sub(HIDDEN, text)
