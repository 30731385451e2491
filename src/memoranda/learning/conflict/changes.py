"""A value, a liking or a state that is another one later than before."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from memoranda.learning.aspect import Aspect
from memoranda.learning.claims import Relation, Verdict
from memoranda.learning.conflict.attributes import attribute, opposed
from memoranda.learning.conflict.clauses import Clause, spoken, years
from memoranda.learning.conflict.cores import core, same_people
from memoranda.learning.reading import Word, read, stems
from memoranda.learning.wording import (
    ADVERBS,
    CALENDAR,
    LIKING,
    NEGATORS,
    OPPOSITES,
    PASSING,
    STOP_WORDS,
    word_set,
)

MANY, MOST = 0.6, 0.75
"""Shares of content words."""
TWO = 2
_FIXED = frozenset(stems(["birthday", "birthplace", "blood", "hometown", "birth"]))
_HELD = frozenset({"residence", "employer", "occupation", "study", "drive", "rise", "diet"})
_JOBS = frozenset({"employer", "occupation", "study", "rise"})
_HAVING = word_set("has have had ve got own owns")
_BECAME = frozenset({"became", "become"})
_LIKING = frozenset(stems(sorted(LIKING)))
_QUALIFYING = frozenset(
    stems(
        sorted(
            word_set(
                """work office home private personal business school summer winter second other
                emergency delivery billing shipping mobile backup staging production"""
            )
        )
    )
)
"""Words that tell one address, number or server of somebody from another."""
_LISTED = re.compile(r",|\b(?:and|or)\b", re.IGNORECASE)


def revalued(old: Clause, new: Clause, *, about: bool) -> Iterator[Verdict]:
    """Yield a verdict where both clauses give one attribute another value."""
    if (
        not _both_said(old, new)
        or old.negated
        or new.negated
        or ((old.added or new.added) and not new.strong)
    ):
        return
    one, other = attribute(old), attribute(new)
    if (
        one is None
        or other is None
        or (one.name != "birth" and _apart_in_time(old, new, held=one.name in _HELD))
        or (one.name in _JOBS and (old.partly or new.partly) and not new.strong - _BECAME)
    ):
        return
    sure = opposed(one, other, same_subject=about)
    if not sure or (one.key & _QUALIFYING) != (other.key & _QUALIFYING):
        return
    fixed = bool(new.correcting or (one.key & _FIXED) or one.name == "birth")
    relation = Relation.CONTRADICTION if fixed else Relation.UPDATE
    yield Verdict(relation, sure, f"another value of the same attribute ({one.name})")


def reversed_(old: Clause, new: Clause, *, about: bool) -> Iterator[Verdict]:
    """Yield a verdict where one clause says what the other one denies."""
    if not _both_said(old, new) or old.past != new.past or years(old) != years(new):
        return
    if {q.value for q in old.quantities} != {q.value for q in new.quantities}:
        return
    signs = [_sign(clause) for clause in (old, new)]
    axes = [_axes(clause) for clause in (old, new)]
    turned = {axis for axis in axes[0].keys() & axes[1].keys() if axes[0][axis] != axes[1][axis]}
    flipped = signs[0] != signs[1]
    if flipped == bool(turned) or not _one_time(old, new) or not _alike_felt(old, new):
        return
    left, right = (core(clause, _opposing(clause)) for clause in (old, new))
    if min(len(left), len(right)) < TWO or not same_people(old, new, about=about):
        return
    if not (_denies(old, new) and _denies(new, old)):
        return
    smaller = min(len(left), len(right))
    few = len(left & right) / smaller < MOST or len(left & right) / len(left | right) < MANY
    # Of several things, one is denied: the others go on.
    if few or (left > right and _LISTED.search(old.text)):
        return
    over = any(word.text == "longer" for word in new.words)
    over = over or bool(new.ending and not turned)
    changed = bool(over or new.strong) and not new.correcting
    relation = Relation.UPDATE if changed else Relation.CONTRADICTION
    yield Verdict(relation, 0.85, "one says what the other denies")


def _both_said(old: Clause, new: Clause) -> bool:
    said = not (old.asked or new.asked) and old.wished == new.wished
    return said and old.tried == new.tried


def _apart_in_time(old: Clause, new: Clause, *, held: bool) -> bool:
    """Return whether each holds in its own time: ``in 2021 she lived`` and ``she lives``."""
    if new.past and not new.strong:
        return True
    if held and old.past and not old.strong:
        return True
    return bool(
        years(old) and years(new) and years(old) != years(new) and not new.strong and not held
    )


def _one_time(old: Clause, new: Clause) -> bool:
    """Return whether two clauses speak of one time: the present, or a day that both name."""
    if not (_over_and_done(old) or _over_and_done(new)) or new.correcting:
        return True
    days = [
        {word.text for word in clause.words if word.kind == "date" or word.text in CALENDAR}
        for clause in (old, new)
    ]
    return bool(days[0] & days[1])


def _over_and_done(clause: Clause) -> bool:
    return clause.aspect is not Aspect.STATE or any(
        word.text in {"did", "was", "were", "had"} for word in clause.words
    )


def _sign(clause: Clause) -> int:
    """Return +1 or -1 by negations and verbs of disliking."""
    sign = 1
    for marker in read(spoken(clause)).markers:
        sign *= -1 if marker in {"not", "ended"} else 1
    for word in clause.words:
        if LIKING.get(word.text, 1) < 0:
            sign = -sign
    return sign


def _alike_felt(old: Clause, new: Clause) -> bool:
    """Return whether a dislike stands against a liking: who hates a dog may still have it."""
    felt = [
        {LIKING[word.text] for word in each.words if word.text in LIKING} for each in (old, new)
    ]
    return -1 not in felt[0] | felt[1] or bool(felt[0] and felt[1])


def _denies(denial: Clause, other: Clause) -> bool:
    """Return whether ``other`` says what ``denial`` negates, if it negates anything."""
    words = read(spoken(denial)).words
    stated = {word.stem for word in other.words} | {word.text for word in other.words}
    return all(
        _states(words, place, stated)
        for place, word in enumerate(words)
        if word.text in NEGATORS and not word.name
    )


def _states(words: Sequence[Word], place: int, stated: set[str]) -> bool:
    """Return whether what the negation at ``place`` negates is among what is stated."""
    behind = words[place + 1 : place + 2]
    verb = _next(words, place + 1)
    if behind and behind[0].text == "longer":
        verb = _next(words, place + 2)
    if behind and behind[0].text in _HAVING and not stated & _HAVING:
        return False
    if verb is None or verb.stem in stated:
        return True
    return verb.text in LIKING and bool(_LIKING & stated)


def _next(words: Sequence[Word], place: int) -> Word | None:
    passing = ADVERBS | PASSING
    return next((word for word in words[place:] if word.text not in passing), None)


def _axes(clause: Clause) -> dict[int, int]:
    return dict(OPPOSITES[word.text] for word in clause.words if word.text in _TURNING)


def _opposing(clause: Clause) -> frozenset[str]:
    return frozenset(word.stem for word in clause.words if word.text in OPPOSITES)


_TURNING = (
    frozenset(OPPOSITES)
    - CALENDAR
    - STOP_WORDS
    - frozenset(
        ["before", "after", "early", "late", "always", "never", "on", "off", "morning", "evening"]
    )
)
"""Opposites that exclude each other at any time."""
