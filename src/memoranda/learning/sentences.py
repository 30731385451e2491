"""From a message to the sentences of its speaker, without code, logs, quotations and other texts.

Positions stay those of the message. What is quoted or code within a sentence stays in it, but no
rule reads it: in ``shown`` it is a run of :data:`MASK`. After a request to work on a text what
follows is that text; after ``Tom wrote:`` it is Tom's. It is broken off.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from memoranda.facts.forms import compile_form
from memoranda.facts.reader import MASK, find_text_request, mask_halves
from memoranda.text.limits import LONGEST_SENTENCE, MOST_READ
from memoranda.text.patterns import LanguageData
from memoranda.text.sentences import split_sentences

_EN = LanguageData("en", "stance")
_PROSE = LanguageData("mul", "prose")
_BREAK = "\n"
# Share of the characters of a line from which, if they are signs of code, it is code.
_CODE_SHARE = 0.06
_CLOSING = {'"': '"', "\u201c": "\u201d", "\u00ab": "\u00bb", "'": "'"}


class SentencePart(NamedTuple):
    """A sentence of a turn, or a part of one.

    Attributes:
        shown: its text with what no rule may read masked, as long as the text itself.
        start: where it begins in the turn.
        question: whether it ends as a question.
    """

    shown: str
    start: int
    question: bool

    @property
    def end(self) -> int:
        """Where it ends in the turn."""
        return self.start + len(self.shown)


def english(name: str) -> Any:
    """Return a pattern of ``en/stance.toml`` for RE2."""
    return compile_form(_EN.source(name))


def write_out(text: str) -> str:
    """Return a text with the apostrophes that were left out in a hurry: "dont", "shes"."""
    words = _EN.mapping("apostrophes")
    text = mask_halves(text)
    source = r"\b(" + "|".join(words) + r")\b"
    return str(compile_form(source).sub(lambda found: words[found[0].lower()], text))


def own_sentences(text: str) -> Iterator[SentencePart]:
    """Yield the sentences of prose in a text that are its speaker's own, in order."""
    shown = text[:MOST_READ].replace("\r", _BREAK).replace(MASK, " ")
    shown = mask_halves(shown.replace("\u2019", "'").replace("\u2018", "'"))
    shown = blank_others(shown)
    for name in ("arrows", "gap"):
        shown = _PROSE.pattern(name, 0).sub(_broken, shown)
    for name in ("inline_code", "url", "quoted"):
        shown = _PROSE.pattern(name, 0).sub(lambda found: MASK * len(found[0]), shown)
    for found in english("single_quoted").finditer(shown):
        start, end = found.span(1)
        shown = shown[:start] + MASK * (end - start) + shown[end:]
    laughter = compile_form(_PROSE.source("laughter"))
    shown = laughter.sub(lambda found: ",".ljust(len(found[0])), shown)
    begin = find_text_request(shown)
    offset = 0
    for line in (shown if begin is None else cut_out(shown, begin, len(shown))).split(_BREAK):
        signs = len(_PROSE.pattern("code_signs", 0).findall(line))
        code = signs > max(1, len(line) * _CODE_SHARE)
        if line and not code and not _PROSE.pattern("no_prose", 0).match(line):
            yield from _split(line, offset)
        offset += len(line) + 1


def _broken(found: Any) -> str:
    return _BREAK * len(found[0])


def _split(line: str, offset: int) -> Iterator[SentencePart]:
    """Yield the sentences of a line that begins at ``offset`` of the turn."""
    mark = _PROSE.pattern("list_mark", 0).match(line)
    begin = mark.end() if mark else 0
    for each in split_sentences(line[begin:]):
        shown = line[begin + each.start : begin + each.end][:LONGEST_SENTENCE]
        yield SentencePart(shown, offset + begin + each.start, each.question)


def blank_others(text: str) -> str:
    """Return a text, as long as it was, without what is not its speaker's own word.

    That is what memory gave back, code, and what follows ``she said:`` or ``As X says,``.
    """
    for name in ("recalled", "code_block"):
        text = _PROSE.pattern(name, 0).sub(_broken, text)
    begin = 0
    reports = [found.span() for found in english("reported_speech").finditer(text)]
    reports = [each for each in reports if text[: each[0]].split()[-1:] not in (["I"], ["i"])]
    cited = [
        found.span()
        for found in english("citation").finditer(text)
        if found["who"].strip().lower() not in _EN.words("own_words_of")
    ]
    for start, end in sorted(reports + cited):
        if start >= begin:
            begin = _report_end(text, end)
            text = cut_out(text, start, begin)
    return text


def cut_out(text: str, start: int, end: int) -> str:
    """Return a text, as long as it was, broken off from ``start`` to ``end``."""
    return text[:start] + _BREAK * (end - start) + text[end:]


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
