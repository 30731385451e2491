"""Records in lists: search with why, the timeline, and many at once to export or forget."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, cast

from starlette.responses import StreamingResponse

from memoranda.errors import Conflict, InvalidInput
from memoranda.http.explorer.pages import SHOWN, Page, PageRequest, Redirect, address
from memoranda.memory import Memory
from memoranda.model.models import Hit, Kind, Record, ended, is_active
from memoranda.model.query import Filter, Order
from memoranda.records.drafts import RecordFilters, parse_filters
from memoranda.rendering.forms import explain_hit, form_of, format_json
from memoranda.search.recall import find_near_best
from memoranda.serving.existing import require_record

# Hits among which one is looked for that is missing.
DEEPEST = 300
FILTERS = ("kind", "tag", "session", "since", "until")


@dataclass(frozen=True, slots=True)
class MissingHit:
    """Why a record is not among the first hits.

    Attributes:
        record: the record.
        rank: its place among all hits, from 1; ``None`` where no arm found it.
        hit: the hit, if there is one.
        reasons: what keeps it from being found, in words.
    """

    record: Record
    rank: int | None
    hit: Hit | None
    reasons: tuple[str, ...]


def show(request: PageRequest) -> Page:
    """Show what answers a question; without one, the newest records first."""
    query, filters = request.text("q"), read_filters(request)
    offset, as_of = request.number("offset", 0, least=0), request.moment("as_of")
    hits: list[Hit] = []
    found = 0
    records: list[Record] = []
    if query:
        hits = request.memory.search(query, as_of=as_of, limit=SHOWN, offset=offset, **filters)
        found = len(hits)
        if not offset and not request.text("all"):
            hits = find_near_best(hits)
    else:
        after = request.text("after")
        records = request.memory.records(newest_first=True, limit=SHOWN, after=after, **filters)
    wanted = request.text("id")
    missing = explain_missing(request, query, wanted.strip()) if query and wanted else None
    next_page: dict[str, Any] = {"offset": offset + SHOWN} if len(hits) == SHOWN else {}
    if len(records) == SHOWN:
        next_page = {"after": records[-1].id}
    values = {
        "query": query,
        "hits": [explain_hit(hit) for hit in hits],
        "records": records,
        "missing": missing,
        "next": next_page,
    }
    fields = request.echo("q", *FILTERS, "as_of", "id")
    shown = {
        "hits": hits,
        "fields": fields,
        "kinds": list(Kind),
        "more": address("/search", **fields, **next_page),
        "rest": address("/search", **fields, all="yes") if len(hits) < found else "",
        "top": max((sum(arm.share for arm in hit.why.arms.values()) for hit in hits), default=0),
    }
    return Page("search", values, shown)


def read_filters(request: PageRequest) -> RecordFilters:
    """Return the filters that the fields of a page name, as the verbs of a memory take them."""
    found = {
        "kind": request.text("kind"),
        "session": request.text("session"),
        "tags": [each.strip() for each in request.all("tag")] or None,
        "since": request.moment("since"),
        "until": request.moment("until", end_of_day=True),
    }
    given = {name: value for name, value in found.items() if value is not None}
    return cast("RecordFilters", given)


def explain_missing(request: PageRequest, query: str, id: str) -> MissingHit:
    """Return why a record is not among the first hits of a query.

    Raises:
        NotFound: there is no such record.
    """
    memory, filters = request.memory, read_filters(request)
    record = require_record(memory, id)
    as_of = request.moment("as_of")
    found = memory.search(query, limit=DEEPEST, min_score=0, as_of=as_of, **filters)
    place = next((at for at, hit in enumerate(found, 1) if hit.record.id == id), None)
    hit = None if place is None else found[place - 1]
    return MissingHit(record, place, hit, tuple(_reasons(request, record, hit, filters)))


def _reasons(
    request: PageRequest, record: Record, hit: Hit | None, filters: RecordFilters
) -> Iterator[str]:
    memory = request.memory
    moment = request.moment("as_of") or request.services.clock.now()
    if not is_active(record, moment):
        yield ended(record)
    if record.created_at > moment:
        yield "it was recorded later than that moment"
    if record.kind is Kind.ITEM and "kind" not in filters:
        yield "it is an item: these are found only where the kind is item"
    if filters.get("kind") not in {None, record.kind.value}:
        yield f"it is of kind {record.kind.value}, and the filter asks for {filters['kind']}"
    if filters.get("session") not in {None, record.session_id}:
        yield f"it is of another session than {filters['session']}"
    if lacking := set(filters.get("tags") or ()) - set(record.tags):
        yield f"it lacks the tag {min(lacking)}"
    least = memory.settings.retrieval.min_score or 0.0
    if hit is not None and hit.score < least:
        yield f"its score of {hit.score:.2f} is below the least that is shown, {least:.2f}"
    elif hit is None:
        yield f"no arm has it among its best: not one of the first {DEEPEST} hits"


# Records that are read at once.
READ_AT_ONCE = 1_000


def show_bulk(request: PageRequest) -> Page:
    """Show how many records the filters mean, and the newest of them."""
    filters = read_filters(request)
    count = request.counts.get(
        request.memory, ("bulk", str(filters)), lambda: request.memory.count(**filters)
    )
    records = request.memory.records(newest_first=True, limit=SHOWN, **filters)
    values = {"count": count, "records": records, "narrowed": bool(filters)}
    shown = {"fields": request.echo(*FILTERS), "kinds": list(Kind)}
    return Page("bulk", values, shown)


def export(request: PageRequest) -> StreamingResponse:
    """Send the records of the filters, one a line of JSON."""
    lines = (
        f"{format_json(form_of(each))}\n" for each in _all(request.memory, read_filters(request))
    )
    disposition = {"Content-Disposition": 'attachment; filename="records.jsonl"'}
    return StreamingResponse(lines, media_type="application/jsonl", headers=disposition)


def forget(request: PageRequest) -> Redirect:
    """Stop believing the records of the filters.

    Raises:
        InvalidInput: there is no filter.
        Conflict: they are not as many as were shown.
    """
    filters = read_filters(request)
    if not filters:
        raise InvalidInput("name a kind, a tag, a session or a time; all of it is not forgotten")
    ids = [each.id for each in _all(request.memory, filters)]
    expected = request.number("expected", 0, least=0)
    if len(ids) != expected:
        raise Conflict(f"{len(ids):,} records meet the filters now, not {expected:,}; look again")
    request.memory.forget_many(ids=ids)
    return Redirect("/bulk", "forgotten")


def _all(memory: Memory, filters: RecordFilters) -> Iterator[Record]:
    """Yield the records of filters, in the order in which they were recorded."""
    after: str | None = None
    while page := memory.records(limit=READ_AT_ONCE, after=after, **filters):
        yield from page
        after = page[-1].id


DAY = timedelta(days=1)


def show_timeline(request: PageRequest) -> Page:
    """Show what was believed at the end of a day."""
    services, scope = request.services, request.scope
    now = services.clock.now()
    today = now.astimezone(request.zone).date()
    oldest = services.store.records(scope, Filter.at_any_time(kinds=tuple(Kind)), limit=1)
    first = min((each.created_at.astimezone(request.zone).date() for each in oldest), default=today)
    days = (today - first).days
    # A slider gives the number of a day; who writes an address, a moment.
    number = request.number("day", days, least=0)
    at = request.moment("at", end_of_day=True) or min(now, now - (days - number) * DAY)
    believed = parse_filters(now, (Kind.FACT,), read_filters(request), as_of=at)
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
    shown = {"first": first, "days": days, "day": day, "kinds": list(Kind)}
    return Page("timeline", values, shown)
