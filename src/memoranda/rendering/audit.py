"""What an audit found, kind by kind, with the remedy for each."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from memoranda.maintenance.audit import Audit, Finding
from memoranda.rendering.layout import Column, Display, safe_text, table
from memoranda.rendering.plain import pluralize

IDS_SHOWN = 3
SIGNAL = {True: "yellow", False: "green"}
COLUMNS = (
    Column("kind", "kind"),
    Column(
        "found", lambda fault, _: Text(f"{fault.count:,}", SIGNAL[fault.count > 0]), number=True
    ),
    Column("what mends it", lambda fault, _: fault.remedy if fault.count else "", "dim"),
)
EXAMPLES = (
    Column("example", "example"),
    Column("why", "why", "yellow"),
    Column("records", lambda finding, _: _name_records(finding), "dim", whole=True),
)


def _name_records(finding: Finding) -> str:
    rest = len(finding.ids) - IDS_SHOWN
    return ", ".join([*finding.ids[:IDS_SHOWN], *[f"{rest} more"] * (rest > 0)])


def show_audit(found: Audit, view: Display, limit: int) -> Iterator[RenderableType]:
    """Yield how much of what is wrong, the remedies, and ``limit`` examples of each kind."""
    faults = sum(fault.count for fault in found.faults)
    entries = pluralize(found.entries, "entry", "entries")
    yield safe_text(f"{entries}, {pluralize(faults, 'fault')} found", "bold")
    yield table(found.faults, COLUMNS, view)
    for fault in found.faults if limit else ():
        if fault.count:
            yield from (Text(), safe_text(fault.kind, "bold"))
            yield table(fault.findings[:limit], EXAMPLES, view)
        if fault.count > limit:
            more = f"… {fault.count - limit:,} more: --limit {fault.count}"
            yield from view.hang("", more, "dim")
