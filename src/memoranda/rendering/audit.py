"""What an audit found, kind by kind, with the remedy for each."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from memoranda.maintenance.audit import Audit, Finding
from memoranda.rendering.layout import Column, Display, safe_text, table
from memoranda.rendering.plain import one_line, pluralize

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


def show_audit(found: Audit, view: Display, limit: int) -> Iterator[RenderableType]:
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
