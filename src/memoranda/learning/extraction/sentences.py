"""From a message to the sentences of its speaker, without code, logs, quotes and other texts.

Positions stay those of the message. What is quoted or code within a sentence stays in it, but no
rule reads it: in ``shown`` it is a run of :data:`MASK`. After a request to work on a text, or to
pretend, what follows is that text or that role; after ``Tom wrote:`` it is Tom's. It is broken
off.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from memoranda.text.languages import LanguageData
from memoranda.text.patterns import compile_pattern

_EN = LanguageData("en", "extraction")


TEXT_LIMIT = 20_000
"""Only so many characters of a turn are read."""

SENTENCE_LIMIT = 1_500
"""Only so many characters of a sentence are read."""

MASK = "\ue000"
_BREAK = "\n"

CODE_BLOCK = compile_pattern(r"(```|~~~).*?(?:\1|\Z)", re.DOTALL)
_INLINE = compile_pattern(r"`[^`\n]{1,200}`")
_URL = compile_pattern(r"\bhttps?://[^\s)>\]]+[^\s)>\].,;!?]")
_QUOTED = compile_pattern(r'"[^"\n]{1,300}"|“[^”\n]{1,300}”|«[^»\n]{1,300}»|\\\([^\n]{1,300}?\\\)')
_GAP = compile_pattern(r"[^\S\n]{4,}")
_ARROWS = compile_pattern(r"(?:[-=]>\s*){2,}[^\n]*")
_LINE = compile_pattern(r"[^\n]+")
_NO_PROSE = compile_pattern(
    r"\s*(?:#{1,6}\s|>|\||\$\s|\.\.\.\s|%\s|//|/\*|<[/!a-zA-Z]|@\w+[(\s]|-{3}|={3}|"
    r"\[?\d{4}-\d\d-\d\d[T ]\d|\[?(?:ERROR|WARN|WARNING|INFO|DEBUG|TRACE|FATAL)\b|Traceback|"
    r"at [\w.$]+\(|File \"|(?:def|class|import|from|return|const|let|var|function|SELECT|INSERT|"
    r"CREATE|sudo|pip|npm|git|docker)\s+[\w{*(.]+[^a-z,.!?]*[({;:=*]|\w+Error:|[-*]{0,2}\s*\w+\s*=\s)"
)
_SYMBOLS = compile_pattern(r"[{}<>;=|\\$^~]|\(\)|::|->")
_MARK = compile_pattern(r"\s*(?:[-*•]|\d{1,2}[.)])\s+(?:\[[ xX]\]\s+)?")
_STOP = compile_pattern(
    r"[.!?…]+[)\"'\ue000]?(?=\s|$)|[\u2600-\u27bf\U0001f000-\U0001faff\ufe0f]+|:\)|;\)|:D(?=\s|$)"
)
_LONGEST_ORDINAL = 12
_CODE_SHARE = 0.06


class Sentence(NamedTuple):
    """A sentence of a turn.

    Attributes:
        shown: its text with what no rule may read masked, as long as the text itself.
        start: where it begins in the turn.
        question: whether it ends with a question mark.
    """

    shown: str
    start: int
    question: bool


def split_sentences(text: str) -> Iterator[Sentence]:
    """Yield the sentences of prose in ``text``, in order."""
    shown = _masked(text[:TEXT_LIMIT])
    for line in _LINE.finditer(shown):
        if _NO_PROSE.match(line[0]) or _is_code(line[0]):
            continue
        mark = _MARK.match(line[0])
        yield from _split(line[0], line.start(), mark.end() if mark else 0)


def _masked(text: str) -> str:
    shown = text.replace("’", "'").replace("\u2018", "'").replace("\r", _BREAK).replace(MASK, " ")
    shown = blank_reports(CODE_BLOCK.sub(_broken, blank_recalled(shown)))
    shown = _GAP.sub(_broken, _ARROWS.sub(_broken, shown))
    for pattern in (_INLINE, _URL, _QUOTED, _EN.pattern("single_quoted", 0)):
        shown = pattern.sub(_hidden, shown)
    return blank_texts(shown)


def _broken(found: re.Match[str]) -> str:
    return _BREAK * len(found[0])


def _hidden(found: re.Match[str]) -> str:
    return MASK * len(found[0])


def _is_code(line: str) -> bool:
    return len(_SYMBOLS.findall(line)) > max(1, len(line) * _CODE_SHARE)


def _split(line: str, offset: int, begin: int) -> Iterator[Sentence]:
    for stop in _STOP.finditer(line, begin):
        short = _EN.pattern("abbreviation", 0).search(
            line, max(begin, stop.start() - 6), stop.end()
        )
        if short and _goes_on(line, stop.end(), title=short["title"] is not None):
            continue
        if _is_ordinal(line, begin, stop.end()):
            continue
        yield Sentence(line[begin : stop.end()][:SENTENCE_LIMIT], offset + begin, "?" in stop[0])
        begin = stop.end()
    if line[begin:].strip():
        yield Sentence(line[begin : begin + SENTENCE_LIMIT], offset + begin, question=False)


def _is_ordinal(line: str, begin: int, end: int) -> bool:
    """Return whether the full stop before ``end`` is that of a German ordinal: ``am 3. Mai``."""
    if not line[max(begin, end - 2) : end - 1].isdigit() or not line[end:].strip():
        return False
    lead = line[max(begin, end - _LONGEST_ORDINAL) : end]
    found = _EN.pattern("german_month", 0).match(line, end)
    return found is not None or _EN.pattern("german_ordinal").search(lead) is not None


def _goes_on(line: str, end: int, *, title: bool) -> bool:
    """Return whether the text after an abbreviation is still the same sentence.

    Args:
        line: where it stands.
        end: the character after the abbreviation.
        title: whether a name may follow it: ``Dr. Silva``.
    """
    rest = line[end : end + 3].lstrip()
    return bool(rest) and (rest[0].islower() or rest[0].isdigit() or title)


_FENCE = compile_pattern(
    r"<memoranda-memory\b.*?(?:</memoranda-memory\s{0,9}>|\Z)", re.DOTALL | re.IGNORECASE
)

_REST = compile_pattern(r"[^.!?:\n]{0,160}")
_CLOSING = {'"': '"', "“": "”", "«": "»", "'": "'"}
_ENDS = compile_pattern(r"[.!?](?=\s|$)|\n")
_BLANK = compile_pattern(r"\n[^\S\n]{0,9}\n")


def blank_recalled(text: str) -> str:
    """Return ``text`` with what was given back from memory broken off, to the end if unclosed."""
    return _FENCE.sub(lambda found: _BREAK * len(found[0]), text)


def blank_reports(text: str) -> str:
    """Return ``text``, as long as it was, without what follows ``she said:``, ``As X says,``."""
    pieces: list[str] = []
    begin = 0
    marks = sorted(
        [*_EN.pattern("reported_speech").finditer(text), *_EN.pattern("citation").finditer(text)],
        key=re.Match.start,
    )
    for found in marks:
        if found.start() < begin:
            continue
        end = _report_end(text, found.end())
        pieces += text[begin : found.start()], _BREAK * (end - found.start())
        begin = end
    return "".join(pieces) + text[begin:]


def blank_texts(text: str) -> str:
    """Return ``text``, as long as it was, broken off at a request to work on a text."""
    for found in _EN.pattern("text_request").finditer(text):
        rest = _REST.match(text, found.end())
        asked = found[0] + (rest[0] if rest else "")
        if _EN.pattern("about_code").search(asked) is None:
            return text[: found.start()] + _BREAK * (len(text) - found.start())
    return text


def _report_end(text: str, start: int) -> int:
    """Return where the words that begin at ``start`` end: quote, paragraph or sentence."""
    begin = start
    while begin < len(text) and text[begin].isspace():
        begin += 1
    if text[begin : begin + 1] in _CLOSING and begin < len(text):
        closed = text.find(_CLOSING[text[begin]], begin + 1)
        return closed + 1 if closed >= 0 else len(text)
    if _BREAK in text[start:begin]:
        blank = _BLANK.search(text, begin)
        return blank.start() if blank else len(text)
    found = _ENDS.search(text, begin)
    return found.end() if found else len(text)
