"""What two clauses are compared by: whom they are about, and what beside cues of change."""

from __future__ import annotations

from memoranda.learning.conflict.clauses import Clause
from memoranda.learning.reading import read, stems
from memoranda.learning.wording import (
    CORRECTIONS,
    ENDINGS,
    FILLERS,
    LIKING,
    STOP_WORDS,
    STRONG_CUES,
    VAGUE,
    WEAK_CUES,
)

CUES = frozenset(stems(sorted(STRONG_CUES | WEAK_CUES | FILLERS | CORRECTIONS))) | {"longer"}
"""Stems of words that speak of change or of time."""
STOPS = frozenset(stems(sorted(STOP_WORDS)))
"""Stems of words that say little."""
VAGUE_STEMS = frozenset(stems(sorted(VAGUE)))
"""Stems that two texts may share by chance."""
_ENDS = frozenset(stems(sorted(ENDINGS)))
_LIKING = frozenset(stems(sorted(LIKING)))


def core(clause: Clause, more: frozenset[str] = frozenset()) -> frozenset[str]:
    """Return what a clause is about, without cues of change, verbs of liking and ``more``."""
    return clause.content - CUES - _ENDS - _LIKING - more


def plain(text: str) -> frozenset[str]:
    """Return what a part of a clause is about, without cues of change."""
    return read(text).content - CUES


def opening(clause: Clause) -> list[str]:
    """Return the name with which a clause begins, if it does."""
    return [word.text for word in clause.words[:3] if word.name and word.text not in FILLERS][:1]


def subject_stems(clause: Clause) -> frozenset[str]:
    """Return the stems of the names with which a clause begins, and of ``user``."""
    names = opening(clause)
    return frozenset(stems(names)) | {"user"}


def same_people(old: Clause, new: Clause, *, about: bool, lax: bool = False) -> bool:
    """Return whether two clauses are about the same people, as far as their words show.

    Args:
        old: one of them.
        new: the other one.
        about: whether both are known to be about the same.
        lax: whether other names than the subject's may differ.
    """
    one, other = read(old.text), read(new.text)
    if one.persons != other.persons:
        return False
    first = [each[0] if each else None for each in (opening(old), opening(new))]
    if lax:
        return first[0] == first[1] or (about and None in first)
    return one.names == other.names or (about and set(one.names) ^ set(other.names) <= set(first))
