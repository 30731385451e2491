"""Commands that look after a memory, and tell how it is: stats, consolidate, maintain and more."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from datetime import datetime
from functools import partial
from pathlib import Path
from threading import Event
from types import FrameType
from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.text import Text
from typer import Argument, Option

from memoranda.cli import options
from memoranda.cli.command import FAILED, CommandGroup, Session, command, handle_signals, make_group
from memoranda.maintenance.audit import Audit, audit_store
from memoranda.maintenance.schedule import StoreWorker
from memoranda.maintenance.service import STAGES, parse_stages
from memoranda.memory import Memory, services_of
from memoranda.model.models import Scope
from memoranda.model.reports import Check, StageReport
from memoranda.rendering.layout import Column, Display, safe_text, table
from memoranda.rendering.memory_stats import show_stats
from memoranda.rendering.plain import one_line, pluralize
from memoranda.store.locations import MEMORY, file_of, place

# Lines of a consolidation, of a stage and of the ids of a finding that are shown.
FACTS, ACTIONS, IDS_SHOWN = 200, 8, 3
DRY = "dry run, nothing was changed"
RESULTS = {True: "ok", False: "FAIL", None: "note"}
# What ends a worker; seconds that are waited at once: a signal just before is seen then.
ENDINGS, SIGNAL_WAIT = (signal.SIGINT, signal.SIGTERM), 1.0
Clock = Callable[[], datetime]


def _show_check(check: Check, _: Display) -> Text:
    found = safe_text(check.detail)
    return found.append(f"\n{check.remedy}", "bold") if check.remedy else found


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
CHECKS = (
    Column("check", "name"),
    Column("", lambda check, _: RESULTS[check.ok]),
    Column("what was found", _show_check, wide=True),
)

USERS = (
    Column("user", "name", "bold"),
    Column("records", "records", number=True),
    Column("conversations", "conversations", number=True),
)

commands = typer.Typer()


@command(commands, "stats")
def stats(session: Session) -> None:
    """Show how much is remembered, what waits, and which models are in use.

    Examples:
        memoranda stats --json
    """
    found = session.memory().stats()
    session.show(found, *show_stats(found, session.view))


@command(commands, "audit")
def audit(
    session: Session,
    *,
    limit: options.Limit = 3,
    source: Annotated[
        Path | None, Option("--from", help="Instead, what another program keeps: as of import.")
    ] = None,
) -> None:
    """Look for junk: duplicates, contradictions, loops, secrets and more. Changes nothing.

    Of a file or folder of another program it also tells what states nothing, and what names no
    source. It is read as import reads it, into a memory that is gone when the command ends.

    Examples:
        memoranda audit
        memoranda audit --limit 20
        memoranda audit --from mem0.json
    """
    found = session.memory().audit() if source is None else _audit_foreign(session, source)
    session.show(found, *show_audit(found, session.view, limit))


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


def _audit_foreign(session: Session, source: Path) -> Audit:
    """Audit a file or folder of another program in a memory of no other use."""
    settings = session.quiet_settings.with_values(
        embedding={"model": "none", "background": False}, notes={"folder": None}
    )
    memory = Memory(MEMORY, user=session.user, settings=settings)
    services = services_of(session.with_resource(memory))
    report = memory.import_(source)
    for line in report.left_out:
        if not line.startswith("notes of "):  # No notes are looked through.
            session.note(f"left out: {line}")
    return audit_store(services.store, map(Scope, report.users), services.clock.now(), foreign=True)


@command(commands, "doctor")
def doctor(
    session: Session,
    *,
    reembed: Annotated[bool, Option("--reembed", help="Make every vector anew.")] = False,
    rebuild: Annotated[bool, Option("--rebuild", help="Derive the index anew.")] = False,
    purge: Annotated[bool, Option("--purge", help="Overwrite what erasing left.")] = False,
) -> None:
    """Check the memory, the model and the machine.

    Each way of searching has to find a canary: a text made up for this check. Exit code 1 if
    anything is wrong.

    Examples:
        memoranda doctor
        memoranda doctor --reembed
        memoranda doctor --json
    """
    # A machine can be looked at before there is a memory; one that is named has to be there.
    file = file_of(place(session.db, session.settings))
    looks = session.db is None and file is not None and not file.exists()
    memory = session.memory(at=MEMORY if looks else None, all_users=True)
    if looks:
        session.note(f"there is no memory at {file} yet: this is the machine alone")
    if rebuild:
        different = memory.rebuild()
        session.note(f"rebuilt; {'; '.join(different) or 'nothing was different'}")
    if purge and (left := services_of(memory).wipe()):
        session.warn(left)
    if reembed:
        with session.progress("embedding") as progress:
            made = memory.reembed(progress)
        session.note(f"embedded {pluralize(made, 'record')}")
    checks = memory.doctor()
    session.show_table(checks, CHECKS)
    if any(check.ok is False for check in checks):
        raise typer.Exit(FAILED)


@command(commands, "consolidate")
def consolidate(
    session: Session,
    of: Annotated[
        str | None, Argument(metavar="SESSION", help="Only this one; otherwise all that wait.")
    ] = None,
    *,
    dry_run: options.DryRun = False,
) -> None:
    """Turn what was said in sessions into facts, and show what was learned.

    + is a new fact, = one that was said again, - one that another took the place of.

    Examples:
        memoranda consolidate
        memoranda consolidate trip --dry-run
    """
    with session.progress("reading sessions"):
        done = session.memory().consolidate(of, dry_run=dry_run)
    session.show(done, _describe(done, session.view, FACTS))
    _finish(session, [done], dry_run=dry_run)


@command(commands, "maintain")
def maintain(
    session: Session,
    stage: Annotated[
        list[str] | None, Argument(help=f"Only these, of {', '.join(STAGES)}.")
    ] = None,
    *,
    dry_run: options.DryRun = False,
) -> None:
    """Run the upkeep of a memory, or show what it would do.

    To run it at the times of the settings, for all users of the store: memoranda worker.

    Examples:
        memoranda maintain --dry-run
        memoranda maintain decay expire
    """
    wanted, memory = parse_stages(stage or STAGES), session.memory()
    with session.progress("maintaining"):
        done = memory.maintain(wanted, dry_run=dry_run)
    title = "what would be done" if dry_run else "what was done"
    columns = Column("stage", "stage", "cyan"), Column(title, _describe)
    session.show(done, table(done.stages, columns, session.view))
    _finish(session, done.stages, dry_run=dry_run)


def _describe(report: StageReport, view: Display, most: int = ACTIONS) -> RenderableType:
    """Return what a stage did, and the first of its deeds."""
    deeds = (safe_text(view.brief(line), "dim") for line in report.lines[:most])
    lines = [*stage_outcome(report), *deeds]
    if len(report.lines) > most:
        lines.append(Text(f"… {len(report.lines) - most:,} more: --json"))
    return Group(*lines)


def _finish(session: Session, done: Sequence[StageReport], *, dry_run: bool) -> None:
    """Say that nothing was changed, and what waits as it failed; then the exit code is not 0."""
    if dry_run:
        session.note(DRY)
    failed = [each for report in done for each in report.failed.items()]
    for name, why in failed:
        session.warn(f"{name} waits: {why}")
    if failed:
        raise typer.Exit(FAILED)


class UsersGroup(CommandGroup):
    """List the users of a store with what they have, or delete one.

    Examples:
        memoranda users
        memoranda users delete ana --yes
    """

    default = "list"


users = make_group(commands, "users", UsersGroup)


@command(users, "list")
def list_(session: Session) -> None:
    """List the users that have a record or a conversation.

    Examples:
        memoranda users list --json
    """
    found = session.memory(all_users=True).admin.overviews()
    session.show_table(found, USERS, "no users")


@command(users, "delete")
def delete(
    session: Session, name: Annotated[str, Argument(help="The user.")], *, yes: options.Yes = False
) -> None:
    """Delete a user with everything they have, their notes included.

    Programs that have the user's memory open get an error from then on.

    Examples:
        memoranda users delete ana
        memoranda users delete ana --yes
    """
    admin = session.memory(all_users=True).admin
    question = f"Delete user {one_line(name)} and everything they have for good?"
    session.require_yes(question, "nobody was deleted", yes=yes)
    session.show_erasure(admin.delete_user(name), f"deleted {name}")


@command(commands, "worker")
def worker(
    session: Session,
    *,
    once: Annotated[bool, Option("--once", help="Do what is due, then end.")] = False,
) -> None:
    """Make vectors and entity links and run the upkeep, for all users of a store.

    Any number of workers, on any machines, divide the work of one store.
    It runs until Ctrl+C or SIGTERM, and finishes what is at hand.

    Examples:
        memoranda worker --db postgresql://ana@db.example/memory
        memoranda worker --json
        memoranda worker --once
    """
    services = services_of(session.memory(writes=True, all_users=True))
    report, stop = partial(show_report, session, services.clock.now), Event()
    running = StoreWorker(services.schedule(on_report=report, stop=stop), services.derivations)
    if not once:
        session.note("it runs until Ctrl+C")
    ran = work_until_signal(running.run_once if once else running.run, stop)
    session.note("ended")
    if any(report.failed for report in ran or ()):
        raise typer.Exit(FAILED)


def work_until_signal(
    work: Callable[[], Sequence[StageReport] | None], stop: Event
) -> Sequence[StageReport] | None:
    """Do ``work``; a signal lets it finish what is at hand, a second one ends it at once.

    Returns what it returns.
    """

    def end(_number: int, _frame: FrameType | None) -> None:
        for each in ENDINGS:
            signal.signal(each, signal.SIG_DFL)
        stop.set()

    # The main thread only waits, so that a signal never meets a lock it holds; and never for
    # long, as one that comes just before a wait is seen when that ends.
    with handle_signals(ENDINGS, end), ThreadPoolExecutor(1) as thread:
        running = thread.submit(work)
        while wait([running], SIGNAL_WAIT).not_done:
            continue
        return running.result()


def show_report(session: Session, now: Clock, user: str, report: StageReport) -> None:
    """Write what a stage did for a user as a line for a person, or of JSON, with its moment."""
    at, outcome = now(), Text("\n  ").join(stage_outcome(report))
    line = Text(f"{session.view.minute(at)}  {report.stage:<12}{one_line(user)}: ")
    session.show({"at": at, "user": user, "report": report}, line.append_text(outcome), indent=None)


def stage_outcome(report: StageReport) -> list[Text]:
    """Return what a stage did, and what failed in it and why, a line each."""
    line = one_line(str(report).removeprefix(f"{report.stage}: "))
    failures = (f"{one_line(name)}: {one_line(why)}" for name, why in report.failed.items())
    return [safe_text(line), *(safe_text(each, "red") for each in failures)]
