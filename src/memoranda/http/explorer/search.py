"""Search with why: hits while one types, the evidence of each arm, and why one is missing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

from memoranda.errors import NotFound
from memoranda.http.explorer.pages import SHOWN, Page, Visit, address
from memoranda.memory import services_of
from memoranda.model.models import Hit, Kind, Record, ended, is_active
from memoranda.records.drafts import RecordFilters
from memoranda.rendering.forms import explain_hit
from memoranda.search.recall import find_near_best

# Hits among which one is looked for that is missing.
DEEPEST = 300
FILTERS = ("kind", "tag", "session", "since", "until")


@dataclass(frozen=True, slots=True)
class Absence:
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


def show(visit: Visit) -> Page:
    """Show what answers a question; without one, the newest records first."""
    query, filters = visit.text("q"), read_filters(visit)
    offset, as_of = visit.number("offset", 0, least=0), visit.moment("as_of")
    hits: list[Hit] = []
    found = 0
    records: list[Record] = []
    if query:
        hits = visit.memory.search(query, as_of=as_of, limit=SHOWN, offset=offset, **filters)
        found = len(hits)
        if not offset and not visit.text("all"):
            hits = find_near_best(hits)
    else:
        after = visit.text("after")
        records = visit.memory.records(newest_first=True, limit=SHOWN, after=after, **filters)
    wanted = visit.text("id")
    missing = explain_absence(visit, query, wanted.strip()) if query and wanted else None
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
    fields = visit.echo("q", *FILTERS, "as_of", "id")
    shown = {
        "hits": hits,
        "fields": fields,
        "kinds": list(Kind),
        "more": address("/search", **fields, **next_page),
        "rest": address("/search", **fields, all="yes") if len(hits) < found else "",
        "top": max((sum(arm.share for arm in hit.why.arms.values()) for hit in hits), default=0),
        "zone": visit.zone,
    }
    return Page("search", values, shown)


def read_filters(visit: Visit) -> RecordFilters:
    """Return the filters that the fields of a page name, as the verbs of a memory take them."""
    found = {
        "kind": visit.text("kind"),
        "session": visit.text("session"),
        "tags": [each.strip() for each in visit.all("tag")] or None,
        "since": visit.moment("since"),
        "until": visit.moment("until", end_of_day=True),
    }
    given = {name: value for name, value in found.items() if value is not None}
    return cast("RecordFilters", given)


def explain_absence(visit: Visit, query: str, id: str) -> Absence:
    """Return why a record is not among the first hits of a query.

    Raises:
        NotFound: there is no such record.
    """
    memory, filters = visit.memory, read_filters(visit)
    record = memory.get(id)
    if record is None:
        raise NotFound(f"there is no record {id!r}")
    as_of = visit.moment("as_of")
    found = memory.search(query, limit=DEEPEST, min_score=0, as_of=as_of, **filters)
    place = next((at for at, hit in enumerate(found, 1) if hit.record.id == id), None)
    hit = None if place is None else found[place - 1]
    return Absence(record, place, hit, tuple(_reasons(visit, record, hit, filters)))


def _reasons(
    visit: Visit, record: Record, hit: Hit | None, filters: RecordFilters
) -> Iterator[str]:
    memory = visit.memory
    moment = visit.moment("as_of") or services_of(memory).clock.now()
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
