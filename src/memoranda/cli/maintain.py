"""Commands that let a memory learn and keep true what it learned: consolidate, maintain."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.prompt import Confirm
from rich.text import Text

from memoranda.cli import tables, watching
from memoranda.cli.command import FAILED, Session, command
from memoranda.cli.facts_drawing import SIGNS, learned
from memoranda.cli.output import counted, one_line, progress_bar, styled
from memoranda.errors import InvalidInput, MemorandaError
from memoranda.maintenance.service import STAGES
from memoranda.memory import Memory
from memoranda.model.reports import StageReport
from memoranda.rendering.learned import Learned, learn

PANEL = "Look after"
SHOWN = 8
"""Deeds of one stage that are shown."""
LISTED = 200
LONGEST = 100
DEED = re.compile(
    r"(?P<sign>[-+~=]) (?:(?P<id>(?:fact|ep|ctx|ref)_[^\s:]+):? )?(?P<what>.*)", re.DOTALL
)
DRY = "dry run, nothing was changed"

commands = typer.Typer()
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Change nothing; only say what would be done.")
]


@command(
    commands,
    "consolidate",
    panel=PANEL,
    examples=("memoranda consolidate", "memoranda consolidate trip --dry-run"),
)
def consolidate(
    session: Session,
    *,
    of: Annotated[
        str | None,
        typer.Argument(
            metavar="[SESSION]", help="Only this one; otherwise all that wait.", show_default=False
        ),
    ] = None,
    dry_run: DryRun = False,
    limit: Annotated[
        int, typer.Option("--limit", "-n", help="How many rows to show at most.", min=1)
    ] = LISTED,
) -> None:
    """Turn what was said in sessions into facts, and show what was learned.

    + is a new fact, = one that was said again, - one that another took the place of.
    """
    with session.memory() as memory:
        with progress_bar("reading sessions") as progress:
            found = learn(memory, of, dry_run=dry_run, progress=progress)
        session.show(found, learned(found, session.settings, limit), _summary(found))
    if dry_run and found.sessions > 1 and not session.shared.as_json:
        session.note("what two sessions say both counts twice in a dry run")
    for name, why in found.failed.items():
        session.warn(f"{name} waits: {why}")
    if found.failed:
        raise typer.Exit(FAILED)


def _summary(found: Learned) -> Text:
    parts = [
        f"{counted(found.sessions, 'session')} read",
        counted(len(found.new), "new fact"),
        f"{len(found.again):,} said again",
        f"{len(found.replaced):,} replaced",
    ]
    if found.failed:
        parts.append(f"{len(found.failed):,} failed")
    if found.dry_run:
        parts.append(DRY)
    return Text(", ".join(parts), "bold")


@dataclass(frozen=True, slots=True)
class Round:
    """What upkeep did, or would do, for one user."""

    user: str
    stages: tuple[StageReport, ...]


def _stages(incomplete: str) -> list[str]:
    return [name for name in STAGES if name.startswith(incomplete)]


Stages = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[STAGE]...",
        help=f"Only these, of {', '.join(STAGES)}.",
        autocompletion=_stages,
        show_default=False,
    ),
]


@command(
    commands,
    "maintain",
    panel=PANEL,
    examples=(
        "memoranda maintain --dry-run",
        "memoranda maintain decay expire --yes",
        "memoranda maintain --watch",
    ),
)
def maintain(
    session: Session,
    *,
    stage: Stages = None,
    dry_run: DryRun = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Run the stages at their times, until Ctrl+C.")
    ] = False,
    all_users: Annotated[
        bool, typer.Option("--all-users", help="For every user of the store.")
    ] = False,
    limit: Annotated[
        int, typer.Option("--limit", "-n", help="How many deeds of a stage to show.", min=0)
    ] = SHOWN,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Run the upkeep of a memory: show what it would do, ask, and do it.

    With --watch it runs at the times of the settings, for all users of the store.
    """
    wanted = _wanted(stage)
    with session.memory(writes=watch) as memory:
        if watch:
            _require_plain(stage)
            watching.watch(session, memory, dry_run=dry_run)
            return
        users = _users(session, memory) if all_users else [memory]
        if dry_run or (_asks(session) and not yes):
            rounds = _rounds(users, wanted, dry_run=True)
            _show(session, users, rounds, limit)
            if dry_run and not session.shared.as_json:
                session.note(DRY)
            if dry_run or not _agreed(session, rounds):
                _end(rounds)
                return
        rounds = _rounds(users, wanted, dry_run=False)
        _show(session, users, rounds, limit)
    _end(rounds)


def _users(session: Session, memory: Memory) -> list[Memory]:
    found = memory.users()
    if not found:
        session.note("the store has no users yet")
    return [memory.as_user(user) for user in found]


def _wanted(given: Sequence[str] | None) -> tuple[str, ...]:
    for name in given or ():
        if name not in STAGES:
            message = f"stage={name!r:.80} does not exist; use {', '.join(STAGES)}"
            raise InvalidInput(message)
    return tuple(name for name in STAGES if not given or name in given)


def _require_plain(given: Sequence[str] | None) -> None:
    if given:
        message = f"--watch runs every stage; to leave one out, set schedule.{STAGES[0]} = off"
        raise InvalidInput(message)


def _asks(session: Session) -> bool:
    return sys.stdin.isatty() and not session.shared.as_json


def _agreed(session: Session, rounds: Sequence[Round]) -> bool:
    """Ask whether to do what the plan says; false where there is nothing to do."""
    reports = [report for each in rounds for report in each.stages]
    if not any(sum(report.counts.values()) or report.failed for report in reports):
        session.note("there is nothing to do")
        return False
    try:
        agreed = Confirm.ask("Do this?", console=session.err, default=False)
    except EOFError:
        agreed = False
    if not agreed:
        session.note("nothing was done")
        raise typer.Exit(FAILED)
    return True


def _end(rounds: Sequence[Round]) -> None:
    if any(report.failed for each in rounds for report in each.stages):
        raise typer.Exit(FAILED)


def _rounds(users: Sequence[Memory], stages: Sequence[str], *, dry_run: bool) -> list[Round]:
    steps = len(users) * len(stages)
    rounds: list[Round] = []
    with progress_bar("planning" if dry_run else "maintaining") as progress:
        for memory in users:
            reports: list[StageReport] = []
            for stage in stages:
                progress(len(rounds) * len(stages) + len(reports), steps)
                reports.append(_report(memory, stage, dry_run=dry_run))
            rounds.append(Round(memory.user, tuple(reports)))
    return rounds


def _report(memory: Memory, stage: str, *, dry_run: bool) -> StageReport:
    try:
        return memory.maintain([stage], dry_run=dry_run).stages[0]
    except MemorandaError as error:
        # The other stages have nothing to do with it.
        return StageReport(stage=stage, failed={stage: str(error)}, dry_run=dry_run)


def _show(session: Session, users: Sequence[Memory], rounds: Sequence[Round], limit: int) -> None:
    rendered: list[RenderableType] = []
    for memory, done in zip(users, rounds, strict=True):
        if len(rounds) > 1:
            rendered.append(styled(one_line(done.user), "bold"))
        rendered.append(_table(memory, done, limit))
    session.show([_plain(done) for done in rounds], *rendered)


def _plain(done: Round) -> dict[str, Any]:
    return {"user": done.user, "stages": [watching.short(report) for report in done.stages]}


def _table(memory: Memory, done: Round, limit: int) -> RenderableType:
    made = tables.table("stage", "what was done")
    if any(report.dry_run for report in done.stages):
        made.columns[1].header = "what would be done"
    for report in done.stages:
        made.add_row(Text(report.stage, "cyan"), Group(*_deeds(memory, report, limit)))
    return made


def _deeds(memory: Memory, report: StageReport, limit: int) -> Iterator[RenderableType]:
    yield watching.outcome(report)
    for name, why in report.failed.items():
        yield styled(f"{one_line(name)}: {one_line(why)}", "red")
    for line in report.lines[:limit]:
        yield _line(memory, line)
    if len(report.lines) > limit:
        yield Text(f"… {len(report.lines) - limit:,} more: --limit", "dim")


def _line(memory: Memory, line: str) -> Text:
    """Return a deed with its sign, and the text of the record that it names."""
    deed = DEED.fullmatch(line)
    if deed is None:
        return styled(one_line(line, LONGEST), "dim")
    record = None if deed["id"] is None else memory.get(deed["id"])
    made = Text(deed["sign"], SIGNS[deed["sign"]]).append(" ")
    if record is not None:
        made.append_text(styled(f"{one_line(record.content, LONGEST)}  ", "not bold default"))
    named = record is None and deed["id"] is None
    style = "not bold default" if named else "not bold dim"
    told = one_line(deed["what"], LONGEST)
    return made.append_text(styled(told if record or named else f"{deed['id']} {told}", style))
