"""Tells by their form which outputs of tools and programs say that something failed (R4.2).

An error message begins a line, or stands in a form that nothing else has. A JSON object is
judged by its top-level members alone, because the texts in it may say anything.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from memoranda.text.patterns import LanguageData, compile_pattern

_PARSED = 20_000  # characters of the longest JSON that is parsed
_LINES = 300  # lines that are looked at
_ROOM = 400  # characters of a line that are looked at
_FIRST_FAILURE, _LAST_FAILURE = 400, 599  # HTTP status codes

_PATTERNS = LanguageData("mul", "failures")
_HINT = _PATTERNS.pattern("hint", 0)
_PRINTED = _PATTERNS.pattern("printed", re.VERBOSE)
_ANYWHERE = _PATTERNS.pattern("anywhere", re.VERBOSE | re.MULTILINE)
_FAILED = _PATTERNS.pattern("whole")
_MEMBER = _PATTERNS.pattern("member")
_LIST = compile_pattern(r"\[\s*(?:[\[\]{\"]|-?\d[\d.]*\s*[,\]])")  # the start of a JSON array


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
    if _LIST.match(text):
        return False
    if not text.startswith("{"):
        return _FAILED.match(text) is not None or shows_failure(text)
    try:
        value = json.loads(text[:_PARSED])
    except (ValueError, RecursionError):
        return _MEMBER.match(text) is not None
    return any(_says_failed(name, member, value) for name, member in value.items())


def begins_with_failure(text: str) -> bool:
    """Return whether a text as a whole is an error message."""
    return _PRINTED.match(text[:_ROOM].lstrip()) is not None


def _says_failed(name: str, member: Any, value: Mapping[str, Any]) -> bool:
    """Return whether a member of a JSON object says that something failed."""
    key = name.lower().replace("_", "").replace("-", "")
    words, said = _PATTERNS.words, str(member).strip().lower()
    number = member if type(member) is int else 0
    if key in words("failure_members"):
        return bool(member) and said not in words("good_words")
    if key in words("status_members"):
        another = key == "code" and not value.keys() & {"message", "detail", "error", "status"}
        failed = _FIRST_FAILURE <= number <= _LAST_FAILURE or said in words("bad_words")
        return failed and not another
    if key in words("exit_members"):
        return number != 0
    good, bad = words("success_members"), words("flag_members")
    return (key in good and member is False) or (key in bad and member is True)
