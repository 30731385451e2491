"""What ``memoranda maintain --watch`` does: the schedule in the foreground, a line for each run."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from threading import Event, Lock, Thread
from types import FrameType
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from memoranda.cli import tables
from memoranda.cli.command import Session
from memoranda.cli.output import encoded, minute, one_line, styled, write_json_line
from memoranda.maintenance.maintenance_schedule import MaintenanceSchedule
from memoranda.memory import Memory, parts_of
from memoranda.model.reports import StageReport

ENDINGS = (signal.SIGINT, signal.SIGTERM)


def outcome(report: StageReport) -> Text:
    """Return what a stage did, in a line."""
    said = one_line(str(report).removeprefix(f"{report.stage}: "))
    if report.failed:
        return styled(said, "red")
    return styled(said, "" if report.count else "dim")


def short(report: StageReport) -> dict[str, Any]:
    """Return a report as JSON holds it: its lines say what its actions say."""
    fields: dict[str, Any] = encoded(report)
    return {name: value for name, value in fields.items() if name != "actions"}


def watch(session: Session, memory: Memory, *, dry_run: bool = False) -> None:
    """Show when the stages run next and run them at their times until a signal ends it.

    Ctrl+C or SIGTERM ends it after the job at hand; a second one ends it at once. With
    ``dry_run`` it shows the times and ends.
    """
    lines = _Lines(session, memory)
    schedule = memory.schedule(lines.show_report)
    lines.show_times(schedule)
    if dry_run:
        return
    if not session.shared.as_json:
        session.note("it runs until Ctrl+C")
    stop = Event()
    problems: list[BaseException] = []
    worker = Thread(target=_guarded, args=(schedule.run, stop, problems), daemon=True)
    with _ending(stop):
        worker.start()
        # The main thread only waits, so that a signal never meets a lock it holds.
        worker.join()
    if problems:
        raise problems[0]
    if not session.shared.as_json:
        session.note("ended")


def _guarded(run: Callable[[Event], None], stop: Event, problems: list[BaseException]) -> None:
    try:
        run(stop)
    except BaseException as error:  # noqa: BLE001 - the thread that waits raises it
        problems.append(error)


@contextmanager
def _ending(stop: Event) -> Iterator[None]:
    """Let the first signal set ``stop``, and the second one do what it always does."""
    before = {each: signal.getsignal(each) for each in ENDINGS}

    def end(number: int, frame: FrameType | None) -> None:
        del number, frame
        restore()
        stop.set()

    def restore() -> None:
        for each, handler in before.items():
            signal.signal(each, signal.SIG_DFL if handler is None else handler)

    for each in ENDINGS:
        signal.signal(each, end)
    try:
        yield
    finally:
        restore()


class _Lines:
    """Writes what happens, as lines for a person or as JSON Lines."""

    def __init__(self, session: Session, memory: Memory) -> None:
        self._session = session
        self._now = parts_of(memory).now
        self._lock = Lock()

    def show_times(self, schedule: MaintenanceSchedule) -> None:
        """Write when each stage runs next."""
        found = schedule.next_runs()
        if self._session.shared.as_json:
            write_json_line({"next": found})
            return
        made = tables.table("stage", "next run", "times", "last run was for")
        times = dict(self._session.settings.schedule)
        for run in found:
            last = "never" if run.last_due is None else self._minute(run.last_due)
            when = styled(str(times.get(run.job, "")), "dim")
            made.add_row(Text(run.job, "cyan"), self._next(run.at), when, Text(last, "dim"))
        self._print(made)

    def _next(self, at: datetime | None) -> Text:
        if at is None:
            return Text("off", "dim")
        return Text("now", "bold") if at <= self._now() else Text(self._minute(at))

    def show_report(self, user: str, report: StageReport) -> None:
        """Write what a stage did for a user."""
        at = self._now()
        if self._session.shared.as_json:
            with self._lock:
                write_json_line({"at": at, "user": user, "report": short(report)})
            return
        line = Text(self._minute(at), "dim").append(f"  {report.stage:<12}", "not dim cyan")
        line.append(f"{one_line(user)}: ", "not dim default").append_text(outcome(report))
        self._print(line)
        for name, why in report.failed.items():
            self._print(styled(f"  {one_line(name)}: {one_line(why)}", "red"))

    def _minute(self, moment: datetime) -> str:
        return minute(moment, self._session.settings)

    def _print(self, what: RenderableType) -> None:
        with self._lock:
            self._session.out.print(what, soft_wrap=isinstance(what, Text))
            self._session.out.file.flush()
