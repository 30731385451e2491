"""Splits a text into clauses, with subject, mood and quantities of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from memoranda.learning.parsed_text import ParsedText, ParsedWord, mark_dates, parse_text, stem_set
from memoranda.learning.verbs import Aspect, read_aspect
from memoranda.text.patterns import LanguageData, compile_pattern
from memoranda.text.terms import cut_sentences

_EN = LanguageData("en", "comparison")


_CODE = compile_pattern(r"(?s)```.*?(?:```|\Z)")
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


# Patterns by which a clause is marked wherever in it they stand.
_MARKS = ("wished", "tried", "added", "partly", "negated", "past")


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
        aspect: how its first verb stands to time.
        marks: ``asked`` (it asks or requests), ``wished`` (it speaks of what may be or is wanted),
            ``tried`` (of what is tried or aimed at), ``added`` (of what comes on top of something
            else: ``also``, ``another``), ``partly`` (of what fills a part of the time: ``on
            weekends``), ``negated`` (it says what is not), ``past`` (it speaks of a time that is
            over), ``correcting`` (it takes back what was said: ``Actually, …``).
        strong: cues of change that it has.
    """

    text: str
    words: tuple[ParsedWord, ...]
    texts: frozenset[str]
    content: frozenset[str]
    sentence: frozenset[str]
    quantities: tuple[Quantity, ...]
    aspect: Aspect
    marks: frozenset[str]
    strong: frozenset[str]

    def has(self, *marks: str) -> bool:
        """Return whether the clause has one of these marks."""
        return not self.marks.isdisjoint(marks)

    @property
    def years(self) -> frozenset[str]:
        """The years that it names."""
        found = (_YEAR.match(each.value) for each in self.quantities)
        return frozenset(match[0] for match in found if match)

    @property
    def values(self) -> set[str]:
        """Its numbers and dates."""
        return {each.value for each in self.quantities}

    @property
    def core(self) -> frozenset[str]:
        """What it is about, without cues of change and verbs of liking."""
        return self.content - stem_set("beside_core")

    @property
    def plain(self) -> ParsedText:
        """It without the interjections that it begins with."""
        return parse_text(_EN.pattern("interjection").sub("", self.text))

    @property
    def name(self) -> ParsedWord | None:
        """The name with which it begins, if it does."""
        fillers = _EN.words("fillers")
        return next((w for w in self.words[:3] if w.name and w.text not in fillers), None)

    @property
    def subject(self) -> frozenset[str]:
        """The stem of the name with which it begins, and ``user``."""
        return frozenset({"user", self.name.stem} if self.name else {"user"})


@lru_cache(maxsize=1024)
def split_clauses(text: str) -> tuple[ParsedClause, ...]:
    """Return the clauses of ``text`` in order, without program code."""
    found = []
    for sentence in cut_sentences(mark_dates(_CODE.sub(" . ", text)), unspaced=False):
        content = parse_text(sentence).content
        led = _EN.pattern("sentence_lead").sub(r"\1 ", sentence)
        split = _EN.pattern("clause_boundary").split(led)
        parts = [part.strip() for part in split if part and part.strip()]
        asked = sentence.rstrip().endswith("?") and len(parts) == 1
        found += [_read_clause(part, content, asked=asked) for part in parts]
    return tuple(clause for clause in found if clause.content)


@lru_cache(maxsize=1024)
def text_content(text: str) -> frozenset[str]:
    """Return the stems of what a text is about, without program code."""
    return parse_text(_CODE.sub(" . ", text)).content


def _read_clause(text: str, sentence: frozenset[str], *, asked: bool) -> ParsedClause:
    parsed = parse_text(text)
    marks = [name for name in _MARKS if _EN.pattern(name).search(text)]
    marks += [name for name in ("asked", "correcting") if _EN.pattern(name).match(text)]
    return ParsedClause(
        text=text,
        words=parsed.words,
        texts=parsed.texts,
        content=parsed.content,
        sentence=sentence,
        quantities=_read_quantities(text, parsed.words),
        aspect=read_aspect(text),
        marks=frozenset([*marks, *(["asked"] if asked else [])]),
        strong=parsed.texts & _EN.words("strong_cues"),
    )


def _read_quantities(text: str, words: Sequence[ParsedWord]) -> tuple[Quantity, ...]:
    goal = bool(_EN.pattern("goal").search(text))
    found = []
    for place, word in enumerate(words):
        if word.kind not in {"number", "date"} or _is_part_of_name(words, place):
            continue
        previous = words[place - 1].text if place else ""
        around = {each.text for each in (*words[max(place - 7, 0) : place], *words[place:][:4])}
        ranges = any(each.text == "to" for each in words[place + 1 : place + 5])
        plain = (each for each in reversed(words[:place]) if each.kind == "word")
        quantity = Quantity(
            value=word.text,
            unit=_unit(words, place) if word.kind == "number" else (),
            before=tuple(each.stem for each in plain if each.text not in _EN.words("said_beside")),
            kind="date" if _is_year(words, place) else word.kind,
            near=frozenset(around & (_EN.words("strong_cues") | {"new", "down"})),
            verb=frozenset(each.stem for each in words[max(place - 3, 0) : place]),
            origin=previous == "from" and ranges,
            goal=goal and previous in _EN.words("before_goal"),
        )
        found.append(quantity)
    return tuple(found)


def _is_year(words: Sequence[ParsedWord], place: int) -> bool:
    """Return whether a number is a year: ``in 2022``, but not ``in 2000 homes``."""
    before = words[place - 1].text if place else ""
    counts = any(
        not after.name and after.text not in _EN.words("stop_words")
        for after in words[place + 1 : place + 2]
    )
    year = _YEAR.fullmatch(words[place].text) is not None
    return year and before in _EN.words("before_year") and not counts


def _is_part_of_name(words: Sequence[ParsedWord], place: int) -> bool:
    """Return whether a number names a thing rather than counts: ``v2.1``, ``sprint 2``."""
    word, unit = words[place], _unit(words, place)
    if word.kind == "date":
        return False
    if word.text.count(".") > 1 or not place:
        return word.text.count(".") > 1
    previous = words[place - 1]
    spans = previous.text in _EN.words("spans") and set(unit[:1]) & stem_set("lengths_of_time")
    if previous.text == "v" or spans:
        return True
    return not unit and previous.kind == "word" and previous.text not in _EN.words("name_breaks")


def _unit(words: Sequence[ParsedWord], place: int) -> tuple[str, ...]:
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


def text_core(text: str) -> frozenset[str]:
    """Return what a part of a clause is about, without cues of change."""
    return parse_text(text).content - stem_set("change_cues")


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
    first = [each and each.text for each in (old.name, new.name)]
    if lax:
        return first[0] == first[1] or (about and None in first)
    return one.names == other.names or (about and set(one.names) ^ set(other.names) <= set(first))
