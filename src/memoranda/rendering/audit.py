"""What an audit found, kind by kind, with the remedy for each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from memoranda.errors import InvalidInput
from memoranda.maintenance.audit import Finding
from memoranda.memory import Memory
from memoranda.rendering.layout import Column, Display, safe_text, table
from memoranda.rendering.plain import one_line, pluralize

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


@dataclass(frozen=True, slots=True)
class FaultGroup:
    """All findings of one kind.

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
class AuditReport:
    """What an audit found.

    Attributes:
        entries: how many were looked at.
        clean: whether nothing was found, of the kinds that were asked for.
        faults: every kind that was asked for, also where nothing was found.
    """

    entries: int
    clean: bool
    faults: tuple[FaultGroup, ...]


def make_audit_report(
    memory: Memory, path: Path | None = None, kind: str | None = None
) -> AuditReport:
    """Audit a memory, or a file instead; change nothing.

    Args:
        memory: what to look at, where no file is named.
        path: a MEMORY.md, or a JSON list of memories.
        kind: only faults of this kind; its beginning is enough, and ``-`` stands for a space.

    Raises:
        InvalidInput: the file cannot be read or holds no memories, or there is no such kind.
    """
    found = memory.audit(path)
    findings = found.findings
    if kind is not None:
        wanted = " ".join(kind.casefold().replace("-", " ").replace("_", " ").split())
        alike = [each for each in findings if wanted and each.startswith(wanted)]
        if len(alike) != 1:
            message = f"kind={kind!r:.80} does not exist; use one of {', '.join(findings)}"
            raise InvalidInput(message)
        findings = {alike[0]: findings[alike[0]]}
    return AuditReport(
        entries=found.entries,
        clean=not any(findings.values()),
        faults=tuple(
            FaultGroup(each, len(there), REMEDIES[each] if path is None else OF_FILE, there)
            for each, there in findings.items()
        ),
    )


IDS_SHOWN = 3
INDENT = (0, 0, 0, 2)
SIGNAL = {True: "yellow", False: "green"}
COLUMNS = (
    Column("kind", "kind"),
    Column(
        "found", lambda fault, _: Text(f"{fault.count:,}", SIGNAL[fault.count > 0]), number=True
    ),
    Column("what mends it", lambda fault, _: fault.remedy if fault.count else "", "dim"),
)


def show_audit(found: AuditReport, view: Display, limit: int) -> Iterator[RenderableType]:
    """Yield how much of what is wrong, the remedies, and ``limit`` examples of each kind."""
    faults = sum(fault.count for fault in found.faults)
    entries = pluralize(found.entries, "entry", "entries")
    yield safe_text(f"{entries}, {pluralize(faults, 'fault')} found", "bold")
    yield table(found.faults, COLUMNS, view)
    for fault in found.faults if limit else ():
        if fault.count:
            yield from (Text(), safe_text(fault.kind, "bold"))
            yield from (Padding(_show_example(each), INDENT) for each in fault.findings[:limit])
        if fault.count > limit:
            option = fault.kind.replace(" ", "-")
            more = f"… {fault.count - limit:,} more: --kind {option} --limit {fault.count}"
            yield Padding(Text(more, "dim"), INDENT)


def _show_example(finding: Finding) -> RenderableType:
    ids = [one_line(each, 60) for each in finding.ids[:IDS_SHOWN]]
    if len(finding.ids) > IDS_SHOWN:
        ids.append(f"{len(finding.ids) - IDS_SHOWN} more")
    return Group(
        safe_text(one_line(finding.example)),
        safe_text(one_line(finding.why), "yellow"),
        safe_text(", ".join(ids), "dim"),
    )
