"""Many records at once: found by tag, kind, session and time, exported or forgotten."""

from __future__ import annotations

from collections.abc import Iterator

from starlette.responses import StreamingResponse

from memoranda.errors import Conflict, InvalidInput
from memoranda.http.explorer.pages import SHOWN, Page, PageRequest, Redirect
from memoranda.http.explorer.search import FILTERS, read_filters
from memoranda.memory import Memory
from memoranda.model.models import Kind, Record
from memoranda.records.drafts import RecordFilters
from memoranda.rendering.forms import form_of, format_json

# Records that are read at once.
PAGE = 1_000


def show(request: PageRequest) -> Page:
    """Show how many records the filters mean, and the newest of them."""
    filters = read_filters(request)
    count = request.counts.get(
        request.memory, ("bulk", str(filters)), lambda: request.memory.count(**filters)
    )
    records = request.memory.records(newest_first=True, limit=SHOWN, **filters)
    values = {"count": count, "records": records, "narrowed": bool(filters)}
    shown = {"fields": request.echo(*FILTERS), "kinds": list(Kind), "zone": request.zone}
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
    while page := memory.records(limit=PAGE, after=after, **filters):
        yield from page
        after = page[-1].id
