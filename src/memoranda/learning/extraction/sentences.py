"""From a message to the sentences of its speaker, without code, logs, quotes and other texts.

Positions stay those of the message. What is quoted or code within a sentence stays in it, but no
rule reads it: in ``shown`` it is a run of :data:`MASK`. After a request to work on a text, or to
pretend, what follows is that text or that role; after ``Tom wrote:`` it is Tom's. It is broken
off.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from memoranda.facts.forms import compile_form
from memoranda.facts.reader import find_text_request
from memoranda.text.limits import LONGEST_SENTENCE, MOST_READ
from memoranda.text.linear_patterns import LinearMatch
from memoranda.text.patterns import LanguageData

_EN = LanguageData("en", "extraction")
_DE = LanguageData("de", "extraction")
_PROSE = LanguageData("mul", "prose")
MASK = "\ue000"
_BREAK = "\n"
_ASKS = frozenset("?\uff1f")
_LONGEST_ORDINAL = 12
_CODE_SHARE = 0.06
_CLOSING = {'"': '"', "“": "”", "«": "»", "'": "'"}


class TurnPart(NamedTuple):
    """A sentence of a turn, or a clause of one.

    Attributes:
        shown: its text with what no rule may read masked, as long as the text itself.
        start: where it begins in the turn.
        question: whether it asks: a sentence by its mark, a clause also by its words.
    """

    shown: str
    start: int
    question: bool

    @property
    def end(self) -> int:
        """Where it ends in the turn."""
        return self.start + len(self.shown)


def split_sentences(text: str) -> Iterator[TurnPart]:
    """Yield the sentences of prose in ``text``, in order."""
    shown = text[:MOST_READ].replace("\r", _BREAK).replace(MASK, " ")
    shown = blank_others(shown.replace("’", "'").replace("\u2018", "'"))
    for name in ("arrows", "gap"):
        shown = _PROSE.pattern(name, 0).sub(_broken, shown)
    for pattern in (
        *(_PROSE.pattern(name, 0) for name in ("inline_code", "url", "quoted")),
        _EN.pattern("single_quoted", 0),
    ):
        shown = pattern.sub(lambda found: MASK * len(found[0]), shown)
    laughter = compile_form(_PROSE.source("laughter"))
    shown = laughter.sub(lambda found: ",".ljust(len(found[0])), shown)
    offset = 0
    for line in blank_texts(shown).split(_BREAK):
        signs = len(_PROSE.pattern("code_signs", 0).findall(line))
        code = signs > max(1, len(line) * _CODE_SHARE)
        if line and not code and not _PROSE.pattern("no_prose", 0).match(line):
            yield from _split(line, offset)
        offset += len(line) + 1


def _broken(found: LinearMatch) -> str:
    return _BREAK * len(found[0])


def _split(line: str, offset: int) -> Iterator[TurnPart]:
    """Yield the sentences of a line that begins at ``offset`` of the turn."""
    mark = _PROSE.pattern("list_mark", 0).match(line)
    begin = mark.end() if mark else 0
    for stop in _PROSE.pattern("sentence_end", 0).finditer(line, begin):
        before = max(begin, stop.start() - 6)
        short = _EN.pattern("abbreviation", 0).search(line, before, stop.end())
        rest = line[stop.end() : stop.end() + 3].lstrip()
        # A name may follow a title: "Dr. Silva".
        goes_on = rest and (rest[0].islower() or rest[0].isdigit() or (short and short["title"]))
        if (short and goes_on) or _is_ordinal(line, begin, stop.end()):
            continue
        shown = line[begin : stop.end()][:LONGEST_SENTENCE]
        yield TurnPart(shown, offset + begin, not _ASKS.isdisjoint(stop[0]))
        begin = stop.end()
    if line[begin:].strip():
        yield TurnPart(line[begin : begin + LONGEST_SENTENCE], offset + begin, question=False)


def _is_ordinal(line: str, begin: int, end: int) -> bool:
    """Return whether the full stop before ``end`` is that of a German ordinal: ``am 3. Mai``."""
    if not line[max(begin, end - 2) : end - 1].isdigit() or not line[end:].strip():
        return False
    lead = line[max(begin, end - _LONGEST_ORDINAL) : end]
    month = _DE.pattern("month", 0).match(line, end)
    return month is not None or _DE.pattern("ordinal").search(lead) is not None


def blank_others(text: str) -> str:
    """Return ``text``, as long as it was, without what is not its speaker's own word.

    That is what memory gave back, code, and what follows ``she said:`` or ``As X says,``.
    """
    for name in ("recalled", "code_block"):
        text = _PROSE.pattern(name, 0).sub(_broken, text)
    begin = 0
    marks = [
        mark
        for name in ("reported_speech", "citation")
        for mark in _EN.pattern(name).finditer(text)
    ]
    for found in sorted(marks, key=LinearMatch.start):
        if found.start() >= begin:
            begin = _report_end(text, found.end())
            text = cut_out(text, found.start(), begin)
    return text


def cut_out(text: str, start: int, end: int) -> str:
    """Return ``text``, as long as it was, broken off from ``start`` to ``end``."""
    return text[:start] + _BREAK * (end - start) + text[end:]


def blank_texts(text: str) -> str:
    """Return ``text``, as long as it was, broken off at a request to work on a text."""
    for found in _EN.pattern("text_request").finditer(text):
        rest = _PROSE.pattern("rest_of_sentence", 0).match(text, found.end())
        asked = found[0] + (rest[0] if rest else "")
        if _EN.pattern("about_code").search(asked) is None:
            return cut_out(text, found.start(), len(text))
    start = find_text_request(text)
    return text if start is None else cut_out(text, start, len(text))


def _report_end(text: str, start: int) -> int:
    """Return where the words that begin at ``start`` end: quote, paragraph or sentence."""
    begin = start + len(text[start:]) - len(text[start:].lstrip())
    closing = _CLOSING.get(text[begin : begin + 1])
    if closing:
        closed = text.find(closing, begin + 1)
        return closed + 1 if closed >= 0 else len(text)
    if _BREAK in text[start:begin]:
        blank = _PROSE.pattern("blank_line", 0).search(text, begin)
        return blank.start() if blank else len(text)
    found = _PROSE.pattern("report_end", 0).search(text, begin)
    return found.end() if found else len(text)
