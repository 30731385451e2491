"""Knows what programs print when something fails, from what merely speaks of failing.

Line by line: an error message begins a line, or stands in a form that nothing else has. A JSON
object is judged by its top-level members alone, because the texts in it may say anything.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from memoranda.conversation.signals.wording import excerpt

_PARSED = 20_000  # characters of the longest JSON that is parsed
_LINES = 300  # lines that are looked at
_ROOM = 400  # characters of a line that are looked at
_FIRST_FAILURE, _LAST_FAILURE = 400, 599  # HTTP status codes

_HINT = re.compile(
    r"error|exception|fail|traceback|exit|http|fatal|denied|refused|timed out|not found|no such"
    r"|err!|panic|erreur|\*\*\*|fault|dumped|unable|rejected|erro|fehler|ошибка|错误|錯誤|エラー|خطأ|오류|status"
)
_PRINTED = re.compile(
    r"""
    Traceback[ ]\(most[ ]recent
    | (?:E[ ]{3})?(?:[\w$]+[.:/])*(?:[A-Z]\w*)?(?:Error|Exception|Interrupt|Timeout)(?::[ ]|$)
    | (?:Uncaught|Unhandled)[ ].*(?:Error|Exception|rejection)
    | Exception[ ]in[ ]thread | thread[ ]\S+[ ]panicked
    | (?:[\w./\\-]+:(?:\d+:)*[ ])?(?:fatal[ ])?(?:fatal|panic|error|Error|ERROR|FATAL)
      (?:\[\w+\])?(?:[ ]\d+[ ]\(\w+\)|[ ][A-Z]{1,4}\d+)?:[ ]?\S
    | E:[ ][A-Z] | ![ ]\[\w
    | (?!(?:No|None|Nothing|Not|If|When)\b)[A-Z][\w -]{0,40}\bfailed(?::[ ]|[.!]?$|[ ]with[ ])
    | (?:rpc|Runtime|Fatal|Syntax|Parse)[ ]error:[ ]
    | (?:\[|\d[\d:/.,TZ -]{6,28})[ \w:.\[\]-]{0,24}\b(?:ERROR|FATAL|CRITICAL)\b
    | npm[ ](?:ERR!|error[ ])
    | make(?:\[\d+\])?:[ ]\*\*\*
    | FAILED[ ]\S | FAIL[:\t ][ ]?\S | -{3}[ ]FAIL:
    | =*[ ]?[1-9]\d*[ ]failed\b
    | Found[ ][1-9]\d*[ ]errors?\b
    | [1-9]\d*[ ]errors?[ ](?:generated|found)\b
    | HTTP/\d(?:\.\d)?[ ][45]\d\d
    | (?:HTTP[ ]|Status:?[ ]|status[ _]code:?[ ])?[45]\d\d[ ](?:[A-Z][A-Za-z-]+[ ]?){1,4}[:.]?\s*$
    | [45]\d\d[ ](?:Client|Server)[ ]Error
    | (?:Segmentation|Bus)[ ]fault
    | [Pp]ermission[ ]denied | [Aa]ccess[ ](?:is[ ])?denied | Connection[ ]refused
    | (?:Fehler|Erreur|Errore|Erro|Ошибка|错误|錯誤|エラー|خطأ|오류)[ ]?[:\uff1a][ ]?\S
    """,
    re.VERBOSE,
)
_ANYWHERE = re.compile(
    r"""
    (?<!except[ ])(?<!raise[ ])(?<!new[ ])(?<![\w.])(?:\w+\.)*[A-Z]\w*(?:Error|Exception):[ ]
    | \bE(?:ACCES|ADDRINUSE|CONNREFUSED|CONNRESET|EXIST|NOENT|NOSPC|NOTFOUND|PERM|PIPE|TIMEDOUT)\b
    | :[ ](?:command[ ]not[ ]found|No[ ]such[ ]file[ ]or[ ]directory|[Pp]ermission[ ]denied)\b
    | :[ ]not[ ]found$ | :[ ]Connection[ ](?:refused|reset) | \b[Cc]onnection[ ]refused\s*$
    | \b[Ss]egmentation[ ]fault\b | \bcore[ ]dumped\b
    | \b(?:exit(?:ed)?|returned|terminated)[ ](?:with[ ])?(?:non-zero[ ])?
      (?:exit[ ])?(?:code|status):?[ ][1-9]
    | ^Exit[ ]code:?[ ][1-9]
    | \b(?:failures|errors|Failures|Errors)[=:][ ]?[1-9]
    """,
    re.VERBOSE | re.MULTILINE,
)
_WHOLE = re.compile(
    r"(?:Failed to|Could not|Couldn't|Cannot|Can't|Unable to|Invalid|Missing required|Unauthorized"
    r"|Forbidden|Not found|Unknown (?:command|option|tool|function)|Permission|Access denied"
    r"|Timeout|(?:The )?\w+ timed out)\b",
    re.IGNORECASE,
)
_MEMBER = re.compile(
    r"\s*\{\s*['\"](?:error|errors|err|exception)['\"]\s*:\s*"
    r"(?!null|none|false|\"\"|''|\[\s*\]|\{\s*\}|0\b)",
    re.IGNORECASE,
)
_LIST = re.compile(r"\[\s*(?:[\[\]{\"]|-?\d[\d.]*\s*[,\]])")  # the start of a JSON array
_BAD_WORDS = frozenset({"error", "failed", "failure", "fail", "fatal", "rejected", "timeout"})
_GOOD_WORDS = frozenset({"", "none", "null", "no", "no error", "false", "ok", "0"})
_TELLING = re.compile(r"rror|xception|uccess|\"ok\"|ailed|tatus|ode\"|xit|esult|tate|raceback")


def printed(text: str) -> bool:
    """Return whether a text has lines in it that a program printed because something failed."""
    if not _HINT.search(text.lower()):
        return False
    if any(_PRINTED.match(line, 0, _ROOM) for line in _lines(text)):
        return True
    return _ANYWHERE.search(text) is not None


def failed(result: str) -> bool:
    """Return whether the result of a tool says that the call failed."""
    text = result.lstrip()
    if _LIST.match(text):
        return False
    if not text.startswith("{"):
        return _WHOLE.match(text) is not None or printed(excerpt(text))
    if len(text) > _PARSED or not _TELLING.search(text):
        return _MEMBER.match(text) is not None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return _MEMBER.match(text) is not None
    return any(_says_failed(name, member, value) for name, member in value.items())


def begins(text: str) -> bool:
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
        return member.strip().lower() not in _GOOD_WORDS
    return bool(member)


def _is_bad_status(member: Any) -> bool:
    if isinstance(member, str):
        return member.lower() in _BAD_WORDS
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
