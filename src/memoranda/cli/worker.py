"""The command ``worker``: derives and keeps up what all users of a store have, until stopped."""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from datetime import datetime
from functools import partial
from threading import Event
from types import FrameType
from typing import Annotated

import typer
from rich.text import Text
from typer import Option

from memoranda.cli.command import FAILED, SIGNAL_WAIT, Session, command, handle_signals
from memoranda.maintenance.schedule import StoreWorker
from memoranda.memory import services_of
from memoranda.model.reports import StageReport
from memoranda.rendering.layout import safe_text
from memoranda.rendering.plain import one_line

ENDINGS = (signal.SIGINT, signal.SIGTERM)

Clock = Callable[[], datetime]

commands = typer.Typer()


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
    now, stop = services.clock.now, Event()
    report = partial(show_report, session, now)
    schedule = services.schedule(on_report=report, stop=stop)
    running = StoreWorker(schedule, services.derivations)
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
    found = {"at": at, "user": user, "report": report}
    session.show(found, line.append_text(outcome), indent=None)


def stage_outcome(report: StageReport) -> list[Text]:
    """Return what a stage did, and what failed in it and why, a line each."""
    line = one_line(str(report).removeprefix(f"{report.stage}: "))
    failures = (f"{one_line(name)}: {one_line(why)}" for name, why in report.failed.items())
    return [safe_text(line), *(safe_text(each, "red") for each in failures)]
