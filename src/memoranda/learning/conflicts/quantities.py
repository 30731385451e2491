"""Finds changed quantities: a number or a date that differs in the newer statement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from memoranda.learning.claims import Relation, Verdict
from memoranda.learning.conflicts.clauses import ParsedClause, Quantity
from memoranda.learning.parsed_text import parse_text, stem_set
from memoranda.learning.verbs import Aspect
from memoranda.text.patterns import LanguageData

_EN = LanguageData("en", "comparison")
# Numbers of one sort in a clause from which it is a list of measures, not a count.
PAIR = MOST_LISTED = 2
# Share of an older fact that must be about what is counted anew.
COVERED = 0.45


def find_new_quantities(old: ParsedClause, new: ParsedClause, *, short: bool) -> Iterator[Verdict]:
    """Yield a verdict where the newer clause counts or dates the same thing anew."""
    if (new.has("asked") and not new.strong) or (short and not _comparable(old, new)):
        return
    relation = Relation.CONTRADICTION if new.has("correcting") else Relation.UPDATE
    for later in new.quantities:
        for earlier in old.quantities:
            if not (later.origin or later.goal):
                sure = _recounted(old, earlier, new, later, short=short)
                if sure:
                    yield Verdict(relation, sure, "another number or date of the same thing")


def _comparable(old: ParsedClause, new: ParsedClause) -> bool:
    """Return whether the numbers of two facts may be values of one thing at two times.

    What was done once (``ran 5 km``) keeps its number. How far things have come (``has read
    20 pages``) and how they are may have another one.
    """
    for each in (old, new):
        if (each.aspect is Aspect.PAST and not each.texts & _EN.words("shifts")) or _listed(each):
            return False
    if old.has("wished", "tried") != new.has("wished", "tried"):
        return False
    if any(each.near for each in new.quantities):
        return True
    # Else they differ in their numbers alone, and tell no event.
    left, right = old.core - old.values, new.core - new.values
    event = any(each.aspect in {Aspect.PAST, Aspect.WAS} for each in (old, new))
    return not event and left == right and len(old.values ^ new.values) == PAIR


def _listed(clause: ParsedClause) -> bool:
    """Return whether a clause lists measures: sides of 3, 4 and 5 cm."""
    measures = stem_set("measures")
    sorts = Counter(
        each.unit[:1]
        for each in clause.quantities
        if each.kind == "number" and not each.origin and (not each.unit or each.unit[0] in measures)
    )
    return sorts.total() > MOST_LISTED and max(sorts.values()) > 1


def _recounted(
    old: ParsedClause, earlier: Quantity, new: ParsedClause, later: Quantity, *, short: bool
) -> float:
    """Return how surely two quantities count one thing, 0 to 1."""
    origins = {each.value for each in new.quantities if each.origin}
    # The newer clause keeps the older value, or changes another one.
    kept = later.value in old.values or (origins and earlier.value not in origins)
    if earlier.kind != later.kind or earlier.goal or kept:
        return 0.0
    unit = _unit_fit(old, earlier, later)
    if not unit or (short and not _fits(old, earlier, new, later)):
        return 0.0
    # How far things have come is news only of what was done before.
    vague = stem_set("vague")
    verbs = (earlier.verb & later.verb) - vague - stem_set("change_cues") - stem_set("stop_words")
    again = bool(verbs and new.texts & _EN.words("weak_cues"))
    words = (*later.unit, *later.before[:4])
    key = frozenset(words) - stem_set("no_keys") or frozenset(later.unit)
    shared = key & (old.sentence - vague)
    if not shared or not (later.near or again or short):
        return 0.0
    cue = 0.25 if later.near else 0.15 * again
    common = len((new.sentence & old.sentence) - vague - stem_set("measures"))
    share = len(shared) / len(key)
    return min(0.95, 0.1 * unit + 0.3 * share + cue + 0.05 * min(common, 4) + 0.2 * short)


def _fits(old: ParsedClause, earlier: Quantity, new: ParsedClause, later: Quantity) -> bool:
    """Return whether a fact is as a whole about a quantity that a newer one replaces."""
    one, other = set(parse_text(old.text).names), set(parse_text(new.text).names)
    if not (one <= other or other <= one):
        return False
    if later.kind == "date" and not (later.near & _EN.words("shifts")):
        return False
    about = old.content & new.content | {earlier.value, *earlier.unit}
    return len(about & old.content) >= COVERED * len(old.content - stem_set("vague"))


def _unit_fit(old: ParsedClause, earlier: Quantity, later: Quantity) -> int:
    """Return how well two quantities count the same: 0 not at all, to 3."""
    vague, measures = stem_set("vague"), stem_set("measures")
    if earlier.kind == "date":
        return 1 if set(earlier.before[:3]) & set(later.before[:3]) - vague else 0
    if not earlier.unit:
        return 0
    if not later.unit:
        return 2 if set(earlier.unit[:2]) & set(later.before[:6]) else 0
    if measures & {earlier.unit[0], later.unit[0]}:
        return 2 if earlier.unit[0] == later.unit[0] and _measured(old, earlier, later) else 0
    per = [set(each.unit[1:]) & measures for each in (earlier, later)]
    if all(per) and per[0] != per[1]:
        return 0
    common = (set(earlier.unit) & set(later.unit)) - measures - vague
    return 1 + min(len(common), 2) if common else 0


def _measured(old: ParsedClause, earlier: Quantity, later: Quantity) -> bool:
    """Return whether two measures are of one thing: of accuracy, of a response time."""
    mine, yours = (
        frozenset((*each.before[:6], *each.unit[1:])) - stem_set("vague")
        for each in (earlier, later)
    )
    rated = mine & stem_set("ratings")
    if earlier.unit[0] in stem_set("lengths_of_time"):
        rated &= {*earlier.before[:6]}
    ratings = yours & stem_set("ratings")
    if ratings:
        return bool(ratings & (mine if rated else old.sentence))
    return not rated and bool(yours & (mine | old.sentence))
