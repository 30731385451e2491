"""Many records at once: found by tag, kind, session and time, exported or forgotten."""

from __future__ import annotations

from collections.abc import Iterator

from starlette.responses import StreamingResponse

from memoranda.errors import Conflict, InvalidInput
from memoranda.http.explorer.pages import SHOWN, GoTo, Page, Visit
from memoranda.http.explorer.search import FILTERS, read_filters
from memoranda.memory import Memory
from memoranda.model.models import Kind, Record
from memoranda.records.drafts import RecordFilters
from memoranda.rendering.forms import form_of, format_json

# Records that are read at once.
PAGE = 1_000


def show(visit: Visit) -> Page:
    """Show how many records the filters mean, and the newest of them."""
    filters = read_filters(visit)
    count = visit.counts.get(
        visit.memory, ("bulk", str(filters)), lambda: visit.memory.count(**filters)
    )
    records = visit.memory.records(newest_first=True, limit=SHOWN, **filters)
    values = {"count": count, "records": records, "narrowed": bool(filters)}
    shown = {"fields": visit.echo(*FILTERS), "kinds": list(Kind), "zone": visit.zone}
    return Page("bulk", values, shown)


def export(visit: Visit) -> StreamingResponse:
    """Send the records of the filters, one a line of JSON."""
    lines = (f"{format_json(form_of(each))}\n" for each in _all(visit.memory, read_filters(visit)))
    disposition = {"Content-Disposition": 'attachment; filename="records.jsonl"'}
    return StreamingResponse(lines, media_type="application/jsonl", headers=disposition)


def forget(visit: Visit) -> GoTo:
    """Stop believing the records of the filters.

    Raises:
        InvalidInput: there is no filter.
        Conflict: they are not as many as were shown.
    """
    filters = read_filters(visit)
    if not filters:
        raise InvalidInput("name a kind, a tag, a session or a time; all of it is not forgotten")
    ids = [each.id for each in _all(visit.memory, filters)]
    expected = visit.number("expected", 0, least=0)
    if len(ids) != expected:
        raise Conflict(f"{len(ids):,} records meet the filters now, not {expected:,}; look again")
    visit.memory.forget_many(ids=ids)
    return GoTo("/bulk", "forgotten")


def _all(memory: Memory, filters: RecordFilters) -> Iterator[Record]:
    """Yield the records of filters, in the order in which they were recorded."""
    after: str | None = None
    while page := memory.records(limit=PAGE, after=after, **filters):
        yield from page
        after = page[-1].id
