"""The command ``worker``: derives and keeps up what all users of a store have, until stopped."""

from __future__ import annotations

import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from datetime import timedelta
from importlib import import_module
from importlib.util import find_spec
from threading import Event
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from rich.text import Text
from typer import Option

from memoranda.cli.command import FAILED, SIGNAL_WAIT, Session, command, handle_signals
from memoranda.errors import MissingExtra
from memoranda.maintenance.schedule import StoreWorker
from memoranda.memory import Memory, services_of
from memoranda.model.reports import StageReport
from memoranda.rendering.layout import Column, Display, safe_text, table
from memoranda.rendering.plain import one_line
from memoranda.serving.addresses import ListenAddress

if TYPE_CHECKING:
    from memoranda.maintenance.schedule import NextRun

T = TypeVar("T")
ENDINGS = (signal.SIGINT, signal.SIGTERM)
# Imported by who serves metrics alone: what they need is optional.
METRICS = "memoranda.serving.metrics"
# How long after a kill others take over, in seconds.
LEASE = 120.0

commands = typer.Typer()


@command(commands, "worker")
def worker(
    session: Session,
    *,
    once: Annotated[bool, Option("--once", help="Work off what is due, then end.")] = False,
    metrics: Annotated[
        str | None,
        Option(metavar="HOST:PORT", help="Serve metrics for Prometheus there; port 0: any."),
    ] = None,
    lease: Annotated[
        float, Option(metavar="SECONDS", min=0.1, help="When others take over, if it is killed.")
    ] = LEASE,
) -> None:
    """Make vectors and entity links and run the upkeep, for all users of a store.

    Any number of workers, on any machines, divide the work of one store.
    It runs until Ctrl+C or SIGTERM, and finishes what is at hand.

    Examples:
        memoranda worker --db postgresql://ana@db.example/memory
        memoranda worker --metrics 127.0.0.1:9464 --json
        memoranda worker --once
    """
    address = None if metrics is None else ListenAddress.parse(metrics, "--metrics")
    if address is not None and find_spec("prometheus_client") is None:
        raise MissingExtra("--metrics", "worker")
    running = WorkerCommand(session, session.memory(writes=True, all_users=True), lease)
    if address is not None:
        running.serve_metrics(address)
    if once:
        running.work_once()
    else:
        running.work()


class WorkerCommand:
    """A worker in this process, which a signal ends, and what is written about it.

    Args:
        session: where to write, for a person or as lines of JSON.
        memory: of whose store.
        lease: seconds after which others take over, if it is killed.
    """

    def __init__(self, session: Session, memory: Memory, lease: float = LEASE) -> None:
        """Begin nothing yet."""
        self._session, self._services = session, services_of(memory)
        self._stop = Event()
        schedule = self._services.schedule(
            on_report=self._show_report, stop=self._stop, lease=timedelta(seconds=lease)
        )
        self._worker = StoreWorker(schedule, self._services.derivations, self._show_derived)

    def serve_metrics(self, address: ListenAddress) -> None:
        """Serve metrics until the command ends."""
        served = import_module(METRICS)
        collector = served.WorkerCollector(
            self._worker.schedule.figures,
            self._services.derivations,
            self._services.store,
            self._services.clock.now,
        )
        url = self._session.with_resource(served.serve_metrics(address, collector))
        self._session.note(f"metrics at {url}")

    def work(self) -> None:
        """Show when the stages run next, and work until a signal ends it."""
        self.show_times()
        self._session.hint("it runs until Ctrl+C")
        self._until_signal(self._worker.run)
        self._show_end()

    def work_once(self) -> None:
        """Work off what waits and what is due; the command fails with any of it."""
        ran = self._until_signal(self._worker.run_once)
        self._show_end()
        if any(each.failed for each in ran):
            raise typer.Exit(FAILED)

    def _until_signal(self, work: Callable[[], T]) -> T:
        """Do ``work``; a signal lets it finish what is at hand, a second one ends it at once."""

        def end(_number: int, _frame: FrameType | None) -> None:
            for each in ENDINGS:
                signal.signal(each, signal.SIG_DFL)
            self._stop.set()

        # The main thread only waits, so that a signal never meets a lock it holds; and never for
        # long, as one that comes just before a wait is seen when that ends.
        with handle_signals(ENDINGS, end), ThreadPoolExecutor(1) as thread:
            running = thread.submit(work)
            while wait([running], SIGNAL_WAIT).not_done:
                continue
            return running.result()

    def show_times(self) -> None:
        """Write when each stage runs next."""
        session, now = self._session, self._services.clock.now()
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
        found = self._worker.schedule.next_runs()
        session.show({"next": found}, table(found, columns, session.view), indent=None)

    def _show_report(self, user: str, report: StageReport) -> None:
        """Write what a stage did for a user."""
        outcome = Text("\n  ").join((stage_outcome(report), *list_failures(report)))
        self._tell(report.stage, user, outcome, user=user, report=report)

    def _show_derived(self) -> None:
        """Write how far the derivations are."""
        derived = self._worker.schedule.figures.derived
        waiting = {work: self._services.derivations.waiting(None, work) for work in derived}
        line = f"{_counted(derived)} since the start; waiting: {_counted(waiting)}"
        self._tell("derive", "all users", Text(line), derived=derived, waiting=waiting)

    def _show_end(self) -> None:
        """Write what was done in all."""
        figures = self._worker.schedule.figures
        stages = sum(figures.stages.values()), sum(figures.stage_failures.values())
        line = "ended; derived: {}; stages run {:,} times, {:,} failed"
        self._session.hint(line.format(_counted(figures.derived), *stages))
        if self._session.shared.as_json:
            self._tell("", "", Text(), ended=figures)

    def _tell(self, what: str, whom: str, outcome: Text, **found: Any) -> None:
        """Write a line, for a person or as JSON, with the present."""
        at = self._services.clock.now()
        line = Text(self._session.view.minute(at), "dim").append(f"  {what:<12}", "not dim cyan")
        line.append(f"{one_line(whom)}: ", "not dim default").append_text(outcome)
        self._session.show({"at": at, **found}, line, indent=None)


def _counted(records: dict[str, int]) -> str:
    return ", ".join(f"{work} {number:,}" for work, number in records.items())


def stage_outcome(report: StageReport) -> Text:
    """Return what a stage did, in a line."""
    line = one_line(str(report).removeprefix(f"{report.stage}: "))
    if report.failed:
        return safe_text(line, "red")
    return safe_text(line, "" if report.count else "dim")


def list_failures(report: StageReport) -> list[Text]:
    """Return what failed in a stage, and why, a line each."""
    told = (f"{one_line(name)}: {one_line(why)}" for name, why in report.failed.items())
    return [safe_text(each, "red") for each in told]
