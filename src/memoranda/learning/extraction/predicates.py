"""Classifies first-person predicates: the kind of statement, and how durable it is.

The rules are the rows of ``languages/en/predicates.toml``, which says how they are written. Each
gives a category and a score from 0 to 1, before what the clause holds is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from memoranda.learning.claims import Category
from memoranda.learning.verbs import is_participle, is_past
from memoranda.text.patterns import LanguageData, load

_EN = LanguageData("en", "extraction")


class ClauseStatement(NamedTuple):
    """What a clause states, and how durable it is. A predicate alone fills the first three.

    Attributes:
        category: the kind of statement.
        score: how surely it is a durable one, 0 to 1.
        rest: index of the first word of the predicate that may carry content.
        first: the word with which the statement begins.
        subject: where its subject ends; 0 where that is the speaker.
        prefix: what it leaves out at its start: ``I``, ``I am``.
        third: whether the subject is a person other than the speaker.
    """

    category: Category
    score: float
    rest: int
    first: int = 0
    subject: int = 0
    prefix: str = ""
    third: bool = False


def read_predicate(
    low: Sequence[str], *, chat: bool, lead: Sequence[str] = (), third: bool = False
) -> ClauseStatement | None:
    """Return what the words after ``I`` say; ``None`` where it is nothing to keep.

    Args:
        low: they in lower case, contractions with the subject spelled out (``am``, ``have``).
        chat: whether it is said to an assistant, so that a wish is a request.
        lead: the words before the subject: ``on Sundays``.
        third: whether they are said of another person.
    """
    often = _EN.words("frequency")
    facts = {
        "chat": chat,
        "often": not often.isdisjoint(low) or _tells_days(lead),
        "whenever": chat and _is_conditional(low),
        "anymore": "anymore" in low,
        "third": third and chat,
    }
    return _read("start", low, 0, frozenset(name for name, holds in facts.items() if holds))


def _read(
    table: str, low: Sequence[str], place: int, facts: frozenset[str]
) -> ClauseStatement | None:
    """Return what the first row of ``table`` that fits at ``place`` means."""
    for row in _rows(table):
        if row.needed and (row.needed in facts) == row.unless:
            continue
        begin = row.begin(low, place)
        if begin is None:
            continue
        if row.leads == "owning":
            return _owning(low, begin, base=row.score)
        if row.leads:
            return _read(row.leads, low, begin, facts | row.adds)
        return ClauseStatement(row.category, row.score, begin) if row.category else None
    return None


def _tells_days(lead: Sequence[str]) -> bool:
    """Return whether what stands before ``I`` says when something is done: ``every Friday``."""
    return not _EN.words("frequency").isdisjoint(lead) and "time" not in lead


def _is_conditional(low: Sequence[str]) -> bool:
    """Return whether something happens each time: ``I sneeze when I eat chocolate``."""
    times, own = {"when", "whenever", "if"}, {"i", "we"}
    return any(when in times and who in own for when, who in pairwise(low[1:]))


def _anything(_: str) -> bool:
    return True


_KINDS: Mapping[str, Callable[[str], bool]] = {
    "-ing": lambda word: word.endswith("ing"),
    "-past": is_past,
    "-participle": is_participle,
    "-digits": str.isdigit,
    "-noun_end": lambda word: not word.isalnum() or word in _EN.words("after_noun"),
    "-end": lambda word: not word,
    "*": _anything,
}


class _FormPart(NamedTuple):
    """A part of a form: a word that fits, or one of the signs ``^ ~ ...``."""

    sign: str
    fits: Callable[[str], bool]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class _PredicateRow:
    """A row of the file: its form, and what it means."""

    needed: str
    unless: bool
    parts: tuple[_FormPart, ...]
    category: Category | None
    score: float
    leads: str
    adds: frozenset[str]

    def begin(self, low: Sequence[str], place: int) -> int | None:
        """Return where begins what is said, if the form fits at ``place``."""
        begin = place
        for part in self.parts:
            if part.sign == "^":
                begin = place
            elif part.sign == "~":
                before, place = place, _pass_adverbs(low, place)
                some = all if part.negated else any
                if part.fits is not _anything and not some(map(part.fits, low[before:place])):
                    return None
            elif part.sign == "...":
                while place < len(low) and part.fits(low[place]):
                    place += 1
            elif part.fits(_word(low, place)):
                place += 1
            else:
                return None
        return begin


@cache
def _rows(table: str) -> Sequence[_PredicateRow]:
    return [_parse_row(source) for source in load("en", "predicates")[table]]


def _parse_row(source: str) -> _PredicateRow:
    """Return a row as it is written in the file: ``never: ~ ^{likes} = preference 0.7``."""
    form, sign, meaning = source.rpartition(" = ") if " = " in source else source.rpartition(" > ")
    needed, colon, rest = form.partition(": ")
    parts = tuple(part for each in (rest if colon else form).split() for part in _parse_part(each))
    outcome, *more = meaning.split()
    leads = sign == " > "
    number = bool(more) and more[0][0].isdigit()
    return _PredicateRow(
        needed=needed.removeprefix("!") if colon else "",
        unless=needed.startswith("!"),
        parts=parts,
        category=None if leads or outcome == "nothing" else Category(outcome),
        score=float(more[0]) if number else 0.0,
        leads=outcome if leads else "",
        adds=frozenset(() if number else more),
    )


def _parse_part(source: str) -> list[_FormPart]:
    if source.startswith("^"):
        return [_FormPart("^", _anything), *(_parse_part(source[1:]) if source[1:] else ())]
    sign = "~" if source.startswith("~") else "..." if source.endswith("...") else ""
    choices = source.removeprefix("~").removesuffix("...")
    if not choices:
        return [_FormPart(sign, _anything)]
    tests = [_parse_choice(each) for each in choices.split("&")]
    return [_FormPart(sign, lambda word: all(fits(word) for fits in tests), "!" in choices)]


def _parse_choice(source: str) -> Callable[[str], bool]:
    """Return what tells whether a word is one of some, or none of them."""
    negated = source.startswith("!")
    names = source.removeprefix("!").split("|")
    lists = [name[1:-1] for name in names if name.startswith("{")]
    words = frozenset(names).union(*map(_EN.words, lists))
    kinds = [_KINDS[name] for name in names if name in _KINDS]
    return lambda word: (word in words or any(kind(word) for kind in kinds)) != negated


def _word(low: Sequence[str], place: int) -> str:
    return low[place] if place < len(low) else ""


def _pass_adverbs(low: Sequence[str], place: int) -> int:
    """Return where the verb stands, behind the adverbs before it."""
    while _word(low, place) in _EN.words("adverbs", "frequency"):
        place += 1
    return place + 2 if list(low[place : place + 2]) == ["no", "longer"] else place


def _owning(low: Sequence[str], place: int, *, base: float) -> ClauseStatement | None:
    """Read what follows ``have``: a thing, a person, or a mere manner of speaking."""
    near = low[place : place + 5]
    # "Something to share", "a lot to learn" is nothing that somebody has.
    led = near[: near.index("to")] if "to" in near else ()
    if led and all(each in _EN.words("stop", "vague") for each in led):
        return None
    head = [each for each in near if each not in _EN.words("stop")]
    if not head or head[0] in _EN.words("evaluative") or _is_momentary(low, place):
        return None
    if _EN.words("junk_objects").intersection((*head[:2], head[-1])):
        return None
    for name, reach, kind, more in load("en", "extraction")["owned"]:
        if not _EN.words(name).isdisjoint(head[:reach]):
            return ClauseStatement(Category(kind), base + more, place)
    return ClauseStatement(Category.POSSESSION, base, place)


def _is_momentary(low: Sequence[str], place: int) -> bool:
    """Return whether somebody has that only now: ``two hours to pack``, ``eggs and rice``."""
    for at in range(place, min(len(low), place + 5)):
        after = _word(low, at + 1)
        if low[at] in _EN.words("time_units"):
            return after in _EN.words("time_left")
        if low[at] in _EN.words("food") and _KINDS["-noun_end"](after):
            return _EN.words("frequency").isdisjoint(low)
        if not low[at].isalnum() or low[at] in _EN.words("relatives"):
            return False
    return False
