"""Someone says never to have done what is said elsewhere to have been done."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile

from memoranda.learning.claims import Relation, Verdict
from memoranda.learning.conflict.clauses import Clause
from memoranda.learning.reading import Word, read, stems
from memoranda.learning.wording import DOINGS, PREPOSITIONS, STOP_WORDS, VAGUE, word_set

_DENIED = re.compile(
    r"\b(?:(?:have|has|had|'ve|'s)?\s*never|(?:have|has|had)(?:n't| not)(?: yet| ever)?)\s+"
    r"(?:actually\s+|really\s+|even\s+|yet\s+)?(?P<rest>.+)$",
    re.IGNORECASE,
)
_END = re.compile(
    r"\s+(?:before|in this|in my|so far|yet|until|since|to any|with this|for this|for the|"
    r"in the)\b.*$|[,.;!?].*$",
    re.IGNORECASE,
)
_LIMITED = re.compile(
    r"\b(?:since|lately|recently|today|this (?:week|month|year|morning)"
    r"|in (?:years|ages|months|weeks)"
    r"|(?:for|in) (?:a|an|the|some|\w+|\d+) (?:last |few |couple of )?"
    r"(?:days?|weeks?|months?|years?|while))\b",
    re.IGNORECASE,
)
_OR = re.compile(r"\s+(?:or|nor)\s+", re.IGNORECASE)
_KINDS = {stem: DOINGS[verb] for verb, stem in zip(DOINGS, stems(list(DOINGS)), strict=True)} | {
    "written": "make", "wrote": "make", "built": "make", "made": "make", "done": "learn",
    "did": "learn", "taken": "learn", "took": "learn", "went": "go", "gone": "go", "been": "go",
    "flown": "go", "flew": "go", "drove": "go", "got": "get", "gotten": "get", "bought": "get",
    "ate": "eat", "eaten": "eat", "saw": "read", "seen": "read", "heard": "read", "met": "meet",
    "knew": "meet", "known": "meet", "spoke": "meet", "spoken": "meet", "had": "get",
}  # fmt: skip
_VAGUE = frozenset(stems(sorted(VAGUE)))
_DONE = re.compile(
    r"'ve\b|'s been\b|\b(?:have|has|had|managed|been|\w{3,}ed|went|bought|wrote|built|made|did|"
    r"took|got|ate|saw|met|flew|drove|read)\b",
    re.IGNORECASE,
)
_ENOUGH = 0.5
_MOST = 0.75
_MANY = 2
_REACH = 7
"""Words behind a verb among which its object stands."""
_PARTING = PREPOSITIONS | word_set("of about into and but which that")
"""Words that end what a verb has as its object."""


def denied(old: Clause, new: Clause, *, short: bool) -> Iterator[Verdict]:
    """Yield a verdict where one clause denies what the other one says was done."""
    for denial, other in ((new, old), (old, new)):
        found = _DENIED.search(denial.text)
        if found is None or other.negated or (other.wished and not other.asked):
            continue
        if short and (denial.wished or other.tried or _LIMITED.search(found[0])):
            continue
        # What was never done before may well have been done since, if it was done.
        later = denial is old
        if (later and not _DONE.search(other.text)) or not (short or "never" in found[0].lower()):
            continue
        sure = max((_sure(part, other, short=short) for part in _parts(found["rest"])), default=0.0)
        if not sure:
            continue
        relation = Relation.UPDATE if later else Relation.CONTRADICTION
        yield Verdict(relation, sure, "one says never to have done what the other says was done")


def _presumed(denied: tuple[Word, ...], other: Clause) -> bool:
    """Return whether a question takes the deed for granted: ``my key obtained in March``."""
    deed = next((word.stem for word in denied if word.text.endswith("ed")), None)
    return any(word.stem == deed and word.text.endswith("ed") for word in other.words)


def _parts(rest: str) -> list[tuple[Word, ...]]:
    """Return the things that are denied: ``written routes or handled requests`` are two."""
    return [read(part).words for part in _OR.split(_END.sub("", rest)) if part.strip()]


def _sure(denied: tuple[Word, ...], other: Clause, *, short: bool) -> float:
    """Return how surely ``other`` says that it was done."""
    if not denied:
        return 0.0
    verb, things = denied[0], denied[1:]
    kind = _kind(verb)
    wanted = {word.stem: 2.0 if word.name else 1.0 for word in things if _telling(word)}
    if not wanted:
        return 0.0
    if short and not _object(kind, things, other):
        return 0.0
    shared = wanted.keys() & other.content
    share = sum(wanted[stem] for stem in shared) / sum(wanted.values())
    if other.asked and (len(shared) < max(_MANY, len(wanted)) or not _presumed(denied, other)):
        return 0.0
    done = any(_kind(word) == kind for word in other.words)
    many = len(shared) >= _MANY
    if share < (_ENOUGH if done else _MOST) or not (done or (many and not short)):
        return 0.0
    return min(0.95, 0.25 + 0.3 * share + 0.1 * len(shared) + 0.1 * done)


def _kind(word: Word) -> str:
    return _KINDS.get(word.stem, _KINDS.get(word.text, word.stem))


def _object(kind: str, things: Sequence[Word], other: Clause) -> bool:
    """Return whether a fact has the thing that is denied as the object of such a verb.

    The thing is the last word of the object: ``routes`` in ``any Flask routes for the blog``.
    Who sets up Flask has written none.
    """
    direct = list(takewhile(lambda word: word.text not in _PARTING, things))
    named = [word.stem for word in direct if _telling(word)]
    thing = named[-1] if named else [word.stem for word in things if _telling(word)][-1]
    for place, word in enumerate(other.words):
        if _kind(word) != kind or _goes_on(other.words, place):
            continue
        behind = other.words[place + 1 : place + 1 + _REACH]
        if named:
            behind = tuple(takewhile(lambda each: each.text not in _PARTING, behind))
        if any(each.stem == thing for each in behind):
            return True
    return False


def _goes_on(words: tuple[Word, ...], place: int) -> bool:
    """Return whether a verb tells what is under way, or names a doing: it is not done yet."""
    before = {word.text for word in words[max(place - 2, 0) : place]}
    going = words[place].text.endswith("ing") and "been" not in before
    return going and (not place or bool(before & {"is", "are", "am", "m", "s"}))


def _telling(word: Word) -> bool:
    return word.text not in STOP_WORDS and word.stem not in _VAGUE
