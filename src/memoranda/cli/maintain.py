"""Commands that let a memory learn and keep true what it learned: consolidate, maintain."""

from __future__ import annotations

import re
import signal
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from threading import Event
from types import FrameType
from typing import Any

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from memoranda.cli.command import (
    FAILED,
    Session,
    command,
    complete,
    handle_signals,
    progress_bar,
)
from memoranda.errors import InvalidInput, MemorandaError
from memoranda.maintenance.schedule import NextRun
from memoranda.maintenance.service import STAGES
from memoranda.memory import Memory, services_of
from memoranda.model.reports import StageReport
from memoranda.rendering.facts import SIGNS, LearnedFacts, consolidate_sessions, show_learned
from memoranda.rendering.layout import Column, Display, safe_text, table
from memoranda.rendering.plain import one_line, pluralize, to_json
from memoranda.text.patterns import compile_pattern

LONGEST = 100
ACTION = compile_pattern(
    r"(?P<sign>[-+~=]) (?:(?P<id>(?:fact|ep|ctx|ref)_[^\s:]+):? )?(?P<what>.*)", re.DOTALL
)
DRY = "dry run, nothing was changed"
ENDINGS = (signal.SIGINT, signal.SIGTERM)

commands = typer.Typer()


@command(commands, "consolidate", of={"argument": True, "metavar": "[SESSION]"}, limit={"min": 1})
def consolidate(
    session: Session, *, of: str | None = None, dry_run: bool = False, limit: int = 200
) -> None:
    """Turn what was said in sessions into facts, and show what was learned.

    + is a new fact, = one that was said again, - one that another took the place of.

    Args:
        of: Only this one; otherwise all that wait.
        dry_run: Change nothing; only say what would be done.
        limit: How many rows to show at most.

    Examples:
        memoranda consolidate
        memoranda consolidate trip --dry-run
    """
    with progress_bar("reading sessions") as progress:
        memory = session.memory()
        found = consolidate_sessions(memory, of, dry_run=dry_run, progress=progress)
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


@command(
    commands,
    "maintain",
    stage={
        "argument": True,
        "metavar": "[STAGE]...",
        "help": f"Only these, of {', '.join(STAGES)}.",
        "autocompletion": complete(STAGES),
    },
    limit={"min": 0},
)
def maintain(
    session: Session,
    *,
    stage: list[str] | None = None,
    dry_run: bool = False,
    watch: bool = False,
    all_users: bool = False,
    limit: int = 8,
    yes: bool = False,
) -> None:
    """Run the upkeep of a memory: show what it would do, ask, and do it.

    With --watch it runs at the times of the settings, for all users of the store.

    Args:
        dry_run: Change nothing; only say what would be done.
        watch: Run the stages at their times, until Ctrl+C.
        all_users: For every user of the store.
        limit: How many actions of a stage to show.
        yes: Do not ask.

    Examples:
        memoranda maintain --dry-run
        memoranda maintain decay expire --yes
        memoranda maintain --watch
    """
    wanted = _check_stages(stage or (), watch=watch)
    memory = session.memory(writes=watch)
    if watch:
        watch_schedule(session, memory, dry_run=dry_run)
        return
    users = [memory.as_user(user) for user in memory.users()] if all_users else [memory]
    if not users:
        session.note("the store has no users yet")
    asks = sys.stdin.isatty() and not session.shared.as_json and not yes
    done = _run_stages(session, users, wanted, limit, dry_run=dry_run or asks)
    if dry_run:
        session.hint(DRY)
    elif asks and not any(sum(report.counts.values()) or report.failed for report in done):
        session.note("there is nothing to do")
    elif asks:
        session.require_yes("Do this?", "nothing was done")
        done = _run_stages(session, users, wanted, limit, dry_run=False)
    if any(report.failed for report in done):
        raise typer.Exit(FAILED)


def _check_stages(given: Sequence[str], *, watch: bool) -> tuple[str, ...]:
    for name in given:
        if name not in STAGES:
            raise InvalidInput(f"stage={name!r:.80} does not exist; use {', '.join(STAGES)}")
    if given and watch:
        message = f"--watch runs every stage; to leave one out, set schedule.{STAGES[0]} = off"
        raise InvalidInput(message)
    return tuple(name for name in STAGES if not given or name in given)


def _run_stages(
    session: Session, users: Sequence[Memory], stages: Sequence[str], limit: int, *, dry_run: bool
) -> list[StageReport]:
    """Run the stages for each user, show what each did or would do, and return the reports."""
    done: list[tuple[Memory, list[StageReport]]] = []
    with progress_bar("planning" if dry_run else "maintaining") as progress:
        for number, memory in enumerate(users):
            progress(number, len(users))
            done.append((memory, [_run_stage(memory, each, dry_run=dry_run) for each in stages]))
    rendered: list[RenderableType] = []
    for memory, reports in done:
        if len(users) > 1:
            rendered.append(safe_text(one_line(memory.user), "bold"))
        rendered.append(_tabulate(memory, reports, session.view, limit))
    plain = [{"user": each.user, "stages": list(map(_shorten, reports))} for each, reports in done]
    session.show(plain, *rendered)
    return [report for _, reports in done for report in reports]


def _run_stage(memory: Memory, stage: str, *, dry_run: bool) -> StageReport:
    try:
        return memory.maintain([stage], dry_run=dry_run).stages[0]
    except MemorandaError as error:
        # The other stages have nothing to do with it.
        return StageReport(stage=stage, failed={stage: str(error)}, dry_run=dry_run)


def _tabulate(
    memory: Memory, reports: Sequence[StageReport], view: Display, limit: int
) -> RenderableType:
    title = "what would be done" if any(each.dry_run for each in reports) else "what was done"
    columns = (
        Column("stage", "stage", "cyan"),
        Column(title, lambda report, _: Group(*_describe(memory, report, limit))),
    )
    return table(reports, columns, view)


def _describe(memory: Memory, report: StageReport, limit: int) -> Iterator[RenderableType]:
    yield _outcome(report)
    for name, why in report.failed.items():
        yield safe_text(f"{one_line(name)}: {one_line(why)}", "red")
    for line in report.lines[:limit]:
        yield _describe_action(memory, line)
    if len(report.lines) > limit:
        yield Text(f"… {len(report.lines) - limit:,} more: --limit", "dim")


def _describe_action(memory: Memory, line: str) -> Text:
    """Return an action with its sign, and the text of the record that it names."""
    found = ACTION.fullmatch(line)
    if found is None:
        return safe_text(one_line(line, LONGEST), "dim")
    named, what = found["id"], one_line(found["what"], LONGEST)
    record = None if named is None else memory.get(named)
    made = Text(found["sign"], SIGNS[found["sign"]]).append(" ")
    if record is not None:
        made.append_text(safe_text(f"{one_line(record.content, LONGEST)}  ", "not bold default"))
    elif named is not None:
        what = f"{named} {what}"
    return made.append_text(safe_text(what, f"not bold {'default' if named is None else 'dim'}"))


def _outcome(report: StageReport) -> Text:
    """Return what a stage did, in a line."""
    line = one_line(str(report).removeprefix(f"{report.stage}: "))
    if report.failed:
        return safe_text(line, "red")
    return safe_text(line, "" if report.count else "dim")


def _shorten(report: StageReport) -> dict[str, Any]:
    """Return a report as JSON holds it: its lines say what its actions say."""
    fields: dict[str, Any] = to_json(report)
    return {name: value for name, value in fields.items() if name != "actions"}


def watch_schedule(session: Session, memory: Memory, *, dry_run: bool = False) -> None:
    """Show when the stages run next and run them at their times until a signal ends it.

    Ctrl+C or SIGTERM ends it after the job at hand; a second one ends it at once. With
    ``dry_run`` it shows the times and ends.
    """
    now = services_of(memory).clock.now
    schedule = memory.schedule(lambda user, report: show_run(session, now(), user, report))
    show_times(session, now(), schedule.next_runs())
    if dry_run:
        return
    session.hint("it runs until Ctrl+C")
    stop = Event()

    def end(_number: int, _frame: FrameType | None) -> None:
        for each in ENDINGS:
            signal.signal(each, signal.SIG_DFL)
        stop.set()

    # The main thread only waits, so that a signal never meets a lock it holds.
    with handle_signals(ENDINGS, end), ThreadPoolExecutor(1) as worker:
        worker.submit(schedule.run, stop).result()
    session.hint("ended")


def show_times(session: Session, now: datetime, found: Sequence[NextRun]) -> None:
    """Write when each stage runs next, for a person or as a line of JSON."""
    times = dict(session.settings.schedule)

    def next_run(run: NextRun, view: Display) -> Text:
        if run.at is None:
            return Text("off", "dim")
        return Text("now", "bold") if run.at <= now else Text(view.minute(run.at))

    columns = (
        Column("stage", "job", "cyan"),
        Column("next run", next_run),
        Column("times", lambda run, _: str(times.get(run.job, "")), "dim"),
        Column("last run was for", lambda run, _: run.last_due or "never", "dim"),
    )
    session.show({"next": found}, table(found, columns, session.view), indent=None)


def show_run(session: Session, at: datetime, user: str, report: StageReport) -> None:
    """Write what a stage did for a user, for a person or as a line of JSON."""
    line = Text(session.view.minute(at), "dim").append(f"  {report.stage:<12}", "not dim cyan")
    line.append(f"{one_line(user)}: ", "not dim default").append_text(_outcome(report))
    failed = (
        safe_text(f"  {one_line(name)}: {one_line(why)}", "red")
        for name, why in report.failed.items()
    )
    session.show({"at": at, "user": user, "report": _shorten(report)}, line, *failed, indent=None)
