"""What an audit found, kind by kind, with the remedy for each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from memoranda.errors import InvalidInput
from memoranda.maintenance.audit import Audit
from memoranda.memory import Memory

REMEDIES: Mapping[str, str] = MappingProxyType(
    {
        "exact duplicates": "memoranda forget ID, all but one",
        "near duplicates": "memoranda forget ID the poorer one, or correct ID it",
        "contradictions": "memoranda correct ID or forget ID what is no longer true",
        "loops": "memoranda forget ID",
        "stale": "memoranda confirm ID what still holds, forget ID the rest",
        "orphans": "memoranda confirm ID what still holds, forget ID the rest",
        "secrets": "memoranda forget ID --erase",
        "injections": "memoranda forget ID --erase",
    }
)
"""What mends a fault in a memory of ours. Nothing is mended without a person's word."""
OF_FILE = "change the file by hand"
UNKNOWN = "memoranda forget ID, or correct ID"


@dataclass(frozen=True, slots=True)
class Example:
    """One finding: the entries, what is wrong with them, the beginning of the first one."""

    ids: tuple[str, ...]
    why: str
    example: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
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
    findings: tuple[Example, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Audited:
    """What an audit found.

    Attributes:
        entries: how many were looked at.
        clean: whether nothing was found, of the kinds that were asked for.
        faults: every kind that was asked for, also where nothing was found.
    """

    entries: int
    clean: bool
    faults: tuple[Fault, ...]


def audited(memory: Memory, path: Path | None = None, kind: str | None = None) -> Audited:
    """Audit a memory, or a file instead; change nothing.

    Args:
        memory: what to look at, where no file is named.
        path: a MEMORY.md, or a JSON list of memories.
        kind: only faults of this kind; its beginning is enough, and ``-`` stands for a space.

    Raises:
        InvalidInput: the file cannot be read or holds no memories, or there is no such kind.
    """
    found = memory.audit(path)
    chosen = tuple(found.findings) if kind is None else (_kind(kind, found),)
    return Audited(
        entries=found.entries,
        clean=not any(found.findings[each] for each in chosen),
        faults=tuple(_fault(each, found, of_file=path is not None) for each in chosen),
    )


def _kind(given: str, found: Audit) -> str:
    wanted = " ".join(given.casefold().replace("-", " ").replace("_", " ").split())
    alike = [kind for kind in found.findings if wanted and kind.startswith(wanted)]
    if len(alike) == 1:
        return alike[0]
    message = f"kind={given!r:.80} does not exist; use one of {', '.join(found.findings)}"
    raise InvalidInput(message)


def _fault(kind: str, found: Audit, *, of_file: bool) -> Fault:
    findings = found.findings[kind]
    return Fault(
        kind=kind,
        count=len(findings),
        remedy=OF_FILE if of_file else REMEDIES.get(kind, UNKNOWN),
        findings=tuple(Example(each.ids, each.why, each.example) for each in findings),
    )
