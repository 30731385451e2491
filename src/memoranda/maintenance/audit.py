"""Finds junk in a memory: duplicates, contradictions, loops, secrets, injections and more.

Works on plain entries, so that the memories of other programs can be looked at, too. It only
reports; what to do about a finding is for a person to say.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import combinations

from memoranda.learning.claims import Judge, Relation, Statement
from memoranda.learning.parsed_text import parse_text
from memoranda.text.recalled import lines, without_recalled
from memoranda.text.secrets import mask_secrets, secret_kind

STALE = timedelta(days=180)
"""How long nobody has asked for what is called stale."""
MOST_ALIKE = 40
"""A word in more entries than this says too little to compare all of them in pairs."""
OPENING = 3
"""Words at the beginning that make two entries worth comparing: ``The user lives``."""
BRIEF = 2
"""Words up to which one that is shared is a half of what an entry says."""
EXCERPT = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """One remembered text.

    Attributes:
        id: what it is called; a line number where it has no id.
        text: what it says.
        at: when it happened or was written down, if that is known.
        subject: whom it is about, if that is known.
        category: what kind of statement it is, if that is known.
        sources: ids of what it was drawn from.
        known: whether each of these is still there; ``None`` if that is not known.
        used_at: when it was last asked for, or written down; ``None`` if that is not known.
        derived: whether it was drawn from other texts, rather than told.
        by_person: whether a person stands behind it.
        settled: ids of what it has replaced already.
        over: whether something took its place already.
        owner: whose memory it is, in a file of several; entries of two are never compared.
    """

    id: str
    text: str
    at: datetime | None = None
    subject: str | None = None
    category: str | None = None
    sources: tuple[str, ...] = ()
    known: frozenset[str] | None = None
    used_at: datetime | None = None
    derived: bool = False
    by_person: bool = True
    settled: frozenset[str] = frozenset()
    over: bool = False
    owner: str | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """Entries with the same fault.

    Attributes:
        ids: the entries.
        why: what is wrong with them.
        example: the beginning of the first one's text, masked where it is secret.
    """

    ids: tuple[str, ...]
    why: str
    example: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """What was found, by kind of fault.

    Attributes:
        entries: how many were looked at.
        findings: kind → findings; every kind is there, also where nothing was found.
    """

    entries: int
    findings: dict[str, tuple[Finding, ...]] = field(default_factory=dict)

    @property
    def counts(self) -> dict[str, int]:
        """How many findings there are of each kind."""
        return {kind: len(found) for kind, found in self.findings.items()}

    @property
    def clean(self) -> bool:
        """Whether nothing was found."""
        return not any(self.findings.values())


INJECTED = re.compile(
    r"\b(?:ignore|disregard|forget) (?:all |any |the |your )*(?:previous|prior|above|earlier)"
    r" (?:instructions|rules|prompts)\b|</?memoranda-memory\b|<\|im_start\|>",
    re.IGNORECASE,
)


def audit(
    entries: Sequence[AuditEntry],
    *,
    said: Sequence[AuditEntry] = (),
    judge: Judge,
    now: datetime,
    stale_after: timedelta = STALE,
) -> Audit:
    """Return what is wrong with ``entries``.

    Args:
        entries: what is known, oldest first.
        said: what was said: looked at for loops, secrets and injections alone.
        judge: says how two statements stand to each other.
        now: the present.
        stale_after: how long nobody has asked for what is called stale.
    """
    exact = tuple(_exact(entries))
    again = {other for finding in exact for other in finding.ids[1:]}
    single = [entry for entry in entries if entry.id not in again]
    near, contradictions = _pairs(single, judge, now)
    found: dict[str, Iterable[Finding]] = {
        "exact duplicates": exact,
        "near duplicates": near,
        "contradictions": contradictions,
        "loops": _each([*entries, *said], _loop),
        "stale": _each(entries, lambda entry: _stale(entry, now, stale_after)),
        "orphans": _each(entries, _orphan),
        "secrets": _each([*entries, *said], _secret),
        "injections": _each([*entries, *said], _injected),
    }
    return Audit(
        entries=len(entries) + len(said),
        findings={kind: tuple(each) for kind, each in found.items()},
    )


def _finding(entries: Sequence[AuditEntry], why: str) -> Finding:
    text = " ".join(mask_secrets(entries[0].text).split())
    shown = text if len(text) <= EXCERPT else f"{text[: EXCERPT - 1]}…"
    return Finding(tuple(entry.id for entry in entries), why, shown)


def _each(
    entries: Sequence[AuditEntry], fault: Callable[[AuditEntry], str | None]
) -> Iterator[Finding]:
    for entry in entries:
        why = fault(entry)
        if why is not None:
            yield _finding([entry], why)


def _exact(entries: Sequence[AuditEntry]) -> Iterator[Finding]:
    same: defaultdict[tuple[str | None, str], list[AuditEntry]] = defaultdict(list)
    for entry in entries:
        same[entry.owner, parse_text(entry.text).normal or entry.text].append(entry)
    for group in same.values():
        if len(group) > 1:
            yield _finding(group, f"{len(group)} times the same words")


def _pairs(
    entries: Sequence[AuditEntry], judge: Judge, now: datetime
) -> tuple[list[Finding], list[Finding]]:
    near: list[Finding] = []
    contradictions: list[Finding] = []
    for one, other in _alike(entries):
        if one.over or other.over or one.id in other.settled or other.id in one.settled:
            continue
        old, new = sorted((one, other), key=lambda entry: entry.at or now)
        verdict = judge.judge(_statement(old, now), _statement(new, now))
        if verdict.relation is Relation.DUPLICATE:
            near.append(_finding([old, new], verdict.why))
        elif verdict.relation is not Relation.NONE:
            contradictions.append(_finding([old, new], f"{verdict.relation}: {verdict.why}"))
    return near, contradictions


def _alike(entries: Sequence[AuditEntry]) -> Iterator[tuple[AuditEntry, AuditEntry]]:
    """Yield the pairs that share two words, or a beginning, which few other entries have."""
    holders: defaultdict[tuple[str | None, str, int], list[int]] = defaultdict(list)
    for place, entry in enumerate(entries):
        for key in _keys(entry.text):
            holders[entry.owner, *key].append(place)
    shared: defaultdict[tuple[int, int], int] = defaultdict(int)
    for (*_, words), places in holders.items():
        if len(places) <= MOST_ALIKE:
            for pair in combinations(places, 2):
                shared[pair] += words
    for (one, other), words in sorted(shared.items()):
        if words > 1:
            yield entries[one], entries[other]


def _keys(text: str) -> set[tuple[str, int]]:
    """Return what an entry may have in common with others, and how many words each counts for."""
    reading = parse_text(text)
    opening = " ".join(reading.normal.split()[:OPENING])
    words = {(word, 1) for word in reading.content}
    if len(words) <= BRIEF:
        words |= {(word, 2) for word in reading.content}
    return words | {(opening, 2)}


def _statement(entry: AuditEntry, now: datetime) -> Statement:
    return Statement(entry.text, entry.at or now, entry.subject, entry.category)


def _loop(entry: AuditEntry) -> str | None:
    if without_recalled(entry.text) != entry.text or lines(entry.text):
        return "it holds what memory itself had told"
    if entry.id in entry.sources:
        return "it rests on itself"
    if entry.derived and not entry.by_person:
        return "it was drawn from what no person said"
    return None


def _stale(entry: AuditEntry, now: datetime, after: timedelta) -> str | None:
    if entry.used_at is None or now - entry.used_at < after:
        return None
    return f"nobody has asked for it for {(now - entry.used_at).days} days"


def _orphan(entry: AuditEntry) -> str | None:
    if not entry.sources or entry.known is None or entry.known & set(entry.sources):
        return None
    return "nothing that it was drawn from is there any more"


def _secret(entry: AuditEntry) -> str | None:
    kind = secret_kind(entry.text)
    return None if kind is None else f"it seems to hold {kind}"


def _injected(entry: AuditEntry) -> str | None:
    return "it speaks to the model like an instruction" if INJECTED.search(entry.text) else None
