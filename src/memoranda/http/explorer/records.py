"""One record: where it comes from, what became of it, and what a person can do about it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from memoranda.errors import NotFound
from memoranda.http.explorer import charts
from memoranda.http.explorer.pages import GoTo, Page, Visit
from memoranda.maintenance.decay import confidence as confidence_at
from memoranda.maintenance.decay import retirement_date
from memoranda.memory import scope_of, services_of
from memoranda.model.models import Kind, Record, is_active
from memoranda.model.query import Filter, Order, RecordRelation
from memoranda.records.erasing import ErasurePlan

# Turns of a conversation that stand before and after a source.
AROUND = 2
# Sources that are shown in their place.
MOST_SOURCES = 5


@dataclass(frozen=True, slots=True)
class SourcePlace:
    """A turn that a record was drawn from, among the turns around it, in order."""

    source: Record
    turns: tuple[Record, ...]


def show(visit: Visit) -> Page:
    """Show a record with its sources, versions, decay, entities and history."""
    record, memory = find_record(visit), visit.memory
    services, scope = services_of(memory), scope_of(memory)
    now = services.clock.now()
    named = services.names(scope).extract(record.content)
    fades_on = retirement_date(record, memory.settings.decay.threshold)
    values = {
        "record": record,
        "active": is_active(record, now),
        "confidence": confidence_at(record, now),
        "fades_on": fades_on,
        "curve": charts.decay_curve(record, now, fades_on),
        "sources": list(_sources(visit, record)),
        "versions": _related(visit, record, RecordRelation.VERSIONS, RecordRelation.REPLACED),
        "entities": list(dict.fromkeys(each.text for each in named if each.type != "date")),
        "history": memory.history(record.id),
    }
    return Page("record", values, {"now": now, "zone": visit.zone})


def find_record(visit: Visit) -> Record:
    """Return the record that a page is about.

    Raises:
        NotFound: there is no such record.
    """
    found = visit.memory.get(visit.required("id"))
    if found is None:
        raise NotFound(f"there is no record {visit.required('id')!r}")
    return found


def preview_erasure(visit: Visit) -> Page:
    """Show what goes with a record, before it is erased."""
    record, services = find_record(visit), services_of(visit.memory)
    scope = scope_of(visit.memory)
    # All that is kept is read for them.
    plan = services.eraser(scope).preview([record.id]) if visit.text("copies") else ErasurePlan()
    places = [each.id for each in plan.places]
    values = {
        "record": record,
        "versions": _related(visit, record, RecordRelation.VERSIONS),
        "derived": _related(visit, record, RecordRelation.DERIVED),
        "copies": plan if visit.text("copies") else None,
    }
    known = services.store.get(scope, [*plan.copies, *places, *plan.independent])
    return Page("erase", values, {"known": known, "zone": visit.zone})


def correct(visit: Visit) -> GoTo:
    """Replace what a record says."""
    new = visit.memory.correct(visit.required("id"), visit.required("content"))
    return GoTo(f"/records/{new.id}", "corrected")


def confirm(visit: Visit) -> GoTo:
    """Believe a record fully and for ever."""
    return GoTo(f"/records/{visit.memory.confirm(visit.required('id')).id}", "confirmed")


def forget(visit: Visit) -> GoTo:
    """Stop believing a record."""
    return GoTo(f"/records/{visit.memory.forget(visit.required('id')).id}", "forgotten")


def erase(visit: Visit) -> Page:
    """Erase a record, and show the receipt."""
    receipt = visit.memory.forget(visit.required("id"), erase=True)
    visit.counts.forget(visit.memory)
    return Page("erased", {"receipt": receipt})


def _related(visit: Visit, record: Record, *relations: RecordRelation) -> list[Record]:
    """Return the records that are bound to one, the oldest first."""
    store, scope = services_of(visit.memory).store, scope_of(visit.memory)
    ids = {other for each in relations for other in store.related(scope, [record.id], each)}
    found = store.get(scope, sorted(ids - {record.id}))
    return sorted(found.values(), key=lambda each: each.created_at)


def _sources(visit: Visit, record: Record) -> Iterator[SourcePlace]:
    """Yield the turns that a record rests on, each in its place in the conversation."""
    store, scope = services_of(visit.memory).store, scope_of(visit.memory)
    own = [record.id] if record.kind is Kind.EPISODE else []
    for source in store.get(scope, [*own, *record.source_ids[:MOST_SOURCES]]).values():
        turns = [source]
        if source.session_id is not None and source.position is not None:
            where = Filter.at_any_time(
                kinds=(Kind.EPISODE,),
                session=source.session_id,
                beyond=source.position - AROUND - 1,
            )
            many = 2 * AROUND + 1
            turns = store.records(scope, where, order=Order.POSITION, limit=many)
        yield SourcePlace(source, tuple(turns))
