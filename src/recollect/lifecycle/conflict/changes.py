"""A value, a liking or a state that is another one later than before."""

from __future__ import annotations

import re
from collections.abc import Iterator

from recollect.lifecycle.claims import Relation, Verdict
from recollect.lifecycle.conflict.attributes import attribute, opposed
from recollect.lifecycle.conflict.clauses import Clause, Quantity, years
from recollect.lifecycle.reading import read, stems
from recollect.lifecycle.wording import (
    CORRECTIONS,
    ENDINGS,
    FILLERS,
    LIKING,
    MEASURES,
    OPPOSITES,
    RATINGS,
    STOP_WORDS,
    STRONG_CUES,
    VAGUE,
    WEAK_CUES,
)

TWO = 2
"""A subject and what is said of it; or one value for another."""
HALF, MANY, MOST = 0.5, 0.6, 0.75
"""Shares of content words."""
_CUES = frozenset(stems(sorted(STRONG_CUES | WEAK_CUES | FILLERS | CORRECTIONS))) | {"longer"}
_ENDS = frozenset(stems(sorted(ENDINGS)))
_VAGUE = frozenset(stems(sorted(VAGUE)))
_MEASURES = frozenset(stems(sorted(MEASURES)))
_STOPS = frozenset(stems(sorted(STOP_WORDS)))
_RATINGS = frozenset(stems(sorted(RATINGS)))
_LIKING = frozenset(stems(sorted(LIKING)))
_OVER = re.compile(
    r"\bno longer\b|\bnot\b.*\bany ?more\b|n't\b.*\bany ?more\b"
    r"|\b(?:stopped|quit|gave up|has given up|left|sold|cancelled|canceled|abandoned|ended|"
    r"broke up with|divorced|dropped out of|got rid of|lost (?:his|her|their|my|the) job)\b",
    re.IGNORECASE,
)
_KEPT = re.compile(r"\b(?:never|not|n't)\s+(?:quit|stop|give up|leave|sell)", re.IGNORECASE)
_FROM_TO = re.compile(
    r"\b(?:switched|changed|moved|migrated|transitioned|went)\b.*?\bfrom\s+(?P<old>.+?)\s+to\s+"
    r"(?P<new>.+)|\b(?:replaced|swapped|traded)\s+(?P<old2>.+?)\s+(?:with|for|by)\s+(?P<new2>.+)"
    r"|(?P<new3>.+?)\b(?:instead of|rather than)\s+(?P<old3>.+)",
    re.IGNORECASE,
)
_NOT_BUT = re.compile(
    r"\bnot\s+(?P<old>[^,.;]+?),?\s+but\s+(?P<new>.+)|(?P<new2>.+),?\s+not\s+(?P<old2>[^,.;]+)[.!]?$",
    re.IGNORECASE,
)
_PARTICLES = frozenset({"up", "out", "off", "rid", "job"})
_FIXED = frozenset(stems(["birthday", "birthplace", "blood", "hometown", "birth"]))
_HELD = frozenset({"residence", "employer", "occupation", "study", "drive", "rise", "diet"})
_HAPPENED = re.compile(
    r"\b(?:\w{3,}ed|ran|went|bought|ate|saw|met|took|gave|won|lost|drove|flew|swam|wrote|made|"
    r"spent|paid|sold|slept|had|was|were|did|got|came|left|found|caught|rode|sang)\b",
    re.IGNORECASE,
)
_SO_FAR = re.compile(r"\b(?:has|have|'ve|'s|already|so far|now)\b", re.IGNORECASE)


def revalued(old: Clause, new: Clause, *, about: bool) -> Iterator[Verdict]:
    """Yield a verdict where both clauses give one attribute another value."""
    if not _both_said(old, new) or old.negated or new.negated:
        return
    one, other = attribute(old), attribute(new)
    if (
        one is None
        or other is None
        or (one.name != "birth" and _apart_in_time(old, new, held=one.name in _HELD))
    ):
        return
    sure = opposed(one, other, same_subject=about)
    if not sure:
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
    if flipped == bool(turned):
        return
    left, right = (_core(clause, _opposing(clause)) for clause in (old, new))
    if min(len(left - _PARTICLES), len(right - _PARTICLES)) < TWO or not _same_people(
        old, new, about=about
    ):
        return
    smaller = min(len(left), len(right))
    if len(left & right) / smaller < MOST or len(left & right) / len(left | right) < MANY:
        return
    changed = bool(new.strong or new.ending or _OVER.search(new.text)) and not new.correcting
    relation = Relation.UPDATE if changed else Relation.CONTRADICTION
    yield Verdict(relation, 0.85, "one says what the other denies")


def replaced(old: Clause, new: Clause, *, about: bool) -> Iterator[Verdict]:
    """Yield a verdict where the newer clause names what is over: ``no longer``, ``from … to``."""
    if old.negated or not _both_said(old, new) or not _same_people(old, new, about=about, lax=True):
        return
    mine = _core(old)
    if not mine:
        return
    for pattern, relation in (
        (_FROM_TO, Relation.UPDATE),
        (_NOT_BUT, Relation.CONTRADICTION),
    ):
        found = pattern.search(new.text)
        if found:
            groups = {key.rstrip("23"): text for key, text in found.groupdict().items() if text}
            gone = _plain(groups["old"])
            if gone and gone <= mine and not _plain(groups["new"]) <= mine:
                yield Verdict(relation, 0.85, "the newer one names the older value as replaced")
    if _OVER.search(new.text) and not _KEPT.search(new.text):
        yield from _over(mine, new)
    yield from _now(old, new)


def counted(old: Clause, new: Clause, *, short: bool) -> Iterator[Verdict]:
    """Yield a verdict where the newer clause counts or dates the same thing anew."""
    if new.asked and not new.strong:
        return
    if short and not (any(each.near for each in new.quantities) or _same_frame(old, new)):
        return
    for later in new.quantities:
        if later.origin or later.goal:
            continue
        for earlier in old.quantities:
            sure = _recounted(old, earlier, new, later, short=short)
            if sure:
                relation = Relation.CONTRADICTION if new.correcting else Relation.UPDATE
                yield Verdict(relation, sure, "another number or date of the same thing")


def _both_said(old: Clause, new: Clause) -> bool:
    return not (old.asked or new.asked) and old.wished == new.wished


def _apart_in_time(old: Clause, new: Clause, *, held: bool) -> bool:
    """Return whether each holds in its own time: ``in 2021 she lived`` and ``she lives``."""
    if new.past and not new.strong:
        return True
    if held and old.past and not old.strong:
        return True
    return bool(
        years(old) and years(new) and years(old) != years(new) and not new.strong and not held
    )


def _sign(clause: Clause) -> int:
    """Return +1 or -1 by negations and verbs of disliking."""
    sign = 1
    for marker in read(clause.text).markers:
        sign *= -1 if marker in {"not", "ended"} else 1
    for word in clause.words:
        if LIKING.get(word.text, 1) < 0:
            sign = -sign
    return sign


def _axes(clause: Clause) -> dict[int, int]:
    return dict(OPPOSITES[word.text] for word in clause.words if word.text in OPPOSITES)


def _opposing(clause: Clause) -> frozenset[str]:
    return frozenset(word.stem for word in clause.words if word.text in OPPOSITES)


def _core(clause: Clause, more: frozenset[str] = frozenset()) -> frozenset[str]:
    """Return what a clause is about, without cues of change and verbs of liking."""
    return clause.content - _CUES - _ENDS - _LIKING - more


def _plain(text: str) -> frozenset[str]:
    return read(text).content - _CUES


def _same_people(old: Clause, new: Clause, *, about: bool, lax: bool = False) -> bool:
    """Return whether two clauses are about the same people, as far as their words show."""
    one, other = read(old.text), read(new.text)
    if one.persons != other.persons:
        return False
    first = [each[0] if each else None for each in (_opening(old), _opening(new))]
    if lax:
        return first[0] == first[1] or (about and None in first)
    return one.names == other.names or (about and set(one.names) ^ set(other.names) <= set(first))


def _opening(clause: Clause) -> list[str]:
    """Return the name with which a clause begins, if it does."""
    return [word.text for word in clause.words[:3] if word.name and word.text not in FILLERS][:1]


def _over(mine: frozenset[str], new: Clause) -> Iterator[Verdict]:
    gone = _core(new)
    opening = set(_opening(new))
    things = (
        gone
        - _PARTICLES
        - {stem for word, stem in zip(opening, stems(sorted(opening)), strict=True)}
    )
    if things and len(things & mine) / len(things) >= MANY:
        yield Verdict(Relation.UPDATE, 0.85, "the newer one says that it is over")


def _now(old: Clause, new: Clause) -> Iterator[Verdict]:
    """Yield a verdict where a sentence returns with ``now`` or ``actually`` and another word."""
    cue = new.strong & {"now", "instead", "nowadays"} or new.correcting
    if not cue or old.past or any(word.text in LIKING for word in new.words):
        return
    left, right = _core(old), _core(new)
    shared = left & right
    if not (left - right and right - left) or len(shared) < TWO:
        return
    if len(shared) / min(len(left), len(right)) >= HALF:
        relation = Relation.CONTRADICTION if new.correcting else Relation.UPDATE
        yield Verdict(relation, 0.7, "the same is said anew with another word")


def _same_frame(old: Clause, new: Clause) -> bool:
    """Return whether two clauses differ in their numbers alone, and tell no event."""
    if any(_HAPPENED.search(each.text) and not _SO_FAR.search(each.text) for each in (old, new)):
        return False
    values = [{quantity.value for quantity in each.quantities} for each in (old, new)]
    left, right = _core(old) - values[0], _core(new) - values[1]
    return left == right and len(values[0] ^ values[1]) == TWO


def _recounted(
    old: Clause, earlier: Quantity, new: Clause, later: Quantity, *, short: bool
) -> float:
    """Return how surely two quantities count one thing, 0 to 1."""
    if earlier.kind != later.kind or earlier.goal or _kept(old, earlier, new, later):
        return 0.0
    unit = _unit_fit(old, earlier, later)
    if not unit or (short and not _same_names(old, new)):
        return 0.0
    # How far things have come is news only of what was done before.
    again = bool(new.weak and (earlier.verb & later.verb) - _VAGUE - _CUES - _STOPS)
    if not (later.near or again or short):
        return 0.0
    key = _key(later)
    shared = key & (old.sentence - _VAGUE)
    if not shared:
        return 0.0
    cue = 0.25 if later.near else 0.15 * again
    common = len((new.sentence & old.sentence) - _VAGUE - _MEASURES)
    share = len(shared) / len(key)
    return min(0.95, 0.1 * unit + 0.3 * share + cue + 0.05 * min(common, 4) + 0.2 * short)


def _kept(old: Clause, earlier: Quantity, new: Clause, later: Quantity) -> bool:
    """Return whether the newer clause keeps the older value, or changes another one."""
    origins = {each.value for each in new.quantities if each.origin}
    return later.value in {each.value for each in old.quantities} or bool(
        origins and earlier.value not in origins
    )


def _unit_fit(old: Clause, earlier: Quantity, later: Quantity) -> int:
    """Return how well two quantities count the same: 0 not at all, to 3."""
    if earlier.kind == "date":
        return 1 if _noun_of(earlier) & _noun_of(later) else 0
    if not earlier.unit:
        return 0
    if not later.unit:
        return 2 if set(earlier.unit[:2]) & set(later.before[:6]) else 0
    if _MEASURES & {earlier.unit[0], later.unit[0]}:
        return 2 if earlier.unit[0] == later.unit[0] and _measured(old, earlier, later) else 0
    per = [set(each.unit[1:]) & _MEASURES for each in (earlier, later)]
    if all(per) and per[0] != per[1]:
        return 0
    common = (set(earlier.unit) & set(later.unit)) - _MEASURES
    return 1 + min(len(common), 2) if common else 0


def _measured(old: Clause, earlier: Quantity, later: Quantity) -> bool:
    """Return whether two measures are of one thing: of accuracy, of a response time."""
    mine = frozenset((*earlier.before[:6], *earlier.unit[1:])) - _VAGUE
    yours = frozenset((*later.before[:6], *later.unit[1:])) - _VAGUE
    ratings = yours & _RATINGS
    if ratings:
        return bool(ratings & (mine if mine & _RATINGS else old.sentence))
    return not mine & _RATINGS and bool(yours & (mine | old.sentence))


def _noun_of(quantity: Quantity) -> set[str]:
    return set(quantity.before[:3]) - _VAGUE


def _key(quantity: Quantity) -> frozenset[str]:
    words = (*quantity.unit, *quantity.before[:4])
    return frozenset(words) - _VAGUE - _CUES - _MEASURES or frozenset(quantity.unit)


def _same_names(old: Clause, new: Clause) -> bool:
    one, other = set(read(old.text).names), set(read(new.text).names)
    return one <= other or other <= one
