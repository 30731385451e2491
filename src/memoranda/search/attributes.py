"""What is known of an attribute that a question asks for: the facts that hold now come first.

"Who is my boss?" has one answer, however the turn that told it was worded ("It's Shona I answer
to now"), and however much like the question an older one is ("My boss is Alasdair").
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np

from memoranda.facts.ontology import attributes
from memoranda.facts.questions import read_asked
from memoranda.model.models import Record
from memoranda.search.evidence import pairs_among
from memoranda.search.index import Mask, Rows

ReadRecords = Callable[[Iterable[int]], Mapping[int, Record]]


def asked_attributes(question: str) -> frozenset[str]:
    """Return the attributes of the user's that a question asks for."""
    return frozenset(each.attribute for each in read_asked(question) if each.own)


def asks_for_many(question: str) -> bool:
    """Return whether a question asks for an attribute of which several values hold at once."""
    known = attributes()
    return any(not known[each.attribute].single for each in read_asked(question))


def find_asked_facts(
    question: str, rows: Rows, visible: Mask, read: ReadRecords, *, past: bool = False
) -> Mapping[int, Record]:
    """Return the facts of the user that hold now of what a question asks for, by row.

    Args:
        question: what is asked.
        rows: the user's records.
        visible: those that count.
        read: gives records by row.
        past: whether the question is about the past, if it is English: only dates still have one
            right answer. "Was" asks "what?" in German, whose own forms tell the past.
    """
    known = attributes()
    asked = [
        each
        for each in read_asked(question)
        if each.own
        and not each.former
        and (not past or known[each.attribute].dated or each.language != "en")
    ]
    held = rows.named("attribute", *(each.attribute for each in asked)) & visible
    held &= rows.named("subject", "user")
    held[pairs_among(rows.replaced, visible)[:, 0]] = False
    told = read(np.flatnonzero(held).tolist())
    nouns = {noun for each in asked for noun in each.nouns}
    named = [
        row for row, fact in told.items() if any(each in fact.content.casefold() for each in nouns)
    ]
    # What is so answers better than what is not: "is not allergic to nuts".
    best = [row for row in named or told if told[row].value is not None] or named or [*told]
    return {row: told[row] for row in best}
