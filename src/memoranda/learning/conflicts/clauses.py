"""Splits a text into clauses, with subject, mood and quantities of each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from memoranda.learning.parsed_text import ParsedWord, mark_dates, parse_text, stem_set, stems
from memoranda.learning.verbs import Aspect, read_aspect
from memoranda.text.languages import LanguageData
from memoranda.text.patterns import compile_pattern
from memoranda.text.terms import cut_sentences

_EN = LanguageData("en", "comparison")


_CODE = compile_pattern(r"(?s)```.*?(?:```|\Z)")
BRIEF_WORDS, BRIEF_CLAUSES = 30, 3
"""Words and clauses up to which a text is a single statement."""
_YEAR = compile_pattern(r"(?:19|20)\d\d")


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number or date in a clause.

    Attributes:
        value: in one form.
        unit: stems of what it counts; empty where only the words before it tell.
        before: stems of the words before it in its clause, nearest first.
        kind: ``number`` or ``date``.
        near: cues of change around it: ``now``, ``increased``, ``new``.
        verb: stems of the words just before it, cues among them.
        origin: whether the clause says that it was so before: ``from 5 to 8``.
        goal: whether it is one to be reached.
    """

    value: str
    unit: tuple[str, ...]
    before: tuple[str, ...]
    kind: str
    near: frozenset[str]
    verb: frozenset[str]
    origin: bool
    goal: bool


@dataclass(frozen=True, slots=True)
class ParsedClause:
    """A part of a text that says one thing.

    Attributes:
        text: its text, with dates in one form.
        words: its words.
        texts: these in lower case, each once.
        content: the stems of what it is about.
        sentence: those of the sentence it stands in.
        quantities: its numbers and dates.
        asked: whether it asks or requests.
        wished: whether it speaks of what may be or is wanted.
        tried: whether it speaks of what is tried or aimed at.
        added: whether it speaks of what comes on top of something else: ``also``, ``another``.
        partly: whether it speaks of what fills a part of the time: ``on weekends``.
        aspect: how its first verb stands to time.
        negated: whether it says what is not.
        past: whether it speaks of a time that is over.
        strong, weak, ending: which cues of change it has.
        correcting: whether it takes back what was said: ``Actually, …``.
    """

    text: str
    words: tuple[ParsedWord, ...]
    texts: frozenset[str]
    content: frozenset[str]
    sentence: frozenset[str]
    quantities: tuple[Quantity, ...]
    asked: bool
    wished: bool
    tried: bool
    added: bool
    partly: bool
    aspect: Aspect
    negated: bool
    past: bool
    strong: frozenset[str]
    weak: frozenset[str]
    ending: frozenset[str]
    correcting: bool


@lru_cache(maxsize=1024)
def split_clauses(text: str) -> tuple[ParsedClause, ...]:
    """Return the clauses of ``text`` in order, without program code."""
    found = []
    for sentence in cut_sentences(mark_dates(_CODE.sub(" . ", text)), unspaced=False):
        content = parse_text(sentence).content
        asked = sentence.rstrip().endswith("?")
        split = _EN.pattern("clause_boundary").split
        led = _EN.pattern("sentence_lead").sub(r"\1 ", sentence)
        parts = [part for part in split(led) if part and part.strip()]
        for place, part in enumerate(parts):
            last = asked and place == len(parts) - 1
            found.append(_read_clause(part.strip(), content, asked=last and len(parts) == 1))
    return tuple(clause for clause in found if clause.content)


@lru_cache(maxsize=1024)
def text_content(text: str) -> frozenset[str]:
    """Return the stems of what a text is about, without program code."""
    return parse_text(_CODE.sub(" . ", text)).content


def is_brief(text: str) -> bool:
    """Return whether a text is one short statement rather than a message."""
    return len(split_clauses(text)) <= BRIEF_CLAUSES and len(parse_text(text).words) <= BRIEF_WORDS


def strip_interjections(clause: ParsedClause) -> str:
    """Return the text of a clause without the interjections that it begins with."""
    return _EN.pattern("interjection").sub("", clause.text)


def _read_clause(text: str, sentence: frozenset[str], *, asked: bool) -> ParsedClause:
    parsed = parse_text(text)
    said = frozenset(word.text for word in parsed.words)
    return ParsedClause(
        text=text,
        words=parsed.words,
        texts=said,
        content=parsed.content,
        sentence=sentence,
        quantities=_read_quantities(text, parsed.words),
        asked=asked or bool(_EN.pattern("asked").match(text)),
        wished=bool(_EN.pattern("wished").search(text)),
        tried=bool(_EN.pattern("tried").search(text)),
        added=bool(_EN.pattern("added").search(text)),
        partly=bool(_EN.pattern("partly").search(text)),
        aspect=read_aspect(text),
        negated=bool(_EN.pattern("negated").search(text)),
        past=bool(_EN.pattern("past").search(text)),
        strong=said & _EN.words("strong_cues"),
        weak=said & _EN.words("weak_cues"),
        ending=said & _EN.words("endings"),
        correcting=bool(_EN.pattern("correcting").match(text)),
    )


def _read_quantities(text: str, words: tuple[ParsedWord, ...]) -> tuple[Quantity, ...]:
    goal = bool(_EN.pattern("goal").search(text))
    found = []
    for place, word in enumerate(words):
        if word.kind not in {"number", "date"} or _part_of_name(words, place):
            continue
        previous = words[place - 1].text if place else ""
        around = {each.text for each in (*words[max(place - 7, 0) : place], *words[place:][:4])}
        found.append(
            Quantity(
                value=word.text,
                unit=_unit(words, place) if word.kind == "number" else (),
                before=_before(words, place),
                kind="date" if _is_year(words, place) else word.kind,
                near=frozenset(around & (_EN.words("strong_cues") | {"new", "down"})),
                verb=frozenset(each.stem for each in words[max(place - 3, 0) : place]),
                origin=previous == "from"
                and any(each.text == "to" for each in words[place + 1 : place + 5]),
                goal=goal and previous in {"least", "by", "under", "below", "of", "achieve"},
            )
        )
    return tuple(found)


def _is_year(words: tuple[ParsedWord, ...], place: int) -> bool:
    """Return whether a number is a year: ``in 2022``, but not ``in 2000 homes``."""
    before = words[place - 1].text if place else ""
    after = words[place + 1] if place + 1 < len(words) else None
    counts = after is not None and not after.name and after.text not in _EN.words("stop_words")
    year = _YEAR.fullmatch(words[place].text) is not None
    return year and before in _EN.words("before_year") and not counts


def _part_of_name(words: tuple[ParsedWord, ...], place: int) -> bool:
    """Return whether a number names a thing rather than counts: ``v2.1``, ``sprint 2``."""
    word, unit = words[place], _unit(words, place)
    if word.kind == "date":
        return False
    if word.text.count(".") > 1 or not place:
        return word.text.count(".") > 1
    previous = words[place - 1]
    if previous.text == "v":
        return True
    if previous.text in _EN.words("spans") and set(unit[:1]) & stem_set("lengths_of_time"):
        return True
    return not unit and previous.kind == "word" and previous.text not in _EN.words("name_breaks")


def _unit(words: tuple[ParsedWord, ...], place: int) -> tuple[str, ...]:
    """Return what a number counts: up to four words after it, or the sign before it."""
    if place and words[place - 1].kind == "sign":
        return (words[place - 1].text,)
    unit: list[str] = []
    for word in words[place + 1 : place + 5]:
        if word.text in {"per", "a", "each", "/"} and unit:
            continue
        if word.kind in {"number", "date"} or word.text in _EN.words("stop_words", "unit_ends"):
            break
        unit.append(word.stem)
        if word.kind == "sign":
            break
    return tuple(unit)


def _before(words: tuple[ParsedWord, ...], place: int) -> tuple[str, ...]:
    return tuple(
        word.stem
        for word in reversed(words[:place])
        if word.kind == "word" and word.text not in _EN.words("said_beside")
    )


def years(clause: ParsedClause) -> frozenset[str]:
    """Return the years that a clause names."""
    return frozenset(match[0] for each in clause.quantities if (match := _YEAR.match(each.value)))


def clause_core(clause: ParsedClause, more: frozenset[str] = frozenset()) -> frozenset[str]:
    """Return what a clause is about, without cues of change, verbs of liking and ``more``."""
    return clause.content - stem_set("beside_core") - more


def text_core(text: str) -> frozenset[str]:
    """Return what a part of a clause is about, without cues of change."""
    return parse_text(text).content - stem_set("change_cues")


def opening_name(clause: ParsedClause) -> list[str]:
    """Return the name with which a clause begins, if it does."""
    return [
        word.text
        for word in clause.words[:3]
        if word.name and word.text not in _EN.words("fillers")
    ][:1]


def subject_stems(clause: ParsedClause) -> frozenset[str]:
    """Return the stems of the names with which a clause begins, and of ``user``."""
    return frozenset(stems(opening_name(clause))) | {"user"}


def are_about_same_people(
    old: ParsedClause, new: ParsedClause, *, about: bool, lax: bool = False
) -> bool:
    """Return whether two clauses are about the same people, as far as their words show.

    Args:
        old: one of them.
        new: the other one.
        about: whether both are known to be about the same.
        lax: whether other names than the subject's may differ.
    """
    one, other = parse_text(old.text), parse_text(new.text)
    if one.persons != other.persons:
        return False
    first = [each[0] if each else None for each in (opening_name(old), opening_name(new))]
    if lax:
        return first[0] == first[1] or (about and None in first)
    return one.names == other.names or (about and set(one.names) ^ set(other.names) <= set(first))
