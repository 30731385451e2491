"""From a turn to its sentences, without what nobody says: code, logs, quotes, headings.

Positions stay those of the turn. What is quoted or code within a sentence stays in it, but no
rule reads it: in ``shown`` it is a run of :data:`MASK`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from memoranda.learning.extract.borrowed import without_memory, without_reports, without_texts

TEXT_LIMIT = 20_000
"""Only so many characters of a turn are read."""

SENTENCE_LIMIT = 1_500
"""Only so many characters of a sentence are read."""

MASK = "\ue000"
_BREAK = "\n"

_FENCE = re.compile(r"(```|~~~).*?(?:\1|\Z)", re.DOTALL)
_INLINE = re.compile(r"`[^`\n]{1,200}`")
_URL = re.compile(r"\bhttps?://[^\s)>\]]+[^\s)>\].,;!?]")
_QUOTED = re.compile(r'"[^"\n]{1,300}"|“[^”\n]{1,300}”|«[^»\n]{1,300}»|\\\([^\n]{1,300}?\\\)')
_SINGLE = re.compile(
    r"(?<![^\s:(])'(?!(?:Cause|Em|Til|Twas|Tis|N|Bout|Round)\b)(?=[A-Z])[^\n]{1,300}?(?<=[\w.,!?])'(?!\w)"
)
_GAP = re.compile(r"[^\S\n]{4,}")
_ARROWS = re.compile(r"(?:[-=]>\s*){2,}[^\n]*")
_LINE = re.compile(r"[^\n]+")
_NO_PROSE = re.compile(
    r"\s*(?:#{1,6}\s|>|\||\$\s|\.\.\.\s|%\s|//|/\*|<[/!a-zA-Z]|@\w+[(\s]|-{3}|={3}|"
    r"\[?\d{4}-\d\d-\d\d[T ]\d|\[?(?:ERROR|WARN|WARNING|INFO|DEBUG|TRACE|FATAL)\b|Traceback|"
    r"at [\w.$]+\(|File \"|(?:def|class|import|from|return|const|let|var|function|SELECT|INSERT|"
    r"CREATE|sudo|pip|npm|git|docker)\s+[\w{*(.]+[^a-z,.!?]*[({;:=*]|\w+Error:|[-*]{0,2}\s*\w+\s*=\s)"
)
_SYMBOLS = re.compile(r"[{}<>;=|\\$^~]|\(\)|::|->")
_MARK = re.compile(r"\s*(?:[-*•]|\d{1,2}[.)])\s+(?:\[[ xX]\]\s+)?")
_STOP = re.compile(
    r"[.!?…]+[)\"'\ue000]?(?=\s|$)|[\u2600-\u27bf\U0001f000-\U0001faff\ufe0f]+|:\)|;\)|:D(?=\s|$)"
)
_ABBREVIATION = re.compile(
    r"(?<![\w'])(?:(?P<title>[A-Za-z]|Mr|Mrs|Ms|Dr|Prof|St|vs|e\.g|i\.e)|"
    r"etc|approx|a\.m|p\.m|No|Inc|Ltd|Jr|Sr|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec|Tues?|Wed|Thurs?|Fri)\.$"
)
_ORDINAL = re.compile(
    r"(?:\b(?:der|dem|den|des|vom|zum|bis|ab|seit|(?<!\bi )am)\s+\d{1,2}\.$)", re.IGNORECASE
)
_MONTH = re.compile(
    r"\s(?:Januar|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember)\b"
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


def sentences(text: str) -> Iterator[Sentence]:
    """Yield the sentences of prose in ``text``, in order."""
    shown = _masked(text[:TEXT_LIMIT])
    for line in _LINE.finditer(shown):
        if _NO_PROSE.match(line[0]) or _is_code(line[0]):
            continue
        mark = _MARK.match(line[0])
        yield from _split(line[0], line.start(), mark.end() if mark else 0)


def _masked(text: str) -> str:
    shown = text.replace("’", "'").replace("\u2018", "'").replace("\r", _BREAK).replace(MASK, " ")
    shown = without_reports(_FENCE.sub(_broken, without_memory(shown)))
    shown = _GAP.sub(_broken, _ARROWS.sub(_broken, shown))
    for pattern in (_INLINE, _URL, _QUOTED, _SINGLE):
        shown = pattern.sub(_hidden, shown)
    return without_texts(shown)


def _broken(found: re.Match[str]) -> str:
    return _BREAK * len(found[0])


def _hidden(found: re.Match[str]) -> str:
    return MASK * len(found[0])


def _is_code(line: str) -> bool:
    return len(_SYMBOLS.findall(line)) > max(1, len(line) * _CODE_SHARE)


def _split(line: str, offset: int, begin: int) -> Iterator[Sentence]:
    for stop in _STOP.finditer(line, begin):
        short = _ABBREVIATION.search(line, max(begin, stop.start() - 6), stop.end())
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
    return _MONTH.match(line, end) is not None or _ORDINAL.search(lead) is not None


def _goes_on(line: str, end: int, *, title: bool) -> bool:
    """Return whether the text after an abbreviation is still the same sentence.

    Args:
        line: where it stands.
        end: the character after the abbreviation.
        title: whether a name may follow it: ``Dr. Silva``.
    """
    rest = line[end : end + 3].lstrip()
    return bool(rest) and (rest[0].islower() or rest[0].isdigit() or title)
