"""From a message to the sentences of its speaker, without code, logs, quotations and other texts.

Positions stay those of the message. What is quoted or code within a sentence stays in it, but no
rule reads it: in ``shown`` it is a run of :data:`MASK`. After a request to work on a text what
follows is that text; after ``Tom wrote:`` it is Tom's. It is broken off.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from memoranda.facts.forms import compile_form
from memoranda.facts.language import language_of, languages_in
from memoranda.facts.reader import MASK, find_text_request, fits_any
from memoranda.facts.requests import asks_to_keep
from memoranda.learning.statements import speaks_of_speaker
from memoranda.text.limits import LONGEST_SENTENCE, MOST_READ
from memoranda.text.patterns import LanguageData, compile_pattern, encodable
from memoranda.text.sentences import sentence_texts, split_sentences
from memoranda.text.small_talk import is_small_talk

_PROSE = LanguageData("mul", "prose", flags=0)
_BREAK = "\n"
# What stands in the place of a text of others whose end shows.
_CLOSED = "\ue001"
_ASKS, _COLONS = frozenset("?\uff1f"), frozenset(":\uff1a")
# Sentences of a paragraph that is too short to be pasted.
_FEW_SENTENCES = 2
# Share of the characters of a line from which, if they are signs of code, it is code.
_CODE_SHARE = 0.06
_COLON = compile_pattern(r"[:\uff1a](?:\s|$)")
# Words of a label before a colon, and of a heading.
_LABEL_WORDS, _HEADING_WORDS = 3, 6
_STOPS = " .!?\n"


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
    return language_of("en").words.pattern(name)


def english_words(name: str) -> Any:
    """Return a list, or a table, of words of ``en/stance.toml``."""
    return language_of("en").words[name]


def write_out(text: str) -> str:
    """Return an English text with the apostrophes that were left out in a hurry: "dont"."""
    if "en" not in languages_in(text):
        return encodable(text)  # "Im Mai" is German.
    words = english_words("apostrophes")
    form = compile_form(r"\b(" + "|".join(words) + r")\b")
    return str(form.sub(lambda found: words[found[0].lower()], encodable(text)))


def own_sentences(text: str) -> Iterator[SentencePart]:
    """Yield the sentences of prose in a text that are its speaker's own, in order."""
    shown = text[:MOST_READ].replace("\r", _BREAK).replace(MASK, " ").replace(_CLOSED, " ")
    shown = encodable(shown.replace("\u2019", "'").replace("\u2018", "'"))
    shown = _PROSE.enclosed.sub(_close, blank_others(shown))
    for name in ("arrows", "gap"):
        shown = getattr(_PROSE, name).sub(_broken, shown)
    for name in ("inline_code", "url", "quoted"):
        shown = getattr(_PROSE, name).sub(lambda found: MASK * len(found[0]), shown)
    shown = english("single_quoted").sub(
        lambda found: found[0].replace(found[1], MASK * len(found[1])), shown
    )
    laughter = compile_form(_PROSE.source("laughter"))
    shown = laughter.sub(lambda found: ",".ljust(len(found[0])), shown)
    offset = 0
    for line in blank_pasted(blank_shown(shown)).split(_BREAK):
        signs = len(_PROSE.code_signs.findall(line))
        code = signs > max(1, len(line) * _CODE_SHARE)
        if line and not code and not _PROSE.no_prose.match(line):
            yield from _split(line, offset)
        offset += len(line) + 1


def blank_pasted(text: str) -> str:
    """Return a text, as long as it was, without the paragraphs that seem to be pasted.

    Where the first paragraph asks about a text, or ends with a colon, the others are that text;
    where only the last one asks, those are that bear signs of a log, a mail, a list or a form.
    The last paragraph stays where it asks something itself.
    """
    begun, *others = _paragraphs(text) or [(0, 0)]
    if not others:
        return text
    gap = _PROSE.blank_line.search(text.strip())
    logged = gap is None and _PROSE.logged.search(text) is not None
    lead = text[: begun[1]]
    last_asks = not _ASKS.isdisjoint(text[slice(*others[-1])])
    greets = any(_PROSE.salutation.match(text[slice(*each)]) for each in others)
    shows = greets or fits_any("shows_text", lead) or lead.rstrip()[-1:] in _COLONS
    rest = others[:-1] if last_asks else others
    few = len(rest) == 1 and len(sentence_texts(text[slice(*rest[0])])) <= _FEW_SENTENCES
    pasted = shows or (not _ASKS.isdisjoint(lead) and not few and _CLOSED not in text)
    for start, end in [begun, *rest]:
        other = logged or (pasted and start > begun[0])
        if other or _PROSE.pasted.search(text[start:end]):
            text = cut_out(text, start, end)
    return text


def _paragraphs(text: str) -> list[tuple[int, int]]:
    """Return where the paragraphs of a text are; its lines, where there is no gap between them."""
    spans = [found.span() for found in _PROSE.paragraph.finditer(text)]
    lines = _PROSE.line.finditer(text)
    return spans if len(spans) > 1 else [found.span() for found in lines]


def blank_shown(text: str) -> str:
    """Return a text, as long as it was, without those of others that it shows or works on.

    A last paragraph that asks something is its speaker's own again.
    """
    for found in _PROSE.byline.finditer(text):
        gaps = _PROSE.blank_line.finditer(text[: found.start()])
        text = cut_out(text, max((each.end() for each in gaps), default=0), found.end())
    for each in split_sentences(text):
        if _PROSE.attributed.search(text[each.start : each.end]):
            text = cut_out(text, each.start, each.end)
    begin = _find_shown(text)
    if begin is None:
        return text
    *_, (last, end) = _paragraphs(text)
    own = last > begin and not _ASKS.isdisjoint(text[last:end])
    return cut_out(text, begin, last if own else len(text))


def _find_shown(text: str) -> int | None:
    """Return where in a text that of another begins; ``None`` if nowhere."""
    if english("works_on_above").search(text):
        return 0
    asked = find_text_request(text)
    # The mark before a request is that of another sentence.
    begin = len(text) if asked is None else len(text) - len(text[asked:].lstrip(_STOPS))
    for each in split_sentences(text[:begin]):
        said = text[each.start : each.end]
        if each.end < len(text.rstrip()) and _is_heading(said):
            return each.start
        for mark in _COLON.finditer(said):
            start = each.start + mark.end()
            if not _may_introduce(said[: mark.start()], text[start : start + LONGEST_SENTENCE]):
                return start
    return None if asked is None else begin


def _may_introduce(lead: str, rest: str) -> bool:
    """Return whether what stands before a colon leaves what follows its speaker's own word.

    A label does, what asks to remember, what the speaker does ("I have a question"), and whatever
    stands before a bare value.
    """
    words = lead.casefold().replace("'", " ").split()
    if len(words) <= _LABEL_WORDS or words[0] in language_of(languages_in(lead)[0]).words["own"]:
        return True
    return asks_to_keep(f"{lead}: x") or not (speaks_of_speaker(rest) or asks_to_keep(rest))


def _is_heading(line: str) -> bool:
    """Return whether a line is the heading of a text, as nobody begins who tells something."""
    words = line.split()
    return (
        1 < len(words) <= _HEADING_WORDS
        and line[-1].isalnum()
        and not is_small_talk(words[0])
        and not speaks_of_speaker(line)
        and (
            not line[0].isalnum()
            or any(map(str.isdigit, line))
            or all(word[0].isupper() or not word[0].isalpha() for word in words)
        )
    )


def _broken(found: Any) -> str:
    return _BREAK * len(found[0])


def _close(found: Any) -> str:
    """Return what stands for a text of others, as long as it was; itself where it is to be kept."""
    lead = found[0].split(_BREAK)[0].partition(":")[0]
    return found[0] if asks_to_keep(f"{lead}: x") else _CLOSED.ljust(len(found[0]), _BREAK)


def _split(line: str, offset: int) -> Iterator[SentencePart]:
    """Yield the sentences of a line that begins at ``offset`` of the turn."""
    mark = _PROSE.list_mark.match(line)
    begin = mark.end() if mark else 0
    for each in split_sentences(line[begin:]):
        shown = line[begin + each.start : begin + each.end][:LONGEST_SENTENCE]
        yield SentencePart(shown, offset + begin + each.start, each.question)


def blank_others(text: str) -> str:
    """Return a text, as long as it was, without what is not its speaker's own word.

    That is what memory gave back, code, and what follows ``she said:`` or ``As X says,``.
    """
    for name in ("recalled", "code_block"):
        text = getattr(_PROSE, name).sub(_broken, text)
    begin = 0
    reports = [
        found.span()
        for found in english("reported_speech").finditer(text)
        if not (found["own"] or found["quote"])
    ]
    cited = [
        found.span()
        for found in english("citation").finditer(text)
        if found["who"].strip().lower() not in english_words("own_words_of")
    ]
    for start, end in sorted(reports + cited):
        if start >= begin:
            gap = _PROSE.blank_line.search(text, end)
            begin = gap.start() if gap else len(text)
            text = cut_out(text, start, begin)
    return text


def cut_out(text: str, start: int, end: int) -> str:
    """Return a text, as long as it was, broken off from ``start`` to ``end``."""
    return text[:start] + _BREAK * (end - start) + text[end:]
