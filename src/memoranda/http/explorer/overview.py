"""The first page: how much of what there is, how it grew, and what needs attention."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from itertools import pairwise

from memoranda.http.explorer.pages import Page, Visit
from memoranda.http.explorer.review import find_faults
from memoranda.memory import scope_of, services_of
from memoranda.model.models import Kind
from memoranda.model.query import Filter
from memoranda.rendering.plain import pluralize

MONTHS = 12
NEWEST = 5


@dataclass(frozen=True, slots=True)
class Growth:
    """How many records were recorded in a month."""

    month: datetime
    records: int


@dataclass(frozen=True, slots=True)
class Concern:
    """What a person should look at, and the page for it."""

    what: str
    page: str


def show(visit: Visit) -> Page:
    """Show the memory as a whole."""
    memory = visit.memory
    services, scope = services_of(memory), scope_of(memory)
    where = Filter(now=services.clock.now(), kinds=tuple(Kind))
    counts = visit.counts.get(memory, "kinds", lambda: services.store.count(scope, where))
    return Page(
        "overview",
        {
            "records": {kind.value: counts.get(kind, 0) for kind in Kind},
            "conversations": len(memory.conversations()),
            "growth": list(_growth(visit, where.now)),
            "concerns": list(_concerns(visit)),
            "newest": memory.records(newest_first=True, limit=NEWEST),
            "upkeep": services.store.job_runs(),
            "usage": memory.usage(),
            "model": "none" if services.models.model is None else services.models.model.name,
        },
        {"zone": visit.zone},
    )


def examine(visit: Visit) -> Page:
    """Show what the doctor finds; it looks at the whole store, which takes a while."""
    memory = visit.memory
    return Page("doctor", {"checks": visit.counts.get(memory, "doctor", memory.doctor)})


def _growth(visit: Visit, now: datetime) -> Iterator[Growth]:
    """Yield how many records each of the last months brought, the present one last."""
    services, scope = services_of(visit.memory), scope_of(visit.memory)
    starts = [now.astimezone(visit.zone).replace(day=1, hour=0, minute=0, second=0, microsecond=0)]
    while len(starts) < MONTHS:
        starts.insert(0, (starts[0] - timedelta(days=1)).replace(day=1))
    for start, end in pairwise([*starts, now]):
        where = Filter.at_any_time(recorded_since=start, recorded_before=end)
        count = partial(services.store.count, scope, where)
        found = visit.counts.get(visit.memory, start, count, lasting=end is not now)
        yield Growth(start, sum(found.values()))


def _concerns(visit: Visit) -> Iterator[Concern]:
    memory = visit.memory
    if waiting := len(memory.sessions(pending=True)):
        yield Concern(f"{pluralize(waiting, 'session')} not read for facts yet", "/upkeep")
    if faults := len(find_faults(visit)):
        yield Concern(f"{pluralize(faults, 'pair')} of facts contradict or repeat", "/review")
    services, scope = services_of(memory), scope_of(memory)
    count = partial(services.derivations.waiting, scope)
    if services.derivations.has_model and (unread := visit.counts.get(memory, "waiting", count)):
        yield Concern(f"{pluralize(unread, 'record')} without a vector yet", "/upkeep")
    if not services.store.job_runs():
        yield Concern("upkeep has not run on schedule yet", "/upkeep")
