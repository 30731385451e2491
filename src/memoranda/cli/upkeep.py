"""Commands that say how a memory is: stats, audit, doctor."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from rich.console import RenderableType
from rich.text import Text

from memoranda.cli.command import FAILED, Session, command, complete, progress_bar
from memoranda.memory import unpurged
from memoranda.model.reports import MemoryStats
from memoranda.model.usage import StageUsage, Usage
from memoranda.rendering.audit import REMEDIES, make_audit_report, show_audit
from memoranda.rendering.layout import Column, Display, details, safe_text, table
from memoranda.rendering.plain import format_size, one_line, pluralize
from memoranda.serving import doctor as doctors
from memoranda.store.locations import medium

CENT = 0.01
SIGNS = {True: Text("ok", "green"), False: Text("FAIL", "bold red"), None: Text("note", "yellow")}
CHECKS = (
    Column("check", "name"),
    Column("", lambda check, _: SIGNS[check.ok]),
    Column("what was found", lambda check, _: _show_check(check), wide=True),
)
USAGE = (
    Column("stage", "stage", "cyan"),
    Column("model", "model"),
    Column("asked", "usage.requests", number=True),
    Column("failed", lambda row, _: _show_failures(row.usage), number=True),
    Column("in", "usage.input_tokens", number=True),
    Column("out", "usage.output_tokens", number=True),
    Column("cost", lambda row, _: _format_cost(row.usage.cost), number=True),
    Column("time", lambda row, _: f"{row.usage.seconds:,.1f} s", number=True),
)

commands = typer.Typer()


@command(commands, "stats")
def stats(session: Session) -> None:
    """Show how much is remembered, what waits, and which models are in use.

    Examples:
        memoranda stats --json
    """
    found = session.memory().stats()
    rendered: list[RenderableType] = [details(_figures(session, found))]
    if found.usage:
        rows = list(found.usage)
        if len(rows) > 1:
            total = sum((each.usage for each in rows), Usage())
            rows.append(StageUsage(stage="all", model="", usage=total))
        rendered += [Text("\nuse of language models", "bold"), table(rows, USAGE, session.view)]
    session.show(found, *rendered)


def _figures(session: Session, found: MemoryStats) -> Iterator[tuple[str, Any]]:
    view: Display = session.view
    llm = safe_text(one_line(found.llm))
    if found.llm == "none":
        llm.append("; rules do without", "dim")
    waits = pluralize(found.pending_sessions, "session")
    yield "user", one_line(found.user)
    yield "records", ", ".join(f"{number:,} {kind}" for kind, number in found.records.items())
    yield "conversations", f"{found.conversations:,}"
    yield "newest", "never" if found.newest is None else view.minute(found.newest)
    yield "vectors", found.vectors
    yield "waiting", f"{found.pending_vectors:,} without a vector"
    yield "to consolidate", f"{waits}{': memoranda consolidate' if found.pending_sessions else ''}"
    yield "language model", llm
    yield "names", Text("\n").join(_recognizers(found))
    yield "notes", one_line(found.notes)
    yield "size", format_size(found.size)
    yield medium(found.location), Text(str(session.location or found.location))


def _recognizers(found: MemoryStats) -> Iterator[Text]:
    for strategy, order in found.names.items():
        names = ", ".join(map(one_line, order)) or "nothing"
        yield safe_text(f"{one_line(strategy)}: {names}")
    for name, why in found.missing.items():
        yield safe_text(f"without {one_line(name)}: {one_line(why)}", "dim")


def _show_failures(usage: Usage) -> Text:
    return Text(f"{usage.failures:,}", "red" if usage.failures else "dim")


def _format_cost(cost: float | None) -> str:
    if cost is None:
        return "?"
    return f"${cost:,.2f}" if cost >= CENT or not cost else f"${cost:.4f}"


@command(
    commands,
    "audit",
    file={"argument": True},
    kind={"autocompletion": complete([kind.replace(" ", "-") for kind in REMEDIES])},
    limit={"min": 0},
)
def audit(
    session: Session,
    *,
    file: Path | None = None,
    kind: str | None = None,
    limit: int = 3,
    strict: bool = False,
) -> None:
    """Look for junk: duplicates, contradictions, loops, secrets and more. Changes nothing.

    Args:
        file: Look at this instead: a MEMORY.md, or a JSON list of memories.
        kind: Only this kind; its beginning is enough.
        limit: How many examples of a kind to show.
        strict: Exit with code 1 if anything was found.

    Examples:
        memoranda audit
        memoranda audit --kind contradictions --limit 20
        memoranda audit MEMORY.md --strict
    """
    found = make_audit_report(session.memory(), file, kind)
    session.show(found, *show_audit(found, session.view, limit))
    if strict and not found.clean:
        raise typer.Exit(FAILED)


@command(commands, "doctor")
def doctor(
    session: Session, *, reembed: bool = False, rebuild: bool = False, purge: bool = False
) -> None:
    """Check the memory, the model and the machine.

    Each way of searching has to find a canary. Exit code 1 if anything is wrong.

    Args:
        reembed: Make every vector anew, with the present model.
        rebuild: Derive index, links and vector queue anew.
        purge: Overwrite what erased text left in the files.

    Examples:
        memoranda doctor
        memoranda doctor --reembed
        memoranda doctor --json
    """
    memory = session.memory()
    if rebuild:
        different = memory.rebuild()
        session.note(f"rebuilt; {'; '.join(different) or 'nothing was different'}")
    if purge and not memory.purge():
        session.warn(unpurged(memory))
    if reembed:
        with progress_bar("embedding") as progress:
            made = memory.reembed(progress)
        session.note(f"embedded {pluralize(made, 'record')}")
    checks = doctors.examine(memory, session.location)
    session.show(checks, table(checks, CHECKS, session.view))
    if any(check.ok is False for check in checks):
        raise typer.Exit(FAILED)


def _show_check(check: doctors.Check) -> Text:
    found = safe_text(check.detail)
    return found.append(f"\n{check.remedy}", "bold") if check.remedy else found
