"""Tells by their form which outputs of tools and programs say that something failed (R4.2).

An error message begins a line, or stands in a form that nothing else has. A JSON object is
judged by its top-level members alone, because the texts in it may say anything.
"""

from __future__ import annotations

import json
import re

from memoranda.text.patterns import LanguageData

_LINES = 300  # lines that are looked at
_ROOM = 400  # characters of a line that are looked at
_VALUE = 40  # characters of a member of a JSON object that are looked at
_JSON = ("{", "[{", '["')  # how JSON begins, or what is left of it

_PATTERNS = LanguageData("mul", "failures")
_HINT = _PATTERNS.pattern("hint", 0)
_PRINTED = _PATTERNS.pattern("printed", re.VERBOSE)
_ANYWHERE = _PATTERNS.pattern("anywhere", re.VERBOSE | re.MULTILINE)
_FAILED = _PATTERNS.pattern("whole")
_MEMBER = _PATTERNS.pattern("member", re.VERBOSE | re.IGNORECASE)


def shows_failure(text: str) -> bool:
    """Return whether a text has lines in it that a program printed because something failed."""
    if not _HINT.search(text.lower()):
        return False
    lines = (line.strip() for line in text.split("\n", _LINES) if line)
    printed = any(_PRINTED.match(line, 0, _ROOM) for line in lines)
    return printed or _ANYWHERE.search(text) is not None


def says_failed(result: str) -> bool:
    """Return whether the result of a tool says that the call failed."""
    text = result.lstrip()
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        cut = text.startswith(_JSON)
        return _FAILED.match(text) is not None or (not cut and shows_failure(text))
    members = value.items() if isinstance(value, dict) else ()
    return any(_MEMBER.match(f"{_bare(name)}={member!s:.{_VALUE}}") for name, member in members)


def begins_with_failure(text: str) -> bool:
    """Return whether a text as a whole is an error message."""
    return _PRINTED.match(text[:_ROOM].lstrip()) is not None


def _bare(name: str) -> str:
    return name.replace("_", "").replace("-", "")
