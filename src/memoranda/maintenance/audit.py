"""Finds junk in a memory: duplicates, contradictions, loops, secrets, injections and more.

It only reports; what to do about a finding is for a person to say.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain, combinations

from memoranda.learning.claims import Relation
from memoranda.learning.judge import judge_fact, judge_text
from memoranda.learning.known_facts import stated_facts, with_attribute
from memoranda.model.models import Kind, Record, Scope, Trust, is_active
from memoranda.model.query import Filter
from memoranda.records.drafts import excerpt
from memoranda.store.sql.store import Store
from memoranda.text.patterns import LanguageData
from memoranda.text.recalled import lines, without_recalled
from memoranda.text.secrets import mask_secrets, secret_kind
from memoranda.text.small_talk import states_nothing
from memoranda.text.terms import TermAnalyzer

# How long nobody has asked for what is called stale.
STALE = timedelta(days=180)
# A word in more records than this says too little to compare all of them in pairs.
MOST_ALIKE = 40
# Words at the beginning that make two records worth comparing: ``The user lives``.
OPENING = 3
# Words up to which one that is shared is a half of what a record says.
BRIEF = 2
EXCERPT = 100
# What is known. What was said is looked at for secrets, loops and injections alone.
KNOWLEDGE = (Kind.FACT, Kind.REFLECTION)
# What mends a fault. Nothing is mended without a person's word.
REMEDIES = {
    "exact duplicates": "memoranda forget ID, all but one",
    "near duplicates": "memoranda forget ID the poorer one, or correct ID it",
    "contradictions": "memoranda correct ID or forget ID what is no longer true",
    "loops": "memoranda forget ID",
    "stale": "memoranda confirm ID what still holds, forget ID the rest",
    "orphans": "memoranda confirm ID what still holds, forget ID the rest",
    "secrets": "memoranda forget ID --erase",
    "injections": "memoranda forget ID --erase",
}
# What is looked for in the memory of another program besides, and what to do about it.
FOREIGN_REMEDIES = {
    "junk": "leave it out; once it is imported: memoranda forget ID",
    "missing sources": "once it is imported: memoranda confirm ID what holds, forget ID the rest",
}
# Names in metadata under which programs keep where something comes from.
SOURCES = frozenset({
    "source", "url", "file", "path", "session", "session_id", "conversation_id", "message_id",
    "mem0_run_id", "mem0_actor_id",
})  # fmt: skip
_EN = LanguageData("en", "audit")
_ANALYZER = TermAnalyzer()


@dataclass(frozen=True, slots=True)
class Finding:
    """Records with the same fault.

    Attributes:
        ids: the records.
        why: what is wrong with them.
        example: the beginning of the first one's text, masked where it is secret.
    """

    ids: tuple[str, ...]
    why: str
    example: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultGroup:
    """All findings of one kind of fault.

    Attributes:
        kind: ``near duplicates``, ``secrets`` and so on.
        count: how many there are.
        remedy: what to do about them.
        findings: each of them.
    """

    kind: str
    count: int
    remedy: str
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """What an audit found.

    Attributes:
        entries: how many records were looked at.
        clean: whether nothing was found.
        faults: every kind, also where nothing was found.
    """

    entries: int
    clean: bool
    faults: tuple[FaultGroup, ...]

    @property
    def findings(self) -> dict[str, tuple[Finding, ...]]:
        """The findings by kind of fault."""
        return {fault.kind: fault.findings for fault in self.faults}


def audit_store(
    store: Store, scopes: Iterable[Scope], now: datetime, *, foreign: bool = False
) -> Audit:
    """Return what is wrong with the active records of some scopes (see :func:`audit`)."""
    pages = (page for scope in scopes for page in store.pages(scope, Filter.at_any_time()))
    found = [*chain.from_iterable(pages)]
    held = [record for record in found if is_active(record, now)]
    return audit(held, now=now, present={record.id for record in found}, foreign=foreign)


def audit(
    held: Sequence[Record], *, now: datetime, present: Collection[str], foreign: bool = False
) -> Audit:
    """Return what is wrong with records.

    Args:
        held: what is known, and what was said: that for loops, secrets and injections alone.
        now: the present.
        present: the ids of all sources that are still there.
        foreign: whether another program remembered it, with what is told of it there.
    """
    remedies = REMEDIES | (FOREIGN_REMEDIES if foreign else {})
    known = [record for record in held if record.kind in KNOWLEDGE]
    exact = list(_exact(known))
    again = {other for finding in exact for other in finding.ids[1:]}
    near, contradictions = _pairs([record for record in known if record.id not in again])
    found: dict[str, list[Finding]] = {kind: [] for kind in remedies}
    found |= {"exact duplicates": exact, "near duplicates": near, "contradictions": contradictions}
    for record in sorted(held, key=lambda record: record.kind not in KNOWLEDGE):
        for kind, why in _faults(record, present, now, foreign=foreign):
            found[kind].append(_finding([record], why))
    faults = tuple(
        FaultGroup(kind=kind, count=len(each), remedy=remedies[kind], findings=tuple(each))
        for kind, each in found.items()
    )
    return Audit(entries=len(held), clean=not any(each.count for each in faults), faults=faults)


def _finding(records: Sequence[Record], why: str) -> Finding:
    shown = excerpt(mask_secrets(records[0].content), EXCERPT)
    return Finding(tuple(record.id for record in records), why, shown)


def _exact(records: Sequence[Record]) -> Iterator[Finding]:
    same: defaultdict[tuple[str, str], list[Record]] = defaultdict(list)
    for record in records:
        words = " ".join(_ANALYZER.terms(record.content)) or record.content
        same[record.user, words].append(record)
    for group in same.values():
        if len(group) > 1:
            yield _finding(group, f"{len(group)} times the same words")


def _pairs(records: Sequence[Record]) -> tuple[list[Finding], list[Finding]]:
    near: list[Finding] = []
    contradictions: list[Finding] = []
    for one, other in _alike(records):
        is_settled = one.superseded_by or other.superseded_by or one.user != other.user
        if is_settled or one.id == other.supersedes or other.id == one.supersedes:
            continue
        old, new = sorted((one, other), key=lambda record: record.event_time)
        relation = _judge(old, new)
        if relation is Relation.DUPLICATE:
            near.append(_finding([old, new], "they say the same"))
        elif relation is Relation.UPDATE:
            contradictions.append(_finding([old, new], "the newer one ends the older"))
    return near, contradictions


def _judge(old: Record, new: Record) -> Relation:
    """Return how the newer of two records stands to the older."""
    stated = stated_facts(new.content, new.user)
    relation = judge_fact(with_attribute(old), stated[0]) if len(stated) == 1 else None
    return relation or judge_text(old.content, new.content)


def _alike(records: Sequence[Record]) -> Iterator[tuple[Record, Record]]:
    """Yield the pairs that share two words, or a beginning, which few other records have."""
    holders: defaultdict[tuple[str, int], list[int]] = defaultdict(list)
    for place, record in enumerate(records):
        for key in _keys(record.content):
            holders[key].append(place)
    shared: defaultdict[tuple[int, int], int] = defaultdict(int)
    for (_, words), places in holders.items():
        if len(places) <= MOST_ALIKE:
            for pair in combinations(places, 2):
                shared[pair] += words
    for (one, other), words in sorted(shared.items()):
        if words > 1:
            yield records[one], records[other]


def _keys(text: str) -> set[tuple[str, int]]:
    """Return what a text may have in common with others, and how many words each counts for."""
    words = _ANALYZER.query_terms(text)
    opening = " ".join(text.casefold().split()[:OPENING])
    weight = 2 if len(words) <= BRIEF else 1
    return {*((word, weight) for word in words), (opening, 2)}


def _faults(
    record: Record, present: Collection[str], now: datetime, *, foreign: bool
) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with a record, known or said: the kind of fault, and why."""
    drawn = bool(record.source_ids) and record.kind is Kind.FACT
    if without_recalled(record.content) != record.content or lines(record.content):
        yield "loops", "it holds what memory itself had told"
    elif record.id in record.source_ids:
        yield "loops", "it rests on itself"
    elif drawn and record.trust is not Trust.PERSON:
        yield "loops", "it was drawn from what no person said"
    if (kind := secret_kind(record.content)) is not None:
        yield "secrets", f"it seems to hold {kind}"
    if _EN.injected.search(record.content):
        yield "injections", "it speaks to the model like an instruction"
    if record.kind not in KNOWLEDGE:
        return
    used_at = record.last_accessed or record.created_at
    if now - used_at >= STALE:
        yield "stale", f"nobody has asked for it for {(now - used_at).days} days"
    if record.source_ids and not any(source in present for source in record.source_ids):
        yield "orphans", "nothing that it was drawn from is there any more"
    if foreign:
        yield from _foreign_faults(record)


def _foreign_faults(record: Record) -> Iterator[tuple[str, str]]:
    """Yield what else is wrong with what another program remembered."""
    if states_nothing(record.content):
        yield "junk", "it states nothing"
    elif _EN.narrated.search(record.content):
        yield "junk", "it tells of the conversation, and not of the person"
    told = record.session_id, record.source_role, *record.source_ids
    if not (any(told) or SOURCES.intersection(record.metadata)):
        yield "missing sources", "nothing says who said it, or where"
