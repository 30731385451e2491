"""Commands that look after a memory, and tell how it is: stats, consolidate, maintain and more."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.text import Text
from typer import Argument, Option

from memoranda.cli import options
from memoranda.cli.command import FAILED, Session, command
from memoranda.cli.worker import list_failures, stage_outcome
from memoranda.maintenance.audit import REMEDIES
from memoranda.maintenance.facts import LearnedFacts
from memoranda.maintenance.service import STAGES, parse_stages
from memoranda.maintenance.users import UserMaintenance
from memoranda.memory import Memory, services_of
from memoranda.model.reports import Check, StageReport
from memoranda.rendering.audit import show_audit
from memoranda.rendering.facts import SIGNS, show_learned
from memoranda.rendering.layout import Column, Display, safe_text, table
from memoranda.rendering.memory_stats import show_stats
from memoranda.rendering.plain import one_line, pluralize
from memoranda.store.locations import MEMORY
from memoranda.text.patterns import compile_pattern

LONGEST = 100
ACTION = compile_pattern(
    r"(?P<sign>[-+~=]) (?:(?P<id>(?:fact|ep|ctx|ref)_[^\s:]+):? )?(?P<what>.*)", re.DOTALL
)
DRY = "dry run, nothing was changed"
RESULTS = {True: Text("ok", "green"), False: Text("FAIL", "bold red"), None: Text("note", "yellow")}
CHECKS = (
    Column("check", "name"),
    Column("", lambda check, _: RESULTS[check.ok]),
    Column("what was found", lambda check, _: _show_check(check), wide=True),
)

commands = typer.Typer()


@command(commands, "stats")
def stats(session: Session) -> None:
    """Show how much is remembered, what waits, and which models are in use.

    Examples:
        memoranda stats --json
    """
    found = session.memory().stats()
    place = None if session.location is None else str(session.location)
    session.show(found, *show_stats(found, session.view, place))


@command(commands, "audit")
def audit(
    session: Session,
    *,
    kind: Annotated[
        str | None,
        Option(
            help="Only this kind; its beginning is enough.",
            autocompletion=options.complete([kind.replace(" ", "-") for kind in REMEDIES]),
        ),
    ] = None,
    limit: options.Shown = 3,
    strict: Annotated[bool, Option("--strict", help="Exit with 1 if anything is found.")] = False,
) -> None:
    """Look for junk: duplicates, contradictions, loops, secrets and more. Changes nothing.

    Examples:
        memoranda audit
        memoranda audit --kind contradictions --limit 20
        memoranda audit --strict
    """
    found = session.memory().audit(kind=kind)
    session.show(found, *show_audit(found, session.view, limit))
    if strict and not found.clean:
        raise typer.Exit(FAILED)


@command(commands, "doctor")
def doctor(
    session: Session,
    *,
    reembed: Annotated[bool, Option("--reembed", help="Make every vector anew.")] = False,
    rebuild: Annotated[bool, Option("--rebuild", help="Derive the index anew.")] = False,
    purge: Annotated[bool, Option("--purge", help="Overwrite what erasing left.")] = False,
) -> None:
    """Check the memory, the model and the machine.

    Each way of searching has to find a canary. Exit code 1 if anything is wrong.

    Examples:
        memoranda doctor
        memoranda doctor --reembed
        memoranda doctor --json
    """
    # A machine can be looked at before there is a memory; one that is named has to be there.
    is_new = session.location is not None and not session.location.exists()
    looks = is_new and session.shared.db is None and not (reembed or rebuild or purge)
    memory = session.memory(at=MEMORY if looks else None, all_users=True)
    if looks:
        session.note(f"there is no memory at {session.location} yet: this is the machine alone")
    if rebuild:
        different = memory.rebuild()
        session.note(f"rebuilt; {'; '.join(different) or 'nothing was different'}")
    unpurged = services_of(memory).wipe() if purge else None
    if unpurged is not None:
        session.warn(unpurged)
    if reembed:
        with session.progress("embedding") as progress:
            made = memory.reembed(progress)
        session.note(f"embedded {pluralize(made, 'record')}")
    checks = memory.doctor()
    session.show(checks, table(checks, CHECKS, session.view))
    if any(check.ok is False for check in checks):
        raise typer.Exit(FAILED)


def _show_check(check: Check) -> Text:
    found = safe_text(check.detail)
    return found.append(f"\n{check.remedy}", "bold") if check.remedy else found


@command(commands, "consolidate")
def consolidate(
    session: Session,
    of: Annotated[
        str | None, Argument(metavar="SESSION", help="Only this one; otherwise all that wait.")
    ] = None,
    *,
    dry_run: options.DryRun = False,
    limit: options.Limit = 200,
) -> None:
    """Turn what was said in sessions into facts, and show what was learned.

    + is a new fact, = one that was said again, - one that another took the place of.

    Examples:
        memoranda consolidate
        memoranda consolidate trip --dry-run
    """
    with session.progress("reading sessions"):
        found = session.memory().learn(of, dry_run=dry_run)
    session.show(found, show_learned(found, session.view, limit), _summarize(found))
    if dry_run and found.sessions > 1:
        session.hint("what two sessions say both counts twice in a dry run")
    for name, why in found.failed.items():
        session.warn(f"{name} waits: {why}")
    if found.failed:
        raise typer.Exit(FAILED)


def _summarize(found: LearnedFacts) -> Text:
    parts = [
        f"{pluralize(found.sessions, 'session')} read",
        pluralize(len(found.new), "new fact"),
        f"{len(found.again):,} said again",
        f"{len(found.replaced):,} replaced",
        f"{len(found.failed):,} failed" if found.failed else "",
        DRY if found.dry_run else "",
    ]
    return Text(", ".join(filter(None, parts)), "bold")


@command(commands, "maintain")
def maintain(
    session: Session,
    stage: Annotated[
        list[str] | None,
        Argument(
            help=f"Only these, of {', '.join(STAGES)}.", autocompletion=options.complete(STAGES)
        ),
    ] = None,
    *,
    dry_run: options.DryRun = False,
    all_users: Annotated[bool, Option("--all-users", help="For every user of the store.")] = False,
    limit: options.Shown = 8,
    yes: options.Yes = False,
) -> None:
    """Run the upkeep of a memory: show what it would do, ask, and do it.

    To run it at the times of the settings, for all users of the store: memoranda worker.

    Examples:
        memoranda maintain --dry-run
        memoranda maintain decay expire --yes
    """
    wanted = parse_stages(stage or STAGES)
    memory = session.memory(all_users=all_users)
    users = None if all_users else [memory.user]
    asks = sys.stdin.isatty() and not session.shared.as_json and not yes

    def run(title: str, *, dry: bool) -> list[UserMaintenance]:
        with session.progress(title) as progress:
            done = memory.admin.maintain(wanted, users=users, dry_run=dry, progress=progress)
        session.show(done, *_show_stages(memory, done, session.view, limit))
        return done

    done = run("planning" if dry_run or asks else "maintaining", dry=dry_run or asks)
    reports = [report for each in done for report in each.stages]
    if not done:
        session.note("the store has no users yet")
    elif dry_run:
        session.hint(DRY)
    elif asks and not any(sum(report.counts.values()) or report.failed for report in reports):
        session.note("there is nothing to do")
    elif asks:
        session.require_yes("Do this?", "nothing was done")
        reports = [report for each in run("maintaining", dry=False) for report in each.stages]
    if any(report.failed for report in reports):
        raise typer.Exit(FAILED)


def _show_stages(
    memory: Memory, done: Sequence[UserMaintenance], view: Display, limit: int
) -> Iterator[RenderableType]:
    for each in done:
        if len(done) > 1:
            yield safe_text(one_line(each.user), "bold")
        describe = partial(_describe, memory.as_user(each.user), limit)
        dry = any(report.dry_run for report in each.stages)
        title = "what would be done" if dry else "what was done"
        yield table(each.stages, (Column("stage", "stage", "cyan"), Column(title, describe)), view)


def _describe(memory: Memory, limit: int, report: StageReport, view: Display) -> RenderableType:
    lines = [stage_outcome(report), *list_failures(report)]
    lines += (_describe_action(memory, line, view) for line in report.lines[:limit])
    if len(report.lines) > limit:
        lines.append(Text(f"… {len(report.lines) - limit:,} more: --limit", "dim"))
    return Group(*lines)


def _describe_action(memory: Memory, line: str, view: Display) -> Text:
    """Return an action with its sign, and the text of the record that it names."""
    found = ACTION.fullmatch(line)
    if found is None:
        return safe_text(view.brief(line, LONGEST), "dim")
    named, what = found["id"], view.brief(found["what"], LONGEST)
    record = None if named is None else memory.get(named)
    made = Text(found["sign"], SIGNS[found["sign"]]).append(" ")
    if record is not None:
        made.append_text(safe_text(f"{view.brief(record.content, LONGEST)}  ", "not bold default"))
    elif named is not None:
        what = f"{named} {what}"
    return made.append_text(safe_text(what, f"not bold {'default' if named is None else 'dim'}"))
