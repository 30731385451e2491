"""Whether two statements say the same: exactly, in nearly the same words, or by their vectors.

A duplicate that is missed costs one row too many; two statements taken for one lose what one
of them said. So likeness alone never decides: a difference in a number, a date, a name, a
negation or in whom a statement is about keeps two apart, however alike they read.
"""

from __future__ import annotations

from memoranda.learning.aspect import happened
from memoranda.learning.claims import Category, Statement
from memoranda.learning.reading import Reading, Word, read, stems
from memoranda.learning.wording import ADVERBS, DIRECTED, FILLERS, LIKING, OPPOSITES, VAGUE

__all__ = [
    "Reading",
    "Word",
    "difference",
    "duplicate",
    "jaccard",
    "read",
    "says_more",
    "stems",
    "subject",
]

JACCARD = 0.75
"""Share of content words that two statements have in common (seed 004)."""
COSINE = 0.95
"""Likeness of the vectors of all-MiniLM-L6-v2 from which two statements may be one.

Of pairs of short facts with nothing else to tell them apart, paraphrases have 0.94 to 0.99
and other values of one attribute up to 0.92 (``morning`` and ``afternoon``).
"""
_EVENTS = frozenset({Category.EVENT, Category.PLAN})


def jaccard(first: str, second: str) -> float:
    """Return the share of content words that two texts have in common, 0 to 1."""
    one, other = read(first), read(second)
    union = one.content | other.content
    if not union:
        return float(one.normal == other.normal)
    return len(one.content & other.content) / len(union)


def difference(first: str, second: str) -> str | None:
    """Return what keeps two texts from saying the same, or ``None``.

    It is symmetric: one of ``number``, ``negation``, ``name``, ``person``, ``owner``,
    ``opposite`` (``likes``, ``hates``) and ``order`` (``tea over coffee``, ``coffee over tea``).
    """
    one, other = read(first), read(second)
    apart = one.content ^ other.content
    owned = {word.stem for word in (*one.words, *other.words) if word.owned}
    others = one.persons != other.persons or _speak_of_others(one.pronouns, other.pronouns)
    reasons = (
        ("number", one.values != other.values),
        ("negation", one.markers != other.markers),
        ("name", _name_differs(one, other)),
        ("person", others),
        ("owner", bool(apart & owned)),
        ("opposite", _opposite(one, other)),
        ("order", _turned_round(one, other)),
    )
    return next((name for name, holds in reasons if holds), None)


def duplicate(
    old: Statement, new: Statement, *, threshold: float = JACCARD, cosine: float = COSINE
) -> float:
    """Return how surely two statements say the same, 0 to 1; 0 where they do not.

    Symmetric, and 1 for the same text. Words that take each other's place (``tea`` here,
    ``coffee`` there) keep two statements apart unless their vectors say otherwise.

    Args:
        old: one of them.
        new: the other one; its ``likeness`` is the cosine of both, if that is known.
        threshold: least share of common content words (seed 004: 0.75).
        cosine: least likeness of the vectors.
    """
    one, other = read(old.text), read(new.text)
    repeated = one.normal == other.normal
    timeless = repeated and old.category is None and new.category is None
    if not _same_subject(old, new) or not (timeless or _same_time(old, new)):
        return 0.0
    if repeated:
        return 1.0
    if difference(old.text, new.text) is not None:
        return 0.0
    share = jaccard(old.text, new.text)
    if share >= threshold and not _replaced(one, other):
        return share
    likeness = min(max(old.likeness or 0.0, new.likeness or 0.0), 1.0)
    # Who likes something need not do it, or the other way round.
    return likeness if likeness >= cosine and _liked(one) == _liked(other) else 0.0


def says_more(text: str, than: str) -> bool:
    """Return whether ``text`` holds a word that tells something and that ``than`` lacks.

    Credited to a fact that says less, it would be lost.
    """
    known = read(than).content | _EMPTY
    return any(
        word.stem in read(text).content - known
        and len(word.text) > 1
        and not word.text.endswith("ly")
        for word in read(text).words
    )


_EMPTY = frozenset(stems(sorted(VAGUE | FILLERS | ADVERBS | frozenset(LIKING)))) | {"all", "every"}


def _liked(reading: Reading) -> bool:
    return any(word.text in LIKING for word in reading.words)


def subject(statement: Statement) -> str | None:
    """Return whom a statement is about, in the form that is compared; ``None`` if unknown."""
    if statement.subject is None:
        return None
    normal = read(statement.subject).normal.removeprefix("the ").removesuffix(" s")
    return "user" if normal in {"user", "i", "me", ""} else normal


def _same_subject(old: Statement, new: Statement) -> bool:
    one, other = subject(old), subject(new)
    return one is None or other is None or one == other


def _same_time(old: Statement, new: Statement) -> bool:
    """Return whether two statements may be of one time.

    What happened on two days happened twice, and what goes on is no single happening. What is
    so (``is still working on it``) is the same on any day, whatever it was filed under.
    """
    happenings = happened(old.text), happened(new.text)
    filed = {old.category, new.category}
    if not any(happenings) and Category.PLAN not in filed:
        return True
    if happenings[0] != happenings[1]:
        return False
    return _same_day(old, new) or not filed & {*_EVENTS, None} or _dated(old.text)


def _dated(text: str) -> bool:
    """Return whether a text says itself on which day it is, so that no other day counts."""
    return any(word.kind == "date" for word in read(text).words)


def _same_day(old: Statement, new: Statement) -> bool:
    return old.at == new.at or old.at.date() == new.at.astimezone(old.at.tzinfo).date() == (
        old.at.astimezone(new.at.tzinfo).date()
    )


def _replaced(one: Reading, other: Reading) -> bool:
    """Return whether each has a word that the other lacks."""
    return bool(one.content - other.content and other.content - one.content)


def _speak_of_others(one: frozenset[str], other: frozenset[str]) -> bool:
    return bool(one and other) and not (one <= other or other <= one)


def _name_differs(one: Reading, other: Reading) -> bool:
    """Return whether a name is missing in one of them, or stands elsewhere among the names."""
    mine = {word.text for word in one.words}
    yours = {word.text for word in other.words}
    if not set(one.names) <= yours or not set(other.names) <= mine:
        return True
    names = set(one.names) | set(other.names)
    order = [[word.text for word in each.words if word.text in names] for each in (one, other)]
    return list(dict.fromkeys(order[0])) != list(dict.fromkeys(order[1]))


def _opposite(one: Reading, other: Reading) -> bool:
    """Return whether a word of one is the opposite of a word of the other."""
    for table in (_LIKINGS, OPPOSITES):
        mine, yours = (
            {table[word.text] for word in each.words if word.text in table} for each in (one, other)
        )
        if any((axis, -sign) in yours for axis, sign in mine - yours):
            return True
    return False


_LIKINGS = {word: (0, sign) for word, sign in LIKING.items()}


def _turned_round(one: Reading, other: Reading) -> bool:
    """Return whether words stand in another order where the order tells who or what comes first."""
    texts = [[word.text for word in each.words] for each in (one, other)]
    if not any(DIRECTED & set(text) or {"from", "to"} <= set(text) for text in texts):
        return False
    shared = one.content & other.content
    left, right = ([w.stem for w in each.words if w.stem in shared] for each in (one, other))
    return list(dict.fromkeys(left)) != list(dict.fromkeys(right))
