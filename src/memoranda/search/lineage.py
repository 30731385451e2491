"""Relates facts to their sources, and superseded records to their successors.

A fact says again what a turn said. Shown side by side they would look like two pieces of
evidence, so one stands for both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from memoranda.model.models import Kind
from memoranda.search.evidence import Mask
from memoranda.search.fuse import Scored
from memoranda.search.index import KINDS, Floats, Places, Rows

SUPERSEDED = 0.9  # what is left of the score of a record whose replacement can be found, too


def folded(rows: Rows, scored: Scored, found: Mask, how: str) -> tuple[Scored, Mask]:
    """Merge each fact with its sources into one result; return scores and which records to show.

    Args:
        rows: the user's records.
        scored: against a query.
        found: which of them can be shown.
        how: ``source``, a fact lends its score to the turns it was drawn from and is not shown
            beside them; ``better``, whichever scores higher is shown; ``apart``, both are.
    """
    pairs = _among(rows.sources, found)
    if how == "apart" or not len(pairs):
        return scored, found
    facts, sources = pairs[:, 0], pairs[:, 1]
    shown = found.copy()
    score = scored.score
    if how == "better":
        shown[facts[score[sources] >= score[facts]]] = False
        shown[sources[score[facts] > score[sources]]] = False
        return scored, shown
    shown[facts] = False
    if how == "off":
        return scored, shown
    best: Floats = np.zeros(len(rows), np.float32)
    np.maximum.at(best, sources, score[facts])
    return scored.lent("fact", best), shown


def superseded(rows: Rows, found: Mask) -> Places:
    """Return the facts that were found and whose replacements were found, too."""
    old = _among(rows.replaced, found)[:, 0]
    places: Places = np.unique(old[rows.table["kind"][old] != KINDS[Kind.EPISODE]])
    return places


def raised(
    rows: Rows,
    scored: Scored,
    shown: Mask,
    facts: Sequence[int],
    fits: Callable[[int], bool],
) -> dict[int, float]:
    """Return new scores, by row, of records that rank below one that they superseded.

    Args:
        rows: the user's records.
        scored: against a query.
        shown: which of them are shown.
        facts: the records that answer the query best, whether they are shown or stand behind
            the turns they were drawn from.
        fits: whether a record speaks of what is asked; only asked of what would be moved.
    """
    best = np.zeros(len(rows), bool)
    best[list(facts)] = True
    pairs = _among(rows.replaced, best)
    score: dict[int, float] = {}
    for old, new in pairs[np.argsort(pairs[:, 1], kind="stable")].tolist():
        said = {row: score.get(row, float(scored.score[row])) for row in _shown(rows, new, shown)}
        before = _shown(rows, old, shown) - said.keys()
        if not said or not before:
            continue
        top = max(said, key=lambda row: (said[row], -row))
        over = max(score.get(row, float(scored.score[row])) for row in before)
        if said[top] <= over and fits(new):
            score[top] = float(np.nextafter(np.float32(over), np.float32(2)))
    return score


def _shown(rows: Rows, row: int, shown: Mask) -> set[int]:
    """Return a record and what it was drawn from, as far as they are shown."""
    sources = rows.sources[rows.sources[:, 0] == row, 1].tolist()
    return {each for each in (row, *sources) if shown[each]}


def _among(pairs: Places, found: Mask) -> Places:
    both: Places = pairs[found[pairs[:, 0]] & found[pairs[:, 1]]]
    return both
