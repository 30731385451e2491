"""The memory as a whole: the first page, what the doctor finds, upkeep and settings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from itertools import pairwise

from memoranda.http.explorer.pages import Page, PageRequest
from memoranda.http.explorer.review import find_faults, find_waiting
from memoranda.maintenance.service import STAGES
from memoranda.model.models import Kind
from memoranda.model.query import Filter
from memoranda.rendering.plain import pluralize
from memoranda.settings.configure import Setting, list_settings
from memoranda.settings.fields import GENERAL, groups

MONTHS = 12
NEWEST = 5


@dataclass(frozen=True, slots=True)
class MonthlyCount:
    """How many records were recorded in a month."""

    month: datetime
    records: int


@dataclass(frozen=True, slots=True)
class AttentionItem:
    """What a person should look at, and the page for it."""

    what: str
    page: str


def show(request: PageRequest) -> Page:
    """Show the memory as a whole."""
    memory = request.memory
    services = request.services
    where = Filter(now=services.clock.now(), kinds=tuple(Kind))
    counts = request.counts.get(memory, "kinds", lambda: services.store.count(request.scope, where))
    return Page(
        "overview",
        {
            "records": {kind.value: counts.get(kind, 0) for kind in Kind},
            "conversations": len(memory.conversations()),
            "growth": list(_growth(request, where.now)),
            "concerns": list(_concerns(request)),
            "newest": memory.records(newest_first=True, limit=NEWEST),
            "upkeep": services.store.job_runs(),
            "usage": memory.usage(),
            "model": "none" if services.models.model is None else services.models.model.name,
        },
    )


def examine(request: PageRequest) -> Page:
    """Show what the doctor finds; it looks at the whole store, which takes a while."""
    memory = request.memory
    return Page("doctor", {"checks": request.counts.get(memory, "doctor", memory.doctor)})


def _growth(request: PageRequest, now: datetime) -> Iterator[MonthlyCount]:
    """Yield how many records each of the last months brought, the present one last."""
    starts = [
        now.astimezone(request.zone).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    ]
    while len(starts) < MONTHS:
        starts.insert(0, (starts[0] - timedelta(days=1)).replace(day=1))
    for start, end in pairwise([*starts, now]):
        where = Filter.at_any_time(recorded_since=start, recorded_before=end)
        count = partial(request.services.store.count, request.scope, where)
        found = request.counts.get(request.memory, start, count, lasting=end is not now)
        yield MonthlyCount(start, sum(found.values()))


def _concerns(request: PageRequest) -> Iterator[AttentionItem]:
    memory = request.memory
    if waiting := len(memory.sessions(pending=True)):
        yield AttentionItem(f"{pluralize(waiting, 'session')} not read for facts yet", "/upkeep")
    if proposed := len(find_waiting(request)):
        yield AttentionItem(f"{pluralize(proposed, 'fact')} wait for your approval", "/review")
    if faults := len(find_faults(request)):
        yield AttentionItem(f"{pluralize(faults, 'pair')} of facts contradict or repeat", "/review")
    services = request.services
    count = partial(services.derivations.waiting, request.scope)
    if services.derivations.has_model and (unread := request.counts.get(memory, "waiting", count)):
        yield AttentionItem(f"{pluralize(unread, 'record')} without a vector yet", "/upkeep")
    if not services.store.job_runs():
        yield AttentionItem("upkeep has not run on schedule yet", "/upkeep")


def run_stage(request: PageRequest) -> Page:
    """Run a stage, or show what it would do."""
    report = request.memory.maintain(
        [request.required("stage")], dry_run=not request.text("confirmed")
    )
    return show_upkeep(request, *report.stages)


def show_upkeep(request: PageRequest, *reports: object) -> Page:
    """Show the stages of upkeep with their times, their last runs, and reports of them."""
    settings = request.memory.settings.schedule
    values = {
        "stages": {stage: getattr(settings, stage) for stage in STAGES},
        "runs": {run.job: run for run in request.services.store.job_runs()},
        "pending": len(request.memory.sessions(pending=True)),
        "reports": reports,
    }
    return Page("upkeep", values)


def show_settings(request: PageRequest) -> Page:
    """Show the settings by group; those whose name or meaning has the words."""
    words, changed = (request.text("q") or "").casefold(), request.text("changed")
    found: dict[str, list[Setting]] = {name: [] for name in groups()}
    for each in list_settings(request.memory.settings):
        if words in f"{each.name} {each.meaning}".casefold() and not (
            changed and each.source == "default"
        ):
            found[each.place[0] if each.place[1:] else GENERAL].append(each)
    return Page(
        "settings",
        {"query": words, "settings": {name: each for name, each in found.items() if each}},
        {"groups": groups(), "changed": changed},
    )
