"""Whether a text is the output of a program that failed, or merely speaks of failing.

Line by line: an error message begins a line, or stands in a form that nothing else has. A JSON
object is judged by its top-level members alone, because the texts in it may say anything.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from memoranda.conversation.signals.phrases import excerpt
from memoranda.text.languages import LanguageData
from memoranda.text.patterns import compile_pattern

_PARSED = 20_000  # characters of the longest JSON that is parsed
_LINES = 300  # lines that are looked at
_ROOM = 400  # characters of a line that are looked at
_FIRST_FAILURE, _LAST_FAILURE = 400, 599  # HTTP status codes

_PATTERNS = LanguageData("mul", "failures")
_HINT = _PATTERNS.pattern("hint", 0)
_PRINTED = _PATTERNS.pattern("printed", re.VERBOSE)
_ANYWHERE = _PATTERNS.pattern("anywhere", re.VERBOSE | re.MULTILINE)
_WHOLE = _PATTERNS.pattern("whole")
_MEMBER = _PATTERNS.pattern("member")
_LIST = compile_pattern(r"\[\s*(?:[\[\]{\"]|-?\d[\d.]*\s*[,\]])")  # the start of a JSON array
_TELLING = compile_pattern(r"rror|xception|uccess|\"ok\"|ailed|tatus|ode\"|xit|esult|tate|raceback")


def shows_failure(text: str) -> bool:
    """Return whether a text has lines in it that a program printed because something failed."""
    if not _HINT.search(text.lower()):
        return False
    if any(_PRINTED.match(line, 0, _ROOM) for line in _lines(text)):
        return True
    return _ANYWHERE.search(text) is not None


def says_failed(result: str) -> bool:
    """Return whether the result of a tool says that the call failed."""
    text = result.lstrip()
    if _LIST.match(text):
        return False
    if not text.startswith("{"):
        return _WHOLE.match(text) is not None or shows_failure(excerpt(text))
    if len(text) > _PARSED or not _TELLING.search(text):
        return _MEMBER.match(text) is not None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return _MEMBER.match(text) is not None
    return any(_says_failed(name, member, value) for name, member in value.items())


def begins_with_failure(text: str) -> bool:
    """Return whether a text as a whole is an error message."""
    return _PRINTED.match(text[:_ROOM].lstrip()) is not None


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.split("\n", _LINES) if line]


def _says_failed(name: str, member: Any, value: Mapping[str, Any]) -> bool:
    """Return whether a member of a JSON object says that something failed."""
    key = name.lower().replace("_", "").replace("-", "")
    if key == "code" and not value.keys() & {"message", "detail", "error", "status"}:
        return False  # a code of anything else
    test = _TESTS.get(key)
    return test is not None and test(member)


def _is_something(member: Any) -> bool:
    if isinstance(member, str):
        return member.strip().lower() not in _PATTERNS.words("good_words")
    return bool(member)


def _is_bad_status(member: Any) -> bool:
    if isinstance(member, str):
        return member.lower() in _PATTERNS.words("bad_words")
    return type(member) is int and _FIRST_FAILURE <= member <= _LAST_FAILURE


def _is_nonzero(member: Any) -> bool:
    return type(member) is int and member != 0


_TESTS: Mapping[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("error", "errors", "err", "exception", "traceback"), _is_something),
    **dict.fromkeys(("errormessage", "errorcode"), _is_something),
    **dict.fromkeys(("success", "ok", "succeeded"), lambda member: member is False),
    **dict.fromkeys(("iserror", "failed", "haserror"), lambda member: member is True),
    **dict.fromkeys(("status", "statuscode", "code", "httpstatus"), _is_bad_status),
    **dict.fromkeys(("state", "result"), _is_bad_status),
    **dict.fromkeys(("exitcode", "returncode", "exitstatus"), _is_nonzero),
}
