"""Finds junk in a memory: duplicates, contradictions, loops, secrets, injections and more.

Works on plain entries, so that the memories of other programs can be looked at, too: ours, a
MEMORY.md, or the export of another program. It only reports; what to do about a finding is for a
person to say.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import combinations
from pathlib import Path
from typing import Any

from memoranda.errors import InvalidInput
from memoranda.learning.claims import Relation, Statement
from memoranda.learning.conflicts import RuleJudge
from memoranda.learning.parsed_text import parse_text
from memoranda.model.checks import unknown
from memoranda.model.models import Kind, Record, Scope, Trust, is_active
from memoranda.model.ports import Store
from memoranda.model.short_repr import ShortRepr
from memoranda.records.pages import record_pages
from memoranda.text.patterns import LanguageData, compile_pattern
from memoranda.text.recalled import lines, without_recalled
from memoranda.text.secrets import mask_secrets, secret_kind

# How long nobody has asked for what is called stale.
STALE = timedelta(days=180)
# A word in more entries than this says too little to compare all of them in pairs.
MOST_ALIKE = 40
# Words at the beginning that make two entries worth comparing: ``The user lives``.
OPENING = 3
# Words up to which one that is shared is a half of what an entry says.
BRIEF = 2
EXCERPT = 100
# What is known. What was said is looked at for secrets, loops and injections alone.
KNOWLEDGE = (Kind.FACT, Kind.REFLECTION)
BULLET = compile_pattern(r"^\s*(?:[-*+]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?(?P<text>\S.*)$")
# What mends a fault in a memory of ours. Nothing is mended without a person's word.
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
OF_FILE = "change the file by hand"
TEXTS = ("memory", "text", "content", "data", "fact")
TIMES = ("updated_at", "created_at", "timestamp", "date")
WHO = ("subject", "user_id")
OWNERS = ("user_id", "user")
_EN = LanguageData("en", "audit")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class AuditEntry(ShortRepr):
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
        ungrounded: whether it was drawn from what no person said.
        replaces: the id of what it took the place of already.
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
    ungrounded: bool = False
    replaces: str | None = None
    over: bool = False
    owner: str | None = None


@dataclass(frozen=True, slots=True, repr=False)
class Finding(ShortRepr):
    """Entries with the same fault.

    Attributes:
        ids: the entries.
        why: what is wrong with them.
        example: the beginning of the first one's text, masked where it is secret.
    """

    ids: tuple[str, ...]
    why: str
    example: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class FaultGroup(ShortRepr):
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


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Audit(ShortRepr):
    """What an audit found.

    Attributes:
        entries: how many were looked at.
        clean: whether nothing was found, of the kinds that were asked for.
        faults: every kind that was asked for, also where nothing was found.
    """

    entries: int
    clean: bool
    faults: tuple[FaultGroup, ...]

    @property
    def findings(self) -> dict[str, tuple[Finding, ...]]:
        """The findings by kind of fault."""
        return {fault.kind: fault.findings for fault in self.faults}

    @property
    def counts(self) -> dict[str, int]:
        """How many findings there are of each kind."""
        return {fault.kind: fault.count for fault in self.faults}

    def only(self, kind: str) -> Audit:
        """Return what was found of one kind; its beginning is enough, ``-`` stands for a space.

        Raises:
            InvalidInput: there is no such kind.
        """
        wanted = " ".join(kind.casefold().replace("-", " ").replace("_", " ").split())
        alike = [each for each in self.faults if wanted and each.kind.startswith(wanted)]
        if len(alike) != 1:
            raise InvalidInput(unknown(kind, list(REMEDIES), "kind"))
        return replace(self, clean=not alike[0].count, faults=tuple(alike))


def audit_memory(store: Store, scope: Scope, now: datetime) -> Audit:
    """Audit all active records of a scope."""
    pages = record_pages(store, scope, now)
    held = [record for page in pages for record in page if is_active(record, now)]
    entries = [_entry(store, scope, record) for record in held if record.kind in KNOWLEDGE]
    said = [_entry(store, scope, record) for record in held if record.kind not in KNOWLEDGE]
    return audit(entries, said=said, now=now)


def audit_file(path: Path, now: datetime) -> Audit:
    """Audit a file: Markdown with a bullet for each memory, or a JSON list of memories.

    Args:
        path: the file. JSON is a list, or an object whose ``results`` or ``memories`` is one;
            each memory a text, or an object with one under ``memory``, ``text`` or ``content``.
        now: the present.

    Raises:
        InvalidInput: it cannot be read, or holds no memories in one of these forms.
    """
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        message = f"{path} cannot be read: {error}; name a Markdown or JSON file"
        raise InvalidInput(message) from error
    if text.lstrip()[:1] in {"[", "{"}:
        found = _from_json(path, text)
    else:
        bullets = ((number, BULLET.match(line)) for number, line in enumerate(text.splitlines(), 1))
        found = [AuditEntry(id=f"line {n}", text=each["text"]) for n, each in bullets if each]
    if not found:
        message = f"{path} holds no memories: neither bullets nor a JSON list of texts"
        raise InvalidInput(message)
    return audit(found, now=now, remedies=dict.fromkeys(REMEDIES, OF_FILE))


def audit(
    entries: Sequence[AuditEntry],
    *,
    said: Sequence[AuditEntry] = (),
    now: datetime,
    remedies: Mapping[str, str] = REMEDIES,
) -> Audit:
    """Return what is wrong with ``entries``.

    Args:
        entries: what is known, oldest first.
        said: what was said: looked at for loops, secrets and injections alone.
        now: the present.
        remedies: what to do about each kind of fault.
    """
    exact = list(_exact(entries))
    again = {other for finding in exact for other in finding.ids[1:]}
    near, contradictions = _pairs([entry for entry in entries if entry.id not in again], now)
    found: dict[str, list[Finding]] = {kind: [] for kind in remedies}
    found["exact duplicates"] = exact
    found |= {"near duplicates": near, "contradictions": contradictions}
    for entry in entries:
        for kind, why in (*_faults_of_facts(entry, now), *_faults(entry)):
            found[kind].append(_finding([entry], why))
    for entry in said:
        for kind, why in _faults(entry):
            found[kind].append(_finding([entry], why))
    faults = tuple(
        FaultGroup(kind=kind, count=len(each), remedy=remedies[kind], findings=tuple(each))
        for kind, each in found.items()
    )
    clean = not any(fault.count for fault in faults)
    return Audit(entries=len(entries) + len(said), clean=clean, faults=faults)


def _finding(entries: Sequence[AuditEntry], why: str) -> Finding:
    text = " ".join(mask_secrets(entries[0].text).split())
    shown = text if len(text) <= EXCERPT else f"{text[: EXCERPT - 1]}…"
    return Finding(tuple(entry.id for entry in entries), why, shown)


def _exact(entries: Sequence[AuditEntry]) -> Iterator[Finding]:
    same: defaultdict[tuple[str | None, str], list[AuditEntry]] = defaultdict(list)
    for entry in entries:
        same[entry.owner, parse_text(entry.text).normal or entry.text].append(entry)
    for group in same.values():
        if len(group) > 1:
            yield _finding(group, f"{len(group)} times the same words")


def _pairs(entries: Sequence[AuditEntry], now: datetime) -> tuple[list[Finding], list[Finding]]:
    near: list[Finding] = []
    contradictions: list[Finding] = []
    judge = RuleJudge()
    for one, other in _alike(entries):
        if one.over or other.over or one.id == other.replaces or other.id == one.replaces:
            continue
        old, new = sorted((one, other), key=lambda entry: entry.at or now)
        said = [
            Statement(each.text, each.at or now, each.subject, each.category) for each in (old, new)
        ]
        verdict = judge.judge(*said)
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


def _faults(entry: AuditEntry) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with an entry, known or said: the kind of fault, and why."""
    if without_recalled(entry.text) != entry.text or lines(entry.text):
        yield "loops", "it holds what memory itself had told"
    elif entry.id in entry.sources:
        yield "loops", "it rests on itself"
    elif entry.ungrounded:
        yield "loops", "it was drawn from what no person said"
    if (kind := secret_kind(entry.text)) is not None:
        yield "secrets", f"it seems to hold {kind}"
    if _EN.pattern("injected").search(entry.text):
        yield "injections", "it speaks to the model like an instruction"


def _faults_of_facts(entry: AuditEntry, now: datetime) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with what is known, and would not be with what was said."""
    if entry.used_at is not None and now - entry.used_at >= STALE:
        yield "stale", f"nobody has asked for it for {(now - entry.used_at).days} days"
    if entry.sources and entry.known is not None and not entry.known & set(entry.sources):
        yield "orphans", "nothing that it was drawn from is there any more"


# Entries


def _entry(store: Store, scope: Scope, record: Record) -> AuditEntry:
    there = store.get(scope, record.source_ids).values()
    drawn = bool(record.source_ids) and record.kind is Kind.FACT
    subject, category = (
        value if isinstance(value := record.metadata.get(name), str) else None
        for name in ("subject", "category")
    )
    return AuditEntry(
        id=record.id,
        text=record.content,
        at=record.event_time,
        subject=subject,
        category=category,
        sources=record.source_ids,
        known=frozenset(source.id for source in there),
        used_at=record.last_accessed or record.created_at,
        ungrounded=drawn and record.trust is not Trust.PERSON,
        replaces=record.supersedes,
        over=record.superseded_by is not None,
    )


def _from_json(path: Path, text: str) -> list[AuditEntry]:
    try:
        given: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        message = f"{path} is no JSON: {error}"
        raise InvalidInput(message) from error
    if isinstance(given, Mapping):
        given = next((given[name] for name in ("results", "memories") if name in given), [given])
    if not isinstance(given, Sequence) or isinstance(given, str):
        return []
    found = (_foreign(item, place) for place, item in enumerate(given))
    return sorted(
        (entry for entry in found if entry is not None),
        key=lambda entry: entry.at or datetime.max.replace(tzinfo=UTC),
    )


def _foreign(item: object, place: int) -> AuditEntry | None:
    """Return an entry of another program's export, if that is one."""
    fields: Mapping[str, Any] = item if isinstance(item, Mapping) else {"text": item}

    def text_of(names: Sequence[str]) -> str | None:
        return next((fields[name] for name in names if isinstance(fields.get(name), str)), None)

    text = text_of(TEXTS) or ""
    times = [moment for name in TIMES if (moment := _moment(fields.get(name))) is not None]
    if not text.strip():
        return None
    return AuditEntry(
        id=str(fields.get("id", f"item {place}")),
        text=text,
        at=times[0] if times else None,
        subject=text_of(WHO),
        used_at=max(times, default=None),
        owner=text_of(OWNERS),
    )


def _moment(given: object) -> datetime | None:
    try:
        if isinstance(given, int | float) and not isinstance(given, bool):
            return datetime.fromtimestamp(given, UTC)
        moment = datetime.fromisoformat(given) if isinstance(given, str) else None
    except (ValueError, OverflowError, OSError):
        return None
    return moment if moment is None or moment.tzinfo else moment.replace(tzinfo=UTC)
