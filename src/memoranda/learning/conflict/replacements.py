"""What a newer clause says to be over, or another thing to have taken the place of."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memoranda.learning.aspect import Aspect
from memoranda.learning.claims import Relation, Verdict
from memoranda.learning.conflict.attributes import attribute
from memoranda.learning.conflict.clauses import Clause
from memoranda.learning.conflict.cores import core, plain, same_people, subject_stems
from memoranda.learning.reading import Word, stems
from memoranda.learning.wording import (
    FILLERS,
    HOLDING,
    LIKING,
    MEASURES,
    PREPOSITIONS,
    SHIFTS,
    STRONG_CUES,
)

MANY, HALF = 0.6, 0.5
"""Shares of content words."""
MOST_REPLACED = 2
LEAST_FRAME = 3
_MOVED = r"(?P<moved>moved|relocated)\b.*?"
_FROM_TO = re.compile(
    rf"\b(?:{_MOVED}|(?:switched|changed|migrated|transitioned|upgraded)\b.*?)"
    r"\bfrom\s+(?P<old>.+?)\s+to\s+(?P<new>.+)"
    r"|\b(?:replaced|swapped|traded)\s+(?P<old2>.+?)\s+(?:with|for|by)\s+(?P<new2>.+)"
    r"|(?P<new3>.+?)\b(?:instead of|rather than)\s+(?P<old3>.+)",
    re.IGNORECASE,
)
_NOT_BUT = re.compile(
    r"\bnot\s+(?P<old>[^,.;]+?),?\s+but\s+(?P<new>.+)"
    r"|(?P<new2>.+),\s+(?:and\s+)?not\s+(?!(?:because|that|sure|to|as|so|much|very|yet)\b)"
    r"(?P<old2>[^,.;]+)[.!]?$",
    re.IGNORECASE,
)
_PLACES = (
    r"(?:job|position|role|company|firm|team|band|group|club|church|school|university|college|"
    r"choir|gym|board|party|course|class|program|project)"
)
_OVER = re.compile(
    r"\bno longer\s+(?P<gone>.+)|(?:\bnot|n't)\s+(?P<gone2>.+?)\s+any ?more\b"
    r"|\b(?:stopped|quit|gave up|given up|gave away|got rid of|abandoned|cancelled|canceled|"
    r"called off|sold|dropped out of|broke up with|split up with|divorced|ended|"
    r"lost(?=\s+(?:his|her|their|my|the)\s+job))\s+(?!up\b|with\b)(?P<gone3>.+)"
    rf"|\bleft\s+(?P<gone4>(?:\w+\s+){{0,3}}{_PLACES}\b.*|(?=[A-Z])(?-i:[A-Z]\w+)\b.*)",
    re.IGNORECASE,
)
_TRIM = re.compile(
    r"\s+(?:because|since|and|but|so|after|when|while|last|in (?:19|20)\d\d|on|from|due|"
    r"these days|for good|at the moment|right now|to (?=\w+ ))\b.*$|[,;:.!].*$",
    re.IGNORECASE,
)
_LOOSE = frozenset({"up", "out", "off", "rid", "job", "work"})
_HOLDING = frozenset(stems(sorted(HOLDING)))
_TIMES = frozenset(stems(sorted(MEASURES))) | frozenset(
    stems(
        [
            "every",
            "each",
            "daily",
            "weekly",
            "monthly",
            "often",
            "usually",
            "regularly",
            "regular",
            "year",
        ]
    )
)


def replaced(old: Clause, new: Clause, *, about: bool) -> Iterator[Verdict]:
    """Yield a verdict where the newer clause names what is over: ``no longer``, ``from … to``.

    Only what is so, or goes on, can be over: what happened stays true.
    """
    if old.negated or old.asked or new.asked or new.wished != (new.wished and old.wished):
        return
    if not _lasts(old) or not same_people(old, new, about=about, lax=True):
        return
    if core(old):
        yield from _given_up(old, new)
        if old.wished == new.wished and old.tried == new.tried:
            yield from _exchanged(old, new)
            yield from _anew(old, new)


def _lasts(clause: Clause) -> bool:
    if any(word.text in SHIFTS for word in clause.words):
        return True
    return clause.aspect is Aspect.STATE and not _USED_TO.search(clause.text)


_USED_TO = re.compile(r"\bused to\b", re.IGNORECASE)


def _exchanged(old: Clause, new: Clause) -> Iterator[Verdict]:
    mine = core(old)
    for pattern, relation in (
        (_FROM_TO, Relation.UPDATE),
        (_NOT_BUT, Relation.CONTRADICTION),
    ):
        found = pattern.search(new.text)
        if found is None:
            continue
        groups = {key.rstrip("23"): text for key, text in found.groupdict().items() if text}
        if found.groupdict().get("old3") and new.aspect is not Aspect.STATE:
            continue  # Once is not always.
        if "moved" in groups and not _is_place(old):
            continue
        gone = plain(groups["old"]) - _TIMES
        if (
            gone
            and gone <= mine
            and not plain(groups["new"]) <= mine
            and _as_a_whole(old, new, gone)
        ):
            yield Verdict(relation, 0.85, "the newer one names the older value as replaced")


def _is_place(clause: Clause) -> bool:
    said = attribute(clause)
    return said is not None and said.name in {"residence", "noun"}


def _as_a_whole(old: Clause, new: Clause, gone: frozenset[str], least: float = HALF) -> bool:
    """Return whether the older clause is about what is gone, and little else."""
    mine = core(old) - subject_stems(old) - _TIMES
    about = gone | core(new) | _HOLDING
    return not mine or len(mine & about) / len(mine) > least


def _given_up(old: Clause, new: Clause) -> Iterator[Verdict]:
    found = _OVER.search(new.text)
    if found is None or _OVER.search(old.text):
        return
    text = _TRIM.sub("", next(each for each in found.groups() if each))
    gone = core_of(text) - subject_stems(new) - _TIMES
    things = gone - _LOOSE
    mine = core(old) - subject_stems(old)
    said = attribute(old)
    job = not things and bool(gone) and said is not None and said.name in {"employer", "occupation"}
    whole = things and len(things & mine) / len(things) >= MANY and _as_a_whole(old, new, things)
    if job or whole:
        yield Verdict(Relation.UPDATE, 0.85, "the newer one says that it is over")


def core_of(text: str) -> frozenset[str]:
    """Return what a part of a clause is about."""
    return plain(text) - frozenset(stems(sorted(LIKING)))


def _anew(old: Clause, new: Clause) -> Iterator[Verdict]:
    """Yield a verdict where a sentence returns with ``now`` or ``actually`` and another word.

    Another word alone shows nothing: who now plays the piano may play the guitar as well. It
    stands for the same thing where what follows says so (``to work``, ``for testing``).
    """
    cue = new.strong & {"now", "instead", "nowadays"} or new.correcting
    if not cue or new.added or any(word.text in LIKING for word in (*old.words, *new.words)):
        return
    left, right = _frame(old), _frame(new)
    before = _shared(left, right)
    behind = _shared(left[before:][::-1], right[before:][::-1])
    gone, come = left[before : len(left) - behind], right[before : len(right) - behind]
    if not gone or not come or max(len(gone), len(come)) > MOST_REPLACED:
        return
    tail = [word.text for word in right[len(right) - behind :]]
    framed = len(tail) > 1 and tail[0] in PREPOSITIONS and before > 1
    if framed or (new.correcting and before >= LEAST_FRAME):
        relation = Relation.CONTRADICTION if new.correcting else Relation.UPDATE
        yield Verdict(relation, 0.7, "the same is said anew with another word")


def _frame(clause: Clause) -> list[Word]:
    passing = (STRONG_CUES | FILLERS) - SHIFTS
    return [word for word in clause.words if word.text not in passing]


def _shared(one: list[Word], other: list[Word]) -> int:
    """Return how many words two begin with alike."""
    same = (left.stem == right.stem for left, right in zip(one, other, strict=False))
    return next((count for count, alike in enumerate(same) if not alike), min(len(one), len(other)))


def upgraded(old: Clause, new: Clause, *, about: bool) -> Iterator[Verdict]:
    """Yield a verdict where something that is used has another version now."""
    cues = {word.text for word in new.words} & (SHIFTS | {"now"})
    if not cues or new.wished or new.tried or new.asked or old.asked or not _lasts(old):
        return
    if not same_people(old, new, about=about, lax=True):
        return
    mine, yours = _versions(old), _versions(new)
    for name in mine.keys() & yours.keys():
        if mine[name] != yours[name] and _as_a_whole(old, new, frozenset((name, mine[name]))):
            yield Verdict(Relation.UPDATE, 0.8, "another version of the same thing")


def _versions(clause: Clause) -> dict[str, str]:
    """Return the stems of names → the number that stands behind them last."""
    found: dict[str, str] = {}
    name = ""
    for word in clause.words:
        if word.kind == "number" and name:
            found[name] = word.text
        elif word.text in {"v", "version", "to", "from"}:
            continue
        else:
            name = word.stem if word.name else ""
    return found
