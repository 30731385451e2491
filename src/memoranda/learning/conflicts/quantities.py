"""Finds changed quantities: a number or a date that differs in the newer statement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from memoranda.learning.claims import Relation, Verdict
from memoranda.learning.conflicts.clauses import ParsedClause, Quantity, clause_core
from memoranda.learning.parsed_text import parse_text, stem_set
from memoranda.learning.verbs import Aspect
from memoranda.text.languages import LanguageData

_EN = LanguageData("en", "comparison")
PAIR = MOST_LISTED = 2
"""Numbers of one sort in a clause from which it is a list of measures, not a count."""
COVERED = 0.45
"""Share of an older fact that must be about what is counted anew."""


def find_new_quantities(old: ParsedClause, new: ParsedClause, *, short: bool) -> Iterator[Verdict]:
    """Yield a verdict where the newer clause counts or dates the same thing anew."""
    if new.asked and not new.strong:
        return
    if short and not _comparable(old, new):
        return
    for later in new.quantities:
        if later.origin or later.goal:
            continue
        for earlier in old.quantities:
            sure = _recounted(old, earlier, new, later, short=short)
            if sure:
                relation = Relation.CONTRADICTION if new.correcting else Relation.UPDATE
                yield Verdict(relation, sure, "another number or date of the same thing")


def _comparable(old: ParsedClause, new: ParsedClause) -> bool:
    """Return whether the numbers of two facts may be values of one thing at two times.

    What was done once (``ran 5 km``) keeps its number. How far things have come (``has read
    20 pages``) and how they are may have another one.
    """
    if old.aspect is Aspect.PAST and not _shifts(old):
        return False
    if new.aspect is Aspect.PAST and not _shifts(new):
        return False
    if (old.wished or old.tried) != (new.wished or new.tried) or _listed(old) or _listed(new):
        return False
    return any(each.near for each in new.quantities) or _same_frame(old, new)


def _shifts(clause: ParsedClause) -> bool:
    return bool(clause.texts & _EN.words("shifts"))


def _listed(clause: ParsedClause) -> bool:
    """Return whether a clause lists measures: sides of 3, 4 and 5 cm."""
    sorts = Counter(
        each.unit[:1]
        for each in clause.quantities
        if each.kind == "number"
        and not each.origin
        and (not each.unit or each.unit[0] in stem_set("measures"))
    )
    return sorts.total() > MOST_LISTED and max(sorts.values()) > 1


def _same_frame(old: ParsedClause, new: ParsedClause) -> bool:
    """Return whether two clauses differ in their numbers alone, and tell no event."""
    if any(each.aspect in {Aspect.PAST, Aspect.WAS} for each in (old, new)):
        return False
    values = [{quantity.value for quantity in each.quantities} for each in (old, new)]
    left, right = clause_core(old) - values[0], clause_core(new) - values[1]
    return left == right and len(values[0] ^ values[1]) == PAIR


def _recounted(
    old: ParsedClause, earlier: Quantity, new: ParsedClause, later: Quantity, *, short: bool
) -> float:
    """Return how surely two quantities count one thing, 0 to 1."""
    if earlier.kind != later.kind or earlier.goal or _kept(old, earlier, new, later):
        return 0.0
    unit = _unit_fit(old, earlier, later)
    if not unit or (short and not _fits(old, earlier, new, later)):
        return 0.0
    # How far things have come is news only of what was done before.
    again = bool(
        new.weak
        and (earlier.verb & later.verb)
        - stem_set("vague")
        - stem_set("change_cues")
        - stem_set("stop_words")
    )
    if not (later.near or again or short):
        return 0.0
    key = _key(later)
    shared = key & (old.sentence - stem_set("vague"))
    if not shared:
        return 0.0
    cue = 0.25 if later.near else 0.15 * again
    common = len((new.sentence & old.sentence) - stem_set("vague") - stem_set("measures"))
    share = len(shared) / len(key)
    return min(0.95, 0.1 * unit + 0.3 * share + cue + 0.05 * min(common, 4) + 0.2 * short)


def _fits(old: ParsedClause, earlier: Quantity, new: ParsedClause, later: Quantity) -> bool:
    """Return whether a fact is as a whole about a quantity that a newer one replaces."""
    if not _same_names(old, new):
        return False
    if later.kind == "date" and not (later.near & _EN.words("shifts")):
        return False
    about = old.content & new.content | {earlier.value, *earlier.unit}
    return len(about & old.content) >= COVERED * len(old.content - stem_set("vague"))


def _kept(old: ParsedClause, earlier: Quantity, new: ParsedClause, later: Quantity) -> bool:
    """Return whether the newer clause keeps the older value, or changes another one."""
    origins = {each.value for each in new.quantities if each.origin}
    return later.value in {each.value for each in old.quantities} or bool(
        origins and earlier.value not in origins
    )


def _unit_fit(old: ParsedClause, earlier: Quantity, later: Quantity) -> int:
    """Return how well two quantities count the same: 0 not at all, to 3."""
    if earlier.kind == "date":
        return 1 if _noun_of(earlier) & _noun_of(later) else 0
    if not earlier.unit:
        return 0
    if not later.unit:
        return 2 if set(earlier.unit[:2]) & set(later.before[:6]) else 0
    if stem_set("measures") & {earlier.unit[0], later.unit[0]}:
        return 2 if earlier.unit[0] == later.unit[0] and _measured(old, earlier, later) else 0
    per = [set(each.unit[1:]) & stem_set("measures") for each in (earlier, later)]
    if all(per) and per[0] != per[1]:
        return 0
    common = (set(earlier.unit) & set(later.unit)) - stem_set("measures") - stem_set("vague")
    return 1 + min(len(common), 2) if common else 0


def _measured(old: ParsedClause, earlier: Quantity, later: Quantity) -> bool:
    """Return whether two measures are of one thing: of accuracy, of a response time."""
    mine = frozenset((*earlier.before[:6], *earlier.unit[1:])) - stem_set("vague")
    yours = frozenset((*later.before[:6], *later.unit[1:])) - stem_set("vague")
    rated = mine & stem_set("ratings")
    if earlier.unit[0] in stem_set("lengths_of_time"):
        rated &= {*earlier.before[:6]}
    ratings = yours & stem_set("ratings")
    if ratings:
        return bool(ratings & (mine if rated else old.sentence))
    return not rated and bool(yours & (mine | old.sentence))


def _noun_of(quantity: Quantity) -> set[str]:
    return set(quantity.before[:3]) - stem_set("vague")


def _key(quantity: Quantity) -> frozenset[str]:
    words = (*quantity.unit, *quantity.before[:4])
    return frozenset(words) - stem_set("no_keys") or frozenset(quantity.unit)


def _same_names(old: ParsedClause, new: ParsedClause) -> bool:
    one, other = set(parse_text(old.text).names), set(parse_text(new.text).names)
    return one <= other or other <= one
