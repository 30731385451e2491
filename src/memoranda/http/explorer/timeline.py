"""The timeline: what was believed at a moment, and what became of it since."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from memoranda.http.explorer.pages import SHOWN, Page, Visit
from memoranda.http.explorer.search import read_filters
from memoranda.memory import scope_of, services_of
from memoranda.model.models import Kind, is_active
from memoranda.model.query import Filter, Order
from memoranda.records.drafts import parse_filters

DAY = timedelta(days=1)


def show(visit: Visit) -> Page:
    """Show what was believed at the end of a day."""
    services, scope = services_of(visit.memory), scope_of(visit.memory)
    now = services.clock.now()
    today = now.astimezone(visit.zone).date()
    oldest = services.store.records(scope, Filter.at_any_time(kinds=tuple(Kind)), limit=1)
    first = min((each.created_at.astimezone(visit.zone).date() for each in oldest), default=today)
    days = (today - first).days
    # A slider gives the number of a day; who writes an address, a moment.
    number = visit.number("day", days, least=0)
    at = visit.moment("at", end_of_day=True) or min(now, now - (days - number) * DAY)
    believed = replace(parse_filters(now, (Kind.FACT,), read_filters(visit)), as_of=at)
    offset = visit.number("offset", 0, least=0)
    found = services.store.records(scope, believed, order=Order.LATEST, limit=SHOWN, offset=offset)
    values = {
        "at": at,
        "kind": believed.kinds[0],
        "records": found,
        "ended": [each.id for each in found if not is_active(each, now) or each.superseded_by],
        "next": offset + SHOWN if len(found) == SHOWN else None,
    }
    day = max(0, min(days, (at.astimezone(visit.zone).date() - first).days))
    shown = {"first": first, "days": days, "day": day, "kinds": list(Kind), "zone": visit.zone}
    return Page("timeline", values, shown)
