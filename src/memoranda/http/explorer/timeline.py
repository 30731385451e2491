"""The timeline: what was believed at a moment, and what became of it since."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from memoranda.http.explorer.pages import SHOWN, Page, PageRequest
from memoranda.http.explorer.search import read_filters
from memoranda.memory import scope_of, services_of
from memoranda.model.models import Kind, is_active
from memoranda.model.query import Filter, Order
from memoranda.records.drafts import parse_filters

DAY = timedelta(days=1)


def show(request: PageRequest) -> Page:
    """Show what was believed at the end of a day."""
    services, scope = services_of(request.memory), scope_of(request.memory)
    now = services.clock.now()
    today = now.astimezone(request.zone).date()
    oldest = services.store.records(scope, Filter.at_any_time(kinds=tuple(Kind)), limit=1)
    first = min((each.created_at.astimezone(request.zone).date() for each in oldest), default=today)
    days = (today - first).days
    # A slider gives the number of a day; who writes an address, a moment.
    number = request.number("day", days, least=0)
    at = request.moment("at", end_of_day=True) or min(now, now - (days - number) * DAY)
    believed = replace(parse_filters(now, (Kind.FACT,), read_filters(request)), as_of=at)
    offset = request.number("offset", 0, least=0)
    found = services.store.records(scope, believed, order=Order.LATEST, limit=SHOWN, offset=offset)
    values = {
        "at": at,
        "kind": believed.kinds[0],
        "records": found,
        "ended": [each.id for each in found if not is_active(each, now) or each.superseded_by],
        "next": offset + SHOWN if len(found) == SHOWN else None,
    }
    day = max(0, min(days, (at.astimezone(request.zone).date() - first).days))
    shown = {"first": first, "days": days, "day": day, "kinds": list(Kind), "zone": request.zone}
    return Page("timeline", values, shown)
