"""Whether two statements say the same: exactly, in nearly the same words, or by their vectors.

A duplicate that is missed costs one row too many; two statements taken for one lose what one
of them said. So likeness alone never decides: a difference in a number, a date, a name, a
negation or in whom a statement is about keeps two apart, however alike they read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from memoranda.learning.claims import Category, Statement
from memoranda.learning.parsed_text import ParsedText, parse_text, stem_set
from memoranda.learning.verbs import Aspect, read_aspect
from memoranda.text.patterns import LanguageData, load

_EN = LanguageData("en", "comparison")


# Share of content words that two statements have in common.
JACCARD = 0.75
# Likeness of the vectors of all-MiniLM-L6-v2 from which two statements may be one. Of pairs of
# short facts with nothing else to tell them apart, paraphrases have 0.94 to 0.99 and other values
# of one attribute up to 0.92 (``morning`` and ``afternoon``).
COSINE = 0.95
_EVENTS = frozenset({Category.EVENT, Category.PLAN, None})


def jaccard_similarity(first: str, second: str) -> float:
    """Return the share of content words that two texts have in common, 0 to 1."""
    one, other = parse_text(first), parse_text(second)
    union = one.content | other.content
    if not union:
        return float(one.normal == other.normal)
    return len(one.content & other.content) / len(union)


def find_difference(first: str, second: str) -> str | None:
    """Return why two texts do not say the same, or ``None``.

    It is symmetric: one of ``number``, ``negation``, ``name``, ``person``, ``owner``,
    ``opposite`` (``likes``, ``hates``) and ``order`` (``tea over coffee``, ``coffee over tea``).
    """
    one, other = parse_text(first), parse_text(second)
    apart = one.content ^ other.content
    owned = {word.stem for word in (*one.words, *other.words) if word.owned}
    pronouns = one.pronouns and other.pronouns
    nested = one.pronouns <= other.pronouns or other.pronouns <= one.pronouns
    reasons = (
        ("number", one.values != other.values),
        ("negation", one.markers != other.markers),
        ("name", _name_differs(one, other)),
        ("person", one.persons != other.persons or (pronouns and not nested)),
        ("owner", apart & owned),
        ("opposite", _are_opposite(one, other)),
        ("order", _turned_round(one, other)),
    )
    return next((name for name, holds in reasons if holds), None)


def score_duplicate(old: Statement, new: Statement, *, threshold: float = JACCARD) -> float:
    """Return how surely two statements say the same, 0 to 1; 0 where they do not.

    Symmetric, and 1 for the same text. Words that take each other's place (``tea`` here,
    ``coffee`` there) keep two statements apart unless their vectors say otherwise.

    Args:
        old: one of them.
        new: the other one; its ``likeness`` is the cosine of both, if that is known.
        threshold: least share of common content words.
    """
    one, other = parse_text(old.text), parse_text(new.text)
    repeated = one.normal == other.normal
    timeless = repeated and old.category is None and new.category is None
    if not may_share_subject(old, new) or not (timeless or _same_time(old, new)):
        return 0.0
    if repeated:
        return 1.0
    if find_difference(old.text, new.text) is not None:
        return 0.0
    share = jaccard_similarity(old.text, new.text)
    if share >= threshold and (one.content <= other.content or other.content <= one.content):
        return share
    likeness = min(max(old.likeness or 0.0, new.likeness or 0.0), 1.0)
    # Who likes something need not do it, or the other way round.
    liked = [_EN.words("likings").isdisjoint(each.texts) for each in (one, other)]
    return likeness if likeness >= COSINE and liked[0] == liked[1] else 0.0


def says_more(text: str, than: str) -> bool:
    """Return whether ``text`` holds an informative word that ``than`` lacks.

    Credited to a fact that says less, it would be lost.
    """
    parsed = parse_text(text)
    more = parsed.content - parse_text(than).content - stem_set("adding_nothing")
    told = (word.text for word in parsed.words if word.stem in more)
    return any(len(word) > 1 and not word.endswith("ly") for word in told)


def normalize_subject(statement: Statement) -> str | None:
    """Return whom a statement is about, in the form that is compared; ``None`` if unknown."""
    if statement.subject is None:
        return None
    normal = parse_text(statement.subject).normal.removeprefix("the ").removesuffix(" s")
    return "user" if normal in {"user", "i", "me", ""} else normal


def may_share_subject(old: Statement, new: Statement) -> bool:
    """Return whether two statements may be about the same, as far as that is known."""
    one, other = normalize_subject(old), normalize_subject(new)
    return one is None or other is None or one == other


def _same_time(old: Statement, new: Statement) -> bool:
    """Return whether two statements may be of one time.

    What happened on two days happened twice, and what goes on is no single happening. What is
    so (``is still working on it``) is the same on any day, whatever it was filed under.
    """
    happenings = [read_aspect(each.text) is not Aspect.STATE for each in (old, new)]
    filed = {old.category, new.category}
    if not any(happenings) and Category.PLAN not in filed:
        return True
    if not all(happenings) and any(happenings):
        return False
    # A text that says itself on which day it is counts on no other day.
    dated = any(word.kind == "date" for word in parse_text(old.text).words)
    return dated or not filed & _EVENTS or _same_day(old, new)


def _same_day(old: Statement, new: Statement) -> bool:
    return old.at == new.at or old.at.date() == new.at.astimezone(old.at.tzinfo).date() == (
        old.at.astimezone(new.at.tzinfo).date()
    )


def _name_differs(one: ParsedText, other: ParsedText) -> bool:
    """Return whether a name is missing in one of them, or stands elsewhere among the names."""
    names = {*one.names, *other.names}
    order = [[word.text for word in each.words if word.text in names] for each in (one, other)]
    return list(dict.fromkeys(order[0])) != list(dict.fromkeys(order[1]))


def _are_opposite(one: ParsedText, other: ParsedText) -> bool:
    """Return whether a word of one is the opposite of a word of the other."""
    likings = dict.fromkeys(_EN.words("liking"), (0, 1)) | dict.fromkeys(
        _EN.words("disliking"), (0, -1)
    )
    for table in (likings, opposite_axes()):
        mine, yours = (
            {table[word.text] for word in each.words if word.text in table} for each in (one, other)
        )
        if any((axis, -sign) in yours for axis, sign in mine - yours):
            return True
    return False


@cache
def opposite_axes() -> Mapping[str, tuple[int, int]]:
    """Return words that cannot both be true: the number of their axis, and on which side."""
    axes: Sequence[Sequence[Sequence[str]]] = load("en", "comparison")["opposites"]
    return {
        word: (axis, sign)
        for axis, sides in enumerate(axes)
        for words, sign in zip(sides, (1, -1), strict=True)
        for word in words
    }


def _turned_round(one: ParsedText, other: ParsedText) -> bool:
    """Return whether words stand in another order where the order tells who or what comes first."""
    directed = _EN.words("directed")
    if not any(each.texts & directed or {"from", "to"} <= each.texts for each in (one, other)):
        return False
    shared = one.content & other.content
    left, right = ([w.stem for w in each.words if w.stem in shared] for each in (one, other))
    return list(dict.fromkeys(left)) != list(dict.fromkeys(right))
