"""Search with why: hits while one types, the evidence of each arm, and why one is missing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

from memoranda.http.explorer.pages import SHOWN, Page, PageRequest, address
from memoranda.memory import services_of
from memoranda.model.models import Hit, Kind, Record, ended, is_active
from memoranda.records.drafts import RecordFilters
from memoranda.rendering.forms import explain_hit
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
        "zone": request.zone,
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
    moment = request.moment("as_of") or services_of(memory).clock.now()
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
