"""Looks for junk in a memory: ours, a MEMORY.md, or the export of another program."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memoranda.errors import InvalidInput
from memoranda.learning.conflicts import RuleJudge
from memoranda.maintenance.audit import Audit, AuditEntry, audit
from memoranda.model.models import Kind, Record, Scope, Trust, is_active
from memoranda.model.ports import Store
from memoranda.records.pages import record_pages
from memoranda.text.patterns import compile_pattern

KNOWLEDGE = (Kind.FACT, Kind.REFLECTION)
"""What is known. What was said is looked at for secrets, loops and injections alone."""
BULLET = compile_pattern(r"^\s*(?:[-*+]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?(?P<text>\S.*)$")
TEXTS = ("memory", "text", "content", "data", "fact")
TIMES = ("updated_at", "created_at", "timestamp", "date")
WHO = ("subject", "user_id")
OWNERS = ("user_id", "user")


def audit_memory(store: Store, scope: Scope, now: datetime) -> Audit:
    """Audit all active records of a scope."""
    pages = record_pages(store, scope, now)
    held = [record for page in pages for record in page if is_active(record, now)]
    entries = [_entry(store, scope, record) for record in held if record.kind in KNOWLEDGE]
    said = [_entry(store, scope, record) for record in held if record.kind not in KNOWLEDGE]
    return audit(entries, said=said, judge=RuleJudge(), now=now)


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
    found = _from_json(path, text) if text.lstrip()[:1] in {"[", "{"} else list(_bullets(text))
    if not found:
        message = f"{path} holds no memories: neither bullets nor a JSON list of texts"
        raise InvalidInput(message)
    return audit(found, judge=RuleJudge(), now=now)


def _entry(store: Store, scope: Scope, record: Record) -> AuditEntry:
    there = store.get_many(scope, record.source_ids) if record.source_ids else []
    subject, category, settled = (
        value if isinstance(value := record.attributes.get(name), str) else None
        for name in ("subject", "category", "supersedes")
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
        derived=bool(record.source_ids) and record.kind is Kind.FACT,
        by_person=record.trust is Trust.PERSON,
        settled=frozenset() if settled is None else frozenset({settled}),
        over=record.superseded_by is not None,
    )


def _bullets(text: str) -> Iterator[AuditEntry]:
    for number, line in enumerate(text.splitlines(), 1):
        bullet = BULLET.match(line)
        if bullet is not None:
            yield AuditEntry(id=f"line {number}", text=bullet["text"])


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
    if isinstance(item, str):
        return AuditEntry(id=f"item {place}", text=item) if item.strip() else None
    if not isinstance(item, Mapping):
        return None
    text = next((item[name] for name in TEXTS if isinstance(item.get(name), str)), "")
    times = [moment for name in TIMES if (moment := _moment(item.get(name))) is not None]
    if not text.strip():
        return None
    return AuditEntry(
        id=str(item.get("id", f"item {place}")),
        text=text,
        at=times[0] if times else None,
        subject=next((item[name] for name in WHO if isinstance(item.get(name), str)), None),
        used_at=max(times, default=None),
        owner=next((item[name] for name in OWNERS if isinstance(item.get(name), str)), None),
    )


def _moment(given: object) -> datetime | None:
    try:
        if isinstance(given, int | float) and not isinstance(given, bool):
            return datetime.fromtimestamp(given, UTC)
        moment = datetime.fromisoformat(given) if isinstance(given, str) else None
    except (ValueError, OverflowError, OSError):
        return None
    return moment if moment is None or moment.tzinfo else moment.replace(tzinfo=UTC)
