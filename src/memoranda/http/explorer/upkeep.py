"""Upkeep: when each stage last ran, what it would do now, and running it."""

from __future__ import annotations

from memoranda.http.explorer.pages import Page, Visit
from memoranda.maintenance.service import STAGES
from memoranda.memory import services_of


def show(visit: Visit) -> Page:
    """Show the stages of upkeep with their times and their last runs."""
    return _page(visit)


def run(visit: Visit) -> Page:
    """Run a stage, or show what it would do."""
    report = visit.memory.maintain([visit.required("stage")], dry_run=not visit.text("confirmed"))
    return _page(visit, *report.stages)


def _page(visit: Visit, *reports: object) -> Page:
    settings = visit.memory.settings.schedule
    values = {
        "stages": {stage: getattr(settings, stage) for stage in STAGES},
        "runs": {run.job: run for run in services_of(visit.memory).store.job_runs()},
        "pending": len(visit.memory.sessions(pending=True)),
        "reports": reports,
    }
    return Page("upkeep", values, {"zone": visit.zone})
