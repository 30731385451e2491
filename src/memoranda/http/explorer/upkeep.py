"""Upkeep: when each stage last ran, what it would do now, and running it."""

from __future__ import annotations

from memoranda.http.explorer.pages import Page, PageRequest
from memoranda.maintenance.service import STAGES
from memoranda.memory import services_of


def show(request: PageRequest) -> Page:
    """Show the stages of upkeep with their times and their last runs."""
    return _page(request)


def run(request: PageRequest) -> Page:
    """Run a stage, or show what it would do."""
    report = request.memory.maintain(
        [request.required("stage")], dry_run=not request.text("confirmed")
    )
    return _page(request, *report.stages)


def _page(request: PageRequest, *reports: object) -> Page:
    settings = request.memory.settings.schedule
    values = {
        "stages": {stage: getattr(settings, stage) for stage in STAGES},
        "runs": {run.job: run for run in services_of(request.memory).store.job_runs()},
        "pending": len(request.memory.sessions(pending=True)),
        "reports": reports,
    }
    return Page("upkeep", values, {"zone": request.zone})
