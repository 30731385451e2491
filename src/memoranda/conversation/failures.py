"""Tells by their form which outputs of tools and programs say that something failed (R4.2).

An error message begins a line, or stands in a form that nothing else has. A JSON object is
judged by its top-level members alone, because the texts in it may say anything.
"""

from __future__ import annotations

import json
import re

from memoranda.text.linear_patterns import LinearMatch
from memoranda.text.patterns import LanguageData

_LINES = 300  # lines that are looked at
_ROOM = 400  # characters of a line that are looked at
_VALUE = 40  # characters of a member of a JSON object that are looked at
_BARE = str.maketrans("", "", "_-")
_JSON = ("{", "[{", '["')  # how JSON begins, or what is left of it

_PATTERNS = LanguageData("mul", "failures")
_HINT = _PATTERNS.pattern("hint", 0)
_PRINTED = _PATTERNS.pattern("printed", 0)
_ANYWHERE = _PATTERNS.pattern("anywhere", re.MULTILINE)
_FAILED = _PATTERNS.pattern("whole")
_MEMBER = _PATTERNS.pattern("member")
_NOTHING = _PATTERNS.pattern("nothing")


def shows_failure(text: str) -> bool:
    """Return whether a text has lines in it that a program printed because something failed."""
    if not _HINT.search(text.lower()):
        return False
    lines = (line.strip() for line in text.split("\n", _LINES) if line)
    printed = any(map(begins_with_failure, lines))
    return printed or any(not found["code"] for found in _ANYWHERE.finditer(text))


def says_failed(result: str) -> bool:
    """Return whether the result of a tool says that the call failed."""
    text = result.lstrip()
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        cut = text.startswith(_JSON)
        return _fails(_FAILED.match(text)) or (not cut and shows_failure(text))
    members = value.items() if isinstance(value, dict) else ()
    texts = (f"{name.translate(_BARE)}={member!s:.{_VALUE}}" for name, member in members)
    return any(_fails(_MEMBER.match(text)) for text in texts)


def _fails(found: LinearMatch | None) -> bool:
    """Return whether a form of failure was found, with no value that says that nothing failed."""
    if found is None:
        return False
    return found["value"] is None or _NOTHING.match(found["value"]) is None


def begins_with_failure(text: str) -> bool:
    """Return whether a text as a whole is an error message."""
    found = _PRINTED.match(text[:_ROOM].lstrip())
    subject = found["subject"] if found else None
    denied = subject and subject.split()[0] in _PATTERNS.words("no_subjects")
    return found is not None and not denied
