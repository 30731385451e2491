"""What an audit found, kind by kind, with the remedy for each."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from memoranda.maintenance.audit import Audit
from memoranda.rendering.layout import Column, Display, safe_text, table
from memoranda.rendering.plain import pluralize

IDS_SHOWN = 3
FAULTS = (
    Column("kind", "kind"),
    Column("found", "count", number=True),
    Column("what mends it", lambda fault, _: fault.remedy if fault.count else "", "dim"),
)
EXAMPLES = (
    Column("example", "example"),
    Column("why", "why", "yellow"),
    Column("records", lambda finding, _: Text("\n".join(finding.ids[:IDS_SHOWN])), whole=True),
)


def show_audit(found: Audit, view: Display, limit: int) -> Iterator[RenderableType]:
    """Yield how much of what is wrong, the remedies, and ``limit`` examples of each kind."""
    faults = sum(fault.count for fault in found.faults)
    entries = pluralize(found.entries, "entry", "entries")
    yield safe_text(f"{entries}, {pluralize(faults, 'fault')} found", "bold")
    yield table(found.faults, FAULTS, view)
    for fault in found.faults:
        if fault.count and limit:
            yield safe_text(f"\n{fault.kind}", "bold")
            yield table(fault.findings[:limit], EXAMPLES, view)
